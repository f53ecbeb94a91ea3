"""Says what requests use of what they ask for, as scenarios write it, and draws it for a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Model, PositiveTime, Share, ShareFromZero, Shown, Text, Time, checked, wrong
from binwright.simcore.json_schema import quantity
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Workload
from binwright.simcore.units import SHARE
from binwright.workloads.changes import matching, words_of
from binwright.workloads.traces.cells import is_number
from binwright.workloads.use import GeneratedUse, Process, ResourceUse, Shape, UseByResource, shape_of
from binwright.workloads.use_series import LARGEST, RecordedCase, UseCase

DAY = 86_400.0


def _share_or_label(value: Any) -> Any:
    """Read a share, or the name of a label."""
    if isinstance(value, str) and value[:1].isalpha():
        return value
    return checked(SHARE.parse)(value)


SHARE_OR_LABEL: list[Any] = [*quantity(SHARE)["anyOf"], {"type": "string", "pattern": "^[A-Za-z]"}]
ShareOrLabel: TypeAlias = Annotated[
    float | str,
    BeforeValidator(_share_or_label),
    WithJsonSchema({"anyOf": SHARE_OR_LABEL}),
    Shown("share from 0, or label"),
]


class ConstantUse(UseCase):
    """Requests use a share, all the time."""

    share: ShareOrLabel = Field(description="The share, or the label that says it.", examples=["40 %", "avg_cpu"])
    unit: Share = Field(default=1.0, description="What a 1 in a label is.", examples=["1 %"])

    def labels(self) -> list[str]:
        """List the labels that say shares."""
        return [self.share] if isinstance(self.share, str) else []


class Bursts(Model):
    """Times in which a request uses its peak."""

    share: Share = Field(le=0.5, description="The share of the time.", examples=["1 %"])
    lasts: PositiveTime = Field(default=900.0, description="How long each lasts.", examples=["15 min"])


class Together(Model):
    """What the use of some requests has in common."""

    by: Text = Field(description="The label whose values go together.", examples=["tenant"])
    share: Share = Field(description="The share of the variance, beside the time of day's.", examples=["30 %"])


class VaryingUse(UseCase):
    """Requests use shares that are generated: they rise and fall, each by itself and with the time of day."""

    mean: ShareOrLabel = Field(description="The mean over time, or a label that says it.", examples=["25 %", "avg_cpu"])
    p95: ShareOrLabel | None = Field(
        default=None, description="The 95th percentile over time.", examples=["60 %", "p95_cpu"]
    )
    peak: ShareOrLabel = Field(default=1.0, description="The most that they use.", examples=["90 %", "max_cpu"])
    unit: Share = Field(default=1.0, description="What a 1 in these labels is.", examples=["1 %"])
    varies: ShareFromZero = Field(
        default=0.0,
        description="The standard deviation of the requests' means (a beta distribution).",
        examples=["10 %"],
    )
    daily: ShareFromZero = Field(
        default=0.0, le=0.95, description="The share of the variance that follows the time of day.", examples=["40 %"]
    )
    busiest: Time = Field(
        default=14 * 3600.0, description="When in a day of the trace's clock they use most.", examples=["20 h"]
    )
    persists: PositiveTime = Field(
        default=3600.0, description="For about how long use stays the same.", examples=["30 min"]
    )
    bursts: Bursts | None = Field(
        default=None, description="Times in which a request uses its peak.", examples=["{share: 1 %, lasts: 15 min}"]
    )
    together: Together | None = Field(
        default=None,
        description="Requests that rise and fall together.",
        examples=["{by: tenant, share: 30 %}"],
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.persists > 366 * DAY:
            raise wrong("is above a year", "Give 366 d or less.", ("persists",), self.persists)
        said = {key: value for key in ("mean", "p95", "peak") if isinstance(value := getattr(self, key), float)}
        if (most := said.get("peak")) is not None:
            for key in said:
                if said[key] > most:
                    raise wrong("is above the peak", "Give less, or a higher `peak`.", (key,), said[key])
        if self.varies and not (isinstance(self.mean, float) and isinstance(self.peak, float)):
            raise wrong("is for a mean and a peak that are numbers", "Remove it: labels say it.", ("varies",))
        if self.varies and self.varies**2 >= said["mean"] * (said["peak"] - said["mean"]):
            raise wrong("is more than any distribution from 0 to the peak has", "Give less.", ("varies",), self.varies)
        if self.bursts and self.p95 is not None:
            raise wrong("does not go with bursts", "Remove one of the two.", ("p95",))
        if self.bursts and "mean" in said and "peak" in said and self.bursts.share * said["peak"] > said["mean"]:
            raise wrong("use more than the mean", "Give bursts a lower share.", ("bursts", "share"))
        if "p95" in said and "mean" in said and "peak" in said:
            low, high = 0.05 * said["p95"], 0.95 * said["p95"] + 0.05 * said["peak"]
            if not low <= said["mean"] <= high:
                remedy = f"Give {low:.4g} to {high:.4g}, which goes with this p95 and peak."
                raise wrong("no distribution has this mean", remedy, ("mean",), said["mean"])
        return self

    def process(self, step: float, origin: float) -> Process:
        """Say how it goes on in steps, for a run that begins at `origin` of the trace's clock."""
        return Process(
            day=DAY / step,
            daily=self.daily,
            busiest=(self.busiest - origin % DAY) / step - 0.5,
            common=self.together.share if self.together else 0.0,
            persists=max(1, round(self.persists / step)),
            bursts=self.bursts.share if self.bursts else 0.0,
            lasts=max(1, round(self.bursts.lasts / step)) if self.bursts else 1,
        )

    def shape(self, base: Workload, rows: Any, rng: np.random.Generator, key: str) -> Shape:
        """Draw the distribution of each of these rows, int64 [n]."""
        mean = _numbers(base, rows, self.mean, self.unit, f"{key}.mean")
        peak = _numbers(base, rows, self.peak, self.unit, f"{key}.peak")
        p95 = None if self.p95 is None else _numbers(base, rows, self.p95, self.unit, f"{key}.p95")
        if self.varies:
            m = mean / peak
            total = m * (1 - m) / (self.varies / peak) ** 2 - 1
            mean = peak * rng.beta(m * total, (1 - m) * total)
        for name, found in (("mean", mean), ("p95", p95)):
            above = np.zeros(len(rows), np.bool_) if found is None else found > peak * (1 + 1e-9)
            if found is not None and above.any():
                first = int(above.argmax())
                raise WorkloadError(
                    f"request {base.id[rows[first]]} and {above.sum() - 1} others use more than their peak",
                    key=f"{key}.{name}",
                    value=f"{found[first]:.4g}, above {peak[first]:.4g}",
                    remedy="Check the columns and their `unit`, or give a higher `peak`.",
                )
        if self.bursts:
            mean = np.clip((mean - self.bursts.share * peak) / (1 - self.bursts.share), 0, None)
        return shape_of(mean, peak, None if p95 is None else np.minimum(p95, peak))

    def labels(self) -> list[str]:
        """List the labels that say shares."""
        return [each for each in (self.mean, self.p95, self.peak) if isinstance(each, str)]


def _numbers(base: Workload, rows: Any, said: float | str, unit: float, key: str) -> Floats:
    """Return a share of each of these rows, float64 [n]: one number, or what their label says."""
    if isinstance(said, float):
        return np.full(len(rows), said)
    words = words_of(base, said, key)[rows]
    try:
        found: Floats = words.astype(np.float64) * unit
        wrong_one = ~((found >= 0) & (found <= LARGEST))
    except ValueError:
        wrong_one = np.array([not is_number(word) for word in words.tolist()])
    if wrong_one.any():
        first = int(wrong_one.argmax())
        raise WorkloadError(
            f"the label of request {base.id[rows[first]]} is no share",
            key=key,
            value=str(words[first]),
            remedy=f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`.",
        )
    return found


Cases: TypeAlias = Sequence[ConstantUse | VaryingUse | RecordedCase]


def draw_use(
    base: Workload,
    step: float,
    cases: Mapping[str, Cases],
    others: Cases,
    seed: int,
    cache: Path | None = None,
) -> UseByResource:
    """Draw what the requests of a workload use, by resource; `others` are the cases of resources that are not named.

    What traces recorded is kept in the folder `cache`.
    """
    resources = [
        _of_resource(base, step, name, cases.get(name, others), name if name in cases else "others", seed, cache)
        for name in base.resources
    ]
    return UseByResource(step, tuple(resources))


def _of_resource(
    base: Workload, step: float, resource: str, cases: Cases, written: str, seed: int, cache: Path | None
) -> float | ResourceUse:
    """Draw what requests use of one resource, which the scenario speaks of under the key `written`."""
    for number, case in enumerate(cases):
        if isinstance(case, RecordedCase):
            key = f"workload.use.{written}" + f".{number}" * (len(cases) > 1)
            rows = np.flatnonzero(matching(base, dict(where_of(case.of)), key))
            left = [*cases[:number], *cases[number + 1 :]]
            others = _of_resource(base, step, resource, left, written, seed, cache)
            return case.draw(base, rows, step, resource, others, key, cache)
    if not cases:
        return 1.0
    if len(cases) == 1 and isinstance(one := cases[0], ConstantUse) and not one.of and isinstance(one.share, float):
        return one.share
    rng = stream(seed, "workload", "use", resource)
    undecided = np.ones(len(base), np.bool_)
    of = np.zeros((len(base), 4), np.int64)
    of[:, 1], of[:, 2] = -1, np.arange(len(base))
    shapes: list[Floats] = []
    for number, case in enumerate(cases):
        key = f"workload.use.{written}" + f".{number}" * (len(cases) > 1)
        rows = np.flatnonzero(undecided & matching(base, dict(where_of(case.of)), key))
        undecided[rows] = False
        of[rows, 1] = number
        assert not isinstance(case, RecordedCase)  # of which there are none left
        if isinstance(case, ConstantUse):
            share = _numbers(base, rows, case.share, case.unit, f"{key}.share")
            shape = shape_of(share, share, share)
        else:
            shape = case.shape(base, rows, rng, key)
        alike, places = np.unique(np.stack(shape, axis=1), axis=0, return_inverse=True)
        of[rows, 0] = sum(map(len, shapes)) + places.reshape(-1)
        shapes.append(alike)
        if isinstance(case, VaryingUse) and case.together:
            words = words_of(base, case.together.by, f"{key}.together.by")
            of[rows, 3] = np.unique(words, return_inverse=True)[1].reshape(-1)[rows]
    processes = [
        case.process(step, base.origin) if isinstance(case, VaryingUse) else Process(DAY / step) for case in cases
    ]
    return GeneratedUse(np.concatenate(shapes), tuple(processes), of, int(rng.integers(2**62)))
