"""Places a virtual data centre in the smallest cluster of servers that takes it, by bipartite matching: SecondNet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from binwright.agents.heuristics.virtual.common import tenants_of, warm
from binwright.fabric.topology import Indices, Topology
from binwright.fabric.virtual import routed
from binwright.fabric.virtual_paths import route_pairs
from binwright.simcore.types import Agent, Embedding, Form, Ints, Refusal, Request, View, VirtualNetwork

Bools: TypeAlias = npt.NDArray[np.bool_]
NO_ROOM, NO_PATHS = Refusal("no cluster of servers has the room"), Refusal("no cluster of servers has the paths")


class SecondNet(Agent):
    """Matches machines with the servers of a cluster, smallest first, and routes their pairs, largest first."""

    reference = "Guo et al. 2010, SecondNet: a data center network virtualization architecture, CoNEXT"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs",)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Group the servers: those of a rack, of a pod, and all."""
        self._view = view = tenants_of(self, view)
        topology = view.topology
        self._groupings = groupings(topology)
        self._own = topology.server_link
        warm(view, "pairs")

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        """Find where the machines go, and along which paths they communicate."""
        network, view = request.network, self._view
        assert network is not None
        assert network.pairs is not None
        assert network.rates is not None
        matching = Matching(network, view.free, self._own, view.link_capacity, view.link_free)
        largest_first = np.argsort(-network.rates, kind="stable")
        refusal = NO_ROOM
        for cluster in self._clusters(matching.rooms, len(network)):
            hosts = matching.into(cluster)
            if hosts is None:
                continue
            servers, left = hosts // view.free.shape[1], view.link_free.copy()
            lacking, first, links = route_pairs(
                view.routing.routes, left, servers, network.pairs, network.rates, largest_first, True
            )
            if lacking < 0:
                return routed(network, hosts, view.free.shape[1], first, links)
            refusal = NO_PATHS
        return refusal

    def _clusters(self, rooms: Ints, machines: int) -> Iterator[Ints]:
        """Yield the servers of every cluster that could hold so many, the smaller first; `rooms` int64 [servers]."""
        for group_of in self._groupings:
            for group in np.flatnonzero(np.bincount(group_of, rooms) >= machines):
                yield np.flatnonzero(group_of == group)


def groupings(topology: Topology) -> list[Ints]:
    """Return the rack of every server, its pod, and the network, each int64 [servers]."""
    racks = topology.rack_of.astype(np.int64)
    pods = topology.pod_of.astype(np.int64)[racks]
    found = [racks, pods, np.zeros_like(racks)]
    return [found[0], *(each for each in found[1:] if each.min() >= 0)]


class Matching:
    """Matches the machines of one request with the servers of one cluster after the other.

    Machines are matched in rounds, each with at most one more of them on a server. A server takes a machine that fits,
    as long as its own link has free what its machines then send to others. A matching costs the bandwidth that is used
    on the servers' links already, so that those with the most left are taken first.
    """

    def __init__(self, network: VirtualNetwork, free: Ints, own: Indices, capacity: Ints, left: Ints) -> None:
        assert network.pairs is not None
        assert network.rates is not None
        self._machines, self._free = network.machines, free
        self._used = np.where(own >= 0, capacity[own] - left[own], 0)
        self._spare = np.where(own >= 0, left[own], np.iinfo(np.int64).max)
        self._rates = np.zeros((len(network), len(network)), np.int64)
        for one, other in (network.pairs.T, network.pairs[:, ::-1].T):
            self._rates[one, other] = network.rates
        self._sends = self._rates.sum(axis=1)
        asked = network.machines.min(axis=0)
        fits = free[:, :, asked > 0] // asked[asked > 0]
        self.rooms: Ints = fits.min(axis=2, initial=len(network)).sum(axis=1)
        """How many of the machines would fit on every server at most, int64 [servers]."""

    def into(self, cluster: Ints) -> Ints | None:
        """Return a node for every machine on these servers, int64 [machines], or `None`."""
        machines, sends, nodes = self._machines, self._sends, self._free.shape[1]
        hosts = np.full(len(machines), -1)
        left = np.argsort(-sends, kind="stable")
        cluster = self._enough(cluster, len(machines))
        free, spare, used = self._free[cluster], self._spare[cluster], self._used[cluster]
        inside = np.zeros((len(machines), len(cluster)), np.int64)  # what a machine sends to those on a server
        outside = np.zeros(len(cluster), np.int64)  # what those on a server send to others
        while len(left):
            fits: Bools = np.any(np.all(free >= machines[left, None, None], axis=3), axis=2)
            fits &= outside + sends[left, None] - 2 * inside[left] <= spare
            rows, taking = matched(fits, used)
            if not len(rows):
                return None
            taken = left[rows]
            node = (free[taking] >= machines[taken, None]).all(axis=2).argmax(axis=1)
            hosts[taken] = cluster[taking] * nodes + node
            free[taking, node] -= machines[taken]
            outside[taking] += sends[taken] - 2 * inside[taken, taking]
            inside[:, taking] += self._rates[:, taken]
            left = np.delete(left, rows)
        return hosts

    def _enough(self, cluster: Ints, machines: int) -> Ints:
        """Return the servers of a cluster with the least used links, as far as one round could need them.

        These are so many that each machine has one of its own, which takes any of them: no matching costs less.
        """
        cheap = cluster[np.argsort(self._used[cluster], kind="stable")]
        any_fits: Bools = np.any(np.all(self._free[cheap] >= self._machines.max(axis=0), axis=2), axis=1)
        any_fits &= self._sends.max() <= self._spare[cheap]
        enough = np.searchsorted(np.cumsum(any_fits), machines) + 1
        return np.sort(cheap[:enough])


def matched(fits: Bools, cost: Ints) -> tuple[Ints, Ints]:
    """Match as many rows as possible with a column each that fits them, bool [rows, columns], at the least cost.

    `cost` int64 [columns]. The matched rows and their columns, int64 [k] each.
    """
    none = (int(cost.max(initial=0)) + 1) * (min(fits.shape) + 1)  # worse than any matching that leaves nobody out
    rows, columns = linear_sum_assignment(np.where(fits, cost, none))
    there = fits[rows, columns]
    return rows[there], columns[there]
