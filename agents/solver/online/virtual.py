"""State virtual networks as a problem: machines are balls, nodes of servers are bins.

The solver says where machines go. For pairs, the paths between them are chosen afterwards; if there are none, it is
asked for another answer.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.model.problem import joined
from binwright.agents.solver.online.nearby import Nearby
from binwright.agents.solver.online.template import Formulation, Setup, in_units, power
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Topology
from binwright.fabric.virtual import hosed, route_pairs, routed, tree
from binwright.simcore.jit import prepared
from binwright.simcore.types import QUANTUM, Embedding, Ints, Request, VirtualNetwork

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
        self.parts = parts_of(view.topology)
        self.largest = self.capacity.max(axis=0)
        self.outgoing = self.parts.leading_out(view.topology.link_capacity)
        self.widest = min(int(self.outgoing.max(initial=1)) + 1, LARGEST)
        """More than any link has: what cannot go over one, whatever it is."""
        self.of = np.repeat(self.parts.of, self.nodes, axis=1)
        self.nearby = cache(self._nearby)
        if view.virtual == "pairs":
            self.nearby("secondnet", SMALLEST)
            two, left = np.zeros(2, np.int64), view.link_free.copy()
            prepared(route_pairs, view.routing.routes, left, two, two.reshape(1, 2), two, two, True)
        else:
            tree(view.topology)  # refuses what is none
            self.nearby("oktopus", SMALLEST)

    def answer(self, view: NetworkView, request: Request) -> Embedding | None:
        """Choose where the machines of a request go, and the paths between them."""
        network = request.network
        assert network is not None
        count = len(network)
        if count > MOST or (network.machines > self.largest).any():
            return None
        order, nearby = self._stated(network)
        nearby.write("OUT", self.parts.leading_out(view.link_free))
        nearby.write_free("FREE", view.free.reshape(-1, self.kinds))
        machines = network.machines[order]
        nearby.write("MACHINE", machines, slice(count))
        nearby.write("MACHINE", 0, slice(count, None))
        nearby.write("MACHINES", count)
        for bins in nearby.find(self.setup.attempts, count, machines.min(axis=0)):
            hosts = np.empty(count, np.int64)
            hosts[order] = bins[:count]
            if (answer := self._embedding(view, network, hosts)) is not None:
                return answer
        return None

    def _embedding(self, view: NetworkView, network: VirtualNetwork, hosts: Ints) -> Embedding | None:
        """Return the answer with these nodes of the machines [machines], or None where paths are missing."""
        if network.pairs is None:
            return hosed(view.topology, network, hosts, self.nodes)
        assert network.rates is not None
        order, left = np.argsort(-network.rates, kind="stable"), view.link_free.copy()
        lacking, first, links = route_pairs(
            view.routing.routes, left, hosts // self.nodes, network.pairs, network.rates, order, True
        )
        return None if lacking >= 0 else routed(network, hosts, self.nodes, first, links)

    def _stated(self, network: VirtualNetwork) -> tuple[Ints, Nearby]:
        """Write the problem of a network, and what bandwidth its machines need.

        Returns the machines in the order in which they are balls, too.
        """
        count = len(network)
        most = max(SMALLEST, power(count))
        if network.pairs is not None:
            assert network.rates is not None
            rate = np.zeros((count, count), np.int64)
            source, target = network.pairs.T
            rate[source, target] = rate[target, source] = np.minimum(network.rates, self.widest)
            order = chained(rate)
            nearby = self.nearby("secondnet", most)
            nearby.write("RATE", rate[np.ix_(order, order)], (slice(count), slice(count)))
            return order, nearby
        nearby = self.nearby("oktopus", most)
        nearby.write("RATE", min(network.hose, self.widest))
        return np.arange(count), nearby

    def _nearby(self, template: str, machines: int) -> Nearby:
        """Compile the template for requests of at most so many machines."""
        widest, most = in_units(self.widest), in_units(max(1, int(self.capacity.max())))
        varying: dict[str, Any] = {
            "FREE": in_units(self.capacity),
            "OUT": np.minimum(in_units(self.outgoing), in_units(LARGEST)),
            "MACHINES": np.array([machines]),
            "MACHINE": np.full((machines, self.kinds), most),
            "RATE": np.full((machines, machines) if template == "secondnet" else 1, widest),
        }
        sizes = {"KINDS": self.kinds, "NODES": self.nodes, "SERVERS": self.servers}
        bins = len(self.capacity)
        counts = [bins, *(len(np.unique(level)) for level in self.of)]
        levels = [self.of[at] for at in range(len(self.of)) if counts[at + 1] < counts[at]]  # without single bins
        stated = self.setup, template, sizes, {"PART": self.of.T}, varying, machines, bins
        return Nearby(levels, self.largest, *stated)


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


class Parts(NamedTuple):
    """The parts of a network.

    `of` int64 [levels, servers] is the part of every server, numbered through all levels, servers first, `number` in
    all. Link `link[i]` leads out of part `part[i]`, int64.
    """

    of: Ints
    link: Ints
    part: Ints
    number: int

    def leading_out(self, link_free: Ints) -> Ints:
        """Sum up what the links out of every part have free, int64 [parts]: no less than 0 each."""
        out = np.zeros(self.number, np.int64)
        np.add.at(out, self.part, np.maximum(link_free, 0)[self.link])
        return out


def parts_of(topology: Topology) -> Parts:
    """Find the parts of a network; a level that has all servers in one part is left out."""
    ends = topology.link_ends.astype(np.int64)
    of, part, link, count = [], [], [], 0
    for level in range(int(topology.level.max()) + 1):
        inside = (topology.level[ends] <= level).all(axis=1)
        together = joined(len(topology.level), ends[inside].tolist())
        label = np.empty(len(topology.level), np.int64)
        label[together.members] = np.repeat(np.arange(len(together)), np.diff(together.offsets))
        names, servers = np.unique(label[topology.switches :], return_inverse=True)
        if level and len(names) == 1:
            break
        of.append(count + servers)
        number = np.full(len(together), -1, np.int64)
        number[names] = count + np.arange(len(names))
        number = np.where(topology.level <= level, number[label], -1)
        for side in (0, 1):
            mine = number[ends[:, side]]
            (leaving,) = np.nonzero((mine >= 0) & (number[ends[:, 1 - side]] != mine))
            part.append(mine[leaving])
            link.append(leaving)
        count += len(names)
    return Parts(np.array(of), np.concatenate(link), np.concatenate(part), count)
