"""When generated requests arrive. The first one arrives at 0, and a longer draw continues a shorter one."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from pydantic import Field

from binwright.simcore.fields import FromOne, Model, PositiveTime
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.types import Floats


class Arrivals(Protocol):
    """A way of arriving; its fields are the options that a scenario may set."""

    summary: ClassVar[str]
    reference: ClassVar[str]

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Ascending times float64 [n] in seconds, the first 0."""
        ...


class Poisson(Model):
    """Independent requests: exponential gaps."""

    every: PositiveTime = Field(description="Mean gap.", examples=["10 s"])

    summary: ClassVar[str] = "independent requests: exponential gaps with a mean of `every`."
    reference: ClassVar[str] = "Kingman, Poisson Processes, 1993"

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        times = zeros(n, np.float64)
        for rows in blocks(n, 1):
            gaps = _gaps(self.every, rng.random(rows.stop - rows.start))
            gaps[:1] += times[rows.start - 1]
            np.cumsum(gaps, out=times[rows])
        return times


class Fixed(Model):
    """Requests at equal distances."""

    every: PositiveTime = Field(description="The gap.", examples=["1 s"])

    summary: ClassVar[str] = "one request every `every`."
    reference: ClassVar[str] = "the published fabric protocol: one request per time step"
    drawn: ClassVar[bool] = False

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        return np.arange(n, dtype=np.float64) * self.every


class Bursty(Model):
    """Bursts of requests: exponential gaps between bursts of geometric size."""

    every: PositiveTime = Field(description="Mean gap between bursts.", examples=["10 min"])
    size: FromOne = Field(description="Mean requests in a burst, from 1.", examples=[8])

    summary: ClassVar[str] = (
        "bursts at exponential gaps with a mean of `every`, of geometric size with a mean of `size`."
    )
    reference: ClassVar[str] = "batch Poisson process; bursts as in Bergsma et al., SOSP 2021"

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        # A pair of uniforms per burst keeps a longer draw a continuation of a shorter one.
        gap, size = rng.random((n, 2)).T
        if self.size == 1:
            sizes = np.ones(n, dtype=np.int64)
        else:
            # log1p(-1/size) < 0; the cut at n keeps the far tail inside int64.
            sizes = np.minimum(1 + np.log1p(-size) // np.log1p(-1 / self.size), n).astype(np.int64)
        return np.repeat(np.concatenate([[0.0], np.cumsum(_gaps(self.every, gap[:-1]))]), sizes)[:n]


def _gaps(mean: float, uniform: Floats) -> Floats:
    return -mean * np.log1p(-uniform)
