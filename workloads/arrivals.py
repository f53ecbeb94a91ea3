"""When generated requests arrive: `draw` returns ascending seconds float64 [n], the first 0.

A longer draw continues a shorter one.
"""

from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.simcore.fields import FromOne, Model, Number, PositiveTime, wrong
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.types import Floats

HOUR, DAY, WEEK = 3_600.0, 86_400.0, 604_800.0
"""Seconds."""


class Poisson(Model):
    """Independent requests: exponential gaps, at a rate that may depend on the time."""

    every: PositiveTime = Field(description="Mean gap.", examples=["10 s"])
    hours: tuple[Number, ...] | None = Field(default=None, min_length=24, max_length=24)
    """The rates of the 24 hours of a day, in relation; the first request comes in the first."""
    days: tuple[Number, ...] | None = Field(default=None, min_length=7, max_length=7)
    """Those of the 7 days of a week, so too."""
    summary: ClassVar[str] = "independent requests: exponential gaps with a mean of `every`, by hours and days."
    reference: ClassVar[str] = "Kingman, Poisson Processes, 1993"

    @model_validator(mode="after")
    def _some(self) -> Self:
        for key, rates in (("hours", self.hours), ("days", self.days)):
            if rates and not any(rates):
                raise wrong("are all zero", "Give one above zero.", (key,))
        return self

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        times = zeros(n, np.float64)
        for rows in blocks(n, 1):
            gaps = _gaps(self.every, rng.random(rows.stop - rows.start))
            gaps[:1] += times[rows.start - 1]
            np.cumsum(gaps, out=times[rows])
        return times if self.hours is self.days is None else self._at_rates(times)

    @property
    def rates(self) -> Floats:
        """The rates of the hours of a day, or of a week, 1 on average: float64 [24] or [168]."""
        hours = np.array(self.hours or [1.0] * 24)
        rates = np.outer(self.days, hours).ravel() if self.days else hours
        result: Floats = rates / rates.mean()
        return result

    def _at_rates(self, steady: Floats) -> Floats:
        """Move ascending times of a steady rate, the first 0, to those at which as many have come at these rates."""
        come = np.concatenate([[0.0], np.cumsum(self.rates * HOUR)])
        periods, rest = np.divmod(steady, come[-1])
        times: Floats = periods * come[-1] + np.interp(rest, come, HOUR * np.arange(len(come)))
        times -= times[0]
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
        sizes = np.ones(n, dtype=np.int64)
        if self.size > 1:
            # log1p(-1/size) < 0; the cut at n keeps the far tail inside int64.
            sizes = np.minimum(1 + np.log1p(-size) // np.log1p(-1 / self.size), n).astype(np.int64)
        return np.repeat(np.concatenate([[0.0], np.cumsum(_gaps(self.every, gap[:-1]))]), sizes)[:n]


def _gaps(mean: float, uniform: Floats) -> Floats:
    return -mean * np.log1p(-uniform)
