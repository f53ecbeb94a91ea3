"""The K shortest simple paths between racks, computed where they are asked for, by kernels that agents call.

Paths are in one order: fewest hops first; among equals by the numbers of their vertices, from the rack of the lower
number to the other. The slow rule says the same: all simple paths through switches, sorted by (hops, vertices), the
first K. But the shortest paths of a fabric, one for each plane or spine, are ordered so that

- `even`: pairs of racks take turns. Path k of racks a < b goes through plane a + b + k, and through spine
  a + b // planes + k // planes of it, modulo how many there are. So the pairs of a rack, and the K paths of a pair, are
  spread over all planes, and the pairs of two pods over all spines.
- `networkx`: as its `shortest_simple_paths` finds them where racks and switches are entered by their numbers: plane 0
  first for every pair; by plane + spine, of equals the lower spine. Publications that used it loaded plane 0.

The paths of a pair are found once, when a kernel first needs them, and kept: the shortest of a fabric by arithmetic,
all others by a search.

Routes may be weighted instead: a link is as long as it has bandwidth free, and the K shortest paths are searched for at
every request. Fuller links come first: that is how arXiv:2106.02412 seems to have done it (see docs/place/fabric.md).
"""

from typing import NamedTuple

import numpy as np

from binwright.fabric.shortest import FAR, k_shortest
from binwright.fabric.topology import Indices, Topology, TopologyError, adjacency
from binwright.simcore.jit import allocating, lean
from binwright.simcore.types import Ints, fixed

MOST_PATHS = 1000
"""Per pair of racks."""
KEPT_LENGTH = 16
"""Hops of the longest path that is kept; pairs with a longer one are searched every time."""
KEPT_BYTES = 2**28
"""Room for paths that are kept, taken from the machine as it fills. Pairs beyond it displace one another."""
SOON_FOUND = 2**20
"""As many bytes are enough where all paths are arithmetic."""
ORDERS = ("even", "networkx")
"""Of a fabric's equal paths."""


class Routes(NamedTuple):
    """What kernels need to find paths; make it with `Routing`. Few arrays, because all are passed at every call.

    `rack_of`, `pod_of`, `planes`, `uplinks` are as in `Topology`; `even` is the order; `rack_links` and `spine_links`
    are the numbers of the first such link; `first` and `edges` are the adjacency of the switches (see `k_shortest`).

    Kernels write only to what follows, not by two threads at once: `pairs` int64 [slots] is 0 or the pair's number + 1,
    `cached` int32 [slots, K, 1 + longest] its paths, each the number of links (0 where there are fewer paths), then the
    links, from the lower rack to the higher; `searched` int32 [K, switches] has paths that are not cached.
    """

    k: int
    planes: int
    uplinks: int
    even: bool
    rack_links: int
    spine_links: int
    rack_of: Indices
    pod_of: Indices
    first: Indices
    edges: Indices
    pairs: Ints
    cached: Indices
    searched: Indices


class Routing:
    """Knows the paths of a topology: `routes` for kernels, which write to it. Only one thread may use it at a time."""

    def __init__(self, topology: Topology, k: int = 3, order: str = ORDERS[0]) -> None:
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_PATHS:
            raise TopologyError(f"must be a whole number from 1 to {MOST_PATHS}", key="k", value=k)
        if order not in ORDERS:
            raise TopologyError(f"must be one of {', '.join(ORDERS)}", key="order", value=order)
        self.topology, self.k, self.order = topology, k, order
        racks, switches, planes = topology.racks, topology.switches, topology.planes
        arithmetic = planes >= k
        width = 1 + (4 if arithmetic else max(1, min(switches - 1, KEPT_LENGTH)))
        room = SOON_FOUND if arithmetic else KEPT_BYTES
        slots = max(1, min(racks * (racks - 1) // 2, room // (4 * k * width)))
        first, near, via = adjacency(topology.link_ends[topology.servers :], 0, switches)
        # numpy's zeros cost nothing until they are touched.
        self.routes = Routes(
            k=k,
            planes=planes,
            uplinks=topology.uplinks,
            even=order == "even",
            rack_links=topology.servers,
            spine_links=topology.servers + racks * planes,
            rack_of=topology.rack_of,
            pod_of=topology.pod_of,
            first=first,
            edges=fixed(np.stack([near, via + topology.servers], axis=1), np.int32),
            pairs=np.zeros(slots, np.int64),
            cached=np.zeros((slots, k, width), np.int32),
            searched=np.zeros((k, max(5, switches)), np.int32),
        )
        self.longest = max(4 if planes else 1, switches - 1) + 2
        """No route has more links: the room that `route_links` needs."""


@lean
def find_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int, weighted: bool) -> int:
    """Find the first of the K paths between two racks whose links all have the bandwidth free, or -1.

    `link_free` int64 [links] quanta. Within a rack that is path 0, which has no links. If `weighted`, the paths are
    those with the least bandwidth free in all, of equals those with the fewest hops, and then by the numbers of their
    vertices, from the lower rack; they lead around links that have failed.
    """
    if a == b:
        return 0
    slot = _slot(routes, link_free, a, b, weighted, routes.k, bandwidth)
    paths = routes.cached[slot] if slot >= 0 else routes.searched
    for k in range(routes.k):
        count, least = paths[k, 0], FAR
        for place in range(1, count + 1):
            least = min(least, link_free[paths[k, place]])
        if count > 0 and least >= bandwidth:
            return k
    return -1


@lean
def find_route(routes: Routes, link_free: Ints, s: int, t: int, bandwidth: int, weighted: bool) -> int:
    """Find the path that a route from server s to server t takes, the servers' own links included, or -1.

    See `find_path`.
    """
    if s == t:
        return 0
    if link_free[s] < bandwidth or link_free[t] < bandwidth:
        return -1
    return find_path(routes, link_free, routes.rack_of[s], routes.rack_of[t], bandwidth, weighted)


@lean
def route_links(routes: Routes, link_free: Ints, s: int, t: int, k: int, weighted: bool, out: Indices) -> int:
    """Write the links of path k from server s to server t, in order, to `out` int32; how many there are.

    `Routing.longest` numbers are room enough. -1 without such a path; none from a server to itself. `link_free` is that
    by which the path was found; it isn't read unless `weighted`.
    """
    if s == t:
        return 0
    a, b = routes.rack_of[s], routes.rack_of[t]
    count, known = 0, k == 0
    if a != b:
        slot = _slot(routes, link_free, a, b, weighted, k + 1, FAR)
        paths = routes.cached[slot] if slot >= 0 else routes.searched
        count = int(paths[k, 0])
        known = count > 0
        for place in range(count):
            out[1 + (place if a < b else count - 1 - place)] = paths[k, 1 + place]
    out[0], out[1 + count] = s, t
    return count + 2 if known else -1


@lean
def _slot(routes: Routes, link_free: Ints, a: int, b: int, weighted: bool, wanted: int, enough: int) -> int:
    """Find the paths of a pair, from the lower rack; returns their slot, -1 where they are in `searched`.

    Weighted paths are searched for, the first `wanted`, or fewer when one has `enough`.
    """
    low, high = min(a, b), max(a, b)
    if weighted:
        k_shortest(routes.first, routes.edges, link_free, wanted, enough, low, high, routes.searched)
        return -1
    pair = high * (high - 1) // 2 + low
    slot = pair % len(routes.pairs)
    if routes.pairs[slot] == pair + 1 or _keep(routes, len(link_free), low, high, slot, pair + 1):
        return int(slot)
    return -1


@allocating
def _keep(routes: Routes, links: int, low: int, high: int, slot: int, number: int) -> bool:
    """Write the paths of a pair to `searched`, and keep short enough ones in a slot; tells whether they are kept.

    Searching for no more of a fabric's shortest paths than K would find them, but in another order.
    """
    searched, cached = routes.searched, routes.cached
    across = routes.pod_of[low] != routes.pod_of[high]
    ways = routes.planes * (routes.uplinks if across else 1)
    if ways < routes.k:
        k_shortest(routes.first, routes.edges, np.zeros(links, np.int64), routes.k, FAR, low, high, searched)
    for k in range(min(ways, routes.k)):
        searched[k, 0] = _fabric_links(routes, low, high, k, searched[k, 1:])
    for k in range(routes.k):
        if searched[k, 0] >= cached.shape[2]:
            return False
    routes.pairs[slot] = number
    for k in range(routes.k):
        for place in range(searched[k, 0] + 1):
            cached[slot, k, place] = searched[k, place]
    return True


@lean
def _way(routes: Routes, a: int, b: int, k: int, each: int) -> int:
    """Which way shortest path k of a fabric goes up: of the planes' `each` ways, counted plane by plane."""
    planes = routes.planes
    if routes.even:
        return (a + b + k) % planes * each + (a + b // planes + k // planes) % each
    total = 0  # plane + spine; so many ways have less
    while k > min(total, each - 1) - max(0, total - planes + 1):
        k -= 1 + min(total, each - 1) - max(0, total - planes + 1)
        total += 1
    spine = max(0, total - planes + 1) + k
    return (total - spine) * each + spine


@lean
def _fabric_links(routes: Routes, a: int, b: int, k: int, out: Indices) -> int:
    """Write the links of shortest path k of a fabric, from rack a to a higher one, to `out`; how many there are."""
    across = routes.pod_of[a] != routes.pod_of[b]
    way, per_pod = _way(routes, a, b, k, routes.uplinks if across else 1), routes.planes * routes.uplinks
    plane = way // routes.uplinks if across else way
    out[0], last = routes.rack_links + a * routes.planes + plane, 1
    if across:
        out[1] = routes.spine_links + routes.pod_of[a] * per_pod + way
        out[2], last = routes.spine_links + routes.pod_of[b] * per_pod + way, 3
    out[last] = routes.rack_links + b * routes.planes + plane
    return last + 1
