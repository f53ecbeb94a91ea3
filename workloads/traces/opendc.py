"""Workloads of OpenDC: a Parquet file of tasks, in older versions of servers (`meta.parquet`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simcore.lazy_imports import pl
from workloads.traces.base import Trace
from workloads.traces.cells import amounts, moments, spans
from workloads.traces.check import check, require
from workloads.traces.table import read_parquet

TASKS = frozenset({"id", "submission_time", "duration", "cpu_count", "mem_capacity"})
META = frozenset({"id", "start_time", "stop_time", "cpu_count", "mem_capacity"})
GB_PER_MB = 1e-3
MILLISECOND = 1e-3


@dataclass(frozen=True)
class OpenDC(Trace):
    """Reads tasks: whole cores and memory, from their submission on, for as long as they last.

    How fast a core has to be (`cpu_capacity`), and how much of it is used in time (the other file), is not read.
    """

    summary: ClassVar[str] = "tasks of an OpenDC workload: cores and GB (tasks.parquet, or meta.parquet)."
    reference: ClassVar[str] = "Mastenbroek et al., OpenDC 2.0, CCGrid 2021"
    source: ClassVar[str] = "opendc.org, or github.com/atlarge-research/opendc: workload traces"
    licence: ClassVar[str] = "of each trace, see where it is from"
    files: ClassVar[tuple[str, ...]] = ("tasks.parquet", "meta.parquet")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (TASKS, META)
    parquet: ClassVar[bool] = True

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
