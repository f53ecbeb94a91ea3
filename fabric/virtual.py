"""Virtual networks in a network: what the ledger checks before it reserves one, and how agents make an answer."""

from __future__ import annotations

import numpy as np

from binwright.fabric.topology import Indices, Topology
from binwright.fabric.virtual_tree import reserve, tree
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import kernel
from binwright.simcore.types import Embedding, Ints, Share, VirtualNetwork


def shares_of(network: VirtualNetwork, hosts: Ints, nodes: int) -> tuple[Share, ...]:
    """Sum what machines on these nodes (see `Embedding.hosts`) take there, by ascending node."""
    used, machine = np.unique(hosts, return_inverse=True)
    amounts = np.zeros((len(used), network.machines.shape[1]), np.int64)
    np.add.at(amounts, machine, network.machines)
    server, node = np.divmod(used, nodes)
    return tuple(zip(server.tolist(), node.tolist(), map(tuple, amounts.tolist()), strict=True))


def hosed(topology: Topology, network: VirtualNetwork, hosts: Ints, nodes: int) -> Embedding:
    """Answer for the hose form: as much on every link as it needs, whether that is free or not."""
    links, amounts = reserve(tree(topology), network, hosts // nodes)
    return Embedding(shares_of(network, hosts, nodes), links, hosts=hosts, amounts=amounts)


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
    """Return what the machines and paths of an answer need; an `InfeasiblePlacement` unless it reserves just that.

    Whether so much is free is not looked at here. Nothing of what the agent made, which may be of types of its own, is
    returned.
    """
    if not isinstance(placement, Embedding):
        raise InfeasiblePlacement(f"this request is a virtual network: answer an Embedding, not {placement!r:.200}")
    hosts = _numbers(placement.hosts, "hosts")
    if len(hosts) != len(network) or hosts.min() < 0 or hosts.max() >= servers * nodes:
        raise InfeasiblePlacement(f"its hosts are not a node (0 to {servers * nodes - 1}) of each of {len(network)}")
    if network.form == "hose":
        right, maker = hosed(topology, network, hosts, nodes), "hosed"
    else:
        if placement.route_first is None or placement.route_links is None:
            raise InfeasiblePlacement("it says no path for each pair: use fabric.virtual.routed")
        first, links = _numbers(placement.route_first, "route_first"), _numbers(placement.route_links, "route_links")
        _check_paths(topology, network, hosts // nodes, first, links)
        right, maker = routed(network, hosts, nodes, first, links.astype(np.int32)), "routed"
    for name in ("shares", "links", "amounts"):
        try:
            same = tuple(getattr(placement, name)) == getattr(right, name)
        except (TypeError, ValueError):
            same = False
        if not same:
            raise InfeasiblePlacement(f"its {name} are not what fabric.virtual.{maker} makes of its hosts")
    return right


def _numbers(array: object, name: str) -> Ints:
    """Copy an array of whole numbers, as numpy's own type."""
    numbers = np.array(array) if isinstance(array, np.ndarray) else np.zeros(0)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InfeasiblePlacement(f"its {name} are not a one-dimensional array of whole numbers")
    return numbers.astype(np.int64, copy=False)


def _check_paths(topology: Topology, network: VirtualNetwork, servers: Ints, first: Ints, links: Ints) -> None:
    pairs = network.pairs
    assert pairs is not None
    if len(first) != len(pairs) + 1 or first[0] != 0 or first[-1] != len(links) or (np.diff(first) < 0).any():
        raise InfeasiblePlacement("its route_first is not where the path of each pair begins, and the end")
    if len(links) and (links.min() < 0 or links.max() >= topology.links):
        raise InfeasiblePlacement("a path has a link that there is not")
    wrong = _first_astray(topology.link_ends, topology.switches + servers[pairs], first, links)
    if wrong >= 0:
        source, target = servers[pairs[wrong]].tolist()
        raise InfeasiblePlacement(f"the path of pair {wrong} does not lead from server {source} to server {target}")


@kernel
def _first_astray(link_ends: Indices, ends: Ints, first: Ints, links: Ints) -> int:
    """Find the first pair whose links do not lead from its one vertex to its other, `ends` int64 [k, 2], or -1."""
    for pair in range(len(ends)):
        vertex = ends[pair, 0]
        for place in range(first[pair], first[pair + 1]):
            end, other = link_ends[links[place], 0], link_ends[links[place], 1]
            if vertex == end:
                vertex = other
            elif vertex == other:
                vertex = end
            else:
                return pair
        if vertex != ends[pair, 1]:
            return pair
    return -1
