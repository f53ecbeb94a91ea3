"""Predictions of how long requests stay: the truth with noise, tables of survival, and a control that knows nothing."""

from math import exp, inf, log
from typing import ClassVar, TypeAlias

import numpy as np
from pydantic import Field, PrivateAttr

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Count, Model, Number, Text
from binwright.simcore.types import Floats, Ints
from binwright.simcore.workload import Workload
from binwright.workloads.labels import words_of
from binwright.workloads.lifetimes import kaplan_meier


class Predictor:
    """Predicts how long requests stay. Subclasses override `predict`; constructor arguments are options of the YAML."""

    reference: ClassVar[str] = "-"
    sees_truth: ClassVar[bool] = False
    """Are its predictions made of how long requests do stay, as those of an oracle that errs?"""
    drawn: ClassVar[bool] = True
    """Do its predictions depend on the seed, beside what the requests are?"""

    def fit(self, training: Workload) -> None:
        """Learn from other requests, of which all is known. Called once, before any prediction."""

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        """Return how long each request is expected to stay, seconds float64 [n].

        Their `duration` is NaN, unless `sees_truth`; `rng` is the same for all agents of a seed.
        """
        raise NotImplementedError

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        """Return how long a request is expected to stay in all, seconds, now that it still runs after `elapsed`.

        `first` is what was predicted when it arrived. By default that is said until it has passed, and then twice as
        long as it has run.
        """
        return first if first > elapsed else 2 * elapsed


class Noise(Model, Predictor):
    """Predictions are the truth times a random factor, whose logarithm is normal."""

    sigma: Number = Field(le=10, examples=[1])
    """Standard deviation of the factor's natural logarithm; 0 is the truth."""

    summary: ClassVar[str] = "the truth times a random factor; `sigma` of its logarithm."
    reference: ClassVar[str] = "ours; noise on the logarithm as of Barbalho and others 2023, MLSys"
    sees_truth: ClassVar[bool] = True

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        import scipy.special  # noqa: F401 # now, and not while an agent decides

        result: Floats = requests.duration * np.exp(self.sigma * rng.standard_normal(len(requests)))
        return result

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        """Return the median of what the truth may be, given the prediction and that it is more than `elapsed`."""
        from scipy.special import log_ndtr, ndtri_exp

        if not self.sigma or not first or first == inf:
            return first
        beyond = log_ndtr((log(first) - log(elapsed)) / self.sigma)  # the logarithm of how likely that was
        return max(elapsed, first * exp(min(-self.sigma * float(ndtri_exp(beyond - log(2))), 700.0)))


_Stays: TypeAlias = tuple[Floats, Floats]
"""How long requests stayed, ascending, and the share that has ended by each of these times."""


class Survival(Model, Predictor):
    """Predictions are the median lifetime of others of the same kind that stayed as long."""

    by: Text = Field(default="flavour", examples=["tenant"])
    """The kinds: `flavour` for equal demands, `group`, or a label of the requests, such as `tenant`."""
    least: Count = Field(default=30, description="Kinds of fewer requests share the table of all.", examples=[100])

    summary: ClassVar[str] = "the median of others of the same flavour or group that stayed as long."
    reference: ClassVar[str] = "Kaplan and Meier 1958, Nonparametric estimation from incomplete observations"
    drawn: ClassVar[bool] = False
    _tables: dict[object, _Stays] = PrivateAttr(default_factory=dict)
    _all: _Stays = PrivateAttr(default_factory=lambda: (np.zeros(0), np.zeros(0)))

    def fit(self, training: Workload) -> None:
        """Sort how long the requests of every kind stayed; those seen in part count by what was seen."""
        kinds, of = self._kinds(training, slice(None))
        order = np.argsort(of, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(of, minlength=len(kinds)))[:-1])
        self._all = _stays(training, order)
        self._tables = {
            kind: _stays(training, part) for kind, part in zip(kinds, parts, strict=True) if len(part) >= self.least
        }

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        kinds, of = self._kinds(requests, slice(None))
        return np.array([_median(self._tables.get(kind, self._all), -1.0) for kind in kinds])[of]

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        """Return the median of those that stayed longer; where none did, twice as long as until now."""
        ((kind,), _) = self._kinds(requests, slice(row, row + 1))
        return _median(self._tables.get(kind, self._all), elapsed)

    def _kinds(self, requests: Workload, rows: slice) -> tuple[list[object], Ints]:
        """List the kinds of these requests, and the place there of each, int64 [rows]."""
        if self.by == "flavour":
            demands, of = np.unique(requests.demand[rows], axis=0, return_inverse=True)
            return [tuple(demand) for demand in demands.tolist()], of.reshape(-1)
        if self.by == "group" and requests.roles is None:
            return [""], np.zeros(len(requests.demand[rows]), np.int64)
        words = words_of(requests, self.by, "knowledge.lifetimes.predicted.survival.by")
        result, of = np.unique(words[rows], return_inverse=True)
        return [str(word) for word in result], of.reshape(-1)


def _stays(training: Workload, rows: Ints) -> _Stays:
    """Make the table of these rows."""
    watched = np.full(len(rows), np.nan) if training.watched is None else training.watched[rows]
    ended = np.isnan(watched)
    return kaplan_meier(np.where(ended, training.duration[rows], watched), ended)


def _median(table: _Stays, elapsed: float) -> float:
    """Return the median of the times of a table that are above `elapsed`; infinite where it was never seen."""
    times, share = table
    first = int(np.searchsorted(times, elapsed, side="right"))
    if first == len(times):
        return 2.0 * elapsed
    place = int(np.searchsorted(share, (1.0 + (share[first - 1] if first else 0.0)) / 2 - 1e-9))
    return float(times[place]) if place < len(times) else inf


class Requested(Predictor):
    """Agents are told how long users asked for, and that this is over at any moment once it has passed.

    Where that is not known, they are told the truth.
    """

    summary: ClassVar[str] = "the time that users asked for, of traces that have it."
    drawn: ClassVar[bool] = False
    sees_truth: ClassVar[bool] = True

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        if requests.requested is None:
            remedy = "Take a trace that does, such as swf, or predict lifetimes in another way."
            key = "knowledge.lifetimes.predicted.requested"
            raise WorkloadError("the requests do not say how long users asked for", key=key, remedy=remedy)
        return np.where(np.isnan(requests.requested), requests.duration, requests.requested)

    def again(self, requests: Workload, row: int, first: float, elapsed: float) -> float:
        return first


class Shuffled(Predictor):
    """The control: each request is told how long another one stays, so that only the mix is right."""

    summary: ClassVar[str] = "the control: the truth about another request."
    sees_truth = True

    def predict(self, requests: Workload, rng: np.random.Generator) -> Floats:
        return rng.permutation(requests.duration)
