"""Predicts the peak of what the requests of a server will use together, from what they used or from what they will.

The definitions are those of Bashir and others, EuroSys 2021, and of their simulator (`cluster-resource-forecast`):
requests that have run for less than `warm_up` count with all that they ask for, and no use with more than that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from binwright.simcore.fields import Model, Number, PositiveTime, Share, Time
from binwright.simcore.types import Floats, Ints

HOUR = 3600.0
Percent = Annotated[Number, Field(le=100)]


class Seen(NamedTuple):
    """Shows what is known of one resource and of the requests that run, in the order of their places, at a time.

    A place is a node of a server. `requested` int64 [requests] quanta; `steps` int64 [requests] counts the steps of
    `step` seconds for which each has been seen; `first` int64 [places] is the first request of every place with any.
    `used` int64 [requests, past] quanta are the last step, the one before it, and so on, 0 before a request began.
    `future` int64 [requests, steps to come] is empty, unless the predictor looks ahead.
    """

    step: float
    requested: Ints
    steps: Ints
    first: Ints
    used: Ints
    future: Ints

    def total(self, values: Ints) -> Ints:
        """Add up values of requests, int64 [requests, ...], to those of places, int64 [places, ...]."""
        return np.add.reduceat(values, self.first, axis=0)

    def warm(self, seconds: float) -> Seen:
        """Return the same with nothing of requests that were seen for less than this."""
        warm = self.steps >= max(1, ceil(seconds / self.step))
        return self._replace(requested=self.requested * warm, steps=self.steps * warm, used=self.used * warm[:, None])

    def past(self, seconds: float) -> tuple[Ints, Ints]:
        """Return `used` of the last seconds, one step at least, and how many of these steps each request was seen."""
        used = self.used[:, : max(1, ceil(seconds / self.step))]
        return used, np.minimum(self.steps, used.shape[1])

    def shares(self, seconds: float) -> tuple[Floats, Ints]:
        """Return which share of what is asked for a place used, float64 [places, past], and in how many steps."""
        used, steps = self.past(seconds)
        demand = self.total(np.where(np.arange(used.shape[1]) < steps[:, None], self.requested[:, None], 0))
        share: Floats = self.total(used) / np.maximum(demand, 1)
        return share, np.maximum.reduceat(steps, self.first)


class PeakPredictor(Model, ABC):
    """Predicts peaks. Subclasses override `peaks`."""

    @property
    def back(self) -> float:
        """How many seconds of what was used it is shown."""
        return 0.0

    @property
    def ahead(self) -> float:
        """How many seconds of what will be used it is shown, if it is an oracle."""
        return 0.0

    @abstractmethod
    def peaks(self, seen: Seen) -> Floats:
        """Return the predicted peak of each place in quanta, float64 [places]."""


class _OfPast(PeakPredictor):
    window: PositiveTime = Field(default=24 * HOUR, description="How far back it looks.", examples=["24 h"])
    warm_up: Time = 2 * HOUR
    """Requests that have run for less count with all that they ask for."""

    @property
    def back(self) -> float:
        return self.window

    def peaks(self, seen: Seen) -> Floats:
        warm = seen.warm(self.warm_up)
        return seen.total(seen.requested - warm.requested) + self.predict(warm)

    @abstractmethod
    def predict(self, seen: Seen) -> Floats:
        """Return the peak of those that are warm on each place, float64 [places]; others ask for nothing here."""


class PercentilePeak(_OfPast):
    """The percentile of what each request used lately, added up (as Resource Central has it), or of each server."""

    percentile: Percent = Field(description="Which percentile; 100 is the maximum.", examples=[99])
    of: Literal["requests", "server"] = "requests"
    """Whether percentiles are of each request, and added up, or of their sum."""

    def predict(self, seen: Seen) -> Floats:
        if self.of == "requests":
            values, steps = seen.past(self.window)
            peaks: Floats = np.add.reduceat(percentiles(values.astype(np.float64), steps, self.percentile), seen.first)
            return peaks
        together: Floats = percentiles(*seen.shares(self.window), self.percentile) * seen.total(seen.requested)
        return together


class SigmaPeak(_OfPast):
    """The mean of what a server used lately plus so many standard deviations."""

    sigma: Number = Field(description="How many standard deviations.", examples=[5])
    window: PositiveTime = Field(default=2 * HOUR, description="How far back it looks.", examples=["10 h"])

    def predict(self, seen: Seen) -> Floats:
        shares, steps = seen.shares(self.window)
        observed, count = np.arange(shares.shape[1]) < steps[:, None], np.maximum(steps, 1)
        mean = np.add.accumulate(np.where(observed, shares, 0), axis=1)[:, -1] / count
        spread = np.add.accumulate(np.where(observed, shares - mean[:, None], 0) ** 2, axis=1)[:, -1]
        deviation = np.sqrt(spread / np.maximum(count - 1, 1))
        peaks: Floats = np.minimum(mean + self.sigma * deviation, 1.0) * seen.total(seen.requested)
        return peaks


class LimitPeak(PeakPredictor):
    """A share of all that is asked for."""

    limit: Share = Field(description="Which share.", examples=[0.9])

    def peaks(self, seen: Seen) -> Floats:
        return seen.total(seen.requested).astype(np.float64) * self.limit


class OraclePeak(PeakPredictor):
    """The most that those who run now will use together, which nobody knows: the bound. Alone, `oracle` is 24 h."""

    oracle: PositiveTime = Field(description="How far it looks ahead.", examples=["24 h"])

    @property
    def ahead(self) -> float:
        return self.oracle

    def peaks(self, seen: Seen) -> Floats:
        peak: Ints = seen.total(seen.future[:, : ceil(self.oracle / seen.step)]).max(axis=1)
        return peak.astype(np.float64)


def percentiles(values: Floats, count: Ints, percentile: float) -> Floats:
    """Return a percentile of the first `count` int64 [n] of each row of values, float64 [n, k]; 0 of none.

    Between two values it is interpolated linearly.
    """
    ordered = np.sort(np.where(np.arange(values.shape[1]) < count[:, None], values, np.inf), axis=1)
    place = np.maximum(count - 1, 0) * (percentile / 100)
    low = np.floor(place).astype(np.int64)
    row = np.arange(len(values))
    below, above = ordered[row, low], ordered[row, np.minimum(low + 1, np.maximum(count - 1, 0))]
    some = count > 0
    below, above = np.where(some, below, 0.0), np.where(some, above, 0.0)
    interpolated: Floats = below + (above - below) * (place - low)
    return interpolated
