"""Files of traces that say which share of a resource requests were recorded to use.

Each function gives rows of `id` String, `time` Float64 in seconds on any clock, and `share` Float64, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.cells import amounts, spans
from binwright.workloads.traces.check import require
from binwright.workloads.traces.table import read_parquet

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
