"""The K shortest simple paths between racks, computed where they are asked for, by kernels that agents call.

Paths are in one order: fewest hops first; among equals by the numbers of their vertices, from the rack of the lower
number to the other. The slow rule says the same: all simple paths through switches, sorted by (hops, vertices), the
first K. But the shortest paths of a fabric, one for each plane or spine, are ordered so that

- `even`: pairs of racks take turns. Path k of racks a < b goes through plane a + b + k, and through spine
  a + b // planes + k // planes of it, modulo how many there are. So the pairs of a rack, and the K paths of a pair, are
  spread over all planes, and the pairs of two pods over all spines.
- `networkx`: as its `shortest_simple_paths` finds them where racks and switches are entered by their numbers: plane 0
  first for every pair; by plane + spine, of equals the lower spine. Publications that used it loaded plane 0.

Where K shortest paths of a fabric are symmetric they are arithmetic. All others are searched for once, when a kernel
first needs the pair, and kept.

Routes may be weighted instead: a link is as long as it has bandwidth free, and the K shortest paths are searched for at
every request. Fuller links come first: that is how arXiv:2106.02412 seems to have done it (see docs/place/fabric.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.fabric.shortest import FAR, k_shortest
from binwright.fabric.topology import Indices, Topology, TopologyError
from binwright.simcore.jit import allocating, lean
from binwright.simcore.types import Ints, fixed

MOST_PATHS = 1000
"""Per pair of racks."""
KEPT_LENGTH = 16
"""Hops of the longest path that is kept; pairs with a longer one are searched every time."""
KEPT_BYTES = 2**28
"""Room for paths that are kept, taken from the machine as it fills. Pairs beyond it displace one another."""


ORDERS = ("even", "networkx")
"""Of a fabric's equal paths."""


class Routes(NamedTuple):
    """What kernels need to find paths; make it with `Routing`. Few arrays, because all are passed at every call.

    `servers` int64 [servers, 2] is each one's rack and own link; `pod_of`, `planes`, `uplinks` as in `Topology`;
    `even` is the order; `rack_links` and `spine_links` are the numbers of the first such link. `arithmetic_in` and
    `arithmetic_across` say that the K paths in a pod, and between pods, need no search. `alone` racks, the first, let
    no path through; `first` and `edges` are the adjacency of the switches (see `k_shortest`).

    Kernels write only to the slots of pairs that were searched for, not by two threads at once: `pairs` int64 [slots]
    is 0 or the pair's number + 1, `kept` int32 [slots, K, 1 + longest] its paths, each the number of links (0 where
    there are fewer paths), then the links, from the lower rack to the higher.
    """

    k: int
    planes: int
    uplinks: int
    even: bool
    rack_links: int
    spine_links: int
    alone: int
    arithmetic_in: bool
    arithmetic_across: bool
    servers: Ints
    pod_of: Indices
    first: Indices
    edges: Indices
    pairs: Ints
    kept: Indices


class Routing:
    """The paths of a topology: `routes` for kernels, and the same in Python's words for people."""

    def __init__(self, topology: Topology, k: int = 3, order: str = ORDERS[0]) -> None:
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_PATHS:
            raise TopologyError(f"must be a whole number from 1 to {MOST_PATHS}", key="k", value=k)
        if order not in ORDERS:
            raise TopologyError(f"must be one of {', '.join(ORDERS)}", key="order", value=order)
        self.topology = topology
        self.k = k
        racks, switches, planes = topology.racks, topology.switches, topology.planes
        inside, across = planes >= k, planes * topology.uplinks >= k
        pairs = max(1, racks * (racks - 1) // 2)
        longest = max(1, min(switches - 1, KEPT_LENGTH))
        slots = 1 if inside and across else max(1, min(pairs, KEPT_BYTES // (4 * k * (1 + longest))))
        first, edges = _switches_only(topology)
        # numpy's zeros cost nothing until they are touched.
        self.routes = Routes(
            k=k,
            planes=planes,
            uplinks=topology.uplinks,
            even=order == "even",
            rack_links=topology.servers,
            spine_links=topology.servers + racks * planes,
            alone=int((topology.server_link < 0).sum()),
            arithmetic_in=inside,
            arithmetic_across=across,
            servers=fixed(np.stack([topology.rack_of, topology.server_link], axis=1), np.int64),
            pod_of=topology.pod_of,
            first=fixed(first, np.int32),
            edges=fixed(edges, np.int32),
            pairs=np.zeros(slots, np.int64),
            kept=np.zeros((slots, k, 1 + longest), np.int32),
        )
        self.longest = max(4 if planes else 1, switches - 1) + 2
        """No route has more links: the room that `route_links` needs."""

    def links(self, a: int, b: int) -> list[tuple[int, ...]]:
        """List the paths from rack a to rack b in order, each as its links; within a rack one path without any."""
        out = np.empty(self.longest, np.int32)
        counts = (path_links(self.routes, a, b, k, out) for k in range(self.k))
        return [tuple(out[:count].tolist()) for count in counts if count >= 0]

    def paths(self, a: int, b: int) -> list[tuple[int, ...]]:
        """List the same paths as vertices, both racks included."""
        found = []
        for links in self.links(a, b):
            path = [a]
            for link in links:
                one, other = self.topology.link_ends[link].tolist()
                path.append(other if path[-1] == one else one)
            found.append(tuple(path))
        return found


def _switches_only(topology: Topology) -> tuple[Indices, Indices]:
    """Make the adjacency without the servers: `first` and `edges` as `k_shortest` wants them."""
    count = topology.switches
    end = topology.first[count]
    keep = topology.neighbour[:end] < count
    kept = np.concatenate([[0], np.cumsum(keep)])
    edges = np.stack([topology.neighbour[:end][keep], topology.via[:end][keep]], axis=1)
    return kept[topology.first[: count + 1]].astype(np.int32), edges


@lean
def first_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int) -> int:
    """Find the first of the K paths between two racks whose links all have the bandwidth free, or -1.

    `link_free` int64 [links] quanta. Within a rack that is path 0, which has no links.
    """
    if a == b:
        return 0
    if routes.pod_of[a] == routes.pod_of[b]:
        if routes.arithmetic_in:
            for k in range(routes.k):
                if _free_in(routes, link_free, a, b, k) >= bandwidth:
                    return k
            return -1
    elif routes.arithmetic_across:
        for k in range(routes.k):
            if _free_across(routes, link_free, a, b, k) >= bandwidth:
                return k
        return -1
    return _searched_path(routes, link_free, a, b, bandwidth)


@allocating
def weighted_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int) -> int:
    """Find the first of the K weighted paths between two racks whose links all have the bandwidth free, or -1.

    These are the paths with the least bandwidth free in all, of equals those with the fewest hops, and then by the
    numbers of their vertices, from the lower rack; they lead around links that have failed.
    """
    if a == b:
        return 0
    paths = _weighted(routes, link_free, a, b, routes.k, bandwidth)
    for k in range(routes.k):
        if paths[k, 0] > 0 and _least(link_free, paths, k) >= bandwidth:
            return k
    return -1


@lean
def path_links(routes: Routes, a: int, b: int, k: int, out: Indices) -> int:
    """Write the links of path k from rack a to rack b to `out` int32; how many there are, -1 without such a path.

    `k` is below K. The order is that of the way, from a to b.
    """
    if a == b:
        return 0 if k == 0 else -1
    if routes.arithmetic_in if routes.pod_of[a] == routes.pod_of[b] else routes.arithmetic_across:
        return _fabric_links(routes, a, b, k, out)
    return _searched_links(routes, a, b, k, out)


@lean
def find_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int, weighted: bool) -> int:
    """Find the first of the K paths between two racks with the bandwidth free, by hops or `weighted`, or -1."""
    if weighted:
        return weighted_path(routes, link_free, a, b, bandwidth)
    return first_path(routes, link_free, a, b, bandwidth)


@lean
def find_route(routes: Routes, link_free: Ints, s: int, t: int, bandwidth: int, weighted: bool) -> int:
    """Find the path that a route from server s to server t takes, the servers' own links included, or -1.

    See `find_path`.
    """
    if s == t:
        return 0
    out, home = routes.servers[s, 1], routes.servers[t, 1]
    if (out >= 0 and link_free[out] < bandwidth) or (home >= 0 and link_free[home] < bandwidth):
        return -1
    return find_path(routes, link_free, routes.servers[s, 0], routes.servers[t, 0], bandwidth, weighted)


@lean
def route_links(routes: Routes, link_free: Ints, s: int, t: int, k: int, weighted: bool, out: Indices) -> int:
    """Write the links of path k from server s to server t, in order, to `out` int32; how many there are.

    `Routing.longest` numbers are room enough. -1 without such a path; none from a server to itself. `link_free` is
    that by which the path was found; it isn't read unless `weighted`.
    """
    if s == t:
        return 0
    a, b = routes.servers[s, 0], routes.servers[t, 0]
    count = 0
    if routes.servers[s, 1] >= 0:
        out[0] = routes.servers[s, 1]
        count = 1
    if weighted and a != b:
        between = _weighted_links(routes, link_free, a, b, k, out[count:])
    else:
        between = path_links(routes, a, b, k, out[count:])
    if between < 0:
        return -1
    count += between
    if routes.servers[t, 1] >= 0:
        out[count] = routes.servers[t, 1]
        count += 1
    return count


@lean
def _written(paths: Indices, k: int, forward: bool, out: Indices) -> int:
    """Write the links of a searched path, which begins at the lower rack; how many, -1 without such a path."""
    count = int(paths[k, 0])
    if count == 0:
        return -1
    for place in range(count):
        out[place if forward else count - 1 - place] = paths[k, 1 + place]
    return count


@allocating
def _weighted_links(routes: Routes, link_free: Ints, a: int, b: int, k: int, out: Indices) -> int:
    """Search a weighted path, and write its links as `path_links` does."""
    return _written(_weighted(routes, link_free, a, b, k + 1, FAR), k, a < b, out)


@allocating
def _weighted(routes: Routes, link_free: Ints, a: int, b: int, wanted: int, enough: int) -> Indices:
    """Search the weighted paths of a pair, from the lower rack, as `k_shortest` does; stops at one with `enough`."""
    low, high = min(a, b), max(a, b)
    return k_shortest(routes.alone, routes.first, routes.edges, link_free, True, wanted, enough, low, high)


@lean
def _way(routes: Routes, a: int, b: int, k: int, each: int) -> int:
    """Which way shortest path k of a fabric goes up: of the planes' `each` ways, counted plane by plane."""
    planes = routes.planes
    if routes.even:
        low, high = min(a, b), max(a, b)
        return (low + high + k) % planes * each + (low + high // planes + k // planes) % each
    total = 0  # plane + spine; so many ways have less
    while k > min(total, each - 1) - max(0, total - planes + 1):
        k -= 1 + min(total, each - 1) - max(0, total - planes + 1)
        total += 1
    spine = max(0, total - planes + 1) + k
    return (total - spine) * each + spine


@lean
def _fabric_links(routes: Routes, a: int, b: int, k: int, out: Indices) -> int:
    """Write the links of shortest path k of a fabric, as `path_links` does."""
    if routes.pod_of[a] == routes.pod_of[b]:
        plane = _way(routes, a, b, k, 1)
        out[0] = routes.rack_links + a * routes.planes + plane
        out[1] = routes.rack_links + b * routes.planes + plane
        return 2
    spine, per_pod = _way(routes, a, b, k, routes.uplinks), routes.planes * routes.uplinks
    plane = spine // routes.uplinks
    out[0] = routes.rack_links + a * routes.planes + plane
    out[1] = routes.spine_links + routes.pod_of[a] * per_pod + spine
    out[2] = routes.spine_links + routes.pod_of[b] * per_pod + spine
    out[3] = routes.rack_links + b * routes.planes + plane
    return 4


@lean
def _free_in(routes: Routes, link_free: Ints, a: int, b: int, k: int) -> int:
    """Compute what path k within a pod has free."""
    up = routes.rack_links + _way(routes, a, b, k, 1)
    return int(min(link_free[up + a * routes.planes], link_free[up + b * routes.planes]))


@lean
def _free_across(routes: Routes, link_free: Ints, a: int, b: int, k: int) -> int:
    """Compute what path k between pods has free."""
    spine = _way(routes, a, b, k, routes.uplinks)
    up = routes.rack_links + spine // routes.uplinks
    top = routes.spine_links + spine
    per_pod = routes.planes * routes.uplinks
    racks = min(link_free[up + a * routes.planes], link_free[up + b * routes.planes])
    spines = min(link_free[top + routes.pod_of[a] * per_pod], link_free[top + routes.pod_of[b] * per_pod])
    return int(min(racks, spines))


@lean
def _least(link_free: Ints, paths: Indices, k: int) -> int:
    """Compute what the fullest link of a searched path has free."""
    least = int(link_free[paths[k, 1]])
    for place in range(2, paths[k, 0] + 1):
        least = min(least, link_free[paths[k, place]])
    return least


@allocating
def _searched_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int) -> int:
    """Find the first of the paths that were searched for with the bandwidth free, or -1."""
    paths = _searched(routes, a, b)
    for k in range(routes.k):
        if paths[k, 0] > 0 and _least(link_free, paths, k) >= bandwidth:
            return k
    return -1


@allocating
def _searched_links(routes: Routes, a: int, b: int, k: int, out: Indices) -> int:
    """Write the links of a path that was searched for as `path_links` does."""
    return _written(_searched(routes, a, b), k, a < b, out)


@allocating
def _searched(routes: Routes, a: int, b: int) -> Indices:
    """Find the paths of a pair, int32 [K, any] as in `kept`; searched if they are not kept, and kept if possible."""
    low, high = min(a, b), max(a, b)
    pair = high * (high - 1) // 2 + low
    slot = pair % len(routes.pairs)
    if routes.pairs[slot] != pair + 1:
        paths = k_shortest(routes.alone, routes.first, routes.edges, routes.pairs, False, routes.k, 0, low, high)
        if routes.planes > 0:  # no more of the shortest than K, or nothing would be searched for: in a fabric's order
            across = routes.pod_of[low] != routes.pod_of[high]
            for k in range(routes.planes * (routes.uplinks if across else 1)):
                paths[k, 0] = _fabric_links(routes, low, high, k, paths[k, 1:])
        for k in range(routes.k):
            if paths[k, 0] >= routes.kept.shape[2]:
                return paths
        routes.pairs[slot] = pair + 1
        for k in range(routes.k):
            for place in range(paths[k, 0] + 1):
                routes.kept[slot, k, place] = paths[k, place]
    kept: Indices = routes.kept[slot]
    return kept
