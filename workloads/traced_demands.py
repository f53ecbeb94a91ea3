"""Demands drawn from a trace file: its sizes turned into the fabric's units, without its arrivals and lifetimes.

Every kind takes `path` and `split`: the first 80 % of the trace's rows, in their order, are for training (`train`), the
rest for testing (`test`). Sizes above 100 of any resource are drawn again, which is to say that they are left out;
less than 1 becomes 1. A process reads a trace once, as long as its file does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from simcore.errors import WorkloadError
from simcore.vocabulary import Floats
from workloads.demands import NARA, Law, equal
from workloads.traces.alibaba_containers import SOURCE, read_containers
from workloads.traces.library import detect, read
from workloads.traces.openb import GB_PER_MIB

Split: TypeAlias = Literal["train", "test", "all"]
TRAINING = 0.8
LARGEST = 100
"""Units of a resource in one request, as published."""


class Traced(Protocol):
    """What the kinds below have in common."""

    summary: ClassVar[str]
    source: ClassVar[str]
    licence: ClassVar[str]

    @property
    def path(self) -> Path: ...
    @property
    def split(self) -> Split: ...
    def __hash__(self) -> int: ...
    def amounts(self) -> Floats:
        """Read cpu and mem of every row of the file in units before rounding, float64 [rows, 2]."""
        ...


@dataclass(frozen=True, slots=True)
class Azure:
    """VM types of Azure: int(500 x core fraction) and int(500 x memory fraction) of a machine.

    Azure Packing 2020 gives fractions, of the kind of machine named by `machine` (see the trace azure-packing-2020);
    Azure 2017 gives cores and GB, divided here by `cores` and `memory` (GB).

    `each` says what is equally likely: as published, each `type` of VM (each distinct size among the split's requests),
    or each `request`, which makes the common types common.
    """

    path: Path
    split: Split = "train"
    each: Literal["type", "request"] = "type"
    machine: int | Literal["best"] = "best"
    cores: float = 56.0
    memory: float = 336.0

    summary: ClassVar[str] = "VM types of Azure Packing 2020 or Azure 2017 (`path`) as 500 x fractions of a machine."
    reference: ClassVar[str] = f"{NARA}; Hadary et al., Protean, OSDI 2020; Cortez et al., Resource Central, SOSP 2017"
    source: ClassVar[str] = "github.com/Azure/AzurePublicDataset (AzureTracesForPacking2020.md, or V1 of 2017)"
    licence: ClassVar[str] = "CC BY 4.0"

    def law(self) -> Law:
        return _law("azure", self, distinct=self.each == "type")

    def amounts(self) -> Floats:
        name = _recognised("azure", self, ("azure-packing-2020", "azure-vm-2017"))
        if name == "azure-packing-2020":
            frame, machine = read(name, self.path, options={"machine": self.machine}), (1.0, 1.0)
        else:
            frame, machine = read(name, self.path), _machine(self.cores, self.memory)
        return 500 * frame.select("cpu", "mem").to_numpy() / machine


@dataclass(frozen=True, slots=True)
class Alibaba:
    """Containers of Alibaba 2018: int(cpu_request / 800 x 50) and int(5 x mem_size).

    `cpu_request` is in hundredths of a core, `mem_size` a percentage of the largest machine. The table has a row for
    everything that happens to a container; each container counts once, by its first row.
    """

    path: Path
    split: Split = "train"

    summary: ClassVar[str] = "containers of Alibaba 2018 (`path` to container_meta.csv)."
    reference: ClassVar[str] = f"{NARA}; Alibaba cluster-trace-v2018"
    source: ClassVar[str] = SOURCE
    licence: ClassVar[str] = "none stated; published for research"

    def law(self) -> Law:
        return _law("alibaba", self)

    def amounts(self) -> Floats:
        return read_containers(self.path) * (50 / 800, 5.0)


@dataclass(frozen=True, slots=True)
class OpenB:
    """Pods of Alibaba 2023 by the rule for Azure: int(500 x fraction) of a machine of `cores` and `memory` (GB).

    The default machine is the most common one of that cluster. GPUs are not read.
    """

    path: Path
    split: Split = "train"
    cores: float = 96.0
    memory: float = 393_216 * GB_PER_MIB

    summary: ClassVar[str] = "pods of Alibaba's GPU cluster of 2023 (`path`) as 500 x fractions of a machine."
    reference: ClassVar[str] = f"rule: {NARA}; pods: Weng et al., Beware of Fragmentation, USENIX ATC 2023"
    source: ClassVar[str] = "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv"
    licence: ClassVar[str] = "none stated; published for research, cite the paper"

    def law(self) -> Law:
        return _law("openb", self)

    def amounts(self) -> Floats:
        name = _recognised("openb", self, ("alibaba-openb",))
        return 500 * read(name, self.path).select("cpu", "mem").to_numpy() / _machine(self.cores, self.memory)


def _law(kind: str, demand: Traced, *, distinct: bool = False) -> Law:
    path = demand.path
    if not path.is_file():
        raise WorkloadError(
            "there is no such file",
            file=path,
            key=f"workload.demand.{kind}.path",
            remedy=f"{kind}: {demand.summary} Get it from {demand.source}. Licence: {demand.licence}.\n"
            "  azure-like and alibaba-like need no file.",
        )
    stat = path.stat()
    return _read(kind, demand, distinct, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=8)
def _read(kind: str, demand: Traced, distinct: bool, version: tuple[int, int]) -> Law:
    """Read the law of the demand's part of its file, which is taken to be the same while `version` is."""
    rows = demand.amounts()
    border = int(TRAINING * len(rows) + 1e-9)
    part = {"train": rows[:border], "test": rows[border:], "all": rows}[demand.split]
    if distinct:
        # A row as one complex number: ten times as fast as with axis=0.
        part = np.unique(np.ascontiguousarray(part).view(np.complex128)).view(np.float64).reshape(-1, 2)
    # Truncated as published, but 0.57 x 100 is 57: a product a hair below an integer was meant to be that integer.
    whole = np.floor(part + 1e-9)
    whole = whole[(whole <= LARGEST).all(axis=1)]
    if not len(whole):
        raise WorkloadError(
            f"no row that asks for {LARGEST} or less among the {demand.split} rows of {len(rows)}",
            file=demand.path,
            key=f"workload.demand.{kind}",
            remedy="Give a longer trace, `split: all`, or a larger machine.",
        )
    return equal(np.maximum(whole, 1).astype(np.int64))


def _recognised(kind: str, demand: Traced, wanted: tuple[str, ...]) -> str:
    """Recognise the format of the file, one of those that are wanted."""
    name = detect(demand.path)
    if name not in wanted:
        raise WorkloadError(
            f"this is a trace of the format {name}",
            file=demand.path,
            key=f"workload.demand.{kind}.path",
            remedy=f"{kind} reads {' and '.join(wanted)}. Get it from {demand.source}.",
        )
    return name


def _machine(cores: float, memory: float) -> tuple[float, float]:
    if not (0 < cores < np.inf and 0 < memory < np.inf):
        raise WorkloadError(
            "no machine", key="workload.demand", value=[cores, memory], remedy="Give cores and memory above 0."
        )
    return cores, memory
