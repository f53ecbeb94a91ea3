"""How long generated requests last: each distribution as its inverse, so that one uniform gives one lifetime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from simcore.types import Floats, Ints


class Lifetimes(Protocol):
    """A distribution; its fields are the options that a scenario may set."""

    summary: ClassVar[str]
    reference: ClassVar[str]

    def at(self, uniform: Floats) -> Floats:
        """Find the lifetimes, seconds float64 [n], below which lie the shares `uniform`, float64 [n] in [0, 1)."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every request lasts `seconds`; inf never ends."""

    seconds: float

    summary: ClassVar[str] = "every request lasts equally long."
    reference: ClassVar[str] = "-"
    drawn: ClassVar[bool] = False

    def at(self, uniform: Floats) -> Floats:
        return np.full(len(uniform), float(self.seconds))


@dataclass(frozen=True, slots=True)
class Exponential:
    """Without memory, `mean` seconds on average."""

    mean: float

    summary: ClassVar[str] = "exponential with a `mean`."
    reference: ClassVar[str] = "Erlang's loss model, 1917"

    def at(self, uniform: Floats) -> Floats:
        return -self.mean * np.log1p(-uniform)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Half of all requests end before `median` seconds; `sigma` is the standard deviation of the logarithm."""

    median: float
    sigma: float

    summary: ClassVar[str] = "log-normal with a `median` and the logarithm's `sigma`."
    reference: ClassVar[str] = "Limpert et al., Log-normal Distributions across the Sciences, BioScience 2001"

    def at(self, uniform: Floats) -> Floats:
        from scipy.special import ndtri

        lifetimes: Floats = self.median * np.exp(self.sigma * ndtri(uniform))
        return lifetimes


@dataclass(frozen=True, slots=True)
class Empirical:
    """Measured lifetimes, in one of two forms.

    `quantiles`: finite and ascending, at shares evenly spaced from 0 to 1; between two of them, log(1 + lifetime)
    grows in a straight line. `values`: exactly these, inf among them never ends, with `weights` (equal if empty).
    """

    quantiles: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    summary: ClassVar[str] = "measured: evenly spaced `quantiles`, or `values` with `weights`."
    reference: ClassVar[str] = "inverse transform sampling; Devroye, Non-Uniform Random Variate Generation, 1986"

    def at(self, uniform: Floats) -> Floats:
        if self.values:
            return np.array(self.values, dtype=np.float64)[pick(self.weights or (1.0,) * len(self.values), uniform)]
        shares = np.linspace(0, 1, len(self.quantiles))
        return np.expm1(np.interp(uniform, shares, np.log1p(self.quantiles)))


def pick(weights: tuple[float, ...], uniform: Floats) -> Ints:
    """Choose an index among weights by each uniform, int64 [n]."""
    return np.searchsorted(edges_of(weights), uniform, side="right")


def edges_of(weights: npt.ArrayLike) -> Floats:
    """Return the shares of k weights up to each of them but the last one, float64 [k - 1]."""
    edges: Floats = np.cumsum(weights) / np.sum(weights)
    return edges[:-1]
