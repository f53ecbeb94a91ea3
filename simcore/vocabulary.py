"""The words every part shares: request, workload, placement, agent, and the view an agent sees.

Quantities are int64 multiples of a quantum, a millionth of the resource's unit; times are float seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

QUANTUM = 1_000_000
"""Quanta per unit of any resource."""

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Amounts: TypeAlias = tuple[int, ...]
"""Quanta of each resource, in the order of the cluster's resources."""
Share: TypeAlias = tuple[int, int, Amounts]
"""Server, node, and the amounts taken there."""


@dataclass(slots=True)
class Placement:
    """An agent's answer: what it takes where, and the links it reserves. (Frozen, it would be much slower to make.)"""

    shares: tuple[Share, ...]
    links: tuple[int, ...] = ()


@final
@dataclass(slots=True)
class Refusal:
    """Another answer: no placement, and why. `None` leaves the reason to be found out."""

    reason: str


class Request:
    """What arrives: a demand per resource and a holding period, in a network also a bandwidth, in quanta.

    `spread` says that the request takes an even part of every node of one server, instead of one node whole.
    """

    __slots__ = ("arrival", "bandwidth", "demand", "duration", "index", "spread")

    def __init__(
        self, index: int, arrival: float, duration: float, demand: Amounts, spread: bool, bandwidth: int = 0
    ) -> None:
        self.index = index
        self.arrival = arrival
        self.duration = duration
        self.demand = demand
        self.spread = spread
        self.bandwidth = bandwidth

    def __repr__(self) -> str:
        kind = "spread" if self.spread else "whole"
        return f"Request({self.index}, at {self.arrival} s for {self.duration} s, {self.demand} quanta, {kind})"

    def on(self, server: int, node: int) -> Placement:
        """The whole request on one node."""
        return Placement(((server, node, self.demand),))

    def across(self, server: int, nodes: int) -> Placement:
        """An even part on each of a server's nodes; the first nodes take the odd quanta."""
        return Placement(tuple((server, node, part(self.demand, node, nodes)) for node in range(nodes)))


def part(demand: Amounts, node: int, nodes: int) -> Amounts:
    """What node number `node` of `nodes` gives to a spread request."""
    return tuple(amount // nodes + (node < amount % nodes) for amount in demand)


@dataclass(frozen=True)
class Workload:
    """All requests of a run, in order of arrival.

    `arrival` float64 [n] ascending, from 0; `duration` float64 [n], inf for never ending; `demand` int64
    [n, resources] quanta; `id` [n], the name of each request in its source (int64 or str); `bandwidth` int64 [n]
    quanta between the servers of a request, `None` when no request needs any.
    """

    resources: tuple[str, ...]
    arrival: Floats
    duration: Floats
    demand: Ints
    id: npt.NDArray[Any]
    bandwidth: Ints | None = None

    def __len__(self) -> int:
        return len(self.arrival)

    @cached_property
    def flavours(self) -> tuple[Ints, Ints]:
        """Distinct demands int64 [k, resources] in ascending order, and how often each occurs, int64 [k]."""
        # As np.unique(axis=0), which compares rows as bytes and takes six times as long.
        ordered = self.demand[np.lexsort(self.demand.T[::-1])]
        first = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
        return ordered[first], np.diff(first, append=len(ordered))


@dataclass(slots=True)
class View:
    """What an agent may see: arrays that only the ledger writes, as of now.

    `capacity` and `free` int64 [servers, nodes, resources] quanta, read-only. They are new arrays after the
    cluster grows, so agents read them from the view at every decision. A failed server has nothing free.
    """

    resources: tuple[str, ...]
    capacity: Ints
    free: Ints
    now: float = 0.0


class Compiled(NamedTuple):
    """What an agent decides, as one kernel: (free, capacity, demand, spread) -> server * nodes + node, -1 for nowhere.

    The node is 0 for a spread request. `weights` are more arguments of the kernel, each float64 [any].
    """

    scan: Any
    weights: tuple[Floats, ...] = ()


class Agent:
    """Whatever decides. Subclasses override `decide`; constructor arguments are the options of the YAML."""

    reference: ClassVar[str] = ""
    """Where the method comes from: a paper, in one line."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Called once before the first decision of a run, with the agent's own random stream."""

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Where the request goes, or `None` or a `Refusal` to reject it."""
        raise NotImplementedError

    @property
    def compiled(self) -> Compiled | None:
        """The same as `decide`, for compiled simulations; its weights count after `start`. `None`: there is none."""
        return None
