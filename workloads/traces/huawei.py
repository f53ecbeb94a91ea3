"""Huawei-East-1: one month of VM requests of one region, as intervals or as events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.check import cell, check
from binwright.workloads.traces.text import columns_of, read_text

OF_INTERVALS = {"id": "vmid", "arrival": "at", "lifetime": "lt", "cpu": "cpu", "mem": "mem"}
OF_EVENTS = {"id": "vmid", "arrival": "time", "cpu": "cpu", "mem": "memory", "type": "type"}
INTERVALS, EVENTS = frozenset(OF_INTERVALS.values()), frozenset(OF_EVENTS.values())


@dataclass(frozen=True)
class Huawei(Trace):
    """Reads Huawei-East-1, as intervals or as events."""

    summary: ClassVar[str] = "one month of VM requests of one Huawei Cloud region: cores and GB, 15 flavours."
    reference: ClassVar[str] = "Sheng et al., VMAgent: scheduling simulator for reinforcement learning, 2021"
    source: ClassVar[str] = (
        "github.com/huaweicloud/VM-placement-dataset (events) or, as intervals, github.com/ChanTinPing/SPANE"
    )
    licence: ClassVar[str] = "CC BY-NC 4.0"
    files: ClassVar[tuple[str, ...]] = ("huawei-east-1.csv", "Huawei-East-1.csv")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (INTERVALS,)

    def read(self, path: Path) -> pl.DataFrame:
        text = read_text(path, INTERVALS, EVENTS)
        if set(text.columns) >= EVENTS:
            return _events(text, path)
        return check(columns_of(text, OF_INTERVALS, path), path, OF_INTERVALS)


@dataclass(frozen=True)
class HuaweiEvents(Huawei):
    """Reads Huawei-East-1 as events only: the intervals leave out the VMs that never end."""

    summary: ClassVar[str] = (
        "the same month with the 9,117 VMs that never end: the publisher's events, or huawei-east-1-open.csv."
    )
    source: ClassVar[str] = "github.com/huaweicloud/VM-placement-dataset"
    files: ClassVar[tuple[str, ...]] = ("huawei-east-1-events.csv", "huawei-east-1-open.csv", "Huawei-East-1.csv")
    headers: ClassVar[tuple[frozenset[str], ...]] = (EVENTS,)

    def read(self, path: Path) -> pl.DataFrame:
        return _events(read_text(path, EVENTS), path)


def _events(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Pair each creation (type 0) with its deletion (type 1); a VM never deleted keeps running."""
    events = columns_of(text, OF_EVENTS, path)
    created = events.filter(pl.col("type") == 0).drop("type")
    deleted = events.filter(pl.col("type") == 1).select("line", "id", end="arrival")
    orphans = deleted.join(created, on="id", how="anti", maintain_order="left")
    for broken, column, problem in (
        (events.filter(pl.col("type").is_null() | ~pl.col("type").is_in([0.0, 1.0])), "type", "neither 0 nor 1"),
        (orphans, "id", "a VM is deleted that was never created"),
        (deleted.filter(~pl.col("id").is_first_distinct()), "id", "a VM is deleted twice"),
    ):
        if not broken.is_empty():
            raise WorkloadError(
                problem,
                file=path,
                line=broken["line"][0],
                key="type" if column == "type" else "vmid",
                value=cell(broken, column, 0),
                remedy="In this form, type 0 creates a VM and type 1 deletes one created before.",
            )
    frame = created.join(deleted.drop("line"), on="id", how="left", maintain_order="left").select(
        "line",
        "id",
        "arrival",
        (pl.col("end").fill_null(float("inf")) - pl.col("arrival")).alias("lifetime"),
        "cpu",
        "mem",
    )
    return check(frame, path, {"id": "vmid", "arrival": "time", "lifetime": "time", "mem": "memory"})
