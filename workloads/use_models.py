"""Says what requests use of what they ask for, as scenarios write it; draws it, or reads what was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, model_validator

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.fields import Model, PositiveTime, Share, ShareFromZero, Shown, Text, Time, Where, checked, wrong
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.types import Floats, Ints, Workload
from binwright.simcore.units import SHARE
from binwright.workloads.arrivals import DAY
from binwright.workloads.changes import matching, words_of
from binwright.workloads.traces.cells import moments, number, plain_number, report
from binwright.workloads.traces.table import read_file
from binwright.workloads.use import (
    GeneratedUse,
    Process,
    RecordedUse,
    ResourceUse,
    Shape,
    UseByResource,
    shape_of,
)

_DRAWN = re.compile(r"^(?:w\d+:)?(?:b\d+:)?(.*?)(?:\+\d+\.\d+)*$")
"""The name of a request of superposed or resampled windows, or of a copy, and in it that of its trace."""


def _share_or_label(value: Any) -> Any:
    """Read a share, or the name of a label."""
    return value if isinstance(value, str) and value[:1].isalpha() else checked(SHARE.parse)(value)


ShareOrLabel: TypeAlias = Annotated[
    float | str,
    BeforeValidator(_share_or_label),
    Shown("share from 0, or label"),
]


class UseCase(Model):
    """Says what some of the requests use: those that `of` names."""

    of: Where = Field(
        default_factory=dict,
        description="Only requests with one of these values of every label, or of `group`. The first case of a "
        "request counts; without one it uses all it asks for.",
        examples=["{group: web}"],
    )


class RecordedCase(UseCase):
    """Requests use what a table says, from the row of their id with the first time on, as if they had arrived then.

    Who has no rows there is in the other cases. What is said for a step is the mean of its rows, or that of the step
    before.
    """

    path: Text = Field(
        description="A CSV or Parquet file with a row for a request and a time.", examples=["use.parquet"]
    )
    id: Text = Field(default="id", description="The column of the requests' ids.", examples=["VM Name"])
    time: Text = Field(default="time", description="The column of times: seconds, or dates.", examples=["timestamp"])
    column: Text | None = Field(
        default=None,
        description="The column of what is used; by default that of the resource's name.",
        examples=["cpu"],
    )
    unit: Share = Field(default=1.0, description="What a 1 in that column is.", examples=["1 %"])

    def draw(self, base: Workload, step: float, resource: str, others: ResourceUse, key: str) -> ResourceUse:
        """Make the use of requests, as far as the file has them; all others use what `others` say."""
        file = Path(self.path)
        try:
            version = file.stat().st_mtime_ns
        except OSError:
            remedy = "Give the path of the file that says what was used, relative to the scenario."
            raise WorkloadError("cannot be read", key=f"{key}.path", value=self.path, remedy=remedy) from None
        columns = self.id, self.time, self.column or resource
        ids, first, length, values = _series(file, version, columns, self.unit, step)
        rows = np.flatnonzero(matching(base, dict(where_of(self.of)), key))
        names = base.id[rows].astype(np.str_)
        if base.id.dtype.kind != "i":
            names = np.array([_DRAWN.sub(r"\1", name) for name in names])
        place = np.searchsorted(ids, names).clip(max=len(ids) - 1)
        known = ids[place] == names
        if not known.any():
            remedy = f"The file's first id is {ids[0]}, and that of the requests {names[0] if len(names) else 'none'}."
            raise WorkloadError("has rows of none of the requests", file=file, key=f"{key}.id", remedy=remedy)
        firsts, lengths = np.zeros((2, len(base)), np.int64)
        firsts[rows[known]], lengths[rows[known]] = first[place[known]], length[place[known]]
        age = np.zeros(len(base))
        age[: base.running] = 0.0 if base.age is None else base.age
        return RecordedUse(values, firsts, lengths, np.floor((base.arrival - age) / step).astype(np.int64), others)


class VaryingUse(UseCase):
    """Requests use shares that are generated: they rise and fall, each by itself and with the time of day."""

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


LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
PARTS = 1e9
"""Shares are added up in whole parts of 1, so that their sums are the same in any order."""
Series: TypeAlias = tuple[npt.NDArray[np.str_], Ints, Ints, npt.NDArray[np.float32]]
"""The ids of requests in order; of each the place of its first value, and how many it has; and all values."""


@lru_cache(maxsize=4)
def _series(file: Path, version: int, columns: tuple[str, str, str], unit: float, step: float) -> Series:
    """Read ids, times and shares from a file of a `version` onto a grid of `step` seconds."""
    table, (name, time, column) = read_file(file), columns
    for wanted in columns:
        if wanted not in table.columns:
            remedy = suggest(wanted, [each for each in table.columns if each != "line"])
            raise WorkloadError(f"has no column {wanted}", file=file, remedy=remedy)
    if table.is_empty():
        raise WorkloadError("has no rows", file=file, remedy="Give a row for a request and a time.")
    shares = table[column] if table[column].dtype.is_numeric() else number(table, column, file)
    at, share = moments(table, time, file, 1.0), shares.cast(pl.Float64) * unit
    wrong = ~(share.is_between(0, LARGEST) & at.is_finite()).fill_null(False)
    if wrong.any():
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        report(table, wrong, file, column, "is no share", remedy, str(table[column].filter(wrong)[0]))
    rows = pl.DataFrame({"id": table[name].cast(pl.String).fill_null(""), "time": at, "share": share})
    return on_grid(rows.lazy(), step)


def on_grid(rows: pl.LazyFrame, step: float) -> Series:
    """Put rows of `id`, `time` and `share` onto a grid; a step without any has what the one before has."""
    begins = rows.group_by("id").agg(begin=pl.col("time").min()).collect(engine="streaming").sort("id")
    begins = begins.with_row_index("place")
    number = ((pl.col("time") - pl.col("begin")) / step).floor().cast(pl.Int64)
    parts = (pl.col("share") * PARTS).round().cast(pl.Int64)
    placed = rows.join(begins.lazy(), on="id").select("place", step=number, parts=parts)
    cells = placed.group_by("place", "step").agg(pl.col("parts").sum(), count=pl.len()).collect(engine="streaming")
    cells = cells.sort("place", "step")
    length = cells.group_by("place", maintain_order=True).agg(pl.col("step").max() + 1)["step"].to_numpy()
    first = np.cumsum(length) - length
    at = first[cells["place"].to_numpy()] + cells["step"].to_numpy()
    values = (cells["parts"].to_numpy() / (PARTS * cells["count"].to_numpy())).astype(np.float32)
    return begins["id"].to_numpy().astype(np.str_), first, length, np.repeat(values, np.diff(at, append=length.sum()))


Case: TypeAlias = VaryingUse | RecordedCase


def draw_use(
    base: Workload, step: float, cases: Mapping[str, Sequence[Case]], others: Sequence[Case], seed: int
) -> UseByResource:
    """Draw what the requests of a workload use, by resource; `others` are the cases of resources that are not named."""
    uses = []
    for resource in base.resources:
        mine = cases.get(resource, others)
        at = f"workload.use.{resource if resource in cases else 'others'}"
        keyed = [(case, f"{at}.{number}" if len(mine) > 1 else at) for number, case in enumerate(mine)]
        use: ResourceUse = _generated(base, step, resource, keyed, seed)
        for case, key in reversed(keyed):
            if isinstance(case, RecordedCase):
                use = case.draw(base, step, resource, use, key)
        uses.append(use)
    return UseByResource(step, tuple(uses))


def _generated(
    base: Workload, step: float, resource: str, keyed: Sequence[tuple[Case, str]], seed: int
) -> GeneratedUse:
    """Draw what requests use of one resource, by those of its cases that are generated, with their keys."""
    cases = [(case, key) for case, key in keyed if isinstance(case, VaryingUse)]
    cases = cases or [(VaryingUse(mean=1.0), "")]
    undecided = np.ones(len(base), np.bool_)
    of = np.stack([np.zeros(len(base), np.int64), np.full(len(base), -1), np.arange(len(base))], axis=1)
    shapes: list[Floats] = []
    for place, (case, key) in enumerate(cases):
        rows = np.flatnonzero(undecided & matching(base, dict(where_of(case.of)), key))
        undecided[rows] = False
        shape = np.stack(case.shape(base, rows, key), axis=1)
        alike, places = np.unique(shape, axis=0, return_inverse=True)
        of[rows, 0] = sum(map(len, shapes)) + places.reshape(-1)
        of[rows, 1] = place
        shapes.append(alike)
    processes = tuple(case.process(step, base.origin) for case, _ in cases)
    draw = stream(seed, "workload", "use", resource).integers(2**62)
    return GeneratedUse(np.concatenate(shapes), processes, of, int(draw))
