"""Virtual networks in a network: what the ledger checks before it reserves one, and how agents make an answer."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.topology import Indices, Topology
from binwright.fabric.virtual_tree import reserve, tree
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import kernel
from binwright.simcore.types import Embedding, Ints, Share, VirtualNetwork
from binwright.simcore.units import say


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
    links, amounts = _summed(route_links, np.repeat(network.rates, np.diff(route_first)))
    return Embedding(
        shares_of(network, hosts, nodes),
        tuple(links.tolist()),
        hosts=hosts,
        amounts=tuple(amounts.tolist()),
        route_first=route_first,
        route_links=route_links,
    )


def _summed(links: Indices | Ints, amounts: Ints) -> tuple[npt.NDArray[Any], Ints]:
    """Each link once, ascending, and its sum of the amounts."""
    used = np.unique(links)
    total = np.zeros(used.max(initial=-1) + 1, np.int64)  # np.unique's places of the links would take ten times as long
    np.add.at(total, links, amounts)
    return used, total[used]


def check_embedding(
    topology: Topology, network: VirtualNetwork, placement: object, servers: int, nodes: int
) -> Embedding:
    """Put an answer in plain numbers; an `InfeasiblePlacement` unless it takes and reserves what the network needs.

    Whether so much is free is not looked at here. What the agent made is read once: it may be of types of its own.
    """
    if not isinstance(placement, Embedding):
        raise InfeasiblePlacement(f"this request is a virtual network: answer an Embedding, not {placement!r:.200}")
    hosts = _numbers(placement.hosts, "hosts")
    if len(hosts) != len(network) or hosts.min() < 0 or hosts.max() >= servers * nodes:
        raise InfeasiblePlacement(f"its hosts are not a node (0 to {servers * nodes - 1}) of each of {len(network)}")
    shares = shares_of(network, hosts, nodes)
    if _plain(placement.shares) != shares:
        raise InfeasiblePlacement("its shares are not what its machines take: use fabric.virtual.shares_of")
    reserved = _reserved(topology, placement.links, placement.amounts)
    if network.form == "hose":
        for link, amount in zip(*reserve(tree(topology), network, hosts // nodes), strict=True):
            if reserved.get(link, 0) < amount:
                needed, there = (say([each], ["bandwidth"]) for each in (amount, reserved.get(link, 0)))
                raise InfeasiblePlacement(f"link {link} needs {needed}, and {there} is reserved")
        return Embedding(shares, tuple(reserved), hosts=hosts, amounts=tuple(reserved.values()))
    ways = placement.route_first, placement.route_links
    if ways[0] is None or ways[1] is None:
        raise InfeasiblePlacement("it says no path for each pair: use fabric.virtual.routed")
    first, links = _numbers(ways[0], "route_first"), _numbers(ways[1], "route_links")
    _check_paths(topology, network, hosts // nodes, first, links)
    assert network.rates is not None
    used, total = _summed(links, np.repeat(network.rates, np.diff(first)))
    if reserved != dict(zip(used.tolist(), total.tolist(), strict=True)):
        raise InfeasiblePlacement("what it reserves is not the sum over its paths: use fabric.virtual.routed")
    return Embedding(
        shares,
        tuple(reserved),
        hosts=hosts,
        amounts=tuple(reserved.values()),
        route_first=first,
        route_links=links.astype(np.int32),
    )


def _plain(shares: Iterable[Share]) -> tuple[Share, ...]:
    """Shares as whole numbers in tuples."""
    try:
        return tuple((index(server), index(node), tuple(map(index, part))) for server, node, part in shares)
    except (TypeError, ValueError):
        raise InfeasiblePlacement("its shares are not (server, node, amounts)") from None


def _reserved(topology: Topology, links: Iterable[int], amounts: Iterable[int]) -> dict[int, int]:
    """Sum the amount on every link."""
    try:
        found = [(index(link), index(amount)) for link, amount in zip(links, amounts, strict=True)]
    except (TypeError, ValueError):
        raise InfeasiblePlacement("its links and amounts are not two lists of whole numbers, equally long") from None
    reserved = dict(found)
    if len(reserved) < len(found) or any(not 0 <= link < topology.links for link in reserved):
        raise InfeasiblePlacement("reserves a link twice, or one that there is not")
    if min(reserved.values(), default=1) <= 0:
        raise InfeasiblePlacement("reserves nothing, or less than nothing, on a link")
    return reserved


def _numbers(array: object, name: str) -> Ints:
    """Copy an array of whole numbers, as numpy's own type."""
    found = np.array(array) if isinstance(array, np.ndarray) else np.zeros(0)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise InfeasiblePlacement(f"its {name} are not a one-dimensional array of whole numbers")
    return found.astype(np.int64, copy=False)


def _check_paths(
    topology: Topology,
    network: VirtualNetwork,
    servers: Ints,
    first: Ints,
    links: Ints,
) -> None:
    pairs = network.pairs
    assert pairs is not None
    if len(first) != len(pairs) + 1 or first[0] != 0 or first[-1] != len(links) or (np.diff(first) < 0).any():
        raise InfeasiblePlacement("its route_first is not where the path of each pair begins, and the end")
    if len(links) and (links.min() < 0 or links.max() >= topology.links):
        raise InfeasiblePlacement("a path has a link that there is not")
    wrong = _first_astray(topology.link_ends, topology.ends_of(servers)[pairs], first, links)
    if wrong >= 0:
        one, other = servers[pairs[wrong]].tolist()
        raise InfeasiblePlacement(f"the path of pair {wrong} does not lead from server {one} to server {other}")


@kernel
def _first_astray(link_ends: Indices, ends: Ints, first: Ints, links: Ints) -> int:
    """Find the first pair whose links do not lead from its one vertex to its other, `ends` int64 [k, 2], or -1."""
    for pair in range(len(ends)):
        vertex = ends[pair, 0]
        for place in range(first[pair], first[pair + 1]):
            one, other = link_ends[links[place], 0], link_ends[links[place], 1]
            if vertex == one:
                vertex = other
            elif vertex == other:
                vertex = one
            else:
                return pair
        if vertex != ends[pair, 1]:
            return pair
    return -1
