"""Demands drawn from a trace file: its sizes turned into the fabric's units, without its arrivals and lifetimes.

Every kind takes `path`, without which the file is looked up under its own name where all traces are, and `split`: 80 %
of what is drawn from, the same in all runs, are for training (`train`), the rest for testing (`test`). Sizes above 100
of any resource are drawn again, which is to say that they are left out; less than 1 becomes 1. A process reads a trace
once, as long as its file does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from binwright.simcore.errors import FileNeeded, WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats
from binwright.workloads import TRACES
from binwright.workloads.demands import NARA, Law, equal
from binwright.workloads.traces.alibaba_containers import SOURCE, read_containers
from binwright.workloads.traces.azure_packing import read_types
from binwright.workloads.traces.library import FOLDER, detect, folders, read
from binwright.workloads.traces.openb import GB_PER_MIB

Split: TypeAlias = Literal["train", "test", "all"]
TRAINING = 0.8
CONTAINERS = ("container_meta.csv", "container_meta.csv.gz")
LARGEST = 100
"""Units of a resource in one request, as published."""


class Traced(Protocol):
    """What the kinds below have in common."""

    summary: ClassVar[str]
    source: ClassVar[str]
    licence: ClassVar[str]

    @property
    def path(self) -> Path | None: ...
    @property
    def split(self) -> Split: ...
    def __hash__(self) -> int: ...
    def file(self) -> Path:
        """Find the file; a `WorkloadError` says where a user gets it."""
        ...

    def amounts(self, file: Path) -> Floats:
        """Read what is drawn from, each equally likely: cpu and mem in units before rounding, float64 [rows, 2]."""
        ...


@dataclass(frozen=True, slots=True)
class Azure:
    """VM types of Azure: int(50 x what the type takes of a machine), a machine being one of our servers of 10 units.

    So it is 500 x a fraction: with 50 x a fraction the published bound of 100 would leave nothing out.
    Azure Packing 2020 gives fractions; Azure 2017 gives cores and GB, divided here by `cores` and `memory` (GB).

    `each` says what is equally likely: as published, each `type` of VM, or each `request`, which makes the common types
    common. Types of Azure Packing 2020 are the rows of its table vmType, one for every kind of machine that a type may
    run on, or for one kind, which `machine` names as the trace azure-packing-2020 has it; requests have the size on the
    `best` machine, if nothing else is said. Types of Azure 2017 are the sizes that occur.
    """

    path: Path | None = None
    split: Split = "train"
    each: Literal["type", "request"] = "type"
    machine: int | Literal["best"] | None = None
    cores: float = 56.0
    memory: float = 336.0

    summary: ClassVar[str] = (
        "VM types of Azure Packing 2020 (or, by its `path`, Azure 2017), 500 x fractions of a machine."
    )
    reference: ClassVar[str] = f"{NARA}; Hadary et al., Protean, OSDI 2020; Cortez et al., Resource Central, SOSP 2017"
    source: ClassVar[str] = "github.com/Azure/AzurePublicDataset (AzureTracesForPacking2020.md, or V1 of 2017)"
    licence: ClassVar[str] = "CC BY 4.0"

    def law(self) -> Law:
        return _law("azure", self)

    def file(self) -> Path:
        return _find("azure", self, TRACES.load("azure-packing-2020").files)

    def amounts(self, file: Path) -> Floats:
        name = _recognised("azure", self, file, ("azure-packing-2020", "azure-vm-2017"))
        if name == "azure-packing-2020" and self.each == "type":
            return 500 * read_types(file, self.machine)
        if name == "azure-packing-2020":
            machine = "best" if self.machine is None else self.machine
            return 500 * read(name, file, options={"machine": machine}).select("cpu", "mem").to_numpy()
        rows = 500 * read(name, file).select("cpu", "mem").to_numpy() / _machine(self.cores, self.memory)
        return _distinct(rows) if self.each == "type" else rows


@dataclass(frozen=True, slots=True)
class Alibaba:
    """Containers of Alibaba 2018: int(cpu_request / 800 x 50) and int(5 x mem_size).

    `cpu_request` is in hundredths of a core, so that 50 x is said of eight cores, and `mem_size` a percentage of the
    largest machine. The table has a row for everything that happens to a container; each container counts once, by its
    first row.
    """

    path: Path | None = None
    split: Split = "train"

    summary: ClassVar[str] = "containers of Alibaba 2018 (container_meta.csv)."
    reference: ClassVar[str] = f"{NARA}; Alibaba cluster-trace-v2018"
    source: ClassVar[str] = SOURCE
    licence: ClassVar[str] = "none stated; published for research"

    def law(self) -> Law:
        return _law("alibaba", self)

    def file(self) -> Path:
        return _find("alibaba", self, CONTAINERS)

    def amounts(self, file: Path) -> Floats:
        return read_containers(file) * (50 / 800, 5.0)


@dataclass(frozen=True, slots=True)
class OpenBDemand:
    """Pods of Alibaba 2023 by the rule for Azure: int(500 x fraction) of a machine of `cores` and `memory` (GB).

    The default machine is the most common one of that cluster. GPUs are not read.
    """

    path: Path | None = None
    split: Split = "train"
    cores: float = 96.0
    memory: float = 393_216 * GB_PER_MIB

    summary: ClassVar[str] = "pods of Alibaba's GPU cluster of 2023 as 500 x fractions of a machine."
    reference: ClassVar[str] = f"rule: {NARA}; pods: Weng et al., Beware of Fragmentation, USENIX ATC 2023"
    source: ClassVar[str] = "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv"
    licence: ClassVar[str] = "none stated; published for research, cite the paper"

    def law(self) -> Law:
        return _law("openb", self)

    def file(self) -> Path:
        return _find("openb", self, TRACES.load("alibaba-openb").files)

    def amounts(self, file: Path) -> Floats:
        name = _recognised("openb", self, file, ("alibaba-openb",))
        return 500 * read(name, file).select("cpu", "mem").to_numpy() / _machine(self.cores, self.memory)


def _law(kind: str, demand: Traced) -> Law:
    file = demand.file()
    stat = file.stat()
    return _read(kind, demand, file, (stat.st_mtime_ns, stat.st_size))


def _find(kind: str, demand: Traced, names: Sequence[str]) -> Path:
    """Find the file of a demand: its path, or the first of these names where traces are."""
    whence = f"{kind}: {demand.summary} Get it from {demand.source}. Licence: {demand.licence}."
    if demand.path is not None:
        if demand.path.is_file():
            return demand.path
        raise FileNeeded(
            "there is no such file",
            file=demand.path,
            key=f"workload.demand.{kind}.path",
            remedy=f"{whence}\n  azure-like and alibaba-like need no file.",
        )
    found = (folder / name for folder in folders() for name in names)
    for file in found:
        if file.is_file():
            return file
    looked = " and ".join(str(folder) for folder in folders())
    raise FileNeeded(
        f"the file of this demand was not found: no {' or '.join(names)} in {looked}",
        key="workload.demand",
        value=kind,
        remedy=f"{whence}\n  Then put it there, name its folder in ${FOLDER}, or give `path:`. azure-like and "
        "alibaba-like need no file.",
    )


@lru_cache(maxsize=8)
def _read(kind: str, demand: Traced, file: Path, version: tuple[int, int]) -> Law:
    """Read the law of the demand's part of its file, which is taken to be the same while `version` is."""
    rows = demand.amounts(file)
    order = stream(0, "split").permutation(len(rows))
    border = int(TRAINING * len(rows) + 1e-9)
    part = rows[{"train": order[:border], "test": order[border:], "all": order}[demand.split]]
    # Truncated as published, but 0.57 x 100 is 57: a product a hair below an integer was meant to be that integer.
    whole = np.floor(part + 1e-9)
    whole = whole[(whole <= LARGEST).all(axis=1)]
    if not len(whole):
        raise WorkloadError(
            f"no row that asks for {LARGEST} or less among the {demand.split} rows of {len(rows)}",
            file=file,
            key=f"workload.demand.{kind}",
            remedy="Give a longer trace, `split: all`, or a larger machine.",
        )
    return equal(np.maximum(whole, 1).astype(np.int64))


def _distinct(rows: Floats) -> Floats:
    """Return the rows [n, 2] that differ; each as one complex number, which is ten times as fast as with axis=0."""
    found: Floats = np.unique(np.ascontiguousarray(rows).view(np.complex128)).view(np.float64).reshape(-1, 2)
    return found


def _recognised(kind: str, demand: Traced, file: Path, wanted: tuple[str, ...]) -> str:
    """Recognise the format of the file, one of those that are wanted."""
    name = detect(file)
    if name not in wanted:
        raise WorkloadError(
            f"this is a trace of the format {name}",
            file=file,
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
