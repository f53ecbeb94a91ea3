"""Places a virtual cluster in the lowest subtree that has room for it: Oktopus."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from binwright.agents.heuristics.virtual.common import tenants_of, warm
from binwright.fabric.array_kernels import ascending
from binwright.fabric.virtual import hosed
from binwright.fabric.virtual_tree import Tree, grouped, needed, tree
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Agent, Embedding, Form, Ints, Refusal, Request, View

NEVER = 2**62
NO_SUBTREE = Refusal("no subtree has the slots and the bandwidth")


class VirtualCluster(NamedTuple):
    """Holds a virtual cluster, whose machines take `size` int64 [resources] each, whichever needs the most.

    `sizes` int64 [groups] machines in each group, `hose` and `trunk` as in `needed`.
    """

    size: Ints
    sizes: Ints
    hose: int
    trunk: int


class Room(NamedTuple):
    """Holds scratch for placing one virtual cluster.

    `slots` int64 [vertices] is how many machines fit below each vertex, as far as links further down let them;
    `below` int64 [vertices, groups] how many of each group are placed there, all 0 between requests; `log` int64
    [machines, 3] says where: a server, a group, and how many; `rows` int64 [1] counts its rows.
    """

    slots: Ints
    below: Ints
    log: Ints
    rows: Ints


@kernel
def fitting(free: Ints, server: int, size: Ints, limit: int) -> int:
    """Count machines of this size that fit on a server, up to `limit`; `free` int64 [servers, nodes, resources]."""
    total = 0
    for node in range(free.shape[1]):
        total += fitting_node(free, server, node, size, limit)
    return int(min(total, limit))


@kernel
def fitting_node(free: Ints, server: int, node: int, size: Ints, limit: int) -> int:
    """Count the machines of this size that fit on one node, up to `limit`."""
    count = limit
    for r in range(len(size)):
        if size[r] > 0:
            count = min(count, free[server, node, r] // size[r])
    return int(count)


@kernel
def least_needed(tenant: VirtualCluster) -> Ints:
    """Return the least that a link needs which cuts off any m of the machines, int64 [machines + 1].

    As in `needed`, for either side of the tenant's root; the groups then add up, whatever each has on which side.
    """
    machines, hose, trunk = tenant.sizes.sum(), tenant.hose, tenant.trunk
    least = np.full(machines + 1, NEVER, np.int64)
    for root_below in range(2):
        sums, count = np.full(machines + 1, NEVER, np.int64), 0
        sums[0] = 0
        for size in tenant.sizes:
            before = sums.copy()
            sums[:] = NEVER
            for here in range(size + 1):
                there = size - here
                one, other = (there, here) if root_below else (here, there)
                cost = min(one * hose, other * hose + trunk)
                for already in range(count + 1):
                    sums[already + here] = min(sums[already + here], before[already] + cost)
            count += size
        least = np.minimum(least, sums)
    return least


@kernel
def through(
    tree: Tree, tenant: VirtualCluster, room: Room, link_free: Ints, vertex: int, group: int, wanted: int
) -> int:
    """Return how many more of this group the link above a vertex allows below it, `wanted` at most.

    It may allow more machines and not fewer, so all numbers are tried, from the largest on.
    """
    below, free = room.below[vertex, : len(tenant.sizes)], max(0, link_free[tree.uplink[vertex]])
    before, most = below[group], 0
    for more in range(wanted, 0, -1):
        below[group] = before + more
        if needed(below, tenant.sizes, tenant.hose, tenant.trunk) <= free:
            most = more
            break
    below[group] = before
    return most


@kernel
def take_back(tree: Tree, room: Room, top: int, rows: int) -> None:
    """Undoe what was logged after the first `rows`, all of it below `top`."""
    for row in range(rows, room.rows[0]):
        group, placed = room.log[row, 1], room.log[row, 2]
        vertex = tree.switches + int(room.log[row, 0])
        room.slots[vertex] += placed
        while vertex != top:
            room.below[vertex, group] -= placed
            vertex = int(tree.parent[vertex])
    room.rows[0] = rows


@kernel
def fill(
    tree: Tree, tenant: VirtualCluster, room: Room, link_free: Ints, top: int, vertex: int, group: int, wanted: int
) -> int:
    """Place up to `wanted` machines of a group below a vertex, child by child; returns how many found a place.

    What is above `top` is not asked for bandwidth: nothing goes there.
    """
    target = int(min(wanted, room.slots[vertex]))
    if vertex != top:
        target = through(tree, tenant, room, link_free, vertex, group, target)
    if target > 0 and vertex >= tree.switches:
        room.log[room.rows[0], 0] = vertex - tree.switches
        room.log[room.rows[0], 1] = group
        room.log[room.rows[0], 2] = target
        room.rows[0] += 1
        room.slots[vertex] -= target
    rows = room.rows[0]
    while target > 0 and vertex < tree.switches:
        placed = 0
        for edge in range(tree.first[vertex], tree.first[vertex + 1]):
            if placed < target:
                child = int(tree.child[edge])
                placed += fill(tree, tenant, room, link_free, top, child, group, target - placed)
        # The children took fewer than they should: that many may be more than the link lets be here.
        fewer = placed
        if vertex != top and placed < target:
            fewer = through(tree, tenant, room, link_free, vertex, group, placed)
        target = fewer
        if fewer == placed:
            break
        take_back(tree, room, vertex, rows)
    if vertex != top:
        room.below[vertex, group] += target
    return target


@kernel
def below_children(
    tree: Tree, tenant: VirtualCluster, least: Ints, room: Room, free: Ints, link_free: Ints, vertex: int
) -> int:
    """Return how many machines fit on the children of a switch, each as many as its link allows."""
    machines, total = len(least) - 1, 0
    for edge in range(tree.first[vertex], tree.first[vertex + 1]):
        child = int(tree.child[edge])
        if child >= tree.switches:
            room.slots[child] = fitting(free, child - tree.switches, tenant.size, machines)
        most, spare = int(min(room.slots[child], machines)), max(0, link_free[tree.uplink[child]])
        while least[most] > spare:
            most -= 1
        total += most
    return total


@kernel
def oktopus(
    tree: Tree, tenant: VirtualCluster, groups: Ints, room: Room, free: Ints, link_free: Ints, hosts: Ints, alone: bool
) -> bool:
    """Write a node for every machine to `hosts` int64 [machines], whose groups are `groups`; false if there is none.

    Subtrees are tried from the lowest on, those that seem to have room for all; single servers only if `alone`.
    """
    machines, least = len(groups), least_needed(tenant)
    for place in range(0 if alone else len(free), len(tree.order)):
        vertex = int(tree.order[place])
        if vertex >= tree.switches:
            room.slots[vertex] = fitting(free, vertex - tree.switches, tenant.size, machines)
        else:
            room.slots[vertex] = below_children(tree, tenant, least, room, free, link_free, vertex)
        if room.slots[vertex] < machines:
            continue
        complete = True
        for group in range(len(tenant.sizes)):
            wanted = tenant.sizes[group]
            complete = complete and wanted == fill(tree, tenant, room, link_free, vertex, vertex, group, wanted)
        if complete:
            write_hosts(tenant, groups, room, free, hosts)
        take_back(tree, room, vertex, 0)
        if complete:
            return True
    return False


@kernel
def write_hosts(tenant: VirtualCluster, groups: Ints, room: Room, free: Ints, hosts: Ints) -> None:
    """Turn the log into a node for every machine: of each group the first ones first, on the first nodes."""
    nodes = free.shape[1]
    order, following = ascending(groups), np.cumsum(tenant.sizes) - tenant.sizes
    used = {0: 0}  # machines on a node
    for row in range(room.rows[0]):
        server, group = room.log[row, 0], room.log[row, 1]
        node = 0
        for _ in range(room.log[row, 2]):
            while used.get(server * nodes + node, 0) == fitting_node(free, server, node, tenant.size, len(groups)):
                node += 1
            used[server * nodes + node] = used.get(server * nodes + node, 0) + 1
            hosts[order[following[group]]] = server * nodes + node
            following[group] += 1


class Oktopus(Agent):
    """The lowest subtree with room for all machines of a virtual cluster, filled child by child."""

    reference = "Ballani et al. 2011, Towards predictable datacenter networks (Oktopus), SIGCOMM"
    embeds: ClassVar[tuple[Form, ...]] = ("hose",)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make a tree of the network."""
        self._view = tenants_of(self, view)
        self._tree = tree(self._view.topology)
        self._largest = view.capacity.sum(axis=1).max(axis=0)
        self._slots = np.zeros(len(self._tree.parent), np.int64)
        self._below = np.zeros((len(self._slots), 1), np.int64)
        warm(self._view, "hose")
        none = np.zeros(1, np.int64)
        tenant, room = VirtualCluster(none, none + 1, 0, 0), Room(self._slots, self._below, none.reshape(1, 1), none)
        free, link_free = self._view.free, self._view.link_free
        self._run = prepared(oktopus, self._tree, tenant, none, room, free, link_free, none, True)

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        """Find where the machines go, and what the links then need."""
        network, view = request.network, self._view
        assert network is not None
        groups, sizes = grouped(network)
        if len(sizes) > self._below.shape[1]:
            self._below = np.zeros((len(self._slots), len(sizes)), np.int64)
        tenant = VirtualCluster(network.machines.max(axis=0), sizes, network.hose, network.trunk)
        room = Room(self._slots, self._below, np.zeros((len(network), 3), np.int64), np.zeros(1, np.int64))
        hosts = np.zeros(len(network), np.int64)
        alone = bool((tenant.size * len(network) <= self._largest).all())
        if not self._run(self._tree, tenant, groups, room, view.free, view.link_free, hosts, alone):
            return NO_SUBTREE
        return hosed(view.topology, network, hosts, view.free.shape[1])
