"""Azure Public Dataset V1 (2017), as sampled and binned for generating traces with recurrent networks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simcore.lazy_imports import pl
from workloads.traces.base import Trace
from workloads.traces.check import check
from workloads.traces.text import columns_of, number, read_text

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
