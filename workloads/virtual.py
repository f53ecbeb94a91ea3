"""Tenants' virtual networks: machines, and bandwidth between them, in two published forms.

`pairs` are virtual data centres (Guo et al. 2010, SecondNet, CoNEXT; Rai et al. 2012, Wrasse, SoCC), `hose` virtual
clusters (Ballani et al. 2011, Towards predictable datacenter networks, SIGCOMM).

Who talks to whom is drawn for each network by itself, when it is asked for: a workload of many networks fits into
memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from binwright.simcore.fields import Count, Index, Model, OneOf, PositiveNumber, Shown, checked, wrong
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints, VirtualNetwork
from binwright.simcore.units import BANDWIDTH, amount
from binwright.workloads.amounts import NamedAmounts

MOST = 1_000_000
"""Machines of a network."""


def _range_of(value: object) -> tuple[float, float]:
    """Read both ends, in Gbps, of one bandwidth or a pair of them."""
    ends = value if isinstance(value, list | tuple) else (value, value)
    if len(ends) != 2:
        raise wrong("is not a range", "Write [50 Mbps, 150 Mbps], or one bandwidth.", value=value)
    low, high = (checked(partial(amount, "bandwidth"))(end) for end in ends)
    if low > high:
        raise wrong("is an empty range", "Give the lower bandwidth first.", value=value)
    return low, high


Bandwidth: TypeAlias = Annotated[
    tuple[float, float],
    BeforeValidator(_range_of),
    PlainSerializer(lambda ends: [BANDWIDTH.show(end) for end in ends], return_type=list[str]),
    Shown("bandwidth, or [low, high]"),
]
Size: TypeAlias = Annotated[Count, Field(le=MOST)]


class ExponentialMachines(Model):
    """An exponential number of machines, rounded."""

    mean: Annotated[PositiveNumber, Field(le=MOST)] = Field(description="Of the exponential number.", examples=[49])
    above: Annotated[Index, Field(le=MOST)] = Field(0, examples=[64])
    """Added to it: 64 for 64 machines and some."""
    least: Size = Field(1, description="Smaller ones count as this.", examples=[10])
    most: Size = Field(MOST, description="Larger ones count as this.", examples=[340])

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.most < self.least:
            raise wrong("is smaller than `least`", "Give that number or a larger one.", ("most",), self.most)
        return self


class Machines(OneOf):
    """How many machines a network has, or parts a gang: a number, or one of these."""

    what: ClassVar[str] = "distribution of sizes"
    fixed: Size | None = Field(None, description="Always so many.", examples=[100])
    uniform: tuple[Size, Size] | None = Field(None, description="From the first to the last.", examples=["[64, 128]"])
    exponential: ExponentialMachines | None = Field(None, examples=["{mean: 49, least: 10, most: 340}"])
    """Exponential, clipped."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if not isinstance(data, int | float):
            return data
        if isinstance(data, bool) or not 1 <= data <= MOST or data != int(data):
            raise wrong(f"expected a whole number from 1 to {MOST}", "", (), data)
        return {"fixed": int(data)}

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.uniform and self.uniform[0] > self.uniform[1]:
            raise wrong("is an empty range", "Give the smaller size first.", ("uniform",), list(self.uniform))
        return self

    def at(self, uniform: Floats) -> Ints:
        """Find the sizes int64 [n] below which lie the shares `uniform`, float64 [n] in [0, 1)."""
        if drawn := self.exponential:
            sizes = np.rint(drawn.above - drawn.mean * np.log1p(-uniform))
            return np.clip(sizes, drawn.least, drawn.most).astype(np.int64)
        least, most = self.uniform or (self.fixed or 1, self.fixed or 1)
        return least + (uniform * (most - least + 1)).astype(np.int64)


class Tenant(Model):
    """What each network is made of."""

    machines: Machines = Field(examples=[100, "{uniform: [64, 128]}"])
    """How many machines: a number or a distribution."""
    machine: NamedAmounts = Field(examples=["{slots: 1, mem: 256 MB, disk: 10 GB}"])
    """What each machine takes."""
    bandwidth: Bandwidth = Field(examples=["[50 Mbps, 150 Mbps]"])
    """Drawn uniformly for each network: of all its pairs together, or of each machine (`hose`)."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(self.machine.values()):
            raise wrong("asks for nothing", "Give an amount, like slots: 1.", ("machine",))
        if not self.bandwidth[0]:
            raise wrong("is not above 0", "Give a bandwidth, like 10 Mbps.", ("bandwidth",), self.bandwidth[0])
        return self


class Networks(OneOf):
    """What tenants ask for: one of these."""

    what: ClassVar[str] = "form of virtual network"
    pairs: Tenant | None = Field(None, description="Bandwidth between pairs of machines, spread at random.")
    hose: Tenant | None = Field(None, description="Bandwidth of every machine to one virtual switch.")


@dataclass(frozen=True, eq=False)
class DrawnNetworks(Sequence[VirtualNetwork]):
    """The networks of a workload, each made when it is asked for, the same every time."""

    form: str
    machine: Ints
    size: Ints
    bandwidth: Ints
    seed: int

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        rng = stream(self.seed, "workload", "matrix", row % len(self))
        machines = np.tile(self.machine, (int(self.size[row]), 1))
        if self.form == "hose":
            return VirtualNetwork(machines, hose=int(self.bandwidth[row]))
        pairs = np.stack(np.triu_indices(len(machines), 1), axis=1).astype(np.int64)  # all a < b
        weight = rng.random(len(pairs))
        # Rounding the sums, and not the parts, gives away exactly the whole.
        sums = np.rint(np.cumsum(weight) / max(weight.sum(), 1e-300) * int(self.bandwidth[row])).astype(np.int64)
        rates = np.diff(sums, prepend=0)
        return VirtualNetwork(machines, pairs=pairs[rates > 0], rates=rates[rates > 0])
