"""Reads what requests were recorded to use: a row for a request and a time, in a table of one's own or of a trace.

What reads the file of a trace gives rows of `id` String, `time` Float64 in seconds on any clock, and `share` Float64,
in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import ResultsError, WorkloadError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.files import replacing
from binwright.simcore.types import Ints
from binwright.workloads import TRACES
from binwright.workloads.traces.cells import amounts, moments, number, report, spans
from binwright.workloads.traces.check import require
from binwright.workloads.traces.table import read_file, read_parquet

CONTAINERS = (
    *("container_id", "machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent"),
    *("cpi", "mem_gps", "mpki", "net_in", "net_out", "disk_io_percent"),
)
TASKS = ("tasks.parquet", "meta.parquet")


class Recording(NamedTuple):
    """Describes what a trace recorded: of which resources, what reads it, and files that may lie beside, read too."""

    resources: tuple[str, ...]
    read: Callable[[Path, str], pl.LazyFrame]
    beside: tuple[str, ...] = ()


def alibaba_containers(path: Path, resource: str) -> pl.LazyFrame:
    """Read `container_usage.csv`, which may be larger than memory; -1 and 101 are invalid and left out."""
    with path.open("rb") as file:
        first = file.readline().decode(errors="replace").strip().split(",")
    if len(first) != len(CONTAINERS):
        remedy = f"It has the columns {', '.join(CONTAINERS)}. Unpack container_usage.tar.gz."
        problem = f"rows of {len(first)} cells instead of {len(CONTAINERS)}"
        raise WorkloadError(problem, file=path, line=1, remedy=remedy)
    kinds = {name: pl.String if name.endswith("_id") else pl.Float64 for name in CONTAINERS}
    rows = pl.scan_csv(path, has_header=False, skip_rows=int(first[0] == CONTAINERS[0]), schema=kinds)
    percent = pl.col(f"{resource}_util_percent")
    return rows.filter(percent.is_between(0, 100)).select(id="container_id", time="time_stamp", share=percent / 100)


def opendc(path: Path, resource: str) -> pl.LazyFrame:
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


RECORDED: Mapping[str, Recording] = {
    "alibaba-containers-2018": Recording(("cpu", "mem"), alibaba_containers),
    "opendc": Recording(("cpu",), opendc, TASKS),
}
"""The traces that come with a file of what was used."""
LARGEST = 100.0
"""A share that no request uses of what it asks for: percent were taken for shares."""
PARTS = 1e9
"""Shares are added up in whole parts of 1, so that their sums are the same in any order."""
Series: TypeAlias = tuple[npt.NDArray[np.str_], Ints, Ints, npt.NDArray[np.float32]]
"""The ids of requests in order; of each the place of its first value, and how many it has; and all values."""


class Source(NamedTuple):
    """Names what is read: a file of a `version`, of a trace a resource, else columns; onto a grid of `step` seconds."""

    file: Path
    version: int
    trace: str | None
    read: str | tuple[str, str, str]
    unit: float
    step: float


@lru_cache(maxsize=4)
def series_of(source: Source, cache: Path | None) -> Series:
    """Read series onto a grid; of traces a copy is kept in the folder `cache`, whose values processes share."""
    if source.trace is None:
        return on_grid(_table(source), source.step)
    if cache is None:
        return _of_trace(source, source.trace)
    beside = (source.file.parent / name for name in RECORDED[source.trace].beside)
    content = [digest_of(file) for file in (source.file, *beside)]
    digest = blake2b(repr((content, source.read, source.step)).encode(), digest_size=16)
    kept = [cache / f"use-{source.trace}-{digest.hexdigest()}-{part}.npy" for part in ("values", "ids")]
    with suppress(OSError, ValueError, EOFError):
        values, requests = (np.load(file, mmap_mode="r") for file in kept)
        length = requests["length"].astype(np.int64)
        return requests["id"].astype(np.str_), np.cumsum(length) - length, length, values
    found = ids, _, length, values = _of_trace(source, source.trace)
    requests = np.empty(len(ids), [("id", ids.dtype), ("length", np.int64)])
    requests["id"], requests["length"] = ids, length
    with suppress(OSError, ResultsError):  # a cache that cannot be written costs time and memory, nothing else
        for file, array in zip(kept, (values, requests), strict=True):
            with replacing(file) as unfinished, unfinished.open("wb") as out:
                np.save(out, array)
        return *found[:3], np.load(kept[0], mmap_mode="r")
    return found


def _of_trace(source: Source, trace: str) -> Series:
    assert isinstance(source.read, str)
    try:
        rows = RECORDED[trace].read(source.file, source.read)
        return on_grid(rows.filter(pl.col("share").is_between(0, LARGEST) & pl.col("time").is_finite()), source.step)
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as what {trace} used: {str(error).splitlines()[0]}"
        raise WorkloadError(problem, file=source.file, remedy=f"Get it from {TRACES.load(trace).source}.") from error


def _table(source: Source) -> pl.LazyFrame:
    """Read the columns of a table of one's own."""
    assert isinstance(source.read, tuple)
    file, (name, time, column) = source.file, source.read
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
