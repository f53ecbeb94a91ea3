"""How long requests last: distributions as their inverses, a lifetime for a uniform; estimates from parts of them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from binwright.simcore.fields import Lifespan, Model, Number, PositiveTime, Time, wrong
from binwright.simcore.types import Flags, Floats, Ints


def kaplan_meier(seen: Floats, ended: Flags) -> tuple[Floats, Floats]:
    """Return the lifetimes at which requests ended, ascending, and the share that has ended by each of them.

    `seen` float64 [n] is the age until which each was seen, and `ended` bool [n] whether it ended then. Kaplan and
    Meier, Nonparametric Estimation from Incomplete Observations, 1958. The last share is less than 1 where the oldest
    did not end.
    """
    times, ends = np.unique(seen[ended], return_counts=True)
    at_risk = len(seen) - np.searchsorted(np.sort(seen), times)
    return times, np.asarray(1 - np.cumprod(1 - ends / at_risk), np.float64)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every request lasts `seconds`; inf never ends.

    As of every distribution, `at` finds the lifetimes, seconds float64 [n], below which lie shares float64 [n] in
    [0, 1).
    """

    seconds: float

    summary: ClassVar[str] = "every request lasts equally long."
    drawn: ClassVar[bool] = False

    def at(self, uniform: Floats) -> Floats:
        return np.full(len(uniform), float(self.seconds))


class Exponential(Model):
    """Lifetimes without memory."""

    mean: PositiveTime = Field(description="Mean lifetime.", examples=["1 h"])

    summary: ClassVar[str] = "exponential with a `mean`."
    reference: ClassVar[str] = "Erlang's loss model, 1917"

    def at(self, uniform: Floats) -> Floats:
        return -self.mean * np.log1p(-uniform)


class Lognormal(Model):
    """Lifetimes whose logarithm is normal."""

    median: PositiveTime = Field(description="Half of all requests end before.", examples=["10 min"])
    sigma: Number = Field(description="Standard deviation of the natural logarithm.", examples=[1.5])

    summary: ClassVar[str] = "log-normal with a `median` and the logarithm's `sigma`."
    reference: ClassVar[str] = "Limpert et al., Log-normal Distributions across the Sciences, BioScience 2001"

    def at(self, uniform: Floats) -> Floats:
        from scipy.special import ndtri

        lifetimes: Floats = self.median * np.exp(self.sigma * ndtri(uniform))
        return lifetimes


class Empirical(Model):
    """Measured lifetimes. Either `quantiles`, or `values`."""

    quantiles: tuple[Time, ...] | None = Field(default=None, examples=["[1 s, 3 min, 2 h]"], min_length=2)
    """Ascending, at shares evenly spaced from 0 to 1; logarithmic between them."""
    values: tuple[Lifespan, ...] | None = Field(default=None, examples=["[5 min, never]"], min_length=1)
    """Exactly these, equally often."""

    summary: ClassVar[str] = "measured: evenly spaced `quantiles`, or `values`."
    reference: ClassVar[str] = "inverse transform sampling; Devroye, Non-Uniform Random Variate Generation, 1986"

    @model_validator(mode="after")
    def _form(self) -> Self:
        if (self.quantiles is None) == (self.values is None):
            raise wrong("needs either quantiles or values", "Give exactly one of the two.")
        if self.quantiles and any(low > high for low, high in pairwise(self.quantiles)):
            raise wrong("must ascend", "Order the quantiles from the shortest to the longest.", ("quantiles",))
        return self

    def at(self, uniform: Floats) -> Floats:
        if self.quantiles is not None:
            shares = np.linspace(0, 1, len(self.quantiles))
            return np.expm1(np.interp(uniform, shares, np.log1p(self.quantiles)))
        values = np.array(self.values, dtype=np.float64)
        return values[pick(np.ones(len(values)), uniform)]


def pick(weights: npt.ArrayLike, uniform: Floats) -> Ints:
    """Choose an index among weights by each uniform, int64 [n]."""
    edges = np.cumsum(weights) / np.sum(weights)
    return np.searchsorted(edges[:-1], uniform, side="right")
