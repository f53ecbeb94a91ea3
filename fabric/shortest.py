"""The K shortest simple paths of any graph, in one order: the shortest first, then by the numbers of their vertices."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import overwrite
from binwright.fabric.topology import Indices
from binwright.simcore.jit import allocating, kernel
from binwright.simcore.types import Ints

Flags: TypeAlias = npt.NDArray[np.bool_]
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

    J. Y. Yen, "Finding the K shortest loopless paths in a network", 1971, as E. L. Lawler partitions it, 1972: every
    path found splits what is left into parts (follow it as far as vertex i, then leave it), of which the first is
    found by one search (E. W. Dijkstra, 1959) each.
    """
    size = len(first) - 1
    # A path is its length, its hops, and its vertices: rows in order are paths in order.
    found, waiting = np.zeros((wanted, 2 + size), np.int64), np.empty((wanted, 2 + size), np.int64)
    left_at, waiting_left_at = np.zeros(wanted, np.int32), np.zeros(wanted, np.int32)
    on_path, barred = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    away, hops = np.empty(size, np.int64), np.empty(size, np.int64)
    trial = np.empty(2 + size, np.int64)
    waits = 0

    found[0, 2] = a
    on_path[a] = True
    count = int(_complete(first, edges, length, found[0], 0, b, on_path, barred, away, hops))
    while 0 < count < wanted:
        last = found[count - 1]
        if _least(first, edges, length, last) >= enough:
            break
        on_path[:] = False
        for place in range(last[1]):
            on_path[last[2 + place]] = True
            trial[2 + place] = last[2 + place]
            if place < left_at[count - 1]:
                continue
            for other in range(count):
                if _share(found[other], last, place):
                    barred[found[other, 3 + place]] = True
            reached = _complete(first, edges, length, trial, place, b, on_path, barred, away, hops)
            barred[:] = False
            if not reached:
                continue
            slot = waits
            if waits == wanted:  # no more than K are ever needed: the last gives way, if it comes after
                slot = _extreme(waiting, waits, True)
                if not _before(trial, waiting[slot]):
                    continue
            else:
                waits += 1
            overwrite(waiting[slot], trial)
            waiting_left_at[slot] = place
        if waits == 0:
            break
        best = _extreme(waiting, waits, False)
        overwrite(found[count], waiting[best])
        left_at[count] = waiting_left_at[best]
        count += 1
        waits -= 1
        overwrite(waiting[best], waiting[waits])
        waiting_left_at[best] = waiting_left_at[waits]

    for k in range(wanted):
        paths[k, 0] = found[k, 1] if k < count else 0
        for place in range(paths[k, 0]):
            paths[k, 1 + place] = edges[_edge(first, edges, found[k], place), 1]


@kernel
def _complete(
    first: Indices,
    edges: Indices,
    length: Ints,
    path: Ints,
    place: int,
    b: int,
    on_path: Flags,
    barred: Flags,
    away: Ints,
    hops: Ints,
) -> bool:
    """Go on from vertex `place` of a path to b the shortest way, of equals the first; returns whether there is any.

    Writes `path` from there on, and how long it is then; not through what is `on_path`, and not next to what is
    `barred`. `away` and `hops`, int64 [switches], are scratch: how far it is from each vertex to b.
    """
    tail = path[2 + place]
    away[:] = FAR
    away[b], hops[b] = 0, 0
    border: list[Any] = [(0, 0, b)]
    rest, left = FAR, 0
    while len(border) > 0:
        so_far, before, vertex = heappop(border)
        if (so_far, before) >= (rest, left):
            break
        if (so_far, before) != (away[vertex], hops[vertex]):
            continue  # a shorter way was found since
        for edge in range(first[vertex], first[vertex + 1]):
            near, more = np.int64(edges[edge, 0]), length[edges[edge, 1]]
            further = so_far + more, before + 1
            if more < 0:
                continue
            if near == tail:
                if not barred[vertex] and further < (rest, left):
                    rest, left = further
            elif not on_path[near] and further < (away[near], hops[near]):
                away[near], hops[near] = further
                heappush(border, (further[0], further[1], near))
    if left == 0:
        return False
    path[0] = rest
    path[1] = place + left
    for step in range(place):
        path[0] += length[edges[_edge(first, edges, path, step), 1]]
    while left > 0:
        for edge in range(first[tail], first[tail + 1]):
            near, more = edges[edge, 0], length[edges[edge, 1]]
            nearer = more >= 0 and away[near] == rest - more and hops[near] == left - 1
            if nearer and (tail != path[2 + place] or not barred[near]):
                break
        tail = near
        rest -= more
        left -= 1
        path[2 + path[1] - left] = tail
    return True


@kernel
def _edge(first: Indices, edges: Indices, path: Ints, place: int) -> int:
    """Find the edge from vertex `place` of a path to the next."""
    edge = first[path[2 + place]]
    while edges[edge, 0] != path[3 + place]:
        edge += 1
    return int(edge)


@kernel
def _least(first: Indices, edges: Indices, length: Ints, path: Ints) -> int:
    """Find the length of a path's shortest link."""
    least = FAR
    for place in range(path[1]):
        least = min(least, length[edges[_edge(first, edges, path, place), 1]])
    return int(least)


@kernel
def _share(path: Ints, other: Ints, place: int) -> bool:
    """Tell whether two paths are the same up to this vertex."""
    same = True
    for k in range(2, 3 + place):
        same &= bool(path[k] == other[k])
    return same


@kernel
def _extreme(paths: Ints, count: int, last: bool) -> int:
    """Find the last, or else the first, of so many paths."""
    best = 0
    for other in range(1, count):
        if _before(paths[best], paths[other]) == last:
            best = other
    return best


@kernel
def _before(path: Ints, other: Ints) -> bool:
    """Tell whether a path comes before another: shorter, then fewer hops, then the lower numbers of vertices."""
    for place in range(3 + min(path[1], other[1])):
        if path[place] != other[place]:
            return bool(path[place] < other[place])
    return False
