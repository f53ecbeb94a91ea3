"""Demands drawn from a trace file: its sizes turned into the fabric's units, without its arrivals and lifetimes.

Every kind takes `path`, without which the file is looked up under its own name where all traces are, and `split`: 80 %
of what is drawn from, the same in all runs, are for training (`train`), the rest for testing (`test`). Sizes above 100
of any resource are drawn again, which is to say that they are left out; less than 1 becomes 1. A process reads a trace
once, as long as its file does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats
from binwright.workloads import TRACES
from binwright.workloads.demands import NARA, Law, equal
from binwright.workloads.traces.azure_packing import read_types
from binwright.workloads.traces.cells import number
from binwright.workloads.traces.library import detect, locate, read, whence_of
from binwright.workloads.traces.text import read_text

TRAINING = 0.8
LARGEST = 100
"""Units of a resource in one request, as published."""


@dataclass(frozen=True, slots=True)
class TracedDemand:
    """What all kinds have in common: the file, and the part of it that is drawn from.

    `traces` are the formats that the file may have; it is looked up as the first of them.
    """

    path: Path | None = None
    split: Literal["train", "test", "all"] = "train"

    kind: ClassVar[str]
    traces: ClassVar[tuple[str, ...]]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def law(self) -> Law:
        file = self.file()
        stat = file.stat()
        return _read(self, file, (stat.st_mtime_ns, stat.st_size))

    def file(self) -> Path:
        """Find the file; a `WorkloadError` says where a user gets it."""
        trace, key = TRACES.load(self.traces[0]), "workload.demand"
        remedy = f"{whence_of(self.kind, self.summary, trace)} azure-like and alibaba-like need no file."
        at = f"{key}.{self.kind}.path"
        return locate("this demand", trace.files, self.path, key=key, value=self.kind, remedy=remedy, at=at)

    def amounts(self, file: Path) -> Floats:
        """Read what is drawn from, each equally likely: cpu and mem in units before rounding, float64 [rows, 2]."""
        raise NotImplementedError

    def format_of(self, file: Path) -> str:
        """Recognise the format of the file, one of `traces`."""
        name = detect(file)
        if name not in self.traces:
            remedy = f"{self.kind} reads {' and '.join(self.traces)}. Get it from {TRACES.load(self.traces[0]).source}."
            key = f"workload.demand.{self.kind}.path"
            raise WorkloadError(f"this is a trace of the format {name}", file=file, key=key, remedy=remedy)
        return name


def _fractions(name: str, file: Path, whole: tuple[float, float], **options: object) -> Floats:
    """Read cpu and mem of the requests of a trace, 500 x what they take of a machine, float64 [rows, 2]."""
    if not all(0 < has < np.inf for has in whole):
        remedy = "Give cores and memory above 0."
        raise WorkloadError("no machine", key="workload.demand", value=[*whole], remedy=remedy)
    return 500 * read(name, file, options=options).select("cpu", "mem").to_numpy() / whole


@dataclass(frozen=True, slots=True)
class Azure(TracedDemand):
    """VM types of Azure: int(50 x what the type takes of a machine), a machine being one of our servers of 10 units.

    So it is 500 x a fraction: with 50 x a fraction the published bound of 100 would leave nothing out.
    Azure Packing 2020 gives fractions; Azure 2017 gives cores and GB, divided here by `cores` and `memory` (GB).

    `each` says what is equally likely: as published, each `type` of VM, or each `request`, which makes the common types
    common. Types of Azure Packing 2020 are the rows of its table vmType, one for every kind of machine that a type may
    run on, or for one kind, which `machine` names as the trace azure-packing-2020 has it; requests have the size on the
    `best` machine, if nothing else is said. Types of Azure 2017 are the sizes that occur.
    """

    each: Literal["type", "request"] = "type"
    machine: int | Literal["best"] | None = None
    cores: float = 56.0
    memory: float = 336.0

    kind: ClassVar[str] = "azure"
    traces: ClassVar[tuple[str, ...]] = ("azure-packing-2020", "azure-vm-2017")
    summary: ClassVar[str] = (
        "VM types of Azure Packing 2020 (or, by its `path`, Azure 2017), 500 x fractions of a machine."
    )
    reference: ClassVar[str] = f"{NARA}; Hadary et al., Protean, OSDI 2020; Cortez et al., Resource Central, SOSP 2017"

    def amounts(self, file: Path) -> Floats:
        if (name := self.format_of(file)) == "azure-vm-2017":
            rows = _fractions(name, file, (self.cores, self.memory))
            return np.unique(rows, axis=0) if self.each == "type" else rows
        if self.each == "type":
            return 500 * read_types(file, self.machine)
        return _fractions(name, file, (1.0, 1.0), machine="best" if self.machine is None else self.machine)


@dataclass(frozen=True, slots=True)
class Alibaba(TracedDemand):
    """Containers of Alibaba 2018: int(cpu_request / 800 x 50) and int(5 x mem_size).

    `cpu_request` is in hundredths of a core, so that 50 x is said of eight cores, and `mem_size` a percentage of the
    largest machine. The table has a row for everything that happens to a container; each container counts once, by its
    first row. Containers without one of the two, or with a negative one (the trace writes -1 for invalid), are left
    out.
    """

    kind: ClassVar[str] = "alibaba"
    traces: ClassVar[tuple[str, ...]] = ("alibaba-containers-2018",)
    summary: ClassVar[str] = "containers of Alibaba 2018 (container_meta.csv)."
    reference: ClassVar[str] = f"{NARA}; Alibaba cluster-trace-v2018"

    def amounts(self, file: Path) -> Floats:
        rows = read_text(file, columns=TRACES.load(self.traces[0]).header)
        first = rows.unique("container_id", keep="first", maintain_order=True)
        sizes = np.column_stack([number(first, name, file).to_numpy() for name in ("cpu_request", "mem_size")])
        return sizes[(sizes >= 0).all(axis=1)] * (50 / 800, 5.0)  # missing ones are nan by now, and not >= 0


@dataclass(frozen=True, slots=True)
class OpenBDemand(TracedDemand):
    """Pods of Alibaba 2023 by the rule for Azure: int(500 x fraction) of a machine of `cores` and `memory` (GB).

    The default machine is the most common one of that cluster. GPUs are not read.
    """

    cores: float = 96.0
    memory: float = 393_216 * 1.048576e-3

    kind: ClassVar[str] = "openb"
    traces: ClassVar[tuple[str, ...]] = ("alibaba-openb",)
    summary: ClassVar[str] = "pods of Alibaba's GPU cluster of 2023 as 500 x fractions of a machine."
    reference: ClassVar[str] = f"rule: {NARA}; pods: Weng et al., Beware of Fragmentation, USENIX ATC 2023"

    def amounts(self, file: Path) -> Floats:
        return _fractions(self.format_of(file), file, (self.cores, self.memory))


@lru_cache(maxsize=8)
def _read(demand: TracedDemand, file: Path, version: tuple[int, int]) -> Law:
    """Read the law of the demand's part of its file, which is taken to be the same while `version` is."""
    rows = demand.amounts(file)
    order = stream(0, "split").permutation(len(rows))
    border = int(TRAINING * len(rows) + 1e-9)
    part = rows[{"train": order[:border], "test": order[border:], "all": order}[demand.split]]
    # Truncated as published, but 0.57 x 100 is 57: a product a hair below an integer was meant to be that integer.
    whole = np.floor(part + 1e-9)
    whole = whole[(whole <= LARGEST).all(axis=1)]
    if not len(whole):
        problem = f"no row that asks for {LARGEST} or less among the {demand.split} rows of {len(rows)}"
        key, remedy = f"workload.demand.{demand.kind}", "Give a longer trace, `split: all`, or a larger machine."
        raise WorkloadError(problem, file=file, key=key, remedy=remedy)
    return equal(np.maximum(whole, 1).astype(np.int64))
