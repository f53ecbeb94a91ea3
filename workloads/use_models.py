"""Says what requests use of what they ask for, as scenarios write it; draws it, or reads what was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias

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
from binwright.workloads.traces.cells import amounts, is_number, moments, number, report, spans
from binwright.workloads.traces.check import require
from binwright.workloads.traces.table import read_file, read_parquet
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

    Who has no rows there is in the other cases, and so are resources that a trace does not record. What is said for a
    step is the mean of its rows, or that of the step before.
    """

    path: Text = Field(
        description="A CSV or Parquet file with a row for a request and a time; or that of `trace`.",
        examples=["use.parquet"],
    )
    trace: Literal["opendc"] | None = Field(
        default=None, description="The trace whose file it is: fragments.parquet beside tasks.parquet, of cpu."
    )
    id: Text = Field(default="id", description="The column of the requests' ids.", examples=["VM Name"])
    time: Text = Field(default="time", description="The column of times: seconds, or dates.", examples=["timestamp"])
    column: Text | None = Field(
        default=None,
        description="The column of what is used; by default that of the resource's name.",
        examples=["cpu"],
    )
    unit: Share = Field(default=1.0, description="What a 1 in that column is.", examples=["1 %"])

    @model_validator(mode="after")
    def _either(self) -> Self:
        for key in ("id", "time", "column", "unit") if self.trace else ():
            if getattr(self, key) != type(self).model_fields[key].default:
                raise wrong("is for a table of your own", f"Take it out: {self.trace} has its columns.", (key,))
        return self

    def draw(self, base: Workload, step: float, resource: str, others: ResourceUse, key: str) -> ResourceUse:
        """Make the use of requests, as far as the file has them; all others use what `others` say."""
        if self.trace and resource != "cpu":
            return others
        file = Path(self.path)
        try:
            version = file.stat().st_mtime_ns
        except OSError:
            remedy = "Give the path of the file that says what was used, relative to the scenario."
            raise WorkloadError("cannot be read", key=f"{key}.path", value=self.path, remedy=remedy) from None
        columns = None if self.trace else (self.id, self.time, self.column or resource)
        ids, first, length, values = series_of(Source(file, version, columns, self.unit, step))
        rows = np.flatnonzero(matching(base, dict(where_of(self.of)), key))
        names = base.id[rows].astype(np.str_)
        if base.id.dtype.kind != "i":
            names = np.array([name if found is None else found[1] for name in names for found in [_DRAWN.match(name)]])
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


class ConstantUse(UseCase):
    """Requests use a share, all the time."""

    share: ShareFromZero = Field(description="The share.", examples=["40 %"])

    def process(self, step: float, origin: float) -> Process:
        return Process(DAY / step)

    def shape(self, base: Workload, rows: Ints, key: str) -> Shape:
        share = np.full(len(rows), self.share)
        return shape_of(share, share)


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
    daily: ShareFromZero = Field(
        default=0.0, le=0.95, description="The share of the variance that follows the time of day.", examples=["40 %"]
    )
    busiest: Time = Field(
        default=14 * 3600.0, description="When in a day of the trace's clock they use most.", examples=["20 h"]
    )
    persists: PositiveTime = Field(
        default=3600.0, description="For about how long use stays the same.", examples=["30 min"]
    )
    together: Together | None = Field(
        default=None, description="Requests that rise and fall together.", examples=["{by: tenant, share: 30 %}"]
    )

    @property
    def labels(self) -> list[str]:
        """The labels that say shares."""
        return [said for said in (self.mean, self.p95, self.peak) if isinstance(said, str)]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.persists > 366 * DAY:
            raise wrong("is above a year", "Give 366 d or less.", ("persists",), self.persists)
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
            common=self.together.share if self.together else 0.0,
            persists=max(1, round(self.persists / step)),
        )

    def shape(self, base: Workload, rows: Ints, key: str) -> Shape:
        """Find the distribution of each of these rows, int64 [n]."""
        mean = _numbers(base, rows, self.mean, self.unit, f"{key}.mean")
        peak = _numbers(base, rows, self.peak, self.unit, f"{key}.peak")
        p95 = None if self.p95 is None else _numbers(base, rows, self.p95, self.unit, f"{key}.p95")
        for name, found in (("mean", mean), ("p95", p95)):
            if found is not None and (above := found > peak * (1 + 1e-9)).any():
                first, remedy = int(above.argmax()), "Check the columns and their `unit`, or give a higher `peak`."
                problem = f"request {base.id[rows[first]]} and {above.sum() - 1} others use more than their peak"
                value = f"{found[first]:.4g}, above {peak[first]:.4g}"
                raise WorkloadError(problem, key=f"{key}.{name}", value=value, remedy=remedy)
        return shape_of(mean, peak, None if p95 is None else np.minimum(p95, peak))


def _numbers(base: Workload, rows: Ints, said: float | str, unit: float, key: str) -> Floats:
    """Return a share of each of these rows, float64 [n]: one number, or what their label says."""
    if isinstance(said, float):
        return np.full(len(rows), said)
    words = words_of(base, said, key)[rows]
    found = np.array([float(word) * unit if is_number(word) else np.nan for word in words.tolist()], np.float64)
    if (odd := ~((found >= 0) & (found <= LARGEST))).any():
        first = int(odd.argmax())
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        problem = f"the label of request {base.id[rows[first]]} is no share"
        raise WorkloadError(problem, key=key, value=str(words[first]), remedy=remedy)
    return found


TASKS = ("tasks.parquet", "meta.parquet")
LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
PARTS = 1e9
"""Shares are added up in whole parts of 1, so that their sums are the same in any order."""
Series: TypeAlias = tuple[npt.NDArray[np.str_], Ints, Ints, npt.NDArray[np.float32]]
"""The ids of requests in order; of each the place of its first value, and how many it has; and all values."""


class Source(NamedTuple):
    """Names what is read: a file of a `version`, its columns or fragments, onto a grid of `step` seconds."""

    file: Path
    version: int
    columns: tuple[str, str, str] | None
    unit: float
    step: float


@lru_cache(maxsize=4)
def series_of(source: Source) -> Series:
    """Read series onto a grid."""
    rows = _table(source) if source.columns else opendc(source.file)
    return on_grid(rows.filter(pl.col("share").is_between(0, LARGEST)), source.step)


def opendc(path: Path) -> pl.LazyFrame:
    """Read `fragments.parquet`, in older versions `trace.parquet`: MHz for a time, of `cpu_capacity` of the tasks.

    The fragments of a task follow one another, in the order of the file.
    """
    found = read_parquet(path)
    require(found.columns, frozenset({"id", "duration", "cpu_usage"}), path)
    tasks = next((path.parent / name for name in TASKS if (path.parent / name).is_file()), None)
    if tasks is None:
        remedy = "It says what 100 % of cpu_usage are: put it into the same folder."
        raise WorkloadError(f"there is no {' or '.join(TASKS)} beside it", file=path, remedy=remedy)
    of = read_parquet(tasks)
    require(of.columns, frozenset({"id", "cpu_capacity"}), tasks)
    capacity = amounts(of, "cpu_capacity", tasks, "cpu", 1.0)
    of = pl.DataFrame([of["id"].cast(pl.String), capacity.alias("capacity")]).unique("id", keep="first")
    usage, lasts = amounts(found, "cpu_usage", path, "cpu", 1.0), spans(found, "duration", path, 1e-3)
    columns = [found["id"].cast(pl.String), usage.alias("usage"), lasts.alias("lasts")]
    rows = pl.DataFrame(columns).filter(pl.col("lasts") > 0)
    end, at = pl.col("lasts").cum_sum().over("id"), ("id", "time", "share")
    share = pl.when(pl.col("capacity") > 0).then(pl.col("usage") / pl.col("capacity")).otherwise(0.0)
    rows = rows.join(of, on="id", how="inner", maintain_order="left").with_columns(share=share, end=end)
    closing = rows.unique("id", keep="last").filter(pl.col("lasts") > 1).with_columns(time=pl.col("end") - 0.5)
    begun = rows.with_columns(time=pl.col("end") - pl.col("lasts"))
    return pl.concat([begun.select(at), closing.select(at)]).lazy()


def _table(source: Source) -> pl.LazyFrame:
    """Read the columns of a table of one's own."""
    assert source.columns is not None
    file, (name, time, column) = source.file, source.columns
    table = read_file(file)
    for wanted in (name, time, column):
        if wanted not in table.columns:
            remedy = suggest(wanted, [each for each in table.columns if each != "line"])
            raise WorkloadError(f"has no column {wanted}", file=file, remedy=remedy)
    if table.is_empty():
        raise WorkloadError("has no rows", file=file, remedy="Give a row for a request and a time.")
    shares = table[column] if table[column].dtype.is_numeric() else number(table, column, file)
    at, share = moments(table, time, file, 1.0), shares.cast(pl.Float64) * source.unit
    wrong = ~(share.is_between(0, LARGEST) & at.is_finite()).fill_null(False)
    if wrong.any():
        remedy = f"Give numbers from 0 to {LARGEST / source.unit:g}, or say what a 1 is, like `unit: 1 %`."
        report(table, wrong, file, column, "is no share", remedy, str(table[column].filter(wrong)[0]))
    return pl.LazyFrame({"id": table[name].cast(pl.String).fill_null(""), "time": at, "share": share})


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


Cases: TypeAlias = Sequence[ConstantUse | VaryingUse | RecordedCase]


def draw_use(base: Workload, step: float, cases: Mapping[str, Cases], others: Cases, seed: int) -> UseByResource:
    """Draw what the requests of a workload use, by resource; `others` are the cases of resources that are not named."""

    def of(resource: str, cases: Cases, written: str) -> ResourceUse:
        at = f"workload.use.{written}"
        keyed = [(case, f"{at}.{number}" if len(cases) > 1 else at) for number, case in enumerate(cases)]
        plain = [(case, key) for case, key in keyed if not isinstance(case, RecordedCase)]
        use: ResourceUse = _generated(base, step, resource, plain or [(ConstantUse(share=1.0), at)], seed)
        for case, key in reversed(keyed):
            if isinstance(case, RecordedCase):
                use = case.draw(base, step, resource, use, key)
        return use

    uses = (of(name, cases.get(name, others), name if name in cases else "others") for name in base.resources)
    return UseByResource(step, tuple(uses))


def _generated(
    base: Workload, step: float, resource: str, cases: Sequence[tuple[ConstantUse | VaryingUse, str]], seed: int
) -> GeneratedUse:
    """Draw what requests use of one resource, by cases and their keys in the scenario."""
    rng = stream(seed, "workload", "use", resource)
    undecided = np.ones(len(base), np.bool_)
    of = np.zeros((len(base), 4), np.int64)
    of[:, 1], of[:, 2] = -1, np.arange(len(base))
    shapes: list[Floats] = []
    for place, (case, key) in enumerate(cases):
        rows = np.flatnonzero(undecided & matching(base, dict(where_of(case.of)), key))
        undecided[rows] = False
        of[rows, 1] = place
        shape = np.stack(case.shape(base, rows, key), axis=1)
        alike, places = np.unique(shape, axis=0, return_inverse=True)
        of[rows, 0] = sum(map(len, shapes)) + places.reshape(-1)
        shapes.append(alike)
        if isinstance(case, VaryingUse) and case.together:
            words = words_of(base, case.together.by, f"{key}.together.by")
            of[rows, 3] = np.unique(words, return_inverse=True)[1].reshape(-1)[rows]
    processes = tuple(case.process(step, base.origin) for case, _ in cases)
    return GeneratedUse(np.concatenate(shapes), processes, of, int(rng.integers(2**62)))
