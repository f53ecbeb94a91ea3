"""Describes a cluster, before anything is placed on it."""

from dataclasses import dataclass

import numpy as np

from binwright.simcore.memmap import DEMANDS, blocks
from binwright.simcore.types import Amounts, Flags, Ints

NEVER = int(np.iinfo(np.int64).max)
MOST_DEVICES = 32
"""Devices of a server, at most: a choice of them is the bits of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class DevicesOf:
    """Says which devices servers have: each `count` int64 [servers] of one model, all of them 1 unit of `resource`.

    `model` int64 [servers] is a place in `models`, -1 for a server without devices. What servers have of the resource
    is the sum over their devices. An added server has `added`: how many, and of which model.
    """

    resource: int
    count: Ints
    model: Ints
    models: tuple[str, ...]
    added: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Holds servers and their rules.

    `capacity` int64 [servers, nodes, resources] quanta is what may be placed; a request with more than
    `spread_above[r]` of any resource takes an even part of every node of one server; `growth` int64 [nodes, resources]
    is the capacity of an added server. Servers with `devices` have one node. Where servers are overcommitted,
    `physical` and `physical_growth` are what they and added ones have, of the same shapes; else both are None.
    """

    resources: tuple[str, ...]
    capacity: Ints
    spread_above: Amounts
    growth: Ints
    devices: DevicesOf | None = None
    physical: Ints | None = None
    physical_growth: Ints | None = None

    def installed(self, servers: int = 0) -> Ints:
        """Return what the servers have, so many with added ones, int64 [servers, nodes, resources]."""
        capacity = self.capacity if self.physical is None else self.physical
        growth = self.growth if self.physical_growth is None else self.physical_growth
        return np.concatenate([capacity, np.repeat(growth[None], max(0, servers - len(capacity)), axis=0)])

    def spreads(self, demand: Ints) -> Flags:
        """Tell which demands [n, resources] are spread over all nodes of a server, bool [n]."""
        above = np.zeros(len(demand), np.bool_)
        for rows in blocks(len(demand)) if self.capacity.shape[1] > 1 else ():
            above[rows] = (demand[rows] > np.array(self.spread_above)).any(axis=1)
        return above

    def possible(self, demand: Ints, servers: Ints) -> Flags:
        """Tell which demands [n, resources] one of these servers could hold when empty, bool [n].

        `servers` int64 [any, nodes, resources] are their capacities.
        """
        kinds, nodes = np.unique(servers, axis=0), servers.shape[1]
        fits = np.zeros(len(demand), np.bool_)
        for some in blocks(len(demand), most=DEMANDS):
            whole = demand[some]
            parts = whole // nodes + (np.arange(nodes)[:, None, None] < whole % nodes)
            evenly = self.spreads(whole)
            for kind in kinds:
                on_one = (kind[:, None] >= whole).all(axis=2).any(axis=0)
                on_all = (kind[:, None] >= parts).all(axis=2).all(axis=0)
                fits[some] |= np.where(evenly, on_all, on_one)
        return fits
