"""Reads what requests were recorded to use: a row for a request and a time, in a table of one's own or of OpenDC.

Rows have `id` String, `time` Float64 in seconds on any clock, and `share` Float64, in any order.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Ints
from binwright.workloads.traces.cells import amounts, moments, number, report, spans
from binwright.workloads.traces.check import require
from binwright.workloads.traces.table import read_file, read_parquet

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
