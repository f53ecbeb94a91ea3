"""The K shortest simple paths between racks, found once for every pair, and which of them kernels take.

Paths are in one order: fewest hops first; among equals by the numbers of their vertices, from the rack of the lower
number to the other. The slow rule says the same: all simple paths through switches, sorted by (hops, vertices), the
first K. But the shortest paths of a fabric, one for each plane or spine, are ordered so that

- `even`: pairs of racks take turns. Path k of racks a < b goes through plane a + b + k, and through spine
  a + b // planes + k // planes of it, modulo how many there are. So the pairs of a rack, and the K paths of a pair, are
  spread over all planes, and the pairs of two pods over all spines.
- `networkx`: as its `shortest_simple_paths` finds them where racks and switches are entered by their numbers: plane 0
  first for every pair; by plane + spine, of equals the lower spine. Publications that used it loaded plane 0.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from itertools import islice, pairwise, product
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.fabric.topology import Indices, Small, Topology, adjacency
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints, fixed, read_only

FAR = np.iinfo(np.int64).max
Order: TypeAlias = Literal["even", "networkx"]
"""Which of a fabric's equal paths comes first."""


class Routes(NamedTuple):
    """What kernels need to find paths; make it with `Routing`. Few arrays, because all are passed at every call.

    `rack_of`, `pod_of`, `link_tier` are as in `Topology`. The neighbours of switch v and the links to them are
    `edges[first[v]:first[v + 1]]`, int32 [edges, 2], the neighbours ascending. `paths` int32 [pairs, K, any] has those
    of racks low < high in row high (high - 1) / 2 + low: the number of links of each (0 where there are fewer paths),
    then the links, from low to high.
    """

    rack_of: Indices
    pod_of: Indices
    link_tier: Small
    first: Indices
    edges: Indices
    paths: Indices


class Routing:
    """Knows the K shortest paths of a topology: `routes` for kernels, found when first needed."""

    def __init__(self, topology: Topology, k: int = 3, order: Order = "even") -> None:
        self.topology, self.k, self.order = topology, k, order

    @cached_property
    def routes(self) -> Routes:
        """The paths between all racks."""
        topology = self.topology
        first, near, via = adjacency(topology.link_ends[topology.servers :], 0, topology.switches)
        edges = fixed(np.stack([near, via + topology.servers], axis=1), np.int32)
        paths = all_paths(topology, self.k, self.order)
        return Routes(topology.rack_of, topology.pod_of, topology.link_tier, first, edges, paths)

    @property
    def longest(self) -> int:
        """The most links of a route: the room that `find_route` needs."""
        return int(self.routes.paths.shape[2]) + 1


@lean
def find_path(routes: Routes, link_free: Ints, a: int, b: int, bandwidth: int) -> int:
    """Find the first of the K paths between two racks whose links all have the bandwidth free, or -1.

    `link_free` int64 [links] quanta. Within a rack that is path 0, which has no links.
    """
    if a == b:
        return 0
    paths = routes.paths[_pair(a, b)]
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
        path = routes.paths[_pair(a, b), k]
        count = int(path[0])
        for place in range(count):
            out[1 + (place if a < b else count - 1 - place)] = path[1 + place]
    out[0], out[1 + count] = s, t
    return count + 2


@lean
def _pair(a: int, b: int) -> int:
    """Return the row of two racks in `Routes.paths`."""
    low, high = min(a, b), max(a, b)
    return high * (high - 1) // 2 + low


# -- finding them ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def all_paths(topology: Topology, wanted: int, order: Order) -> Indices:
    """Find so many paths a pair, as `Routes.paths` has them: a fabric's shortest by arithmetic, others by search."""
    high, low = (racks.astype(np.int32) for racks in np.tril_indices(topology.racks, -1))
    ways = topology.planes * np.where(topology.pod_of[low] != topology.pod_of[high], topology.uplinks, 1)
    paths = np.zeros((len(high), wanted, 5), np.int32)
    for k in range(min(wanted, ways.max(initial=0))):
        paths[:, k] = _fabric_paths(topology, low, high, k, order)
        paths[ways <= k, k] = 0
    ends = topology.link_ends[topology.servers :].tolist()
    link_of = {pair: topology.servers + link for link, (a, b) in enumerate(ends) for pair in ((a, b), (b, a))}
    near: list[list[int]] = [[] for _ in range(topology.switches)]
    for a, b in sorted(link_of):
        near[a].append(b)
    above, is_tree = dict(ends), topology.is_tree
    for row in np.flatnonzero(ways < wanted).tolist():
        pair = int(low[row]), int(high[row])
        shortest = iter([climb(above, *pair)]) if is_tree else simple_paths(near, *pair)
        for k, path in enumerate(islice(shortest, wanted)):
            if k >= ways[row]:
                missing = len(path) - paths.shape[2]
                if missing > 0:
                    paths = np.pad(paths, ((0, 0), (0, 0), (0, missing)))
                paths[row, k, : len(path)] = len(path) - 1, *(link_of[hop] for hop in pairwise(path))
    return read_only(paths)


def _fabric_paths(topology: Topology, low: Indices, high: Indices, k: int, order: Order) -> Indices:
    """Return shortest path k of a fabric for each pair of racks, int32 [pairs, 5]; any numbers where there is none."""
    planes, uplinks, pod_of = topology.planes, topology.uplinks, topology.pod_of
    across = pod_of[low] != pod_of[high]
    if order == "even":
        plane, spine = (low + high + k) % planes, (low + high // planes + k // planes) % uplinks
    else:
        up = sorted(product(range(planes), range(uplinks)), key=lambda way: (sum(way), way[1]))[k]
        plane, spine = np.where(across, up[0], k), np.full(len(low), up[1], np.int32)
    racks = topology.servers + plane
    spines = topology.servers + topology.racks * planes + plane * uplinks + spine
    first, last = racks + low * planes, racks + high * planes
    second, third = (spines + pod_of[end] * planes * uplinks for end in (low, high))
    columns = ((4, 2), (first, first), (second, last), (third, 0), (last, 0))
    return np.stack([np.where(across, four, two) for four, two in columns], axis=1)


def simple_paths(near: Sequence[Sequence[int]], a: int, b: int) -> Iterator[tuple[int, ...]]:
    """Yield the simple paths between two switches as their vertices, in order; `near` are the neighbours of each.

    The path that is shortest with its best end is always the next to grow.
    """
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, (a,))]
    while waiting:
        _, path = heappop(waiting)
        if path[-1] == b:
            yield path
            continue
        away = {b: 0}  # how many links lead from each switch to b, around those on the path
        ahead = [b]
        for switch in ahead:  # grows while it is walked
            for other in near[switch]:
                if other not in away and other not in path:
                    away[other] = away[switch] + 1
                    ahead.append(other)
        for switch in near[path[-1]]:
            if switch in away:
                heappush(waiting, (len(path) + away[switch], (*path, switch)))


def climb(above: dict[int, int], a: int, b: int) -> tuple[int, ...]:
    """Return the only path between two switches of a tree: up from both to where they meet."""
    ups = []
    for switch in (a, b):
        ups.append([switch])
        while (switch := above.get(switch, -1)) >= 0:
            ups[-1].append(switch)
    meets = next(switch for switch in ups[0] if switch in ups[1])
    return (*ups[0][: ups[0].index(meets)], meets, *reversed(ups[1][: ups[1].index(meets)]))
