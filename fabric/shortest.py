"""The K shortest simple paths of any graph, in one order: fewest hops first, then by the numbers of their vertices."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fabric.topology import Indices
from simcore.jit import kernel

Flags: TypeAlias = npt.NDArray[np.bool_]


@kernel
def k_shortest(alone: int, first: Indices, edges: Indices, wanted: int, a: int, b: int) -> Indices:
    """The K shortest simple paths from a to b, in order: int32 [K, vertices], each its number of links, then the links.

    That number is 0 where there are no more paths. The neighbours of vertex v and the links to them are
    `edges[first[v]:first[v + 1]]`, int32 [edges, 2], the neighbours ascending. No path leads through the first `alone`
    vertices. Changes nothing.

    J. Y. Yen, "Finding the K shortest loopless paths in a network", 1971, as E. L. Lawler partitions it, 1972: every
    path found splits what is left into parts (follow it as far as vertex i, then leave it), of which the first is
    found by one breadth-first search each.
    """
    size = len(first) - 1
    found, waiting = np.empty((wanted, size), np.int32), np.empty((wanted, size), np.int32)
    hops, waiting_hops = np.zeros(wanted, np.int32), np.zeros(wanted, np.int32)
    left_at, waiting_left_at = np.zeros(wanted, np.int32), np.zeros(wanted, np.int32)
    on_path, barred = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    distance, queue = np.empty(size, np.int32), np.empty(size, np.int32)
    trial = np.empty(size, np.int32)
    waits = 0

    found[0, 0] = a
    on_path[a] = True
    hops[0] = _complete(alone, first, edges, found[0], 0, b, on_path, barred, distance, queue)
    count = 1 if hops[0] > 0 else 0
    while 0 < count < wanted:
        last = found[count - 1]
        on_path[:] = False
        for place in range(hops[count - 1]):
            on_path[last[place]] = True
            trial[place] = last[place]
            if place < left_at[count - 1]:
                continue
            for other in range(count):
                if _share(found[other], last, place):
                    barred[found[other, place + 1]] = True
            length = _complete(alone, first, edges, trial, place, b, on_path, barred, distance, queue)
            barred[:] = False
            if length < 0:
                continue
            slot = waits
            if waits == wanted:  # no more than K are ever needed: the last gives way, if it comes after
                slot = 0
                for other in range(1, waits):
                    if _before(waiting[slot], waiting_hops[slot], waiting[other], waiting_hops[other]):
                        slot = other
                if not _before(trial, length, waiting[slot], waiting_hops[slot]):
                    continue
            else:
                waits += 1
            _copy(trial, length, waiting[slot])
            waiting_hops[slot], waiting_left_at[slot] = length, place
        if waits == 0:
            break
        best = 0
        for other in range(1, waits):
            if _before(waiting[other], waiting_hops[other], waiting[best], waiting_hops[best]):
                best = other
        hops[count], left_at[count] = waiting_hops[best], waiting_left_at[best]
        _copy(waiting[best], hops[count], found[count])
        count += 1
        waits -= 1
        waiting_hops[best], waiting_left_at[best] = waiting_hops[waits], waiting_left_at[waits]
        _copy(waiting[waits], waiting_hops[waits], waiting[best])

    paths = np.zeros((wanted, size), np.int32)
    for k in range(count):
        paths[k, 0] = hops[k]
        for place in range(hops[k]):
            here = found[k, place]
            for edge in range(first[here], first[here + 1]):
                if edges[edge, 0] == found[k, place + 1]:
                    paths[k, 1 + place] = edges[edge, 1]
    return paths


@kernel
def _complete(
    alone: int,
    first: Indices,
    edges: Indices,
    path: Indices,
    place: int,
    b: int,
    on_path: Flags,
    barred: Flags,
    distance: Indices,
    queue: Indices,
) -> int:
    """Go on from `path[place]` to b the shortest way, of equals the first; the hops of the whole path, or -1.

    Writes `path` behind `place`; not through what is `on_path`, and not next to what is `barred`. `distance` and
    `queue` int32 [switches] are scratch.
    """
    here = path[place]
    distance[:] = -1
    distance[b] = 0
    queue[0] = b
    head, tail, left = 0, 1, 0
    while head < tail and left == 0:
        vertex = queue[head]
        head += 1
        for edge in range(first[vertex], first[vertex + 1]):
            near = edges[edge, 0]
            if near == here and not barred[vertex]:
                # Everything as near to b as this vertex has its distance already.
                left = distance[vertex] + 1
            elif distance[near] < 0 and near >= alone and not on_path[near]:
                distance[near] = distance[vertex] + 1
                queue[tail] = near
                tail += 1
    if left == 0:
        return -1
    for step in range(left):
        for edge in range(first[here], first[here + 1]):
            near = edges[edge, 0]
            if distance[near] == left - 1 - step and (step > 0 or not barred[near]):
                here = near
                break
        path[place + 1 + step] = here
    return place + left


@kernel
def _share(one: Indices, other: Indices, place: int) -> bool:
    """Are two paths the same up to this place?"""
    same = True
    for k in range(place + 1):
        same &= bool(one[k] == other[k])
    return same


@kernel
def _copy(path: Indices, hops: int, into: Indices) -> None:
    """Write a path to `into`."""
    for place in range(hops + 1):
        into[place] = path[place]


@kernel
def _before(one: Indices, one_hops: int, other: Indices, other_hops: int) -> bool:
    """Does a path come before another: fewer hops, or then the lower numbers of vertices?"""
    if one_hops != other_hops:
        return one_hops < other_hops
    for place in range(one_hops + 1):
        if one[place] != other[place]:
            return bool(one[place] < other[place])
    return False
