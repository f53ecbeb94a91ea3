"""Tenants' virtual networks: machines, and bandwidth between them, in two published forms.

Arrivals, lifetimes, sizes and bandwidths have a random stream each, and every request takes one uniform of each: a
change of one part moves no other, and more requests continue fewer. Who talks to whom is drawn for each network by
itself, when it is asked for: a workload of many networks fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import ClassVar, Protocol, overload

import numpy as np

from simcore.errors import WorkloadError
from simcore.registry import Registry
from simcore.rng import stream
from simcore.types import QUANTUM, Floats, Ints, VirtualNetwork, Workload
from workloads.arrivals import Arrivals
from workloads.lifetimes import Lifetimes

NETWORKS = Registry(
    "virtual network",
    "binwright.networks",
    {"pairs": "workloads.virtual:Pairs", "hose": "workloads.virtual:Hose"},
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many machines: `least` to `most` uniformly, or, with a `mean`, exponential.

    An exponential size is the exponential number of that mean, plus `above`, rounded, and no less than `least` and no
    more than `most`.
    """

    least: int
    most: float
    mean: float | None = None
    above: int = 0

    def at(self, uniform: Floats) -> Ints:
        """Find the sizes int64 [n] below which lie the shares `uniform`, float64 [n] in [0, 1)."""
        if self.mean is None:
            return self.least + (uniform * (self.most - self.least + 1)).astype(np.int64)
        found = np.rint(self.above - self.mean * np.log1p(-uniform))
        return np.clip(found, max(1, self.least), self.most).astype(np.int64)


class Networks(Protocol):
    """A kind of virtual network; its fields are the options that a scenario may set, whose first are these three."""

    summary: ClassVar[str]
    reference: ClassVar[str]

    @property
    def machines(self) -> Sizes: ...
    @property
    def machine(self) -> Mapping[str, float]: ...
    @property
    def bandwidth(self) -> tuple[float, float]: ...

    def total(self, size: Ints, bandwidth: Ints) -> Ints:
        """Compute the bandwidth of whole networks, for so many machines and a drawn bandwidth each, int64 [n]."""
        ...

    def network(self, machines: Ints, bandwidth: int, rng: np.random.Generator) -> VirtualNetwork:
        """One network with these machines, int64 [n, resources], and the bandwidth drawn for it in quanta."""
        ...


@dataclass(frozen=True, slots=True)
class Pairs:
    """Virtual data centres: the `bandwidth` of a whole network, drawn uniformly, spread over pairs of its machines.

    Every pair talks with probability `density`, and its part of the bandwidth is in proportion to a uniform number.
    """

    machines: Sizes
    machine: Mapping[str, float]
    bandwidth: tuple[float, float]
    density: float = 1.0

    summary: ClassVar[str] = "virtual data centres: a network's `bandwidth` spread over a random matrix of pairs."
    reference: ClassVar[str] = "Guo et al. 2010, SecondNet, CoNEXT; Rai et al. 2012, Wrasse, SoCC"

    def total(self, size: Ints, bandwidth: Ints) -> Ints:
        return np.where(size > 1, bandwidth, 0)

    def network(self, machines: Ints, bandwidth: int, rng: np.random.Generator) -> VirtualNetwork:
        pairs = _all_pairs(len(machines))
        weight = rng.random(len(pairs))
        if self.density < 1:
            talks = rng.random(len(pairs)) < self.density
            weight *= talks if talks.any() else 1  # somebody has to
        # Rounding the sums, and not the parts, gives away exactly the whole.
        sums = np.rint(np.cumsum(weight) / max(weight.sum(), 1e-300) * bandwidth).astype(np.int64)
        rates = np.diff(sums, prepend=0)
        asked = rates > 0
        return VirtualNetwork(machines, pairs=pairs[asked], rates=rates[asked])


@dataclass(frozen=True, slots=True)
class Hose:
    """Virtual clusters: every machine has the `bandwidth` of its network, drawn uniformly, to one virtual switch.

    With a `group` size it has two levels: groups of so many machines (the last may be smaller) with a switch each,
    which has group x bandwidth / `oversubscription` to the root.
    """

    machines: Sizes
    machine: Mapping[str, float]
    bandwidth: tuple[float, float]
    group: int | None = None
    oversubscription: float = 1.0

    summary: ClassVar[str] = "virtual clusters: every machine has `bandwidth` to a switch, of all or of its `group`."
    reference: ClassVar[str] = "Ballani et al. 2011, Towards predictable datacenter networks (Oktopus), SIGCOMM"

    def total(self, size: Ints, bandwidth: Ints) -> Ints:
        return np.where(size > 1, size * bandwidth, 0)

    def network(self, machines: Ints, bandwidth: int, rng: np.random.Generator) -> VirtualNetwork:
        if self.group is None or self.group >= len(machines):
            return VirtualNetwork(machines, hose=bandwidth)
        trunk = round(self.group * bandwidth / self.oversubscription)
        groups = np.arange(len(machines)) // self.group
        return VirtualNetwork(machines, hose=bandwidth, groups=groups, trunk=trunk)


@lru_cache(maxsize=128)
def _all_pairs(machines: int) -> Ints:
    """All pairs a < b, int64 [k, 2], in ascending order."""
    pairs = np.stack(np.triu_indices(machines, 1), axis=1).astype(np.int64)
    pairs.flags.writeable = False
    return pairs


class Drawn(Sequence[VirtualNetwork]):
    """The networks of a workload, each made when it is asked for, the same every time."""

    def __init__(self, kind: Networks, machine: Ints, size: Ints, bandwidth: Ints, seed: int) -> None:
        self._kind = kind
        self._machine = machine
        self._size = size
        self._bandwidth = bandwidth
        self._seed = seed

    def __len__(self) -> int:
        return len(self._size)

    @overload
    def __getitem__(self, row: int) -> VirtualNetwork: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[VirtualNetwork]: ...
    def __getitem__(self, row: int | slice) -> VirtualNetwork | Sequence[VirtualNetwork]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        machines = np.tile(self._machine, (int(self._size[row]), 1))
        rng = stream(self._seed, "workload", "matrix", row % len(self))
        return self._kind.network(machines, int(self._bandwidth[row]), rng)

    def __iter__(self) -> Iterator[VirtualNetwork]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, slots=True)
class TenantRequests:
    """A workload of `requests` virtual networks."""

    requests: int
    arrivals: Arrivals
    lifetimes: Lifetimes
    networks: Networks

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw the workload of a seed, for a cluster's resources; ids are 0, 1, 2, ..."""
        n, kind = self.requests, self.networks
        machine = self._machine(resources)
        size = kind.machines.at(stream(seed, "workload", "sizes").random(n))
        low, high = (round(end * QUANTUM) for end in kind.bandwidth)
        bandwidth = low + (stream(seed, "workload", "bandwidth").random(n) * (high - low + 1)).astype(np.int64)
        return Workload(
            resources,
            self.arrivals.draw(n, stream(seed, "workload", "arrivals")),
            self.lifetimes.at(stream(seed, "workload", "lifetimes").random(n)),
            size[:, None] * machine,
            np.arange(n),
            kind.total(size, bandwidth),
            Drawn(kind, machine, size, bandwidth, seed),
        )

    def _machine(self, resources: tuple[str, ...]) -> Ints:
        """Quanta of a machine, int64 [resources]."""
        kind = self.networks
        low, high = kind.bandwidth
        for key, value, wrong, remedy in (
            ("requests", self.requests, self.requests < 1, "Give 1 or more."),
            ("networks.bandwidth", [low, high], not 0 < low <= high < inf, "Give 0 < low <= high."),
            ("networks.machines", kind.machines.least, kind.machines.least < 1, "Give 1 or more."),
        ):
            if wrong:
                raise WorkloadError("out of range", key=f"workload.{key}", value=value, remedy=remedy)
        for name in kind.machine:
            if name not in resources:
                raise WorkloadError(
                    f"the cluster has no {name}",
                    key="workload.networks.machine",
                    value=name,
                    remedy=f"The cluster's resources: {', '.join(resources)}.",
                )
        return np.array([round(kind.machine.get(name, 0.0) * QUANTUM) for name in resources], np.int64)
