"""Promises requests of a compiled batch queue a time and places; `agents.availability` defines them.

A way is a server, or a node of one where the request takes a single node; `place` int64 [n] has of each part the server
times the nodes of a server, plus the node, or plus 0 for a spread request.
"""

from typing import Any, NamedTuple

import numpy as np

from binwright.fabric.array_kernels import ascending
from binwright.fabric.compiled.numa_loop import demand_of
from binwright.fabric.compiled.queue_line import RUNNING, LineArrays, expect, forget
from binwright.fabric.compiled.tables import parts_of
from binwright.fabric.servers import give, share
from binwright.simcore.jit import allocating, kernel, lean
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Flags, Floats, Ints

MANY = 2**31
"""Parts that ask for nothing."""


class Plan(NamedTuple):
    """Holds who gives back or takes something when: `times` float64 [any], ascending, the first so many of which count.

    `rows` int64 [any] are the rows that give back at each time what they hold, or as ~row take what they are promised.
    At the same time those that give back come first. The rest is known of all rows.
    """

    times: Floats
    rows: Ints
    place: Ints
    demands: Ints
    spreads: Flags
    parts: Ints
    nothing: Amounts


class Rooms(NamedTuple):
    """Holds for how many parts with a demand there is room: `now` int64 [ways], up to `most` on each way.

    `least` int64 [ways] is the least that it was. Both are empty where nobody counts.
    """

    now: Ints
    least: Ints
    most: int
    demand: Amounts
    spread: bool


@lean
def over(start: float, duration: float) -> float:
    """Return when a job is over that counts for a moment at least, so that it needs room."""
    end = start + duration
    return float(np.nextafter(start, np.inf)) if end <= start else end


@lean
def _copies(level: Ints, demand: Amounts, server: int, node: int, most: int) -> int:
    """Count how many parts with a demand have room together, up to so many."""
    fitting, nodes = most, level.shape[1]
    for n in range(nodes):
        for r in range(len(demand)):
            need = share(demand[r], node, n, nodes)
            if level[server, n, r] < fitting * need:
                fitting = max(level[server, n, r], 0) // need
    return fitting


@lean
def show_beside(free: Ints, left: Ints, level: Ints, server: int) -> None:
    """Have a server show what is `left` of it beside what is promised; changes `free`, all of the same shape."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            free[server, n, r] = max(0, min(left[server, n, r], level[server, n, r]))


@lean
def sum_up(sums: Ints, left: Ints, level: Ints) -> None:
    """Write to `sums` int64 [2, resources] the most that a server has beside what is promised, and what all have."""
    sums[:] = 0
    for s in range(len(left)):
        for r in range(left.shape[2]):
            whole = 0
            for n in range(left.shape[1]):
                whole += max(0, min(left[s, n, r], level[s, n, r]))
            sums[0, r] = max(sums[0, r], whole)
            sums[1, r] += whole


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


@lean
def _count(rooms: Rooms, level: Ints) -> int:
    """Count for how many parts there is room, and return how many that are; changes `rooms.now`."""
    total, ways = 0, 1 if rooms.spread else level.shape[1]
    for way in range(len(rooms.now)):
        node = SPREAD if rooms.spread else way % ways
        rooms.now[way] = _copies(level, rooms.demand, way // ways, node, rooms.most)
        total += rooms.now[way]
    return total


@lean
def _change(level: Ints, rooms: Rooms, plan: Plan, change: int, sign: int, narrows: bool) -> int:
    """Have a row give back what it holds, or take it as ~row; with sign -1 the other way round.

    Changes `level`, and `rooms`, where that only falls if it `narrows`; returns by how much room grew.
    """
    row, nodes, more = max(change, ~change), level.shape[1], 0
    ways = 0 if not len(rooms.now) else 1 if rooms.spread else nodes
    sign = sign if change >= 0 else -sign
    holds, part, end = demand_of(plan.demands, row, plan.nothing), row, row + parts_of(plan.parts, row)
    while part < end:
        after, s = _alike(plan.place, part, end), plan.place[part] // nodes
        node = SPREAD if plan.spreads[row] else plan.place[part] - s * nodes
        give(level, holds, s, node, sign * (after - part))
        for n in range(ways):
            way, fitting = s * ways + n, _copies(level, rooms.demand, s, SPREAD if rooms.spread else n, rooms.most)
            rooms.least[way] = min(rooms.least[way], fitting)
            if narrows:
                fitting = min(fitting, rooms.now[way])
            more += fitting - rooms.now[way]
            rooms.now[way] = fitting
        part = after
    return more


@lean
def _span(plan: Plan, row: int, nodes: int) -> tuple[int, int]:
    """Return between which servers the places that a row is promised are."""
    return plan.place[row] // nodes, plan.place[row + parts_of(plan.parts, row) - 1] // nodes + 1


@allocating
def promise_places(
    plan: Plan, count: int, level: Ints, left: Ints, now: float, lasts: float, row: int
) -> tuple[float, int, int]:
    """Promise a row the earliest time from which on all its parts have room for so long, and their places.

    Returns the time, infinite for never, and between which servers these places are, which `place` gets. `level`, of
    the shape of `left`, becomes what is free beside them at the last of the `count` changes before its end.
    """
    nodes, many, spread = left.shape[1], parts_of(plan.parts, row), plan.spreads[row]
    ways, most = 1 if spread else nodes, MANY if many > 1 else 1
    room = np.zeros(len(left) * ways, np.int64)
    rooms = Rooms(room, room.copy(), most, demand_of(plan.demands, row, plan.nothing), spread)
    level[:] = left
    total, time, passed = _count(rooms, level), now, 0
    rooms.least[:] = room
    uncounted, sums = Rooms(room[:0], room[:0], 0, plan.nothing, False), np.zeros((2, left.shape[2]), np.int64)
    sum_up(sums, left, left)
    while passed < count and plan.times[passed] < np.inf and plan.rows[passed] >= 0:  # as long as all have too little
        lacks, gone = False, plan.rows[passed]
        for r in range(left.shape[2]):
            lacks |= sums[1, r] < rooms.demand[r] * many
            sums[1, r] += plan.demands[gone, r] * parts_of(plan.parts, gone)
        if not lacks:
            break
        _change(level, uncounted, plan, gone, 1, False)
        time = max(time, plan.times[passed])
        passed += 1
    if passed:
        total = _count(rooms, level)
    while True:
        while passed < count and plan.times[passed] <= time:
            total += _change(level, rooms, plan, plan.rows[passed], 1, False)
            passed += 1
        ahead, end = passed, over(time, lasts)
        while total >= many and ahead < count and plan.times[ahead] < end:
            total += _change(level, rooms, plan, plan.rows[ahead], 1, True)
            ahead += 1
        if total >= many:
            break
        if ahead > passed:
            total = _count(rooms, level)
        if ahead > passed and total < many:  # no time until then is one
            passed, time = ahead, plan.times[ahead - 1]
            continue
        while ahead > passed:
            ahead -= 1
            total += _change(level, rooms, plan, plan.rows[ahead], -1, False)
        if passed == count or plan.times[passed] == np.inf:
            plan.place[row] = -1
            return np.inf, 0, 0
        time = plan.times[passed]
    _share_out(room, rooms.least, many)
    part = row
    for way in range(len(room)):
        plan.place[part : part + room[way]] = way // ways * nodes + way % ways
        part += room[way]
    _change(level, uncounted, plan, ~row, 1, False)
    low, high = _span(plan, row, nodes)
    return time, low, high


@allocating
def show_least(level: Ints, passing: Ints, left: Ints, plan: Plan, count: int, end: float) -> None:
    """Set `level` to the least that is free from now to an end, of which `passing` is scratch; all of one shape."""
    nodes, none = left.shape[1], plan.rows[:0]
    uncounted = Rooms(none, none, 0, plan.nothing, False)
    level[:] = left
    passing[:] = left
    for i in range(count):
        if plan.times[i] >= end:
            break
        change = plan.rows[i]
        _change(passing, uncounted, plan, change, 1, False)
        low, high = _span(plan, ~change, nodes) if change < 0 else (0, 0)
        for s in range(low, high):
            for n in range(nodes):
                for r in range(left.shape[2]):
                    level[s, n, r] = min(level[s, n, r], passing[s, n, r])


@lean
def note_promise(plan: Plan, count: int, queue: LineArrays, row: int, start: float) -> int:
    """Note that a row is promised its places from a start on; returns how many changes there are then."""
    queue.promise[row] = start
    expect(plan.times, plan.rows, count, start, ~row)
    expect(plan.times, plan.rows, count + 1, over(start, queue.expected[row]), row)
    return count + 2


@lean
def forget_promise(plan: Plan, count: int, queue: LineArrays, row: int) -> int:
    """Take back what a row was promised, if it was; returns how many changes there are then."""
    if plan.place[row] < 0:
        return count
    forget(plan.times, plan.rows, count, queue.promise[row], ~row)
    forget(plan.times, plan.rows, count - 1, over(queue.promise[row], queue.expected[row]), row)
    plan.place[row] = -1
    return count - 2


@allocating
def foresee(plan: Plan, queue: LineArrays, level: Ints, passing: Ints, left: Ints, offered: Any, now: float) -> int:
    """Note who runs, and what was promised to those that are offered, int32 [any]; returns how many changes there are.

    Where that is more than there is, as somebody runs for longer than expected, nobody is promised anything.
    """
    running: int = queue.at[RUNNING]
    count = running
    plan.times[:running], plan.rows[:running] = queue.until[:running], queue.runs[:running]
    for row in offered:
        if plan.place[row] >= 0:
            count = note_promise(plan, count, queue, row, max(queue.promise[row], now))
    show_least(level, passing, left, plan, count, np.inf)
    if level.min() >= 0:
        return count
    for row in offered:
        count = forget_promise(plan, count, queue, row)
    return count
