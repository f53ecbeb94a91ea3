"""How many cpu and mem a request that may need several servers asks for: laws given exactly, as tables.

Units are those of the published fabric experiments, where every server has 10 cpu and 10 mem: (25, 7) needs three
servers at least. Laws read from trace files are in `binwright.workloads.traced_demands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.registry import Registry
from binwright.simcore.types import Floats, Ints
from binwright.workloads.lifetimes import pick

DEMANDS = Registry(
    "demand",
    "binwright.demands",
    {
        "uniform": "binwright.workloads.demands:Uniform",
        "azure-like": "binwright.workloads.demands:AzureLike",
        "alibaba-like": "binwright.workloads.demands:AlibabaLike",
        "azure": "binwright.workloads.traced_demands:Azure",
        "alibaba": "binwright.workloads.traced_demands:Alibaba",
    },
)
NARA = "Shabka and Zervas, Nara, arXiv 2106.02412, 2021"


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """What a demand is drawn from: `pairs` int64 [k, 2], units of cpu and mem; `weights` float64 [k], summing to 1."""

    pairs: Ints
    weights: Floats

    def __post_init__(self) -> None:
        pairs, weights = self.pairs, self.weights
        whole = pairs.shape == (len(weights), 2) and pairs.dtype == np.int64 and (pairs >= 0).all()
        summed = len(weights) and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-9
        if not (whole and summed and pairs.any(axis=1).all()):
            remedy = "It has pairs int64 [k, 2] of 0 or more, not both 0, and weights [k] from 0 that sum to 1."
            raise WorkloadError("a demand returns no law", key="workload.demand", remedy=remedy)

    def at(self, uniform: Floats) -> Ints:
        """Choose demands, int64 [n, 2] units, by uniforms float64 [n] in [0, 1): one for each, whatever the law.

        So a change of law leaves the other streams where they are, and more requests continue fewer.
        """
        return self.pairs[pick(self.weights, uniform)]


def equal(pairs: Ints) -> Law:
    """Make the law of equally likely rows int64 [n, 2]; those that occur several times become one, in order."""
    width = pairs[:, 1].max() + 1
    key, count = np.unique(pairs[:, 0] * width + pairs[:, 1], return_counts=True)  # ten times as fast as with axis=0
    return Law(np.column_stack(np.divmod(key, width)), count / len(pairs))


class Demands(Protocol):
    """A kind of demand, with a `summary` and a `reference`; its fields are its options in a scenario."""

    def law(self) -> Law:
        """Give the law: always the same for the same options (and file)."""
        ...


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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class AlibabaLike:
    """A stand-in for the demand `alibaba` where the container table of 2018 is not at hand.

    The two sizes are those of containers of 4 and 8 cores; their weights were fitted to the columns that the paper
    printed.
    """

    summary: ClassVar[str] = "a stand-in for alibaba without its table: (25, 7) three times in four, else (50, 15)."
    reference: ClassVar[str] = f"{NARA}; sizes: Alibaba cluster-trace-v2018"

    def law(self) -> Law:
        return Law(np.array([(25, 7), (50, 15)], np.int64), np.array([0.75, 0.25]))
