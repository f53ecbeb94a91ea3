"""The K shortest simple paths of any graph, in one order: the shortest first, then by the numbers of their vertices."""

from heapq import heappop, heappush
from typing import Any

import numpy as np

from binwright.fabric.array_kernels import overwrite
from binwright.fabric.topology import Indices
from binwright.simcore.jit import allocating, kernel
from binwright.simcore.types import Ints

FAR = np.iinfo(np.int64).max


@allocating
def k_shortest(
    first: Indices, edges: Indices, length: Ints, wanted: int, enough: int, a: int, b: int, paths: Indices
) -> None:
    """Write the K shortest simple paths from a to b to `paths` int32 [K or more, vertices].

    Each is its number of links, then the links; the number is 0 where there are no more paths. The neighbours of vertex
    v and the links to them are `edges[first[v]:first[v + 1]]`, int32 [edges, 2], the neighbours ascending.

    Shortest is what has the least sum of `length` int64 [links], and of equals the fewest links; what has less than 0
    is not a link, and the search ends with the first path whose links have `enough` each.

    The path that is shortest with its best end is always the next to grow by a vertex. Whatever begins a path has an
    end, so no more beginnings than missing paths are kept.
    """
    size = len(first) - 1
    # A beginning is its length and its links with the best end, its vertices, -1 after them, and both without the end:
    # rows in order are paths in order. The last row is scratch.
    rows, path = np.empty((wanted + 1, 4 + size), np.int64), np.empty(4 + size, np.int64)
    away, hops = np.empty(size, np.int64), np.empty(size, np.int64)
    rows[0] = -1
    rows[0, 2], rows[0, 2 + size], rows[0, 3 + size] = a, 0, 0
    found, waits = 0, 1
    while waits > 0 and found < wanted:
        next_row = _extreme(rows, waits, False)
        overwrite(path, rows[next_row])
        waits -= 1
        overwrite(rows[next_row], rows[waits])
        so_far, links = path[2 + size], path[3 + size]
        tail = path[2 + links]
        if tail == b:
            least = FAR
            for place in range(links):
                edge = first[path[2 + place]]
                while edges[edge, 0] != path[3 + place]:
                    edge += 1
                paths[found, 1 + place] = edges[edge, 1]
                least = min(least, length[edges[edge, 1]])
            paths[found, 0] = links
            found += 1
            if least >= enough:
                break
            continue
        _measure(first, edges, length, path[2 : 3 + links], b, away, hops)
        for edge in range(first[tail], first[tail + 1]):
            near, more = edges[edge, 0], length[edges[edge, 1]]
            if more < 0 or away[near] < 0:
                continue
            row = rows[waits]
            overwrite(row, path)
            row[0], row[1] = so_far + more + away[near], links + 1 + hops[near]
            row[3 + links], row[2 + size], row[3 + size] = near, so_far + more, links + 1
            if waits < wanted - found:
                waits += 1
                continue
            last = _extreme(rows, waits, True)
            if _before(row, rows[last]):
                overwrite(rows[last], row)
    for k in range(found, wanted):
        paths[k, 0] = 0


@kernel
def _measure(first: Indices, edges: Indices, length: Ints, avoided: Ints, b: int, away: Ints, hops: Ints) -> None:
    """Write how far it is from each vertex to b, int64 [vertices], and over how many links, around some vertices.

    It is -1 for those, and where no way leads to b (E. W. Dijkstra, 1959).
    """
    away[:] = FAR
    for vertex in avoided:
        away[vertex] = -1
    away[b], hops[b] = 0, 0
    border: list[Any] = [(0, 0, b)]
    while len(border) > 0:
        so_far, before, vertex = heappop(border)
        if (so_far, before) != (away[vertex], hops[vertex]):
            continue  # a shorter way was found since
        for edge in range(first[vertex], first[vertex + 1]):
            near, more = np.int64(edges[edge, 0]), length[edges[edge, 1]]
            if more >= 0 and (so_far + more, before + 1) < (away[near], hops[near]):
                away[near], hops[near] = so_far + more, before + 1
                heappush(border, (so_far + more, before + 1, near))
    for vertex in range(len(away)):
        if away[vertex] == FAR:
            away[vertex] = -1


@kernel
def _extreme(rows: Ints, count: int, last: bool) -> int:
    """Find the last, or else the first, of so many rows."""
    best = 0
    for other in range(1, count):
        if _before(rows[best], rows[other]) == last:
            best = other
    return best


@kernel
def _before(row: Ints, other: Ints) -> bool:
    """Tell whether a row comes before another: by the first number in which they differ."""
    for place in range(len(row)):
        if row[place] != other[place]:
            return bool(row[place] < other[place])
    return False
