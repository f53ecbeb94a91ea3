"""Virtual clusters on a tree: which machines are cut off by a link, and what that link then needs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from binwright.fabric.topology import Indices, Topology, TopologyError
from binwright.simcore.jit import inlined, kernel
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


@inlined
def needed(below: int, machines: int, hose: int) -> int:
    """Return the quanta that a link needs which cuts off `below` of so many machines: what the fewer ones send."""
    return min(below, machines - below) * hose


@kernel
def _reserved(tree: Tree, servers: Ints, hose: int) -> tuple[Indices, Ints]:
    """Find the links that need anything, and how much each needs, for machines on these `servers` int64 [n]."""
    below, touched = np.zeros(len(tree.parent), np.int64), np.empty(len(tree.parent), np.int32)
    count = 0
    for machine in range(len(servers)):
        vertex = tree.switches + servers[machine]
        while tree.parent[vertex] >= 0:
            if below[vertex] == 0:
                touched[count] = vertex
                count += 1
            below[vertex] += 1
            vertex = int(tree.parent[vertex])
    links, amounts = np.empty(count, np.int32), np.empty(count, np.int64)
    used = 0
    for place in range(count):
        amount = needed(below[touched[place]], len(servers), hose)
        if amount > 0:
            links[used], amounts[used] = tree.uplink[touched[place]], amount
            used += 1
    return links[:used], amounts[:used]


def reserve(tree: Tree, network: VirtualNetwork, servers: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return links and amounts that the hose form needs with its machines on these servers, int64 [n]."""
    links, amounts = _reserved(tree, servers, network.hose)
    return tuple(links.tolist()), tuple(amounts.tolist())
