"""Promises the first that waits in a compiled batch queue a time and places; `agents.availability` defines them.

A way is a server, or a node of one where the request takes a single node; `place` int64 [n] has of each part the server
times the nodes of a server, plus the node, or plus 0 for a spread request.
"""

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import ascending
from binwright.fabric.compiled.numa_loop import demand_of
from binwright.fabric.compiled.tables import parts_of
from binwright.simcore.jit import allocating, kernel, lean
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Floats, Ints

MANY = 2**31
"""Parts that ask for nothing."""


@lean
def just_after(time: float) -> float:
    """Return the next number after a time."""
    return float(np.nextafter(time, np.inf))


@lean
def over(start: float, duration: float) -> float:
    """Return when a job is over that counts for a moment at least, so that it needs room."""
    return max(start + duration, just_after(start))


@lean
def node_of(place: int, spread: bool, nodes: int) -> int:
    """Return the node of a place, which is `SPREAD` for a spread request."""
    return SPREAD if spread else place % nodes


@lean
def _share(amount: int, node: int, n: int, nodes: int) -> int:
    """Return what node `n` gives of an amount that is taken on `node`, or spread over all."""
    if node == SPREAD:
        return amount // nodes + (n < amount % nodes)
    return amount if n == node else 0


@lean
def add(level: Ints, demand: Amounts, server: int, node: int, count: int) -> None:
    """Give a demand back `count` times (below 0: take it); changes `level` int64 [servers, nodes, resources]."""
    nodes = level.shape[1]
    for n in range(nodes):
        for r in range(len(demand)):
            level[server, n, r] += count * _share(demand[r], node, n, nodes)


@lean
def copies(level: Ints, demand: Amounts, server: int, node: int) -> int:
    """Count how many parts with a demand have room together; `MANY` at most."""
    fitting, nodes = MANY, level.shape[1]
    for n in range(nodes):
        for r in range(len(demand)):
            need = _share(demand[r], node, n, nodes)
            if need > 0:
                fitting = min(fitting, level[server, n, r] // need)
    return max(fitting, 0)


@lean
def show_beside(free: Ints, left: Ints, level: Ints, server: int) -> None:
    """Have a server show what is `left` of it beside what is promised; changes `free`, all of the same shape."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            free[server, n, r] = max(0, min(left[server, n, r], level[server, n, r]))


@lean
def _alike(place: Ints, part: int, end: int) -> int:
    """Return the first part before `end` that lies elsewhere than this one, or `end`."""
    after = part + 1
    while after < end and place[after] == place[part]:
        after += 1
    return after


@kernel
def _share_out(room: Ints, before: Ints, many: int) -> None:
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

    Returns the time, infinite for never, and between which servers these places are. `level`, of the shape of `left`,
    becomes what is free then beside them.
    """
    nodes = left.shape[1]
    demand, spread, many = demand_of(demands, row, nothing), spreads[row], parts_of(parts, row)
    ways = 1 if spread else nodes
    room, total = np.zeros(len(left) * ways, np.int64), 0
    level[:] = left
    for way in range(len(room)):
        room[way] = copies(left, demand, way // ways, node_of(way, spread, nodes))
        total += room[way]
    before = room.copy()
    time, ended = now, 0
    while total < many:
        if ended == running or until[ended] == np.inf:
            return np.inf, 0, 0
        time = max(until[ended], soon)
        while ended < running and max(until[ended], soon) == time:
            part = runs[ended]
            end, gives = part + parts_of(parts, part), demand_of(demands, part, nothing)
            while part < end:
                after = _alike(place, part, end)
                s = place[part] // nodes
                add(level, gives, s, node_of(place[part], spreads[part], nodes), after - part)
                for way in range(s * ways, s * ways + ways):
                    total -= room[way]
                    room[way] = copies(level, demand, s, node_of(way, spread, nodes))
                    total += room[way]
                part = after
            ended += 1
    _share_out(room, before, many)
    low, high = len(left), 0
    for way in range(len(room)):
        if room[way]:
            s = way // ways
            add(level, demand, s, node_of(way, spread, nodes), -room[way])
            low, high = min(low, s), s + 1
    return time, low, high
