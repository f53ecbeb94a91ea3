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
every request, around links that have failed where there is a way. Fuller links come first: that is how arXiv:2106.02412
seems to have done it (see docs/place/fabric.md).
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.fabric.array_kernels import overwrite
from binwright.fabric.topology import Indices, Small, Topology, adjacency
from binwright.simcore.jit import allocating, kernel, lean
from binwright.simcore.types import Ints, fixed

KEPT_BYTES = 2**26
"""Room for paths that are kept, taken from the machine as it fills. Pairs beyond it displace one another."""
SOON_FOUND = 2**20
"""As many bytes are enough where paths are arithmetic, or searched for anew at every request."""
FAR = np.iinfo(np.int64).max


Order: TypeAlias = Literal["even", "networkx"]
"""Which of a fabric's equal paths comes first."""


class Routes(NamedTuple):
    """What kernels need to find paths; make it with `Routing`. Few arrays, because all are passed at every call.

    `rack_of`, `pod_of`, `link_tier`, `planes`, `uplinks` are as in `Topology`; `even` is the order. The neighbours of
    switch v and the links to them are `edges[first[v]:first[v + 1]]`, int32 [edges, 2], the neighbours ascending.

    Kernels write only to what follows, not by two threads at once: `pairs` int64 [slots] is 0 or the pair's number, and
    `kept` int32 [slots, K, 1 + longest] its paths, each the number of links (0 where there are fewer paths), then the
    links, from the lower rack to the higher.
    """

    planes: int
    uplinks: int
    even: bool
    weighted: bool
    rack_of: Indices
    pod_of: Indices
    link_tier: Small
    first: Indices
    edges: Indices
    pairs: Ints
    kept: Indices


class Routing:
    """Knows the paths of a topology: `routes` for kernels, which write to it. Only one thread may use it at a time."""

    def __init__(self, topology: Topology, k: int = 3, order: Order = "even", weighted: bool = False) -> None:
        self.topology, self.k, self.order, self.weighted = topology, k, order, weighted
        racks, switches, planes = topology.racks, topology.switches, topology.planes
        longest = 4 if planes >= k and not weighted else max(4, switches - 1)
        room = SOON_FOUND if planes >= k or weighted else KEPT_BYTES
        slots = max(1, min(racks * (racks - 1) // 2, room // (4 * k * (1 + longest))))
        first, near, via = adjacency(topology.link_ends[topology.servers :], 0, switches)
        # numpy's zeros cost nothing until they are touched.
        self.routes = Routes(
            planes=planes,
            uplinks=topology.uplinks,
            even=order == "even",
            weighted=weighted,
            rack_of=topology.rack_of,
            pod_of=topology.pod_of,
            link_tier=topology.link_tier,
            first=first,
            edges=fixed(np.stack([near, via + topology.servers], axis=1), np.int32),
            pairs=np.zeros(slots, np.int64),
            kept=np.zeros((slots, k, 1 + longest), np.int32),
        )
        self.longest = longest + 2
        """No route has more links: the room that `find_route` needs."""


@lean
def find_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int) -> int:
    """Find the first of the K paths between two racks whose links all have the bandwidth free, or -1.

    `link_free` int64 [links] quanta. Within a rack that is path 0, which has no links. If routes are weighted, the
    paths are those with the least bandwidth free in all, of equals those with the fewest hops, and then by the numbers
    of their vertices, from the lower rack.
    """
    if a == b:
        return 0
    slot, pair = _slot(routes, a, b)
    paths = routes.kept[slot]
    if routes.weighted or routes.pairs[slot] != pair:
        _search(routes, link_free, min(a, b), max(a, b), paths)
        routes.pairs[slot] = pair
    for k in range(len(paths)):
        count, least = paths[k, 0], FAR
        for place in range(1, count + 1):
            least = min(least, link_free[paths[k, place]])
        if count > 0 and least >= bandwidth:
            return k
    return -1


@lean
def find_route(routes: Routes, link_free: Ints, s: int, t: int, bandwidth: int, out: Indices) -> int:
    """Write the links of the path from server s to server t to `out` int32, in order; how many there are, or -1.

    It is that of `find_path`, with the servers' own links. `Routing.longest` numbers are room enough. There are none
    from a server to itself.
    """
    if s == t:
        return 0
    if link_free[s] < bandwidth or link_free[t] < bandwidth:
        return -1
    a, b = routes.rack_of[s], routes.rack_of[t]
    k, count = find_path(routes, link_free, a, b, bandwidth), 0
    if k < 0:
        return -1
    if a != b:
        path = routes.kept[_slot(routes, a, b)[0], k]
        count = int(path[0])
        for place in range(count):
            out[1 + (place if a < b else count - 1 - place)] = path[1 + place]
    out[0], out[1 + count] = s, t
    return count + 2


@lean
def _slot(routes: Routes, a: int, b: int) -> tuple[int, int]:
    """Return where the paths of two racks are kept, and the number of the pair, from 1 on."""
    low, high = min(a, b), max(a, b)
    pair = high * (high - 1) // 2 + low + 1
    return pair % len(routes.pairs), pair


@allocating
def _search(routes: Routes, link_free: Ints, low: int, high: int, paths: Indices) -> None:
    """Write the paths of a pair of racks to `paths` int32 [K, 1 + longest].

    Searching for no more of a fabric's shortest paths than K would find them, but in another order.
    """
    if routes.weighted:
        _k_shortest(routes.first, routes.edges, link_free, low, high, paths)
        if paths[0, 0] > 0:
            return
    across = routes.pod_of[low] != routes.pod_of[high]
    ways = routes.planes * (routes.uplinks if across else 1)
    if ways < len(paths):
        _k_shortest(routes.first, routes.edges, np.zeros(len(link_free), np.int64), low, high, paths)
    for k in range(min(ways, len(paths))):
        paths[k, 0] = _fabric_links(routes, low, high, k, paths[k, 1:])


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
    servers, last = len(routes.rack_of), 1
    out[0] = servers + a * routes.planes + plane
    if across:
        spines = servers + len(routes.pod_of) * routes.planes
        out[1] = spines + routes.pod_of[a] * per_pod + way
        out[2], last = spines + routes.pod_of[b] * per_pod + way, 3
    out[last] = servers + b * routes.planes + plane
    return last + 1


@allocating
def _k_shortest(first: Indices, edges: Indices, length: Ints, a: int, b: int, paths: Indices) -> None:
    """Write the K shortest simple paths from a to b to `paths`, as `Routes.kept` has them.

    Shortest is what has the least sum of `length` int64 [links], and of equals the fewest links, and then comes first
    by the numbers of its vertices; what has less than 0 is not a link.

    The path that is shortest with its best end is always the next to grow by a vertex. Whatever begins a path has an
    end, so no more beginnings than missing paths are kept.
    """
    size, wanted = len(first) - 1, len(paths)
    # A beginning is its length and its links with the best end, its vertices, -1 after them, and both without the end:
    # rows in order are paths in order, the first ones first.
    rows, path, longer = np.empty((wanted + 1, 4 + size), np.int64), np.full(4 + size, -1), np.empty(4 + size, np.int64)
    away, hops = np.empty(size, np.int64), np.empty(size, np.int64)
    path[2], path[2 + size], path[3 + size] = a, 0, 0
    overwrite(rows[0], path)
    found, waits = 0, 1
    while waits > 0 and found < wanted:
        overwrite(path, rows[0])
        waits -= 1
        for row in range(waits):
            overwrite(rows[row], rows[row + 1])
        so_far, links = path[2 + size], path[3 + size]
        tail = path[2 + links]
        if tail == b:
            for place in range(links):
                edge = first[path[2 + place]]
                while edges[edge, 0] != path[3 + place]:
                    edge += 1
                paths[found, 1 + place] = edges[edge, 1]
            paths[found, 0] = links
            found += 1
            continue
        _measure(first, edges, length, path[2 : 3 + links], b, away, hops)
        for edge in range(first[tail], first[tail + 1]):
            near, more = edges[edge, 0], length[edges[edge, 1]]
            if more < 0 or away[near] < 0:
                continue
            overwrite(longer, path)
            longer[0], longer[1] = so_far + more + away[near], links + 1 + hops[near]
            longer[3 + links], longer[2 + size], longer[3 + size] = near, so_far + more, links + 1
            row = waits
            while row > 0 and _before(longer, rows[row - 1]):
                overwrite(rows[row], rows[row - 1])
                row -= 1
            overwrite(rows[row], longer)
            waits = min(waits + 1, wanted - found)
    for k in range(found, wanted):
        paths[k, 0] = 0


@kernel
def _measure(first: Indices, edges: Indices, length: Ints, avoided: Ints, b: int, away: Ints, hops: Ints) -> None:
    """Write how far it is from each vertex to b, int64 [vertices], and over how many links, around some vertices.

    It is -1 for those, and where no way leads to b (Bellman, Ford).
    """
    away[:] = FAR
    for vertex in avoided:
        away[vertex] = -1
    away[b], hops[b], changes = 0, 0, True
    while changes:
        changes = False
        for vertex in range(len(away)):
            for edge in range(first[vertex], first[vertex + 1] if 0 <= away[vertex] < FAR else 0):
                near, more = edges[edge, 0], length[edges[edge, 1]]
                so_far = away[vertex] + more, hops[vertex] + 1
                if more >= 0 and so_far < (away[near], hops[near]):
                    (away[near], hops[near]), changes = so_far, True
    for vertex in range(len(away)):
        if away[vertex] == FAR:
            away[vertex] = -1


@kernel
def _before(row: Ints, other: Ints) -> bool:
    """Tell whether a row comes before another: by the first number in which they differ."""
    for place in range(len(row)):
        if row[place] != other[place]:
            return bool(row[place] < other[place])
    return False
