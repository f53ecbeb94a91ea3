"""How many cpu and mem a request that may need several servers asks for.

Units are those of the published fabric experiments, where every server has 10 cpu and 10 mem: (25, 7) needs three
servers at least. Others are drawn from a trace file: its sizes turned into these units, without its arrivals and
lifetimes.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.registry import Registry
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints
from binwright.workloads import TRACES
from binwright.workloads.csv_files import read_text
from binwright.workloads.lifetimes import pick
from binwright.workloads.traces.azure_packing import read_types
from binwright.workloads.traces.cells import number
from binwright.workloads.traces.library import locate, whence_of

DEMANDS = Registry(
    "demand",
    "binwright.demands",
    {
        "uniform": "binwright.workloads.demands:Uniform",
        "azure-like": "binwright.workloads.demands:AzureLike",
        "alibaba-like": "binwright.workloads.demands:AlibabaLike",
        "azure": "binwright.workloads.demands:Azure",
        "alibaba": "binwright.workloads.demands:Alibaba",
    },
)
"""Classes with a `summary`, a `reference`, and `law()`, always the same for the same options (and file)."""
TRAINING = 0.8
LARGEST = 100
"""Units of a resource in one request of a trace, as published."""
NARA = "Shabka and Zervas, Nara, arXiv 2106.02412, 2021"


class Law(NamedTuple):
    """What a demand is drawn from: `pairs` int64 [k, 2], units of cpu and mem; `weights` float64 [k], summing to 1."""

    pairs: Ints
    weights: Floats

    def at(self, uniform: Floats) -> Ints:
        """Choose demands, int64 [n, 2] units, by uniforms float64 [n] in [0, 1): one for each, whatever the law.

        So a change of law leaves the other streams where they are, and more requests continue fewer.
        """
        return self.pairs[pick(self.weights, uniform)]


def equal(pairs: Ints) -> Law:
    """Make the law of equally likely rows int64 [n, 2]; those that occur several times become one, in order."""
    rows, count = np.unique(pairs, axis=0, return_counts=True)
    return Law(rows, count / len(pairs))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Integers `low` to `high`, both included; cpu and mem independent of one another."""

    low: int = 1
    high: int = 50

    summary: ClassVar[str] = "cpu and mem integers `low` to `high` (1 to 50), independent of one another."
    reference: ClassVar[str] = NARA

    def law(self) -> Law:
        if not 1 <= self.low <= self.high <= 1000:
            key, value, remedy = "workload.demand.uniform", [self.low, self.high], "Give 1 <= low <= high <= 1000."
            raise WorkloadError("an impossible range", key=key, value=value, remedy=remedy)
        amounts = np.arange(self.low, self.high + 1, dtype=np.int64)
        pairs = np.stack(np.meshgrid(amounts, amounts, indexing="ij"), axis=2).reshape(-1, 2)
        return Law(pairs, np.full(len(pairs), 1 / len(pairs)))


class AzureLike:
    """A stand-in for the demand `azure` where the trace is not at hand.

    Nine VM types of Azure 2017, equally likely, in fractions of a machine of 64 cores and 360 GB: int(500 x fraction).
    The machine was fitted to the columns that the paper printed.
    """

    summary: ClassVar[str] = "a stand-in for azure without its trace: nine VM types of 2017, equally likely."
    reference: ClassVar[str] = f"{NARA}; sizes: Cortez et al., Resource Central, SOSP 2017"

    def law(self) -> Law:
        sizes = [(7, 1), (7, 2), (15, 4), (31, 9), (15, 19), (62, 19), (15, 22), (31, 38), (62, 77)]
        return equal(np.array(sizes, np.int64))


class AlibabaLike:
    """A stand-in for the demand `alibaba` where the container table of 2018 is not at hand.

    The two sizes are those of containers of 4 and 8 cores; their weights were fitted to the columns that the paper
    printed.
    """

    summary: ClassVar[str] = "a stand-in for alibaba without its table: (25, 7) three times in four, else (50, 15)."
    reference: ClassVar[str] = f"{NARA}; sizes: Alibaba cluster-trace-v2018"

    def law(self) -> Law:
        return Law(np.array([(25, 7), (50, 15)], np.int64), np.array([0.75, 0.25]))


@dataclass(frozen=True, slots=True)
class TracedDemand:
    """A demand of the file of a `trace`: `path`, or the one of its own name where all traces are.

    With `split`, 80 % of what is drawn from, the same in all runs, are for training (`train`), the rest for testing.
    Sizes above 100 of any resource are drawn again, which is to say that they are left out; less than 1 becomes 1. A
    process reads a trace once, as long as its file does not change.
    """

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
