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
from binwright.workloads.traces.library import locate, whence_of
from binwright.workloads.traces.text import read_text

TRAINING = 0.8
LARGEST = 100
"""Units of a resource in one request, as published."""


@dataclass(frozen=True, slots=True)
class TracedDemand:
    """What both kinds have in common: the file of a `trace`, and the part of it that is drawn from."""

    path: Path | None = None
    split: Literal["train", "test", "all"] = "train"

    kind: ClassVar[str]
    trace: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def law(self) -> Law:
        file = self.file()
        return _read(self, file, file.stat().st_mtime_ns)

    def file(self) -> Path:
        """Find the file; a `WorkloadError` says where a user gets it."""
        trace, key = TRACES.load(self.trace), "workload.demand"
        remedy = f"{whence_of(self.kind, self.summary, trace)} azure-like and alibaba-like need no file."
        at = f"{key}.{self.kind}.path"
        return locate("this demand", trace.files, self.path, key=key, value=self.kind, remedy=remedy, at=at)

    def amounts(self, file: Path) -> Floats:
        """Read what is drawn from, each equally likely: cpu and mem in units before rounding, float64 [rows, 2]."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Azure(TracedDemand):
    """VM types of Azure Packing 2020: int(50 x what the type takes of a machine), which is one of our servers of 10.

    So it is 500 x a fraction: with 50 x a fraction the published bound of 100 would leave nothing out. Types are the
    rows of the table vmType, one for every kind of machine that a type may run on.
    """

    kind: ClassVar[str] = "azure"
    trace: ClassVar[str] = "azure-packing-2020"
    summary: ClassVar[str] = "VM types of Azure Packing 2020, 500 x fractions of a machine."
    reference: ClassVar[str] = f"{NARA}; Hadary et al., Protean, OSDI 2020"

    def amounts(self, file: Path) -> Floats:
        return 500 * read_types(file)


@dataclass(frozen=True, slots=True)
class Alibaba(TracedDemand):
    """Containers of Alibaba 2018: int(cpu_request / 800 x 50) and int(5 x mem_size).

    `cpu_request` is in hundredths of a core, so that 50 x is said of eight cores, and `mem_size` a percentage of the
    largest machine. The table has a row for everything that happens to a container; each container counts once, by its
    first row. Containers without one of the two, or with a negative one (the trace writes -1 for invalid), are left
    out.
    """

    kind: ClassVar[str] = "alibaba"
    trace: ClassVar[str] = "alibaba-containers-2018"
    summary: ClassVar[str] = "containers of Alibaba 2018 (container_meta.csv)."
    reference: ClassVar[str] = f"{NARA}; Alibaba cluster-trace-v2018"

    def amounts(self, file: Path) -> Floats:
        rows = read_text(file, columns=TRACES.load(self.trace).header)
        first = rows.unique("container_id", keep="first", maintain_order=True)
        sizes = np.column_stack([number(first, name, file).to_numpy() for name in ("cpu_request", "mem_size")])
        return sizes[(sizes >= 0).all(axis=1)] * (50 / 800, 5.0)  # missing ones are nan by now, and not >= 0


@lru_cache(maxsize=8)
def _read(demand: TracedDemand, file: Path, version: int) -> Law:
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
        key, remedy = f"workload.demand.{demand.kind}", "Give a longer trace, or `split: all`."
        raise WorkloadError(problem, file=file, key=key, remedy=remedy)
    return equal(np.maximum(whole, 1).astype(np.int64))
