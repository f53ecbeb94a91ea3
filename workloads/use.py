"""What requests use of what they ask for: a share, or a series that is generated.

A generated series is a normal process, part of which follows the time of day, and the rest of which is the request's
own; ranks of it become shares by a distribution of the request's own. All of that is computed where it is asked for,
from hashes of request and time, and nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import pi, sqrt
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.types import Floats, Ints


class Shape(NamedTuple):
    """Holds distributions of shares, float64 [n] each: what share is at rank u.

    Up to rank `cut` it is `knee * (u / cut) ** body`, and beyond it goes from there to `top` as a power `tail`.
    """

    cut: Floats
    knee: Floats
    body: Floats
    top: Floats
    tail: Floats


def shape_of(mean: npt.ArrayLike, peak: npt.ArrayLike, p95: npt.ArrayLike | None = None) -> Shape:
    """Find distributions with these means and highest shares, float64 [n] each, and 95th percentiles if they are known.

    No mean is above the peak, and no percentile.
    """
    low, top = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(peak, np.float64))
    ones = np.ones(low.shape)
    if p95 is None:
        return Shape(ones, top, np.maximum(top / np.maximum(low, 1e-12) - 1, 0), top, ones)
    cut, knee = 0.95 * ones, np.broadcast_to(np.asarray(p95, np.float64), low.shape)
    # What the mean has beyond the knee at ranks above the cut is shared between body and tail, half of it at most.
    beyond = np.clip(low - (1 - cut) * knee, 0, None)
    above = np.minimum((1 - cut) * (top - knee) / 2, beyond / 2)
    above = np.clip(above, beyond - cut * knee, (1 - cut) * (top - knee))
    below = np.minimum(beyond - above, cut * knee)
    body = np.maximum(cut * knee / np.maximum(below, 1e-12) - 1, 0)
    tail = np.maximum((1 - cut) * (top - knee) / np.maximum(above, 1e-12) - 1, 0)
    return Shape(cut, knee, body, top, tail)


@dataclass(frozen=True, slots=True)
class Process:
    """Says how the ranks of a request's shares go on in time, in steps.

    `daily` is the share of the variance that follows the time of day, which is highest at step `busiest` of a day of
    `day` steps. Ranks stay about the same for `persists` steps.
    """

    day: float
    daily: float = 0.0
    busiest: float = 0.0
    persists: int = 1


@dataclass(frozen=True, eq=False)
class GeneratedUse:
    """Generates what requests use of one resource.

    `of` int64 [n, 3] says of each request its distribution, a row of `shape` float64 [m, 5], whose columns are those of
    `Shape`; its place in `process`, -1 where it uses all of the resource; and the number that names it in hashes, into
    which `seed` goes.
    """

    shape: Floats
    process: tuple[Process, ...]
    of: Ints
    seed: int

    def block(self, requests: Ints, first: int, last: int) -> Floats:
        from binwright.workloads.use_kernels import generate  # numba: only who uses it pays for it

        result = np.empty((len(requests), last - first))
        steps = np.arange(first, last)
        waves = [sqrt(2 * each.daily) * np.cos(2 * pi * (steps - each.busiest) / each.day) for each in self.process]
        generate(requests, first, self.shape, (*self._tables, np.stack(waves)), self.of, self.seed, result)
        return result

    @cached_property
    def _tables(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernel needs to know of processes."""
        from binwright.workloads.use_kernels import NORMAL, ranks_of

        own = np.sqrt([1 - each.daily for each in self.process])
        persists = np.array([each.persists for each in self.process], np.int64)
        after = np.arange(persists.max()) / persists[:, None]
        weights = np.stack([1 - after, after], axis=2)
        weights /= np.sqrt((weights**2).sum(axis=2, keepdims=True))
        return NORMAL, own, persists, weights, np.stack([ranks_of(each.daily) for each in self.process])

    def take(self, rows: Ints) -> Self:
        return replace(self, of=self.of[rows])


@dataclass(frozen=True, eq=False)
class RecordedUse:
    """Gives shares of one resource that were recorded, from when each request arrived; beyond their end they repeat.

    Of request r they are `values[first[r] : first[r] + length[r]]` float32, the first of them of step `begins[r]`,
    which may be before the run. Who has none, a `length` of 0, uses what `others` say.
    """

    values: npt.NDArray[np.float32]
    first: Ints
    length: Ints
    begins: Ints
    others: ResourceUse

    def block(self, requests: Ints, first: int, last: int) -> Floats:
        result = np.empty((len(requests), last - first))
        recorded = self.length[requests] > 0
        result[~recorded] = self.others.block(requests[~recorded], first, last)
        rows = requests[recorded]
        since = np.clip(np.arange(first, last) - self.begins[rows, None], 0, None)
        result[recorded] = self.values[self.first[rows, None] + since % self.length[rows, None]]
        return result

    def take(self, rows: Ints) -> Self:
        columns = {name: getattr(self, name)[rows] for name in ("first", "length", "begins")}
        return replace(self, others=self.others.take(rows), **columns)


ResourceUse: TypeAlias = GeneratedUse | RecordedUse


@dataclass(frozen=True, eq=False)
class UseByResource:
    """Says for every resource separately what share of it requests use, on a grid of `step` seconds."""

    step: float
    resources: tuple[ResourceUse, ...]

    def at(self, requests: Ints, step: int) -> Floats:
        """Return the shares in one step, float64 [requests, resources]."""
        return np.stack([each.block(requests, step, step + 1)[:, 0] for each in self.resources], axis=1)

    def during(self, request: int, first: int, last: int) -> Floats:
        """Return the shares of a request in the steps from `first` to before `last`, float64 [steps, resources]."""
        return np.stack([each.block(np.array([request]), first, last)[0] for each in self.resources], axis=1)

    def take(self, rows: Ints) -> Self:
        """Return the use of the requests of these rows."""
        return replace(self, resources=tuple(each.take(rows) for each in self.resources))
