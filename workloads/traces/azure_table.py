"""Tables of virtual machines of the Azure Public Dataset: V2 (2019), and V1 (2017) as published and as sampled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from binwright.simcore.extras import pl
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.check import LABELS, check
from binwright.workloads.traces.text import columns_of, number, read_headless, read_text

COLUMNS = (
    *("vmid", "subscriptionid", "deploymentid", "vmcreated", "vmdeleted", "maxcpu", "avgcpu", "p95maxcpu"),
    *("vmcategory", "vmcorecountbucket", "vmmemorybucket"),
)
CATEGORIES = ("Interactive", "Delay-insensitive", "Unknown")


@dataclass(frozen=True)
class AzureTable(Trace):
    """Reads every VM from its creation to its deletion; those that are deleted at the last moment keep running.

    Sizes are buckets: those above 24 cores and above 64 GB do not say how large they are, and get `cores_above` and
    `memory_above`. VMs of one deployment are a group, and the subscription is the tenant.
    """

    cores_above: float = 32.0
    memory_above: float = 128.0

    summary: ClassVar[str] = "30 days of first-party VMs of Azure in 2019 (or 2017): buckets of cores and GB."
    reference: ClassVar[str] = "Cortez et al., Resource Central, SOSP 2017"
    source: ClassVar[str] = "github.com/Azure/AzurePublicDataset, AzurePublicDatasetV2.md: vmtable.csv.gz"
    licence: ClassVar[str] = "CC BY 4.0"
    files: ClassVar[tuple[str, ...]] = ("vmtable.csv.gz", "vmtable.csv")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (frozenset(COLUMNS),)

    @classmethod
    def recognises(cls, start: bytes) -> bool:
        cells = start.partition(b"\n")[0].decode(errors="replace").strip().split(",")
        return len(cells) == len(COLUMNS) and cells[8].strip('"') in CATEGORIES

    def read(self, path: Path) -> pl.DataFrame:
        text = read_headless(path, COLUMNS, "Download it again.")
        created, deleted = number(text, "vmcreated", path), number(text, "vmdeleted", path)
        stays = pl.select(
            pl.when(deleted < (deleted.max() if deleted.count() else 0)).then(deleted - created).otherwise(float("inf"))
        ).to_series()
        frame = text.select(
            "line",
            text["vmid"].alias("id"),
            created.alias("arrival"),
            stays.alias("lifetime"),
            _bucket(text, "vmcorecountbucket", self.cores_above, path).alias("cpu"),
            _bucket(text, "vmmemorybucket", self.memory_above, path).alias("mem"),
            text["deploymentid"].fill_null("").alias("group"),
            text["subscriptionid"].fill_null("").alias(f"{LABELS}tenant"),
            text["vmcategory"].fill_null("").alias(f"{LABELS}category"),
            *(text[name].fill_null("").alias(f"{LABELS}{name}") for name in ("avgcpu", "p95maxcpu", "maxcpu")),
        ).sort("arrival", maintain_order=True)
        keys = {"id": "vmid", "arrival": "vmcreated", "lifetime": "vmdeleted"}
        return check(frame, path, {**keys, "cpu": "vmcorecountbucket", "mem": "vmmemorybucket"})


def _bucket(text: pl.DataFrame, column: str, above: float, path: Path) -> pl.Series:
    """Read sizes; what is only known to be above the largest bucket becomes `above`."""
    cell = pl.col(column)
    said = pl.when(cell.str.starts_with(">")).then(pl.lit(str(above))).otherwise(cell)
    return number(text.with_columns(said.alias(column)), column, path)


NAMES = {"id": "vmid", "arrival": "at", "lifetime": "lt", "cpu": "cpu", "mem": "mem"}
HEADER = frozenset({*NAMES.values(), "censored"})


@dataclass(frozen=True)
class AzureVM(Trace):
    """Reads Azure's virtual machines of 2017, as sampled and binned."""

    summary: ClassVar[str] = "nine days of VM requests of Azure in 5-minute bins: cores and GB, 16 flavours."
    reference: ClassVar[str] = "Cortez et al., Resource Central, SOSP 2017; Bergsma et al., SOSP 2021"
    source: ClassVar[str] = (
        "Azure Public Dataset V1 (github.com/Azure/AzurePublicDataset) by way of "
        "github.com/huaweicloud/trace_generation_rnn"
    )
    licence: ClassVar[str] = "CC BY 4.0"
    files: ClassVar[tuple[str, ...]] = ("azure-vm-2017.csv.gz", "azure-vm-2017.csv")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (HEADER,)

    def read(self, path: Path) -> pl.DataFrame:
        text = read_text(path, HEADER)
        # `lt` of a censored VM is only how long it was watched, so it keeps running here.
        stays = pl.when(number(text, "censored", path) != 0).then(float("inf")).otherwise(pl.col("lifetime"))
        return check(columns_of(text, NAMES, path).with_columns(lifetime=stays), path, NAMES)
