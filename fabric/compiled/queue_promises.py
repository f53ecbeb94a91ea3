"""Promises requests of a compiled batch queue a time and places, in kernels; `agents.availability` defines them.

A way is a server, or a node of one where the request takes a single node; `place` int64 [n] has of each part the server
times the nodes of a server, plus the node, or plus 0 for a spread request.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import ascending
from binwright.fabric.availability import copies, parts_from, take
from binwright.fabric.compiled.numa_loop import demand_of
from binwright.fabric.compiled.tables import parts_of
from binwright.simcore.jit import allocating, kernel, lean
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Floats, Ints


@lean
def needed(need: Ints, demand: Amounts, node: int, nodes: int) -> None:
    """Write to `need` int64 [nodes * resources] what a demand takes on all nodes of a server."""
    kinds = len(demand)
    need[:] = 0
    for r in range(kinds):
        if node == SPREAD:
            for n in range(nodes):
                need[n * kinds + r] = demand[r] // nodes + (n < demand[r] % nodes)
        else:
            need[node * kinds + r] = demand[r]


@lean
def add_to(level: Ints, server: int, need: Ints, sign: int) -> None:
    """Add a need to what is free of a server, or with sign -1 take it; changes `level`."""
    for k in range(len(need)):
        level[server, k] += sign * need[k]


@lean
def node_of(place: int, spread: bool, nodes: int) -> int:
    """Return the node of a place, which is `SPREAD` for a spread request."""
    return SPREAD if spread else place % nodes


@lean
def alike(place: Ints, part: int, end: int) -> int:
    """Return the first part before `end` that lies elsewhere than this one, or `end`."""
    after = part + 1
    while after < end and place[after] == place[part]:
        after += 1
    return after


@lean
def hold(
    times: Floats,
    levels: Ints,
    steps: Ints,
    need: Ints,
    demand: Amounts,
    spread: bool,
    place: Ints,
    row: int,
    count: int,
    start: float,
    end: float,
    sign: int,
) -> None:
    """Take the places of so many parts from start to end, or with sign -1 give them back.

    Changes the profiles of the servers: `times` float64 [servers, any], `levels` int64 [servers, any, nodes *
    resources], `steps` int64 [servers]; and `need`, which is scratch.
    """
    nodes, part = len(need) // len(demand), row
    while part < row + count:
        after = alike(place, part, row + count)
        s = place[part] // nodes
        needed(need, demand, node_of(place[part], spread, nodes), nodes)
        for k in range(len(need)):
            need[k] *= after - part
        steps[s] = take(times[s], levels[s], steps[s], start, end, need, sign)
        part = after


@kernel
def share_out(room: Ints, before: Ints, many: int) -> None:
    """Have so many parts on ways with `room`, first on those with less of it `before`; a single one on the first.

    Both are int64 [servers * ways]; `room` becomes how many parts there are on each.
    """
    rest = many
    for way in ascending(before) if many > 1 else np.arange(len(room)):
        room[way] = min(room[way], rest)
        rest -= room[way]


@allocating
def promise_first(
    level: Ints,
    left: Ints,
    until: Floats,
    runs: Ints,
    running: int,
    now: float,
    soon: float,
    demands: Ints,
    parts: Ints,
    place: Ints,
    spreads: npt.NDArray[np.bool_],
    row: int,
    nothing: Amounts,
) -> tuple[float, int, int]:
    """Promise the first that waits the earliest time at which enough of those that run have ended, and its places.

    Returns the time, infinite for never, and between which servers these places are. `level` int64 [servers, nodes *
    resources] becomes what is free then beside them.
    """
    nodes, kinds = left.shape[1], left.shape[2]
    demand, spread, many = demand_of(demands, row, nothing), spreads[row], parts_of(parts, row)
    ways = 1 if spread else nodes
    now_free = left.reshape(level.shape)
    need, released = np.zeros(nodes * kinds, np.int64), np.zeros(nodes * kinds, np.int64)
    room, lacking = np.zeros(len(left) * ways, np.int64), np.zeros(kinds, np.int64)
    for r in range(kinds):
        lacking[r] = demand[r] * many
    for s in range(len(level)):
        for k in range(nodes * kinds):
            level[s, k] = now_free[s, k]
            lacking[k % kinds] -= level[s, k]
    time, ended, counted, total, looked = now, 0, 0, 0, False
    while True:
        enough = True
        for r in range(kinds):
            enough &= lacking[r] <= 0
        if enough:  # in all; before that, no server is looked at
            for i in range(counted, ended):
                other = runs[i]
                end = other + parts_of(parts, other)
                part, gives = other, demand_of(demands, other, nothing)
                while part < end:
                    after = alike(place, part, end)
                    s = place[part] // nodes
                    needed(released, gives, node_of(place[part], spreads[other], nodes), nodes)
                    for k in range(len(need)):
                        level[s, k] += released[k] * (after - part)
                    for way in range(s * ways, s * ways + ways if looked else 0):
                        needed(need, demand, node_of(way, spread, nodes), nodes)
                        total -= room[way]
                        room[way] = copies(level, s, s + 1, need)
                        total += room[way]
                    part = after
            counted = ended
            for way in range(0 if looked else len(room)):
                needed(need, demand, node_of(way, spread, nodes), nodes)
                room[way] = copies(level, way // ways, way // ways + 1, need)
                total += room[way]
            looked = True
            if total >= many:
                break
        if ended == running or until[ended] == np.inf:
            return np.inf, 0, 0
        time = max(until[ended], soon)
        while ended < running and max(until[ended], soon) == time:
            other = runs[ended]
            count = parts_of(parts, other)
            for r in range(kinds):
                lacking[r] -= demands[other, r] * count
            ended += 1
    before = room.copy()
    for way in range(len(room) if many > 1 else 0):
        needed(need, demand, node_of(way, spread, nodes), nodes)
        before[way] = copies(now_free, way // ways, way // ways + 1, need)
    share_out(room, before, many)
    low, high = len(left), 0
    for way in range(len(room)):
        if room[way]:
            s = way // ways
            needed(need, demand, node_of(way, spread, nodes), nodes)
            for k in range(len(need)):
                level[s, k] -= need[k] * room[way]
            low, high = min(low, s), s + 1
    return time, low, high


@lean
def spare_room(spare: Ints, left: Ints, level: Ints) -> None:
    """Write to `spare` int64 [resources] what may be taken for longer than until the promise to the first that waits.

    `level` int64 [servers, nodes * resources] is what is left then, without what is promised.
    """
    kinds = len(spare)
    spare[:] = 0
    for s in range(len(left)):
        for n in range(left.shape[1]):
            for r in range(kinds):
                spare[r] += min(left[s, n, r], level[s, n * kinds + r])


@allocating
def promise_parts(
    times: Floats,
    levels: Ints,
    steps: Ints,
    lasts: float,
    demand: Amounts,
    spread: bool,
    place: Ints,
    row: int,
    many: int,
) -> float:
    """Write to `place` where the parts of a gang have room at the earliest, and return when; infinity for never.

    The profiles of the servers are as for `hold`, and stay as they are.
    """
    need = np.zeros(levels.shape[2], np.int64)
    nodes = len(need) // len(demand)
    ways = 1 if spread else nodes
    room, passed = np.zeros(len(steps) * ways, np.int64), np.zeros(len(steps), np.int64)
    before = room.copy()
    now = time = times[0, 0]
    while True:
        total = 0
        for way in range(len(room)):
            s = way // ways
            needed(need, demand, node_of(way, spread, nodes), nodes)
            room[way] = parts_from(times[s], levels[s], steps[s], time, lasts, need)
            total += room[way]
        if total >= many:
            break
        coming = np.inf
        for s in range(len(steps)):
            while passed[s] < steps[s] and times[s, passed[s]] <= time:
                passed[s] += 1
            if passed[s] < steps[s]:
                coming = min(coming, times[s, passed[s]])
        if coming == np.inf:
            return np.inf
        time = coming
    for way in range(len(room)):
        s = way // ways
        needed(need, demand, node_of(way, spread, nodes), nodes)
        before[way] = parts_from(times[s], levels[s], steps[s], now, time - now + lasts, need)
    share_out(room, before, many)
    part = row
    for way in range(len(room)):
        place[part : part + room[way]] = way // ways * nodes + way % ways
        part += room[way]
    return float(time)
