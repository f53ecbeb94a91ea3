"""Virtual networks in a network: trees and paths for them, answers for agents, and what the ledger checks of these."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from binwright.fabric.routing import Routes, find_route
from binwright.fabric.topology import Indices, Topology
from binwright.simcore.errors import InfeasiblePlacement, UserError
from binwright.simcore.jit import kernel
from binwright.simcore.types import Embedding, Ints, Share, VirtualNetwork


class Tree(NamedTuple):
    """A topology without cycles, hung up at its top.

    Of every vertex: `parent` int32 [vertices], -1 at the root; `uplink` int32 [vertices], the link to the parent.
    `order` int32 [vertices] has children before their parents, by level and then by number. The children of v are
    `child[first[v]:first[v + 1]]`, ascending. Server s is vertex `switches + s`.
    """

    switches: int
    parent: Indices
    uplink: Indices
    order: Indices
    first: Indices
    child: Indices


@lru_cache(maxsize=4)
def tree(topology: Topology) -> Tree:
    """Read a topology as a tree, or raise a `UserError`."""
    if not topology.is_tree:
        problem = "virtual clusters need a tree: one link up from every vertex but the top"
        raise UserError(problem, value=topology.name, remedy="Take a topology such as tree.")
    vertices, (low, high) = len(topology.level), topology.link_ends.T
    parent, uplink = np.full((2, vertices), -1, np.int32)
    parent[low], uplink[low] = high, np.arange(len(low))
    return Tree(
        topology.switches,
        parent,
        uplink,
        order=np.argsort(topology.level, kind="stable").astype(np.int32),
        first=np.searchsorted(np.sort(parent), np.arange(vertices + 1)).astype(np.int32) - np.int32(1),
        child=np.argsort(parent, kind="stable")[1:].astype(np.int32),  # without the root, whose parent is -1
    )


@kernel
def widest_shortest(routes: Routes, link_free: Ints, s: int, t: int, rate: int, out: Indices) -> int:
    """Write the links from server s to server t to `out` int32, in order; how many there are, -1 without a path.

    Of the paths whose links all have the rate free it has the fewest links, of these the largest bottleneck, and then
    it comes first in the order of the switches' numbers.

    Guerin, Orda, Williams 1997, QoS routing mechanisms and OSPF extensions: the widest-shortest path.
    """
    if s == t:
        return 0
    a, b = int(routes.rack_of[s]), int(routes.rack_of[t])
    if link_free[s] < rate or link_free[t] < rate:
        return -1
    switches = len(routes.first) - 1
    reached, width, came = np.full(switches, -1), np.empty(switches, np.int64), np.empty((switches, 2), np.int32)
    ahead = np.empty(switches, np.int32)
    reached[a], width[a], ahead[0], head, tail = 0, np.iinfo(np.int64).max, a, 0, 1
    while head < tail and (reached[b] < 0 or reached[ahead[head]] < reached[b]):
        switch = int(ahead[head])
        head += 1
        for edge in range(routes.first[switch], routes.first[switch + 1]):
            near, link = int(routes.edges[edge, 0]), int(routes.edges[edge, 1])
            if link_free[link] < rate:
                continue
            if reached[near] < 0:
                reached[near], width[near] = reached[switch] + 1, -1
                ahead[tail] = near
                tail += 1
            wide = min(width[switch], link_free[link])
            if reached[near] == reached[switch] + 1 and wide > width[near]:
                width[near], came[near, 0], came[near, 1] = wide, switch, link
    if reached[b] < 0:
        return -1
    count = int(reached[b]) + 2
    out[0], out[count - 1] = s, t
    for place in range(count - 2, 0, -1):
        out[place] = came[b, 1]
        b = int(came[b, 0])
    return count


@kernel
def route_pairs(
    routes: Routes, link_free: Ints, servers: Ints, pairs: Ints, rates: Ints, order: Ints, widest: bool
) -> tuple[int, Ints, Indices]:
    """Find a path for every pair, in this `order` int64 [k]; returns the pair that has none, or -1, and the paths.

    `servers` int64 [n] has the server of each machine, `pairs` int64 [k, 2] its two machines. Paths are the
    `widest_shortest` ones, or else the first of the K with the rate free. They are as `Embedding` says: where each
    begins, int64 [k + 1], and their links. `link_free` int64 [links] is written: what the paths leave.
    """
    out = np.empty(len(routes.first) + 4, np.int32)
    begin, length = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    paths = np.empty(8 * len(pairs) + len(out), np.int32)
    used = 0
    for place in range(len(order)):
        pair, rate = order[place], rates[order[place]]
        s, t = servers[pairs[pair, 0]], servers[pairs[pair, 1]]
        if widest:
            count = widest_shortest(routes, link_free, s, t, rate, out)
        else:
            count = find_route(routes, link_free, s, t, rate, out)
        if count < 0:
            return pair, begin, paths[:0]
        if used + count > len(paths):
            paths = np.concatenate((paths, np.empty(len(paths), np.int32)))
        begin[pair], length[pair] = used, count
        for step in range(count):
            link_free[out[step]] -= rate
            paths[used] = out[step]
            used += 1
    first, links = np.zeros(len(pairs) + 1, np.int64), np.empty(used, np.int32)
    for pair in range(len(pairs)):
        first[pair + 1] = first[pair] + length[pair]
        links[first[pair] : first[pair + 1]] = paths[begin[pair] : begin[pair] + length[pair]]
    return -1, first, links


def shares_of(network: VirtualNetwork, hosts: Ints, nodes: int) -> tuple[Share, ...]:
    """Sum what machines on these nodes (see `Embedding.hosts`) take there, by ascending node."""
    used, machine = np.unique(hosts, return_inverse=True)
    amounts = np.zeros((len(used), network.machines.shape[1]), np.int64)
    np.add.at(amounts, machine, network.machines)
    server, node = np.divmod(used, nodes)
    return tuple(zip(server.tolist(), node.tolist(), map(tuple, amounts.tolist()), strict=True))


def hosed(topology: Topology, network: VirtualNetwork, hosts: Ints, nodes: int) -> Embedding:
    """Answer for the hose form: as much on every link as it needs, whether that is free or not.

    A link needs what the fewer ones send of those that it cuts off and the others.
    """
    of, below = tree(topology), np.zeros(len(topology.level), np.int64)
    vertices = topology.switches + hosts // nodes
    while len(vertices):
        np.add.at(below, vertices, 1)
        above: Ints = of.parent[vertices].astype(np.int64)
        vertices = above[above >= 0]
    needed = np.minimum(below, len(hosts) - below) * network.hose
    used = np.flatnonzero(needed)
    links, amounts = of.uplink[used].tolist(), needed[used].tolist()
    return Embedding(shares_of(network, hosts, nodes), tuple(links), hosts=hosts, amounts=tuple(amounts))


def routed(network: VirtualNetwork, hosts: Ints, nodes: int, route_first: Ints, route_links: Indices) -> Embedding:
    """Answer for pairs with these paths (see `Embedding`): every link's sum, whether that is free or not."""
    assert network.rates is not None
    used = np.unique(route_links)
    total = np.zeros(used.max(initial=-1) + 1, np.int64)  # np.unique's places of the links would take ten times as long
    np.add.at(total, route_links, np.repeat(network.rates, np.diff(route_first)))
    return Embedding(
        shares_of(network, hosts, nodes),
        tuple(used.tolist()),
        hosts=hosts,
        amounts=tuple(total[used].tolist()),
        route_first=route_first,
        route_links=route_links,
    )


def check_embedding(
    topology: Topology, network: VirtualNetwork, placement: object, servers: int, nodes: int
) -> Embedding:
    """Return what the hosts and paths of an answer need; an `InfeasiblePlacement` unless they are some.

    Whether so much is free is not looked at here, nor what else the answer says.
    """
    if not isinstance(placement, Embedding):
        raise InfeasiblePlacement(f"this request is a virtual network: answer an Embedding, not {placement!r:.200}")
    hosts = _numbers(placement.hosts, "hosts")
    if len(hosts) != len(network) or hosts.min() < 0 or hosts.max() >= servers * nodes:
        raise InfeasiblePlacement(f"its hosts are not a node (0 to {servers * nodes - 1}) of each of {len(network)}")
    if network.pairs is None:
        return hosed(topology, network, hosts, nodes)
    first, links = _numbers(placement.route_first, "route_first"), _numbers(placement.route_links, "route_links")
    if len(first) != len(network.pairs) + 1 or first[0] != 0 or first[-1] != len(links) or (np.diff(first) < 0).any():
        raise InfeasiblePlacement("its route_first is not where the path of each pair begins, and the end")
    ends = (hosts // nodes)[network.pairs]
    wrong = _first_astray(topology.link_ends, topology.switches + ends, first, links)
    if wrong >= 0:
        source, target = ends[wrong].tolist()
        raise InfeasiblePlacement(f"the path of pair {wrong} does not lead from server {source} to server {target}")
    return routed(network, hosts, nodes, first, links.astype(np.int32))


def _numbers(array: object, name: str) -> Ints:
    """Copy an array of whole numbers, as numpy's own type."""
    numbers = np.array(array) if isinstance(array, np.ndarray) else np.zeros(0)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InfeasiblePlacement(f"its {name} are not a one-dimensional array of whole numbers")
    return numbers.astype(np.int64, copy=False)


@kernel
def _first_astray(link_ends: Indices, ends: Ints, first: Ints, links: Ints) -> int:
    """Find the first pair whose links do not lead from its one vertex to its other, `ends` int64 [k, 2], or -1."""
    for pair in range(len(ends)):
        vertex = ends[pair, 0]
        for place in range(first[pair], first[pair + 1]):
            link = links[place]
            if not (0 <= link < len(link_ends) and (link_ends[link, 0] == vertex or link_ends[link, 1] == vertex)):
                return pair
            vertex = link_ends[link, 0] + link_ends[link, 1] - vertex
        if vertex != ends[pair, 1]:
            return pair
    return -1
