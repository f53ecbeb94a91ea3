"""Places tenants' virtual networks: Oktopus, SecondNet, and a control that goes machine by machine."""

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from binwright.agents.heuristics.networks.common import network_of
from binwright.agents.heuristics.servers.costs import first_fit
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Topology
from binwright.fabric.virtual import Tree, hosed, route_pairs, routed
from binwright.fabric.virtual import tree as tree_of
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, lean, prepared
from binwright.simcore.types import Agent, Embedding, Flags, Form, Ints, Refusal, Request, View, VirtualNetwork


def tenants_of(agent: Agent, view: View) -> NetworkView:
    """Return the view of a network whose requests are virtual networks that the agent places, and refuse any other."""
    network_view = network_of(agent, view)
    if view.virtual not in agent.embeds:
        requested = f"virtual networks of the form {view.virtual}" if view.virtual else "no virtual networks"
        remedy = "Take an agent for such requests: `binwright list agents` lists them."
        raise UserError(
            f"places virtual networks ({', '.join(agent.embeds)}), and requests here are {requested}", remedy=remedy
        )
    warm(network_view)
    return network_view


def warm(view: NetworkView) -> None:
    """Compile what `connected` needs, so that no decision waits for it."""
    pair = {} if view.virtual == "hose" else {"pairs": np.array([[0, 1]]), "rates": np.ones(1, np.int64)}
    nothing = np.zeros((2, view.free.shape[2]), np.int64)
    connected(view, VirtualNetwork(nothing, hose=1, **pair), np.zeros(2, np.int64))


def connected(view: NetworkView, network: VirtualNetwork, hosts: Ints, widest: bool = False) -> Embedding | None:
    """Return the answer with machines on these nodes, pair by pair, along the first paths with the bandwidth.

    With `widest` the largest pairs come first, and their paths are the widest of the shortest ones.
    """
    nodes, left = view.free.shape[1], view.link_free.copy()
    if network.pairs is None or network.rates is None:
        answer = hosed(view.topology, network, hosts, nodes)
        return answer if (left[list(answer.links)] >= answer.amounts).all() else None
    order = np.argsort(-network.rates if widest else np.zeros(len(network.rates)), kind="stable")
    pairs = network.pairs, network.rates, order, widest
    lacking, first, links = route_pairs(view.routing.routes, left, hosts // nodes, *pairs)
    return routed(network, hosts, nodes, first, links) if lacking < 0 else None


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


class VMFirstFit(Agent):
    """Each machine on the first server with room, and first paths: a control that looks at no bandwidth."""

    reference = "first fit, as in Johnson 1973, Near-optimal bin packing algorithms; no published system"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")

    def start(self, view: View, rng: np.random.Generator) -> None:
        view = tenants_of(self, view)
        self._first = prepared(first_fit, view.free, view.capacity, (1,) * len(view.resources), False)

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        network, free, nodes = request.network, view.free.copy(), view.free.shape[1]
        assert network is not None
        hosts = np.zeros(len(network), np.int64)
        for machine, demand in enumerate(network.machines.tolist()):
            hosts[machine] = host = self._first(free, view.capacity, tuple(demand), False)
            if host < 0:
                return Refusal("no servers have the room")
            free[divmod(host, nodes)] -= demand
        return connected(network_of(self, view), network, hosts) or Refusal("no paths have the bandwidth")


def fitting(free: Ints, size: Ints, most: int) -> Ints:
    """Count the machines of a size [resources] that fit into each part of `free` [..., resources], up to so many."""
    rooms = np.full(free.shape[:-1], most)
    for r in np.flatnonzero(size):  # a minimum along the short last axis would be slow
        np.minimum(rooms, free[..., r] // size[r], out=rooms)
    return rooms


class VirtualCluster(NamedTuple):
    """Holds a virtual cluster of equal machines, the tree in which it is placed, and scratch.

    `rooms` int64 [servers, nodes] is how many machines fit on every node, `link_free` is that of the view.
    `slots` int64 [vertices] is how many machines fit below a vertex, as far as links further down let them;
    `hosts` int64 [machines] has the node of each of the first `placed` int64 [1] machines.
    """

    tree: Tree
    machines: int
    hose: int
    rooms: Ints
    link_free: Ints
    slots: Ints
    hosts: Ints
    placed: Ints


@lean
def through(of: VirtualCluster, vertex: int, wanted: int) -> int:
    """Return how many machines the link above a vertex allows below it, `wanted` at most.

    It may allow more machines and not fewer, so all numbers are tried, from the largest on.
    """
    free = max(0, of.link_free[of.tree.uplink[vertex]])
    for below in range(wanted, 0, -1):
        if min(below, of.machines - below) * of.hose <= free:
            return below
    return 0


@lean
def fill(of: VirtualCluster, vertex: int, wanted: int) -> int:
    """Place up to `wanted` machines below a vertex, child by child; returns how many found a place."""
    tree, before = of.tree, of.placed[0]
    if vertex >= tree.switches:
        server = vertex - tree.switches
        for node in range(of.rooms.shape[1]):
            for _ in range(min(of.rooms[server, node], before + wanted - of.placed[0])):
                of.hosts[of.placed[0]] = server * of.rooms.shape[1] + node
                of.placed[0] += 1
    else:
        for edge in range(tree.first[vertex], tree.first[vertex + 1]):
            child, begin = int(tree.child[edge]), of.placed[0]
            target = through(of, child, int(min(before + wanted - begin, of.slots[child])))
            hosted = fill(of, child, target)
            while hosted < target:  # so few may be more than the link allows
                target = through(of, child, hosted)
                if target < hosted:
                    of.placed[0] = begin
                    hosted = fill(of, child, target)
    return int(of.placed[0] - before)


@kernel
def oktopus(of: VirtualCluster) -> bool:
    """Write a node for every machine to `of.hosts`; false if there is none.

    Subtrees are tried from the lowest on, those that seem to have room for all.
    """
    tree = of.tree
    for place in range(len(tree.order)):
        vertex = int(tree.order[place])
        if vertex < tree.switches:
            of.slots[vertex] = 0
            for edge in range(tree.first[vertex], tree.first[vertex + 1]):
                child = int(tree.child[edge])
                of.slots[vertex] += through(of, child, int(min(of.slots[child], of.machines)))
        if of.slots[vertex] >= of.machines:
            of.placed[0] = 0
            if fill(of, vertex, of.machines) == of.machines:
                return True
    return False


class Oktopus(Agent):
    """The lowest subtree with room for all machines of a virtual cluster, filled child by child."""

    reference = "Ballani et al. 2011, Towards predictable datacenter networks (Oktopus), SIGCOMM"
    embeds: ClassVar[tuple[Form, ...]] = ("hose",)

    def start(self, view: View, rng: np.random.Generator) -> None:
        view = tenants_of(self, view)
        self._tree = tree_of(view.topology)
        self._run = prepared(oktopus, self._cluster(view, VirtualNetwork(view.capacity[0, :1])))

    def _cluster(self, view: NetworkView, network: VirtualNetwork) -> VirtualCluster:
        count, slots = len(network), np.empty(len(self._tree.parent), np.int64)
        rooms = fitting(view.free, network.machines.max(axis=0), count)
        slots[self._tree.switches :] = rooms.sum(axis=1)
        scratch = slots, np.zeros(count, np.int64), np.zeros(1, np.int64)
        return VirtualCluster(self._tree, count, network.hose, rooms, view.link_free, *scratch)

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        network, view = request.network, network_of(self, view)
        assert network is not None
        cluster = self._cluster(view, network)
        if not self._run(cluster):
            return Refusal("no subtree has the slots and the bandwidth")
        return hosed(view.topology, network, cluster.hosts, view.free.shape[1])


class SecondNet(Agent):
    """Matches machines with the servers of a cluster, smallest first, and routes their pairs, largest first."""

    reference = "Guo et al. 2010, SecondNet: a data center network virtualization architecture, CoNEXT"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs",)

    def start(self, view: View, rng: np.random.Generator) -> None:
        view = tenants_of(self, view)
        self._levels = [*parts_of(view.topology)[0][1:], np.zeros(len(view.free), np.int64)]

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        network, view, lacking = request.network, network_of(self, view), "room"
        assert network is not None
        rooms = fitting(view.free, network.machines.min(axis=0), len(network)).sum(axis=1)
        for group_of in self._levels:  # smaller clusters first, of those that could hold all machines
            for group in np.flatnonzero(np.bincount(group_of, rooms) >= len(network)):
                hosts = matching(view, network, np.flatnonzero(group_of == group))
                if hosts is None:
                    continue
                if answer := connected(view, network, hosts, widest=True):
                    return answer
                lacking = "paths"
        return Refusal(f"no cluster of servers has the {lacking}")


def matching(view: NetworkView, network: VirtualNetwork, cluster: Ints) -> Ints | None:
    """Return a node for every machine on these servers, int64 [machines], or `None`.

    Machines are matched in rounds, each with at most one more of them on a server. A server takes a machine that fits,
    as long as its own link has free what its machines then send to others. A matching costs the bandwidth that is used
    on the servers' links already, so that those with the most left are taken first.
    """
    assert network.pairs is not None
    assert network.rates is not None
    machines, nodes = network.machines, view.free.shape[1]
    rates = np.zeros((len(network), len(network)), np.int64)
    for source, target in (network.pairs.T, network.pairs[:, ::-1].T):
        rates[source, target] = network.rates
    sends = rates.sum(axis=1)
    free, spare = view.free[cluster], view.link_free[cluster]
    used = view.link_capacity[cluster] - spare
    hosts, left = np.full(len(machines), -1), np.argsort(-sends, kind="stable")
    inside = np.zeros((len(machines), len(cluster)), np.int64)  # what a machine sends to those on a server
    outside = np.zeros(len(cluster), np.int64)  # what those on a server send to others
    while len(left):
        fits: Flags = np.any(np.all(free >= machines[left, None, None], axis=3), axis=2)
        fits &= outside + sends[left, None] - 2 * inside[left] <= spare
        rows, taking = matched(fits, used)
        if not len(rows):
            return None
        taken = left[rows]
        node = (free[taking] >= machines[taken, None]).all(axis=2).argmax(axis=1)
        hosts[taken] = cluster[taking] * nodes + node
        free[taking, node] -= machines[taken]
        outside[taking] += sends[taken] - 2 * inside[taken, taking]
        inside[:, taking] += rates[:, taken]
        left = np.delete(left, rows)
    return hosts


def matched(fits: Flags, cost: Ints) -> tuple[Ints, Ints]:
    """Match as many rows as possible with a column each that fits them, bool [rows, columns], at the least cost.

    `cost` int64 [columns]. The matched rows and their columns, int64 [k] each.
    """
    none = (int(cost.max(initial=0)) + 1) * (min(fits.shape) + 1)  # worse than any matching that leaves nobody out
    rows, columns = linear_sum_assignment(np.where(fits, cost, none))
    fitting = fits[rows, columns]
    return rows[fitting], columns[fitting]
