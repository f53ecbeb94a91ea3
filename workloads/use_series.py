"""Reads what requests were recorded to use: a row for a request and a time, in a table of one's own or of a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from binwright.simcore.errors import ResultsError, WorkloadError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.fields import Model, Share, Text, Where, wrong
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.files import replacing
from binwright.simcore.json_schema import Schema, given
from binwright.simcore.types import Ints, Workload
from binwright.workloads import TRACES
from binwright.workloads.traces.cells import moments, number
from binwright.workloads.traces.recorded import RECORDED
from binwright.workloads.traces.table import is_parquet, read_parquet
from binwright.workloads.traces.text import read_text
from binwright.workloads.use import RecordedUse, ResourceUse

LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
PARTS = 1e9
"""Shares are added up in whole parts of 1, so that their sums are the same in any order."""
Series: TypeAlias = tuple[npt.NDArray[np.str_], Ints, Ints, npt.NDArray[np.float32]]
"""The ids of requests in order; of each the place of its first value, and how many it has; and all values."""
_DRAWN = re.compile(r"^(?:w\d+:)?(?:b\d+:)?(.*?)(?:\+\d+\.\d+)*$")
"""The name of a request of superposed or resampled windows, or of a copy, and in it that of its trace."""


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
    trace: Literal["alibaba-containers-2018", "bitbrains", "opendc"] | None = Field(
        default=None,
        description="The trace whose file it is: container_usage.csv, fastStorage.zip, or fragments.parquet beside "
        "tasks.parquet.",
    )
    folder: Text | None = Field(default=None, description="The folder in a zip of bitbrains.", examples=["2013-7"])
    id: Text = Field(default="id", description="The column of the requests' ids.", examples=["VM Name"])
    time: Text = Field(default="time", description="The column of times: seconds, or dates.", examples=["timestamp"])
    column: Text | None = Field(
        default=None,
        description="The column of what is used; by default that of the resource's name.",
        examples=["cpu"],
    )
    unit: Share = Field(default=1.0, description="What a 1 in that column is.", examples=["1 %"])

    forms: ClassVar[Sequence[Schema]] = (
        given("path", without=["trace", "folder"]),
        given("path", "trace", without=["column"]),
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        for key in ("id", "time", "column", "unit") if self.trace else ():
            if getattr(self, key) != type(self).model_fields[key].default:
                raise wrong("is for a table of your own", f"Take it out: {self.trace} has its columns.", (key,))
        if self.folder is not None and self.trace != "bitbrains":
            raise wrong("is for the trace bitbrains", "Take it out.", ("folder",))
        return self

    def labels(self) -> list[str]:
        """List the labels that say shares: none."""
        return []

    def draw(
        self,
        base: Workload,
        rows: Ints,
        step: float,
        resource: str,
        others: float | ResourceUse,
        key: str,
        cache: Path | None = None,
    ) -> float | ResourceUse:
        """Make the use of these rows of a workload, as far as the file has them; all others use what `others` say."""
        if self.trace and resource not in RECORDED[self.trace].resources:
            return others
        file = Path(self.path)
        try:
            version = file.stat().st_mtime_ns
        except OSError:
            kind = f"the file of {self.trace} that says what was used" if self.trace else "a CSV or Parquet file"
            remedy = f"Give the path of {kind}, relative to the scenario."
            raise WorkloadError("cannot be read", key=f"{key}.path", value=self.path, remedy=remedy) from None
        columns = (self.id, self.time, self.column or resource)
        source = _Source(file, version, self.trace, self.folder, resource if self.trace else columns, self.unit, step)
        ids, first, length, values = series_of(source, cache)
        names = base.id[rows].astype(np.str_)
        if base.id.dtype.kind != "i":
            names = np.array([name if found is None else found[1] for name in names for found in [_DRAWN.match(name)]])
        place = np.searchsorted(ids, names).clip(max=len(ids) - 1)
        known = ids[place] == names
        if not known.any():
            remedy = f"The file's first id is {ids[0]}, and that of the requests {names[0] if len(names) else 'none'}."
            raise WorkloadError("has rows of none of the requests", file=file, key=f"{key}.id", remedy=remedy)
        firsts, lengths, begins = np.zeros((3, len(base)), np.int64)
        firsts[rows[known]], lengths[rows[known]] = first[place[known]], length[place[known]]
        age = np.zeros(len(base))
        age[: base.running] = 0.0 if base.age is None else base.age
        begins = np.floor((base.arrival - age) / step).astype(np.int64)
        return RecordedUse(values, firsts, lengths, begins, others)


class _Source(NamedTuple):
    """Names what is read: a file of a `version`, of a trace a resource, else columns; onto a grid of `step` seconds."""

    file: Path
    version: int
    trace: str | None
    folder: str | None
    read: str | tuple[str, str, str]
    unit: float
    step: float


@lru_cache(maxsize=4)
def series_of(source: _Source, cache: Path | None) -> Series:
    """Read series onto a grid; of traces a copy is kept in the folder `cache`, whose values processes share."""
    if source.trace is None:
        return on_grid(_table(source), source.step)
    if cache is None:
        return _of_trace(source.trace, source)
    beside = (source.file.parent / name for name in RECORDED[source.trace].beside)
    content = [digest_of(file) for file in (source.file, *beside)]
    digest = blake2b(repr((content, source.folder, source.read, source.step)).encode(), digest_size=16)
    kept = [cache / f"use-{source.trace}-{digest.hexdigest()}-{part}.npy" for part in ("values", "ids")]
    with suppress(OSError, ValueError, EOFError):
        values, requests = (np.load(file, mmap_mode="r") for file in kept)
        length = requests["length"].astype(np.int64)
        return requests["id"].astype(np.str_), np.cumsum(length) - length, length, values
    found = ids, _, length, values = _of_trace(source.trace, source)
    requests = np.empty(len(ids), [("id", ids.dtype), ("length", np.int64)])
    requests["id"], requests["length"] = ids, length
    with suppress(OSError, ResultsError):  # a cache that cannot be written costs time and memory, nothing else
        for file, array in zip(kept, (values, requests), strict=True):
            with replacing(file) as unfinished, unfinished.open("wb") as out:
                np.save(out, array)
        return *found[:3], np.load(kept[0], mmap_mode="r")
    return found


def _of_trace(trace: str, source: _Source) -> Series:
    assert isinstance(source.read, str)
    try:
        rows = RECORDED[trace].read(source.file, source.read, source.folder or "")
        return on_grid(rows.filter(pl.col("share").is_between(0, LARGEST) & pl.col("time").is_finite()), source.step)
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as what {trace} used: {str(error).splitlines()[0]}"
        raise WorkloadError(problem, file=source.file, remedy=f"Get it from {TRACES.load(trace).source}.") from error
    except WorkloadError as error:
        raise (
            error
            if error.key != "workload.folder"
            else WorkloadError(error.problem, file=source.file, key="workload.use.folder", remedy=error.remedy)
        ) from None


def _table(source: _Source) -> pl.LazyFrame:
    """Read the columns of a table of one's own."""
    file, unit = source.file, source.unit
    assert isinstance(source.read, tuple)
    name, time, column = source.read
    table = read_parquet(file) if is_parquet(file) else read_text(file)
    for wanted in (name, time, column):
        if wanted not in table.columns:
            remedy = suggest(wanted, [each for each in table.columns if each != "line"])
            raise WorkloadError(f"has no column {wanted}", file=file, remedy=remedy)
    shares = table[column] if table[column].dtype.is_numeric() else number(table, column, file)
    at = moments(table, time, file, 1.0).to_numpy()
    value = shares.cast(pl.Float64).to_numpy() * unit
    broken = ~((value >= 0) & (value <= LARGEST) & np.isfinite(at))
    if broken.any() or not len(value):
        row = int(broken.argmax()) if len(value) else 0
        line = int(table["line"][row]) if "line" in table.columns and len(value) else None
        remedy = f"Give numbers from 0 to {LARGEST / unit:g}, or say what a 1 is, like `unit: 1 %`."
        said = str(table[column][row]) if len(value) else ""
        raise WorkloadError("is no share", file=file, line=line, key=column, value=said, remedy=remedy)
    return pl.LazyFrame({"id": table[name].cast(pl.String).fill_null(""), "time": at, "share": value})


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
    ids = begins["id"].to_numpy().astype(np.str_)
    return ids, first, length, np.repeat(values, np.diff(at, append=length.sum()))
