"""What the network sees: of every node, of every request that may be moved, of every place for a chosen request."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.agents.rules.moving import Standing, fits, part_of
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

NODE, REQUEST, PLACE = 9, 16, 10
"""How many numbers are seen of each."""
MANY = 20
"""So many moves left are as good as any number more."""


class Sight(NamedTuple):
    """Holds what is seen, float32, and which requests and places may be chosen, bool; all are written in place.

    `nodes` [servers * nodes, NODE], `requests` [n, REQUEST] and `movable` [n], `places` [servers * nodes, PLACE] and
    `fitting` [servers * nodes]. `largest` int64 [n] sorts the requests, those that take most of a node first.
    """

    nodes: npt.NDArray[np.float32]
    requests: npt.NDArray[np.float32]
    movable: npt.NDArray[np.bool_]
    places: npt.NDArray[np.float32]
    fitting: npt.NDArray[np.bool_]
    largest: Ints


def sight_of(now: Standing) -> Sight:
    """Make room for what is seen of a cluster."""
    places, requests = now.free.shape[0] * now.free.shape[1], len(now.kind)
    each = now.demands[:, 0] // np.where(now.spread > 0, now.free.shape[1], 1)
    return Sight(
        np.zeros((places, NODE), np.float32),
        np.zeros((requests, REQUEST), np.float32),
        np.zeros(requests, np.bool_),
        np.zeros((places, PLACE), np.float32),
        np.zeros(places, np.bool_),
        np.argsort(-each[now.kind], kind="stable").astype(np.int64),
    )


@kernel
def takes(now: Standing, which: int, node: int) -> int:
    """Return what a request takes of the first resource of a node of its server."""
    nodes, kind = now.free.shape[1], now.kind[which]
    amount = now.demands[kind, 0]
    return part_of(amount, node, nodes) if now.spread[kind] else amount * (now.place[which] % nodes == node)


@kernel
def fewest(now: Standing, largest: Ints, need: Ints) -> Ints:
    """Count for every node, int64 [places], how many of its requests must go so that so much more is free; 0: never."""
    nodes = now.free.shape[1]
    given, count = np.zeros(len(need), np.int64), np.zeros(len(need), np.int64)
    for which in largest:
        kind, place = now.kind[which], now.place[which]
        first, last = (place, place + nodes) if now.spread[kind] else (place, place + 1)
        for at in range(first, last):
            if given[at] < need[at]:
                given[at] += takes(now, which, at % nodes)
                count[at] += 1
    for at in range(len(need)):
        if given[at] < need[at]:
            count[at] = 0
    return count


@kernel
def lost(free: Ints, size: int) -> int:
    """Return what a server that has so much free, int64 [nodes, resources], loses by fragments."""
    total = 0
    for node in range(len(free)):
        total += free[node, 0] % size
    return total


@kernel
def gain_at(now: Standing, kind: int, place: int, size: int, sign: int) -> int:
    """Return how much less the nodes of a place lose when a request of a kind leaves (1) or comes (-1)."""
    nodes = now.free.shape[1]
    server, gain = place // nodes, 0
    for node in range(nodes):
        if now.spread[kind] or node == place % nodes:
            amount = part_of(now.demands[kind, 0], node, nodes) if now.spread[kind] else now.demands[kind, 0]
            free = now.free[server, node, 0]
            gain += free % size - (free + sign * amount) % size
    return gain


@kernel
def look(now: Standing, size: int, left: int, sight: Sight) -> None:
    """Write what is seen of nodes and requests, with so many moves left, for requests of a size in quanta."""
    servers, nodes = now.free.shape[0], now.free.shape[1]
    need = np.empty(servers * nodes, np.int64)
    for place in range(servers * nodes):
        need[place] = size - now.free[place // nodes, place % nodes, 0] % size
    away = fewest(now, sight.largest, need)
    on = np.zeros(servers * nodes, np.int64)
    for which in range(len(now.kind)):
        on[now.place[which]] += 1
    for place in range(servers * nodes):
        server, node = place // nodes, place % nodes
        free, rest, most = now.free[server, node, 0], 0.0, 0
        for other in range(nodes):
            if other != node:
                rest += (now.free[server, other, 0] % size) / size / (nodes - 1)
                most = max(most, now.free[server, other, 0])
        seen = sight.nodes[place]
        seen[0] = (free % size) / size
        seen[1] = free % size == 0
        seen[2] = min(free / size, 3.0) / 3
        seen[3] = now.free[server, node, -1] / max(now.capacity[server, node, -1], 1)
        seen[4] = rest
        seen[5] = min(most / size, 3.0) / 3
        seen[6] = 1 / away[place] if away[place] else 0.0
        seen[7] = 0 < away[place] <= left
        seen[8] = min(on[place], 20) / 10
    _look_at_requests(now, size, left, sight, need, away)


@kernel
def _look_at_requests(now: Standing, size: int, left: int, sight: Sight, need: Ints, away: Ints) -> None:
    nodes, kinds, places = now.free.shape[1], len(now.demands), now.free.shape[0] * now.free.shape[1]
    best, second = np.full(kinds, -1, np.int64), np.full(kinds, -1, np.int64)
    gains = np.zeros((kinds, 2), np.int64)
    harmless = np.zeros(kinds, np.int64)
    for kind in range(kinds):
        spread = now.spread[kind]
        for place in range(places):
            if (spread and place % nodes) or not fits(
                now.free[place // nodes], now.demands[kind], spread, place % nodes
            ):
                continue
            gain = gain_at(now, kind, place, size, -1)
            harmless[kind] += gain >= 0
            if best[kind] < 0 or gain > gains[kind, 0]:
                second[kind], gains[kind, 1] = best[kind], gains[kind, 0]
                best[kind], gains[kind, 0] = place, gain
            elif second[kind] < 0 or gain > gains[kind, 1]:
                second[kind], gains[kind, 1] = place, gain
    missing = need.copy()
    for which in sight.largest:
        kind, place = now.kind[which], now.place[which]
        amount = takes(now, which, place % nodes)
        own = best[kind] == place
        there = second[kind] if own else best[kind]
        leaving, coming = gain_at(now, kind, place, size, 1), gains[kind, 1 if own else 0]
        sight.movable[which] = there >= 0
        seen = sight.requests[which]
        seen[0] = min(amount / size, 3.0)
        seen[1] = now.demands[kind, -1] / max(now.capacity[place // nodes, place % nodes, -1], 1)
        seen[2] = now.spread[kind]
        seen[3] = leaving / size
        seen[4] = coming / size if there >= 0 else -2.0
        seen[5] = (leaving + coming) / size if there >= 0 else -2.0
        seen[6] = leaving + coming > 0 and there >= 0
        seen[7] = need[place] / size
        seen[8] = ((size - need[place] + amount) % size) / size
        seen[9] = amount >= need[place]
        seen[10] = 1 / away[place] if away[place] else 0.0
        seen[11] = away[place] > 0 and missing[place] > 0
        seen[12] = min(harmless[kind], 10) / 10
        seen[13] = 0 < away[place] <= left
        seen[14] = min(left, MANY) / MANY
        seen[15] = 1 / left
        missing[place] -= amount


@kernel
def look_there(now: Standing, size: int, left: int, which: int, sight: Sight) -> None:
    """Write what is seen of every place for a request, and where it may go."""
    nodes, kind, old = now.free.shape[1], now.kind[which], now.place[which]
    spread, demand = now.spread[kind], now.demands[kind]
    places = now.free.shape[0] * nodes
    before, after = np.empty(places, np.int64), np.empty(places, np.int64)
    for place in range(places):
        free = now.free[place // nodes, place % nodes, 0]
        amount = part_of(demand[0], place % nodes, nodes) if spread else demand[0]
        before[place] = size - free % size
        after[place] = size - (free - amount) % size
    away, then = fewest(now, sight.largest, before), fewest(now, sight.largest, after)
    for place in range(places):
        server, node = place // nodes, place % nodes
        may = place != old and not (spread and node) and fits(now.free[server], demand, spread, node)
        sight.fitting[place] = may
        seen = sight.places[place]
        seen[:] = 0
        if not may:
            continue
        seen[0] = gain_at(now, kind, place, size, -1) / size
        seen[1] = (size - before[place]) / size
        seen[2] = (size - after[place]) / size
        seen[3] = after[place] == size
        seen[4] = (now.free[server, node, -1] - demand[-1]) / max(now.capacity[server, node, -1], 1)
        seen[5] = server == old // nodes
        seen[6] = 1 / away[place] if away[place] else 0.0
        seen[7] = 1 / then[place] if then[place] else 0.0
        seen[8] = 0 < away[place] <= left
        seen[9] = min((now.free[server, node, 0] - (0 if spread else demand[0])) / size, 3.0) / 3
