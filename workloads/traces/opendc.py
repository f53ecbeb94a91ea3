"""Workloads of OpenDC: a Parquet file of tasks, in older versions of servers (`meta.parquet`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.cells import amounts, moments, spans
from binwright.workloads.traces.check import check, require
from binwright.workloads.traces.table import read_parquet

TASKS = frozenset({"id", "submission_time", "duration", "cpu_count", "mem_capacity"})
META = frozenset({"id", "start_time", "stop_time", "cpu_count", "mem_capacity"})
GB_PER_MB = 1e-3
MILLISECOND = 1e-3
FRAGMENTS = frozenset({"id", "duration", "cpu_usage"})


@dataclass(frozen=True)
class OpenDC(Trace):
    """Reads tasks: whole cores and memory, from their submission on, for as long as they last.

    How fast a core has to be (`cpu_capacity`) is not read; the other file says how much of it is used over time.
    """

    summary: ClassVar[str] = "tasks of an OpenDC workload: cores and GB (tasks.parquet, or meta.parquet)."
    reference: ClassVar[str] = "Mastenbroek et al., OpenDC 2.0, CCGrid 2021"
    source: ClassVar[str] = "opendc.org, or github.com/atlarge-research/opendc: workload traces"
    licence: ClassVar[str] = "of each trace, see where it is from"
    files: ClassVar[tuple[str, ...]] = ("tasks.parquet", "meta.parquet")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (TASKS, META)
    parquet: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("tasks.parquet", "meta.parquet")

    def read(self, path: Path) -> pl.DataFrame:
        found = read_parquet(path)
        older = set(found.columns) >= META
        require(found.columns, META if older else TASKS, path)
        begins, ends = ("start_time", "stop_time") if older else ("submission_time", "duration")
        arrival = moments(found, begins, path, MILLISECOND)
        stays = moments(found, ends, path, MILLISECOND) - arrival if older else spans(found, ends, path, MILLISECOND)
        frame = pl.DataFrame(
            [
                found["id"].cast(pl.String).alias("id"),
                arrival.alias("arrival"),
                stays.alias("lifetime"),
                amounts(found, "cpu_count", path, "cpu", 1.0).alias("cpu"),
                (amounts(found, "mem_capacity", path, "mem", GB_PER_MB) * GB_PER_MB).alias("mem"),
            ]
        ).sort("arrival", maintain_order=True)
        keys = {"arrival": begins, "lifetime": ends, "cpu": "cpu_count", "mem": "mem_capacity"}
        return check(frame, path, keys)

    def used(self, path: Path, resource: str) -> pl.LazyFrame:
        """Read `fragments.parquet`, in older versions `trace.parquet`: MHz for a time, of `cpu_capacity` of the tasks.

        The fragments of a task follow one another, in the order of the file.
        """
        found = read_parquet(path)
        require(found.columns, FRAGMENTS, path)
        tasks = next((path.parent / name for name in self.beside if (path.parent / name).is_file()), None)
        if tasks is None:
            remedy = "It says what 100 % of cpu_usage are: put it into the same folder."
            raise WorkloadError(f"there is no {' or '.join(self.beside)} beside it", file=path, remedy=remedy)
        of = read_parquet(tasks)
        require(of.columns, frozenset({"id", "cpu_capacity"}), tasks)
        capacity = amounts(of, "cpu_capacity", tasks, "cpu", 1.0)
        of = pl.DataFrame([of["id"].cast(pl.String), capacity.alias("capacity")]).unique("id", keep="first")
        usage, lasts = amounts(found, "cpu_usage", path, "cpu", 1.0), spans(found, "duration", path, MILLISECOND)
        columns = [found["id"].cast(pl.String), usage.alias("usage"), lasts.alias("lasts")]
        rows = pl.DataFrame(columns).filter(pl.col("lasts") > 0)
        end, at = pl.col("lasts").cum_sum().over("id"), ("id", "time", "share")
        share = pl.when(pl.col("capacity") > 0).then(pl.col("usage") / pl.col("capacity")).otherwise(0.0)
        rows = rows.join(of, on="id", how="inner", maintain_order="left").with_columns(share=share, end=end)
        closing = rows.unique("id", keep="last").filter(pl.col("lasts") > 1).with_columns(time=pl.col("end") - 0.5)
        return pl.concat(
            [rows.with_columns(time=pl.col("end") - pl.col("lasts")).select(at), closing.select(at)]
        ).lazy()
