"""Virtual clusters on a tree: which machines are cut off by a link, and what that link then needs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from binwright.fabric.topology import Indices, Topology, TopologyError
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints, VirtualNetwork

NO_TREE = "virtual clusters need a tree: this network has several ways from one server to another"


class Tree(NamedTuple):
    """A topology without cycles, hung up at its top.

    Of every vertex: `parent` int32 [vertices], -1 at the root; `uplink` int32 [vertices], the link to the parent.
    `order` int32 [vertices] has children before their parents, by height above the servers and then by number. The
    children of v are `child[first[v]:first[v + 1]]`, ascending. Server s is vertex `switches + s`.
    """

    switches: int
    parent: Indices
    uplink: Indices
    order: Indices
    first: Indices
    child: Indices


@lru_cache(maxsize=4)
def tree(topology: Topology) -> Tree:
    """Read a topology as a tree, or raise a `TopologyError`; the root is the lowest-numbered switch of the top."""
    from scipy.sparse import csr_matrix  # late: few runs need it
    from scipy.sparse.csgraph import breadth_first_order

    vertices, ends = len(topology.level), topology.link_ends
    if topology.links != vertices - 1:
        raise TopologyError(NO_TREE, value=topology.name, remedy="Take a topology such as tree.")
    graph = csr_matrix((np.ones(len(ends)), ends.T), shape=(vertices, vertices))
    order, parent = breadth_first_order(graph, topology.level.argmax(), directed=False)
    if len(order) < vertices:
        raise TopologyError("its parts are not connected", value=topology.name, remedy="Connect them.")
    parent[order[0]] = -1
    uplink, height = np.full(vertices, -1, np.int32), np.zeros(vertices, np.int32)
    uplink[np.where(parent[ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])] = np.arange(len(ends))
    for vertex in order[:0:-1].tolist():
        height[parent[vertex]] = max(height[parent[vertex]], height[vertex] + 1)
    return Tree(
        topology.switches,
        parent.astype(np.int32),
        uplink,
        order=np.argsort(height, kind="stable").astype(np.int32),
        first=np.searchsorted(np.sort(parent), np.arange(vertices + 1)).astype(np.int32) - np.int32(1),
        child=np.argsort(parent, kind="stable")[1:].astype(np.int32),  # without the root, whose parent is -1
    )


@kernel
def needed(below: Ints, sizes: Ints, hose: int, trunk: int) -> int:
    """Quanta that a link needs which cuts off `below` int64 [groups] of each group's `sizes` int64 [groups] machines.

    It is the largest traffic across the link that the tenant's virtual tree lets through, a minimum cut: the root of
    that tree is on one side of the link, and so is the switch of every group, wherever it costs less. With a single
    group that is min(m, n - m) x hose.
    """
    inside, outside = 0, 0  # what the cut costs with the root above the link, and below it
    for group in range(len(sizes)):
        here, there = below[group] * hose, (sizes[group] - below[group]) * hose
        inside += min(here, there + trunk)
        outside += min(there, here + trunk)
    return int(min(inside, outside))


@kernel
def _reserved(tree: Tree, servers: Ints, groups: Ints, sizes: Ints, hose: int, trunk: int) -> tuple[Indices, Ints]:
    """Find the links that need anything, and how much each needs, for machines on these `servers` int64 [n]."""
    vertices = len(tree.parent)
    slot, touched = np.full(vertices, -1, np.int32), np.empty(vertices, np.int32)
    count = 0
    for machine in range(len(servers)):
        vertex = tree.switches + servers[machine]
        while tree.parent[vertex] >= 0 and slot[vertex] < 0:
            slot[vertex], touched[count] = count, vertex
            count += 1
            vertex = int(tree.parent[vertex])
    below = np.zeros((count, len(sizes)), np.int64)
    for machine in range(len(servers)):
        vertex = tree.switches + servers[machine]
        while tree.parent[vertex] >= 0:
            below[slot[vertex], groups[machine]] += 1
            vertex = int(tree.parent[vertex])
    links, amounts = np.empty(count, np.int32), np.empty(count, np.int64)
    used = 0
    for place in range(count):
        amount = needed(below[place], sizes, hose, trunk)
        if amount > 0:
            links[used], amounts[used] = tree.uplink[touched[place]], amount
            used += 1
    return links[:used], amounts[:used]


def grouped(network: VirtualNetwork) -> tuple[Ints, Ints]:
    """Find the group of each machine of the hose form, int64 [n], and how many each group has, int64 [groups]."""
    if network.groups is None:
        return np.zeros(len(network), np.int64), np.array([len(network)])
    return network.groups.astype(np.int64), np.bincount(network.groups)


def reserve(tree: Tree, network: VirtualNetwork, servers: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Links and amounts that the hose form needs with its machines on these servers, int64 [n]."""
    groups, sizes = grouped(network)
    links, amounts = _reserved(tree, servers, groups, sizes, network.hose, network.trunk)
    return tuple(links.tolist()), tuple(amounts.tolist())
