"""State virtual networks as a problem: machines are balls, nodes of servers are bins.

The solver says where machines go. For pairs, the paths between them are chosen afterwards; if there are none, it is
asked for another answer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from binwright.agents.heuristics.virtual import connected, warm
from binwright.agents.solver.online.nearby import Nearby
from binwright.agents.solver.online.template import Formulation, Setup, in_units, power
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Topology
from binwright.simcore.types import QUANTUM, Embedding, Ints, Request

SMALLEST = 512
"""Machines that a problem has room for, at least: it is compiled for this number, twice it, four times it, ..."""
MOST = 4096
"""Machines of a request: their square is what a table holds, and no larger request gets a place."""
LARGEST = 10**9 * QUANTUM
"""The language's largest quantity."""


class Virtual(Formulation):
    """Answers one request after another by an `Embedding`. What most requests need is compiled at once."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        self.capacity = view.capacity.reshape(-1, self.kinds).copy()
        parts, self.leading_out = parts_of(view.topology)
        self.of = np.repeat(parts, self.nodes, axis=1)
        self.largest = self.capacity.max(axis=0)
        self.outgoing = self.leading_out @ view.topology.link_capacity
        self.widest = min(int(self.outgoing.max(initial=1)) + 1, LARGEST)
        """More than any link has: what cannot go over one, whatever it is."""
        assert view.virtual is not None
        self.template = "secondnet" if view.virtual == "pairs" else "oktopus"
        warm(view, view.virtual)
        self.nearby = cache(self._nearby)
        self.nearby(SMALLEST)

    def _nearby(self, machines: int) -> Nearby:
        """Compile the template for requests of at most so many machines."""
        widest, most = in_units(self.widest), in_units(max(1, int(self.capacity.max())))
        varying: dict[str, Any] = {
            "FREE": in_units(self.capacity),
            "OUT": np.minimum(in_units(self.outgoing), in_units(LARGEST)),
            "MACHINES": np.array([machines]),
            "MACHINE": np.full((machines, self.kinds), most),
            "RATE": np.full((machines, machines) if self.template == "secondnet" else 1, widest),
        }
        stated = self.setup, self.template, self.sizes, {"PART": self.of.T}, varying, machines, len(self.capacity)
        return Nearby(self.of, self.largest, *stated)

    def answer(self, view: NetworkView, request: Request) -> Embedding | None:
        """Choose where the machines of a request go, and the paths between them."""
        network = request.network
        assert network is not None
        count = len(network)
        if count > MOST or (network.machines > self.largest).any():
            return None
        nearby, order = self.nearby(max(SMALLEST, power(count))), np.arange(count)
        if network.pairs is None:
            nearby.write("RATE", min(network.hose, self.widest))
        else:
            assert network.rates is not None
            rate = np.zeros((count, count), np.int64)
            source, target = network.pairs.T
            rate[source, target] = rate[target, source] = np.minimum(network.rates, self.widest)
            order = chained(rate)
            nearby.write("RATE", rate[np.ix_(order, order)], (slice(count), slice(count)))
        machines = network.machines[order]
        nearby.write("OUT", self.leading_out @ np.maximum(view.link_free, 0))
        nearby.write_free("FREE", view.free.reshape(-1, self.kinds))
        nearby.write("MACHINE", machines, slice(count))
        nearby.write("MACHINE", 0, slice(count, None))
        nearby.write("MACHINES", count)
        for bins in nearby.find(self.setup.attempts, count, machines.min(axis=0)):
            hosts = np.empty(count, np.int64)
            hosts[order] = bins[:count]
            if (answer := connected(view, network, hosts, widest=True)) is not None:
                return answer
        return None


def chained(rate: Ints) -> Ints:
    """Order machines [machines] so that each is the one with the most traffic to those before it.

    `rate` is [machines, machines]. The first is the one with the most traffic of all; of equals, the lowest comes
    first.
    """
    order, ties = np.empty(len(rate), np.int64), rate.sum(axis=1)
    for place in range(len(rate)):
        order[place] = chosen = ties.argmax()
        ties = rate[chosen] + (ties if place else 0)
        ties[order[: place + 1]] = -1
    return order


def parts_of(topology: Topology) -> tuple[Ints, csr_matrix]:
    """Find the parts of a network; a level that has all servers in one part is left out.

    Returns the part of every server, int64 [levels, servers], numbered through all levels, servers first; and which
    links lead out of each part, 0 or 1 [parts, links].
    """
    ends, vertices = topology.link_ends, len(topology.level)
    of, part, link, count = [], [], [], 0
    for level in range(int(topology.level.max()) + 1):
        below = topology.level <= level
        inside = ends[below[ends].all(axis=1)]
        graph = csr_matrix((np.ones(len(inside)), inside.T), (vertices, vertices))
        components, label = connected_components(graph, directed=False)
        names, servers = np.unique(label[topology.switches :], return_inverse=True)
        if level and len(names) == 1:
            break
        of.append(count + servers)
        number = np.full(components, -1)
        number[names] = count + np.arange(len(names))
        both = np.where(below, number[label], -1)[ends]
        for mine in both.T:
            out = (mine >= 0) & (both[:, 0] != both[:, 1])
            part.append(mine[out])
            link.append(np.flatnonzero(out))
        count += len(names)
    rows, columns = np.concatenate(part), np.concatenate(link)
    return np.array(of), csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), (count, topology.links))
