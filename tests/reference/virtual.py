"""Slow, obvious versions of the rules for virtual networks."""

from collections import Counter
from itertools import permutations, product

import numpy as np

from binwright.fabric.topology import Topology
from binwright.simcore.types import Ints, VirtualNetwork

Placed = tuple[tuple[int, int], ...]
"""(server, group) of every machine placed so far."""


def cut(below: list[int], sizes: list[int], hose: int, trunk: int) -> int:
    """What a link needs: the least over all sides that the switches of the virtual tree may be on."""
    costs = []
    for root, *sides in product((0, 1), repeat=1 + len(sizes)):
        cost = 0
        for side, here, size in zip(sides, below, sizes, strict=True):
            cost += hose * (here if side else size - here)  # machines on the other side than their switch
            cost += trunk * (side != root)
        costs.append(cost)
    return min(costs)


def sides(topology: Topology, link: int) -> set[int]:
    """The servers on the lower side of a tree's link."""
    reached, ahead = {int(topology.link_ends[link, 0])}, [int(topology.link_ends[link, 0])]
    while ahead:
        vertex = ahead.pop()
        for other, (one, two) in enumerate(topology.link_ends.tolist()):
            near = two if one == vertex else one if two == vertex else None
            if other != link and near is not None and near not in reached:
                reached.add(near)
                ahead.append(near)
    return {vertex - topology.switches for vertex in reached if vertex >= topology.switches}


def groups_of(network: VirtualNetwork) -> list[int]:
    return [0] * len(network)


def reservation(topology: Topology, network: VirtualNetwork, servers: list[int]) -> dict[int, int]:
    """What every link of a tree needs that needs anything."""
    groups = groups_of(network)
    count = max(groups) + 1
    found = {}
    for link in range(topology.links):
        below = sides(topology, link)
        inside = Counter(group for server, group in zip(servers, groups, strict=True) if server in below)
        sizes = Counter(groups)
        need = cut([inside[g] for g in range(count)], [sizes[g] for g in range(count)], network.hose, 0)
        if need:
            found[link] = need
    return found


class Oktopus:
    """The rule of `binwright.agents.heuristics.virtual`, which looks at everything anew at every step."""

    def __init__(self, topology: Topology, free: Ints, link_free: Ints, network: VirtualNetwork) -> None:
        self.topology, self.free, self.link_free = topology, free, np.maximum(link_free, 0)
        self.network, self.size = network, network.machines.max(axis=0).tolist()
        self.groups = groups_of(network)
        self.sizes = [self.groups.count(g) for g in range(max(self.groups) + 1)]
        vertices = len(topology.level)
        self.servers = {topology.switches + s: {s} for s in range(topology.servers)}
        self.above = {}
        for link, (low, high) in enumerate(topology.link_ends.tolist()):
            self.servers[low] = sides(topology, link)
            self.above[low] = link, high
        self.servers |= {v: set(range(topology.servers)) for v in range(vertices) if v not in self.above}
        self.children = {v: [c for c in range(vertices) if self.above.get(c, (0, -1))[1] == v] for v in range(vertices)}

    def height(self, vertex: int) -> int:
        return max((1 + self.height(child) for child in self.children[vertex]), default=0)

    def need(self, vertex: int, placed: Placed) -> int:
        inside = Counter(group for server, group in placed if server in self.servers[vertex])
        below = [inside[g] for g in range(len(self.sizes))]
        return cut(below, self.sizes, self.network.hose, 0)

    def through(self, vertex: int, top: int, group: int, wanted: int, placed: Placed) -> int:
        if vertex == top:
            return wanted
        server, free = min(self.servers[vertex]), self.link_free[self.above[vertex][0]]
        fits = (m for m in range(wanted, 0, -1) if self.need(vertex, placed + ((server, group),) * m) <= free)
        return next(fits, 0)

    def room(self, server: int) -> int:
        """Machines that fit on an empty part of a server."""
        room = 0
        for node in self.free[server].tolist():
            room += min([have // each for have, each in zip(node, self.size, strict=True) if each], default=10**6)
        return min(room, len(self.groups))

    def slots(self, vertex: int) -> int:
        """How many fit below, as the links further down let them."""
        if not self.children[vertex]:
            return self.room(min(self.servers[vertex]))
        return sum(self.offered(child) for child in self.children[vertex])

    def offered(self, vertex: int) -> int:
        free = self.link_free[self.above[vertex][0]]
        for m in range(min(self.slots(vertex), len(self.groups)), 0, -1):
            splits = product(*(range(size + 1) for size in self.sizes))
            whole = [cut(list(s), self.sizes, self.network.hose, 0) for s in splits if sum(s) == m]
            if min(whole) <= free:
                return m
        return 0

    def fill(self, vertex: int, top: int, group: int, wanted: int, placed: Placed) -> Placed:
        if not self.children[vertex]:
            server = min(self.servers[vertex])
            left = self.room(server) - sum(other == server for other, _ in placed)
            count = self.through(vertex, top, group, min(wanted, left), placed)
            return placed + ((server, group),) * count
        most = self.slots(vertex)
        count = self.through(vertex, top, group, min(wanted, most), placed)
        while True:
            found = placed
            for child in self.children[vertex]:
                found = self.fill(child, top, group, count - (len(found) - len(placed)), found)
            took = len(found) - len(placed)
            if took == count or self.through(vertex, top, group, took, placed) == took:
                return found
            count = self.through(vertex, top, group, took, placed)

    def decide(self) -> Placed | None:
        """Where machines go; `None` for nowhere."""
        order = sorted(self.children, key=lambda v: (self.height(v), v))
        for top in order:
            if self.slots(top) < len(self.groups):
                continue
            placed: Placed = ()
            for group, size in enumerate(self.sizes):
                before = len(placed)
                placed = self.fill(top, top, group, size, placed)
                if len(placed) - before < size:
                    break
            else:
                return placed
        return None


def matchings(fits: list[list[bool]], cost: list[int]) -> tuple[int, int]:
    """The most rows matched, and the least that so many cost."""
    rows, columns = len(fits), len(cost)
    best = (0, 0)
    for size in range(min(rows, columns), 0, -1):
        costs = [
            sum(cost[c] for c in chosen)
            for among in permutations(range(rows), size)
            for chosen in permutations(range(columns), size)
            if list(among) == sorted(among) and all(fits[r][c] for r, c in zip(among, chosen, strict=True))
        ]
        if costs:
            return size, min(costs)
    return best


def shortest_widest(topology: Topology, link_free: Ints, a: int, b: int, rate: int) -> tuple[int, int] | None:
    """Links of the shortest paths between two vertices with the rate free, and the largest bottleneck among these."""
    paths: list[tuple[int, list[int]]] = [(a, [])]
    for _ in range(len(topology.level)):
        found = [links for vertex, links in paths if vertex == b]
        if found:
            return len(found[0]), max(min((int(link_free[link]) for link in links), default=10**18) for links in found)
        longer = []
        for vertex, links in paths:
            if links and vertex >= topology.switches:
                continue  # nothing passes through a server
            for link, (one, other) in enumerate(topology.link_ends.tolist()):
                near = other if vertex == one else one if vertex == other else None
                if near is not None and link not in links and link_free[link] >= rate:
                    longer.append((near, [*links, link]))
        paths = longer
    return None
