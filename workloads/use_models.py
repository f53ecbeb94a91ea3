"""Says what requests use of what they ask for, as scenarios write it, and draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Model, PositiveTime, Share, ShareFromZero, Shown, Time, Where, checked, wrong
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Ints, Workload
from binwright.simcore.units import SHARE
from binwright.workloads.arrivals import DAY
from binwright.workloads.changes import matching, words_of
from binwright.workloads.traces.cells import plain_number
from binwright.workloads.use import GeneratedUse, Process, Shape, UseByResource, shape_of


def _share_or_label(value: Any) -> Any:
    """Read a share, or the name of a label."""
    return value if isinstance(value, str) and value[:1].isalpha() else checked(SHARE.parse)(value)


ShareOrLabel: TypeAlias = Annotated[
    float | str,
    BeforeValidator(_share_or_label),
    Shown("share from 0, or label"),
]


class VaryingUse(Model):
    """Requests use shares that are generated: they rise and fall, each by itself and with the time of day."""

    of: Where = Field(
        default_factory=dict,
        description="Only requests with one of these values of every label, or of `group`. The first case of a "
        "request counts; without one it uses all it asks for.",
        examples=["{group: web}"],
    )
    mean: ShareOrLabel = Field(description="The mean over time, or a label that says it.", examples=["25 %", "avg_cpu"])
    p95: ShareOrLabel | None = Field(
        default=None, description="The 95th percentile over time.", examples=["60 %", "p95_cpu"]
    )
    peak: ShareOrLabel = Field(default=1.0, description="The most that they use.", examples=["90 %", "max_cpu"])
    unit: Share = Field(default=1.0, description="What a 1 in these labels is.", examples=["1 %"])
    daily: ShareFromZero = Field(
        default=0.0, le=0.95, description="The share of the variance that follows the time of day.", examples=["40 %"]
    )
    busiest: Time = Field(
        default=14 * 3600.0, description="When in a day of the trace's clock they use most.", examples=["20 h"]
    )
    persists: PositiveTime = Field(
        default=3600.0, le=366 * DAY, description="For about how long use stays the same.", examples=["30 min"]
    )

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

    def process(self, step: float, origin: float) -> Process:
        """Say how it goes on in steps, for a run that begins at `origin` of the trace's clock."""
        return Process(
            day=DAY / step,
            daily=self.daily,
            busiest=(self.busiest - origin % DAY) / step - 0.5,
            persists=max(1, round(self.persists / step)),
        )

    def shape(self, base: Workload, rows: Ints, key: str) -> Shape:
        """Find the distribution of each of these rows, int64 [n]."""
        mean = _numbers(base, rows, self.mean, self.unit, f"{key}.mean")
        peak = _numbers(base, rows, self.peak, self.unit, f"{key}.peak")
        p95 = None if self.p95 is None else _numbers(base, rows, self.p95, self.unit, f"{key}.p95")
        for name, result in (("mean", mean), ("p95", p95)):
            if result is not None and (above := result > peak * (1 + 1e-9)).any():
                first, remedy = int(above.argmax()), "Check the columns and their `unit`, or give a higher `peak`."
                problem = f"request {base.id[rows[first]]} and {above.sum() - 1} others use more than their peak"
                value = f"{result[first]:.4g}, above {peak[first]:.4g}"
                raise WorkloadError(problem, key=f"{key}.{name}", value=value, remedy=remedy)
        return shape_of(mean, peak, None if p95 is None else np.minimum(p95, peak))


def _numbers(base: Workload, rows: Ints, value: float | str, unit: float, key: str) -> Floats:
    """Return a share of each of these rows, float64 [n]: one number, or what their label says."""
    if isinstance(value, float):
        return np.full(len(rows), value)
    words = words_of(base, value, key)[rows]
    result = np.array(
        [np.nan if (share := plain_number(word)) is None else share * unit for word in words.tolist()], np.float64
    )
    if (odd := ~((result >= 0) & (result <= LARGEST))).any():
        first = int(odd.argmax())
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        problem = f"the label of request {base.id[rows[first]]} is no share"
        raise WorkloadError(problem, key=key, value=str(words[first]), remedy=remedy)
    return result


LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""


def draw_use(
    base: Workload,
    step: float,
    cases: Mapping[str, Sequence[VaryingUse]],
    others: Sequence[VaryingUse],
    seed: int,
) -> UseByResource:
    """Draw what the requests of a workload use, by resource; `others` are the cases of resources that are not named."""
    uses = []
    for resource in base.resources:
        mine = cases.get(resource, others)
        at = f"workload.use.{resource if resource in cases else 'others'}"
        keys = [f"{at}.{number}" if len(mine) > 1 else at for number in range(len(mine))]
        uses.append(_generated(base, step, resource, mine or [VaryingUse(mean=1.0)], keys or [at], seed))
    return UseByResource(step, tuple(uses))


def _generated(
    base: Workload, step: float, resource: str, cases: Sequence[VaryingUse], keys: Sequence[str], seed: int
) -> GeneratedUse:
    """Draw what requests use of one resource, by cases and their keys in the scenario."""
    undecided = np.ones(len(base), np.bool_)
    of = np.stack([np.zeros(len(base), np.int64), np.full(len(base), -1), np.arange(len(base))], axis=1)
    shapes: list[Floats] = []
    for place, (case, key) in enumerate(zip(cases, keys, strict=True)):
        rows = np.flatnonzero(undecided & matching(base, dict(where_of(case.of)), key))
        undecided[rows] = False
        shape = np.stack(case.shape(base, rows, key), axis=1)
        alike, places = np.unique(shape, axis=0, return_inverse=True)
        of[rows, 0] = sum(map(len, shapes)) + places.reshape(-1)
        of[rows, 1] = place
        shapes.append(alike)
    processes = tuple(case.process(step, base.origin) for case in cases)
    draw = stream(seed, "workload", "use", resource).integers(2**62)
    return GeneratedUse(np.concatenate(shapes), processes, of, int(draw))
