"""What requests use of what they ask for, as scenarios write it, and drawn.

A generated series is a normal process, part of which follows the time of day, and the rest of which is the request's
own; ranks of it become shares by a distribution of the request's own. All of that is computed where it is asked for,
from hashes of request and time, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import pi, sqrt
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Model, Quantity, Share, Shown, Where, checked, wrong
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Ints
from binwright.simcore.units import SHARE
from binwright.simcore.workload import Workload
from binwright.workloads.arrivals import DAY
from binwright.workloads.labels import matching, words_of
from binwright.workloads.traces.cells import plain_number

LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
BUSIEST, PERSISTS = 14 * 3600.0, 3600.0
"""When in a day of the trace's clock requests use most, and for about how long use stays the same, in seconds."""


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


@dataclass(frozen=True, eq=False)
class GeneratedUse:
    """Generates what share of what they ask for requests use, on a grid of `step` seconds.

    `of` int64 [n, resources, 2] has for each request and resource its distribution, a row of `shape` float64 [m, 5],
    whose columns are those of `Shape`, and its place in `cases`, which say how ranks of shares go on in time. `names`
    int64 [n] tell requests apart in hashes, into which `seeds` int64 [resources] go. The run begins at `origin`, in
    seconds of the trace's clock.
    """

    step: float
    origin: float
    cases: Sequence[UseCase]
    shape: Floats
    of: Ints
    names: Ints
    seeds: Ints

    def at(self, requests: Ints, step: int) -> Floats:
        """Return the shares in one step, float64 [requests, resources]."""
        return self._generated(requests, step, step + 1)[:, 0]

    def during(self, request: int, first: int, last: int) -> Floats:
        """Return the shares of a request in the steps from `first` to before `last`, float64 [steps, resources]."""
        result: Floats = self._generated(np.array([request]), first, last)[0]
        return result

    def take(self, rows: Ints) -> Self:
        """Return the use of the requests of these rows."""
        return replace(self, of=self.of[rows], names=self.names[rows])

    def _generated(self, requests: Ints, first: int, last: int) -> Floats:
        """Return the shares of requests in steps, float64 [requests, steps, resources]."""
        from binwright.workloads.use_kernels import generate  # numba: only who uses it pays for it

        result = np.empty((len(requests), last - first, len(self.seeds)))
        steps, day = np.arange(first, last), DAY / self.step
        busiest = (BUSIEST - self.origin % DAY) / self.step - 0.5
        wave = np.cos(2 * pi * (steps - busiest) / day)
        waves = [sqrt(2 * each.daily) * wave for each in self.cases]
        tables = (*self._tables, np.stack(waves))
        generate(requests, first, self.shape, tables, self.of, self.names, self.seeds, result)
        return result

    @cached_property
    def _tables(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernel needs to know of the cases."""
        from binwright.workloads.use_kernels import NORMAL, ranks_of

        own = np.sqrt([1 - each.daily for each in self.cases])
        persists = max(1, round(PERSISTS / self.step))
        after = np.arange(persists) / persists
        weights = np.stack([1 - after, after], axis=1)
        weights /= np.sqrt((weights**2).sum(axis=1, keepdims=True))
        return NORMAL, own, weights, np.stack([ranks_of(each.daily) for each in self.cases])


def _share_or_label(value: Any) -> Any:
    """Read a share, or the name of a label."""
    return value if isinstance(value, str) and value[:1].isalpha() else checked(SHARE.parse)(value)


ShareOrLabel: TypeAlias = Annotated[float | str, BeforeValidator(_share_or_label), Shown("share from 0, or label")]


class UseCase(Model):
    """Some requests use shares that are generated: they rise and fall, each by itself and with the time of day."""

    of: Where = Field(default_factory=dict, examples=["{group: web}"])
    """Only requests with one of these values of every label, or of `group`. The first case of a request counts; without
    one it uses all it asks for."""
    mean: ShareOrLabel = Field(description="The mean over time, or a label that says it.", examples=["25 %", "avg_cpu"])
    p95: ShareOrLabel | None = Field(default=None, examples=["60 %", "p95_cpu"])
    """The 95th percentile over time."""
    peak: ShareOrLabel = Field(default=1.0, description="The most that they use.", examples=["90 %", "max_cpu"])
    unit: Share = Field(default=1.0, description="What a 1 in these labels is.", examples=["1 %"])
    daily: Annotated[float, Quantity("share from 0", SHARE, most="95 %")] = Field(default=0.0, examples=["40 %"])
    """The share of the variance that follows the time of day."""

    @property
    def labels(self) -> list[str]:
        """The labels that say shares."""
        return [value for value in (self.mean, self.p95, self.peak) if isinstance(value, str)]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        mean, p95, peak = (value if isinstance(value, float) else None for value in (self.mean, self.p95, self.peak))
        for key, share in (("mean", mean), ("p95", p95)):
            if share is not None and peak is not None and share > peak:
                raise wrong("is above the peak", "Give less, or a higher `peak`.", (key,), share)
        if mean is None or peak is None:
            return self
        low, high = (0.05 * p95, 0.95 * p95 + 0.05 * peak) if p95 is not None else (0.0, peak)
        if not low <= mean <= high:
            remedy = f"Give {low:.4g} to {high:.4g}, which goes with this p95 and peak."
            raise wrong("no distribution has this mean", remedy, ("mean",), mean)
        return self

    def shape(self, base: Workload, rows: Ints, key: str) -> Shape:
        """Find the distribution of each of these rows, int64 [n]."""
        mean = _numbers(base, rows, self.mean, self.unit, f"{key}.mean")
        peak = _numbers(base, rows, self.peak, self.unit, f"{key}.peak")
        p95 = None if self.p95 is None else _numbers(base, rows, self.p95, self.unit, f"{key}.p95")
        for name, shares in (("mean", mean), ("p95", p95)):
            if shares is not None and (above := shares > peak * (1 + 1e-9)).any():
                first, remedy = int(above.argmax()), "Check the columns and their `unit`, or give a higher `peak`."
                problem = f"request {base.id[rows[first]]} and {above.sum() - 1} others use more than their peak"
                value = f"{shares[first]:.4g}, above {peak[first]:.4g}"
                raise WorkloadError(problem, key=f"{key}.{name}", value=value, remedy=remedy)
        return shape_of(mean, peak, None if p95 is None else np.minimum(p95, peak))


def _numbers(base: Workload, rows: Ints, value: float | str, unit: float, key: str) -> Floats:
    """Return a share of each of these rows, float64 [n]: one number, or what their label says."""
    if isinstance(value, float):
        return np.full(len(rows), value)
    words = words_of(base, value, key)[rows]
    numbers = [plain_number(word) for word in words.tolist()]
    shares = np.array([np.nan if number is None else number * unit for number in numbers], np.float64)
    if (odd := ~((shares >= 0) & (shares <= LARGEST))).any():
        first = int(odd.argmax())
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        problem = f"the label of request {base.id[rows[first]]} is no share"
        raise WorkloadError(problem, key=key, value=str(words[first]), remedy=remedy)
    return shares


def draw_use(
    base: Workload, step: float, cases: Mapping[str, Sequence[UseCase]], others: Sequence[UseCase], seed: int
) -> GeneratedUse:
    """Draw what the requests of a workload use, by resource; `others` are the cases of resources that are not named."""
    processes, shapes = [UseCase(mean=1.0)], [np.stack(shape_of([1.0], [1.0]), axis=1)]  # of who is in no case
    of = np.zeros((len(base), len(base.resources), 2), np.int64)
    for r, resource in enumerate(base.resources):
        own, at = cases.get(resource, others), f"workload.use.{resource if resource in cases else 'others'}"
        undecided = np.ones(len(base), np.bool_)
        for place, case in enumerate(own):
            key = f"{at}.{place}" if len(own) > 1 else at
            rows = np.flatnonzero(undecided & matching(base, dict(where_of(case.of)), key))
            undecided[rows] = False
            alike, places = np.unique(np.stack(case.shape(base, rows, key), axis=1), axis=0, return_inverse=True)
            of[rows, r, 0], of[rows, r, 1] = sum(map(len, shapes)) + places.reshape(-1), len(processes)
            shapes.append(alike)
            processes.append(case)
    seeds = [stream(seed, "workload", "use", resource).integers(2**62) for resource in base.resources]
    names = np.arange(len(base))
    return GeneratedUse(step, base.origin, processes, np.concatenate(shapes), of, names, np.array(seeds, np.int64))
