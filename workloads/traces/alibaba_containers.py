"""The container table of Alibaba's cluster-trace-v2018: what long-running containers ask for, and when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.check import check
from binwright.workloads.traces.text import number, read_headless

COLUMNS = ("container_id", "machine_id", "time_stamp", "app_du", "status", "cpu_request", "cpu_limit", "mem_size")
USAGE = (
    *("container_id", "machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent"),
    *("cpi", "mem_gps", "mpki", "net_in", "net_out", "disk_io_percent"),
)
SOURCE = (
    "github.com/alibaba/clusterdata, cluster-trace-v2018 (schema.md, trace_2018.md; container_meta.csv in "
    "container_meta.tar.gz, unpack it)"
)
GET = f"Get it from {SOURCE}."


def read_containers(path: Path) -> Floats:
    """`cpu_request` (100 is a core) and `mem_size` (0 to 100) of each container, float64 [containers, 2].

    In the order of the file, which has no header (one is understood, too); a container is read from its first row.
    Containers without one of the two, or with a negative one (the trace writes -1 for invalid), are left out.
    """
    text = read_headless(path, COLUMNS, GET, "workload.demand.alibaba.path")
    first = text.unique("container_id", keep="first", maintain_order=True)
    sizes = np.column_stack([number(first, name, path).to_numpy() for name in ("cpu_request", "mem_size")])
    return sizes[(sizes >= 0).all(axis=1)]  # missing ones are nan by now, and not >= 0


@dataclass(frozen=True)
class AlibabaContainers(Trace):
    """Reads containers in time: each from its first row on, until a row says that it stopped; others keep running.

    A container stops at most once: what comes after that is not read. Memory is in hundredths of the largest machine.
    Containers that do not say what they ask for are left out.
    """

    summary: ClassVar[str] = "long-running containers of 4,000 machines in 8 days: cores, and memory in machines."
    reference: ClassVar[str] = "Alibaba Cluster Trace Program, cluster-trace-v2018"
    source: ClassVar[str] = SOURCE
    licence: ClassVar[str] = "none stated; published for research, cite the program"
    files: ClassVar[tuple[str, ...]] = ("container_meta.csv", "alibaba-containers-2018.csv")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "machines"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (frozenset(COLUMNS),)

    @classmethod
    def recognises(cls, start: bytes) -> bool:
        cells = start.partition(b"\n")[0].decode(errors="replace").split(",")
        return len(cells) == len(COLUMNS) and cells[0].startswith("c_") and cells[1].startswith("m_")

    def read(self, path: Path) -> pl.DataFrame:
        text = read_headless(path, COLUMNS, GET)
        rows = text.with_columns(number(text, name, path) for name in ("time_stamp", "cpu_request", "mem_size"))
        rows = rows.sort("time_stamp", maintain_order=True)
        stopped = rows.filter(pl.col("status") == "stopped").group_by("container_id")
        ends = stopped.agg(end=pl.col("time_stamp").min())
        frame = (
            rows.unique("container_id", keep="first", maintain_order=True)
            .filter((pl.col("cpu_request") > 0) & (pl.col("mem_size") > 0))
            .join(ends, on="container_id", how="left", maintain_order="left")
            .select(
                "line",
                id="container_id",
                arrival="time_stamp",
                lifetime=pl.col("end").fill_null(float("inf")) - pl.col("time_stamp"),
                cpu=pl.col("cpu_request") / 100,
                mem=pl.col("mem_size") / 100,
                group=pl.col("app_du").fill_null(""),
            )
        )
        keys = {"id": "container_id", "arrival": "time_stamp", "lifetime": "time_stamp", "cpu": "cpu_request"}
        return check(frame, path, {**keys, "mem": "mem_size", "group": "app_du"})

    def used(self, path: Path, resource: str) -> pl.LazyFrame:
        """Read `container_usage.csv`, which may be larger than memory; -1 and 101 are invalid and left out."""
        with path.open("rb") as file:
            first = file.readline().decode(errors="replace").strip().split(",")
        if len(first) != len(USAGE):
            remedy = f"It has the columns {', '.join(USAGE)}. Unpack container_usage.tar.gz."
            raise WorkloadError(f"rows of {len(first)} cells instead of {len(USAGE)}", file=path, line=1, remedy=remedy)
        kinds = {name: pl.String if name.endswith("_id") else pl.Float64 for name in USAGE}
        rows = pl.scan_csv(path, has_header=False, skip_rows=int(first[0] == USAGE[0]), schema=kinds)
        percent = pl.col(f"{resource}_util_percent")
        return rows.filter(percent.is_between(0, 100)).select(id="container_id", time="time_stamp", share=percent / 100)
