"""State virtual networks as a problem: machines are balls, nodes of servers are bins.

The solver says where machines go. For pairs, the paths between them are chosen afterwards; if there are none, it is
asked for another answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.online.nearby import Nearby
from binwright.agents.solver.online.setup import Setup, Stated, in_units
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Topology
from binwright.fabric.virtual import hosed, routed
from binwright.fabric.virtual_paths import route_pairs
from binwright.fabric.virtual_tree import grouped, tree
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import QUANTUM, Embedding, Ints, Request, VirtualNetwork

SMALLEST = 512
"""Machines that a problem has room for, at least: it is compiled for this number, twice it, four times it, ..."""
MOST = 4096
"""Machines of a request: their square is what a table holds, and no larger request gets a place."""
LARGEST = 10**9 * QUANTUM
"""The language's largest quantity."""


class Virtual:
    """Answers one request after another by an `Embedding`. What most requests need is compiled at once."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        self.servers, self.nodes, self.kinds = view.capacity.shape
        self.setup, self.capacity = setup, view.capacity.reshape(-1, self.kinds).copy()
        self.parts = parts = parts_of(view.topology)
        self.largest = self.capacity.max(axis=0)
        self.links, self.out = np.zeros(view.topology.links, np.int64), np.zeros(parts.number, np.int64)
        leading_out(parts.first, parts.part, view.topology.link_capacity, self.links, self.out)
        self.widest = min(int(self.out.max(initial=1)) + 1, LARGEST)
        """More than any link has: what cannot go over one, whatever it is."""
        self.of = np.repeat(parts.of, self.nodes, axis=1)
        self.made: dict[tuple[str, int, int, int], Nearby] = {}
        self.leading_out = prepared(leading_out, parts.first, parts.part, view.link_free, self.links, self.out)
        if view.virtual == "pairs":
            self._nearby("secondnet", SMALLEST, 0, 0)
            two, left = np.zeros(2, np.int64), view.link_free.copy()
            pairs = two.reshape(1, 2)
            prepared(chained, pairs)
            prepared(route_pairs, view.routing.routes, left, two, pairs, two, two, True)
        else:
            tree(view.topology)  # refuses what is none
            self._nearby("oktopus", SMALLEST, 1, SMALLEST)

    def answers(self, view: NetworkView, requests: Sequence[Request]) -> Iterator[tuple[Request, Embedding]]:
        """Choose where requests go; those that get no place are left out."""
        for request in requests:
            assert request.network is not None
            embedding = self._embedding(view, request.network)
            if embedding is not None:
                yield request, embedding

    def _embedding(self, view: NetworkView, network: VirtualNetwork) -> Embedding | None:
        if len(network) > MOST or (network.machines > self.largest).any():
            return None
        order, nearby = self._stated(view, network)
        self.leading_out(self.parts.first, self.parts.part, view.link_free, self.links, self.out)
        nearby.update("OUT", self.out)
        nearby.write_free("FREE", view.free.reshape(-1, self.kinds))
        machines = network.machines[order]
        nearby.write("MACHINE", machines, slice(len(network)))
        nearby.write("MACHINE", 0, slice(len(network), None))
        classes = np.arange(nearby.problem.balls)
        if network.form == "hose":  # in a group, machines of a size are alike
            alike = np.column_stack([grouped(network)[0][order], machines])
            new = np.append(True, (alike[1:] != alike[:-1]).any(axis=1))
            classes[: len(network)] = np.cumsum(new) - 1
        setup, found = self.setup, None
        finish = self._finish(view, network)
        seed, least = setup.next_seed(), machines.min(axis=0)
        for bins in nearby.find(seed, setup.attempts, setup.deadline, len(network), classes, least):
            hosts = np.empty(len(network), np.int64)
            hosts[order] = bins[: len(network)]
            found = finish(hosts) or found
            if found is not None and not nearby.has_cost:
                break
        return found

    def _finish(self, view: NetworkView, network: VirtualNetwork) -> Callable[[Ints], Embedding | None]:
        """Return a function from the node of every machine to the answer, or to None where paths are missing."""
        if network.form == "hose":
            return lambda hosts: hosed(view.topology, network, hosts, self.nodes)
        pairs, rates, routes = network.pairs, network.rates, view.routing.routes
        assert pairs is not None
        assert rates is not None
        order = np.argsort(-rates, kind="stable")

        def finish(hosts: Ints) -> Embedding | None:
            servers, left = hosts // self.nodes, view.link_free.copy()
            lacking, first, links = route_pairs(routes, left, servers, pairs, rates, order, True)
            return None if lacking >= 0 else routed(network, hosts, self.nodes, first, links)

        return finish

    def _stated(self, view: NetworkView, network: VirtualNetwork) -> tuple[Ints, Nearby]:
        """Write the problem of a network, and what bandwidth its machines need.

        Returns the machines in the order in which they are balls, too.
        """
        count = len(network)
        most = max(SMALLEST, _power(count))
        if network.pairs is not None:
            assert network.rates is not None
            rate = np.zeros((count, count), np.int64)
            one, other = network.pairs.T
            rate[one, other] = rate[other, one] = np.minimum(network.rates, self.widest)
            order = chained(rate)
            nearby = self._nearby("secondnet", most, 0, 0)
            nearby.write("MACHINES", count)
            nearby.write("RATE", rate[np.ix_(order, order)], (slice(count), slice(count)))
            return order, nearby
        group, sizes = grouped(network)
        order = np.argsort(group, kind="stable")
        template = "oktopus" if network.groups is None else "oktopus-groups"
        grouping = (1, most) if network.groups is None else (_power(len(sizes)), _power(int(sizes.max())))
        nearby = self._nearby(template, most, *grouping)
        nearby.write("MACHINES", count)
        nearby.write("GROUP", group[order], slice(count))
        nearby.write("CLUSTERS", len(sizes))
        nearby.write("FIRST", np.cumsum(sizes) - sizes, slice(len(sizes)))
        nearby.write("SIZE", sizes, slice(len(sizes)))
        hose = min(network.hose, self.widest)
        nearby.write("RATE", hose)
        # A group's own links let no more through.
        nearby.write("TRUNK", min(network.trunk, hose * int(sizes.max())))
        return order, nearby

    def _nearby(self, template: str, machines: int, groups: int, largest: int) -> Nearby:
        """Compile the template for requests of at most so many machines, in so many groups of so many; once each."""
        key = (template if self.setup.path is None else "", machines, groups, largest)
        if key not in self.made:
            self.made[key] = self._compiled(template, machines, groups, largest)
        return self.made[key]

    def _compiled(self, template: str, machines: int, groups: int, largest: int) -> Nearby:
        some = np.zeros(1, np.int64)
        tables = {
            "FREE": in_units(self.capacity),
            "PART": self.of.T,
            "OUT": in_units(np.minimum(self.out, LARGEST)),
            "MACHINES": some,
            "MACHINE": np.zeros((machines, self.kinds)),
        }
        most = max(1, int(self.capacity.max()))
        varying = {"FREE": most, "OUT": self.widest, "MACHINES": machines, "MACHINE": most, "RATE": self.widest}
        if groups == 0:
            tables["RATE"] = np.zeros((machines, machines))
        else:
            tables |= {
                "GROUP": np.zeros(machines, np.int64),
                "CLUSTERS": some,
                "FIRST": np.zeros(groups, np.int64),
                "SIZE": np.zeros(groups, np.int64),
                "RATE": np.zeros(1),
                "TRUNK": np.zeros(1),
            }
            varying |= {"GROUP": groups - 1, "CLUSTERS": groups, "FIRST": machines - 1, "SIZE": largest}
            varying |= {"TRUNK": self.widest * largest}
        params = {"KINDS": self.kinds, "NODES": self.nodes, "SERVERS": self.servers}
        given = self.setup.given(Stated(template, params, tables, varying, machines, len(self.capacity)))
        return Nearby(given, self._levels(), self.largest)

    def _levels(self) -> list[Ints]:
        """Return the parts as groups of bins, without those that are single bins."""
        counts = [len(np.unique(level)) for level in self.of]
        before = [len(self.capacity), *counts]
        return [level for level, count, smaller in zip(self.of, counts, before, strict=False) if count < smaller]


def _power(count: int) -> int:
    """Return the lowest power of two that is no less."""
    return 1 << (count - 1).bit_length()


@kernel
def chained(rate: Ints) -> Ints:
    """Order machines [machines] so that each is the one with the most traffic to those before it.

    `rate` is [machines, machines]. The first is the one with the most traffic of all; of equals, the lowest comes
    first.
    """
    count = len(rate)
    order, ties = np.empty(count, np.int64), rate.sum(axis=1)
    for place in range(count):
        best = -1
        for machine in range(count):
            if ties[machine] >= 0 and (best < 0 or ties[machine] > ties[best]):
                best = machine
        if place == 0:
            ties[:] = 0
        order[place] = best
        ties[best] = -1
        for machine in range(count):
            if ties[machine] >= 0:
                ties[machine] += rate[best, machine]
    return order


class Parts(NamedTuple):
    """The parts of a network.

    `of` int64 [levels, servers] is the part of every server, numbered through all levels, servers first, `number` in
    all. Link l leads out of the parts `part[first[l] : first[l + 1]]`, int64.
    """

    of: Ints
    first: Ints
    part: Ints
    number: int


@kernel
def joined(ends: Ints, label: Ints) -> None:
    """Write the lowest vertex of each vertex's component to `label` [vertices], where `ends` [links, 2] are edges."""
    for vertex in range(len(label)):
        label[vertex] = vertex
    for link in range(len(ends)):
        one, other = ends[link, 0], ends[link, 1]
        while label[one] != one:
            one = label[one]
        while label[other] != other:
            other = label[other]
        label[max(one, other)] = min(one, other)
    for vertex in range(len(label)):  # ascending: what a label points to is settled
        label[vertex] = label[label[vertex]]


def parts_of(topology: Topology) -> Parts:
    """Find the parts of a network; a level that has all servers in one part is left out."""
    ends = topology.link_ends.astype(np.int64)
    home = topology.ends_of(np.arange(topology.servers))
    of, part, link, count = [], [], [], 0
    label = np.empty(len(topology.level), np.int64)
    for level in range(int(topology.level.max()) + 1):
        inside = topology.level[ends] <= level
        joined(ends[inside.all(axis=1)], label)
        names, servers = np.unique(label[home], return_inverse=True)
        if level and len(names) == 1:
            break
        of.append(count + servers)
        number = np.full(len(label), -1, np.int64)
        number[names] = count + np.arange(len(names))
        number = np.where(topology.level <= level, number[label], -1)
        for side in (0, 1):
            mine = number[ends[:, side]]
            (leaving,) = np.nonzero((mine >= 0) & (number[ends[:, 1 - side]] != mine))
            part.append(mine[leaving])
            link.append(leaving)
        count += len(names)
    links = np.concatenate(link)
    first = np.searchsorted(np.sort(links), np.arange(topology.links + 1))
    return Parts(np.array(of), first, np.concatenate(part)[np.argsort(links, kind="stable")], count)


@kernel
def leading_out(first: Ints, part: Ints, link_free: Ints, seen: Ints, out: Ints) -> None:
    """Update `out` [parts], what the links out of every part have free, all together: no less than 0 each.

    It was true of the `link_free` that was `seen` the last time; `seen` is written, too.
    """
    for link in range(len(link_free)):
        if link_free[link] != seen[link]:
            more = max(0, link_free[link]) - max(0, seen[link])
            for k in range(first[link], first[link + 1]):
                out[part[k]] += more
            seen[link] = link_free[link]
