"""Promises requests of a compiled batch queue a time and places, in kernels; `agents.availability` defines them.

A way is a server, or a node of one where the request takes a single node; `place` int64 [n] has of each part the server
times the nodes of a server, plus the node, or plus 0 for a spread request.

What one server has free from now on is `times` float64 [any], ascending, the first of them now, `levels` int64 [any,
kinds], what is free from each time on, and how many of them count. Changes write to both arrays.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import ascending, lower_bound
from binwright.fabric.compiled.numa_loop import NumaRequests, demand_of
from binwright.fabric.compiled.queue_line import RUNNING, LineArrays, show
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
def _step(times: Floats, levels: Ints, count: int, time: float) -> tuple[int, int]:
    """Have something change at a time; returns its place and how many there are."""
    low = lower_bound(times, count, time)
    if low < count and times[low] == time:
        return low, count
    for i in range(count, low - 1, -1):
        times[i] = times[i - 1]
        for k in range(levels.shape[1]):
            levels[i, k] = levels[i - 1, k]
    times[low] = time
    return low, count + 1


@lean
def take(times: Floats, levels: Ints, count: int, start: float, end: float, need: Ints, sign: int) -> int:
    """Take so much from start to end, not before now, or with sign -1 give it back; returns how many times count then.

    There must be room for two more.
    """
    first, count = _step(times, levels, count, start)
    last = count
    if end < np.inf:
        last, count = _step(times, levels, count, end)
    for i in range(first, last):
        for k in range(len(need)):
            levels[i, k] -= sign * need[k]
    return count


@lean
def earliest(times: Floats, levels: Ints, count: int, duration: float, need: Ints) -> float:
    """Return when so much is free for so long, at the earliest; infinity for never."""
    since = -1
    for i in range(count):
        sufficient = True
        for k in range(len(need)):
            sufficient &= levels[i, k] >= need[k]
        if not sufficient:
            since = -1
            continue
        if since < 0:
            since = i
        if i + 1 == count or times[i + 1] >= times[since] + duration:
            return float(times[since])
    return np.inf


@lean
def copies(levels: Ints, first: int, last: int, need: Ints) -> int:
    """Count how many that need so much have room together at each of some steps; `MANY` at most."""
    fitting = MANY
    for i in range(first, last):
        for k in range(len(need)):
            if need[k] > 0:
                fitting = min(fitting, levels[i, k] // need[k])
    return max(fitting, 0)


@lean
def parts_from(times: Floats, levels: Ints, count: int, start: float, duration: float, need: Ints) -> int:
    """Count how many that need so much have room together from a time on, not before now, for so long."""
    first, last, end = 0, 0, over(start, duration)
    while last < count and times[last] < end:
        if times[last] <= start:
            first = last
        last += 1
    return copies(levels, first, last, need)


@lean
def overdrawn(levels: Ints, count: int) -> bool:
    """Tell whether more is taken at some time than there is."""
    for i in range(count):
        for k in range(levels.shape[1]):
            if levels[i, k] < 0:
                return True
    return False


class Profiles(NamedTuple):
    """Holds what servers have free from now on: `times` float64 [servers, any], the first of them now.

    `levels` int64 [servers, any, nodes * resources] is what is free from each time on, `steps` int64 [servers] how many
    of them count. `need` int64 [nodes * resources] is scratch.
    """

    times: Floats
    levels: Ints
    steps: Ints
    need: Ints


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
def add_to(level: Ints, need: Ints, count: int) -> None:
    """Add a need `count` times (below 0: take it) to what is free of a server; changes `level` int64 [kinds]."""
    for k in range(len(need)):
        level[k] += count * need[k]


@lean
def show_least(free: Ints, left: Ints, server: int, times: Floats, levels: Ints, count: int, end: float) -> None:
    """Have a server show what it has `left` and will have free until an end at all times; changes `free`."""
    kinds = free.shape[2]
    show(left, free, server)
    for i in range(count):
        if times[i] >= end:
            break
        for n in range(free.shape[1]):
            for r in range(kinds):
                free[server, n, r] = max(0, min(free[server, n, r], levels[i, n * kinds + r]))


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
    profiles: Profiles,
    demand: Amounts,
    spread: bool,
    place: Ints,
    row: int,
    count: int,
    start: float,
    end: float,
    sign: int,
) -> None:
    """Take the places of so many parts from start to end, or with sign -1 give them back; changes `profiles`."""
    times, levels, steps, need = profiles
    nodes, part = len(need) // len(demand), row
    while part < row + count:
        after = alike(place, part, row + count)
        s = place[part] // nodes
        needed(need, demand, node_of(place[part], spread, nodes), nodes)
        for k in range(len(need)):
            need[k] *= after - part
        steps[s] = take(times[s], levels[s], steps[s], start, end, need, sign)
        part = after


@lean
def foresee(
    profiles: Profiles, left: Ints, requests: NumaRequests, parts: Ints, queue: LineArrays, offered: Any, now: float
) -> None:
    """Begin the profiles of an offer, int32 [any]: with what runs, and with what was promised to these before.

    Where that is more than there is, as somebody runs for longer than expected, nobody is promised anything. Changes
    `profiles` and `queue`.
    """
    times, levels, steps, _ = profiles
    place, promise, spread, kinds = queue.place, queue.promise, requests.spread, left.shape[2]
    keeps, enough = True, False
    while not enough:
        for s in range(len(left)):
            times[s, 0], steps[s] = now, 1
            for k in range(levels.shape[2]):
                levels[s, 0, k] = left[s, k // kinds, k % kinds]
        for i in range(queue.at[RUNNING]):
            row, end = queue.runs[i], queue.until[i]
            if end < np.inf:
                demand = demand_of(requests.demand, row, requests.nothing)
                hold(profiles, demand, spread[row], place, row, parts_of(parts, row), end, np.inf, -1)
        for row in offered:
            if not keeps:
                place[row] = -1
            elif place[row] >= 0:
                promise[row] = max(promise[row], now)
                demand, end = demand_of(requests.demand, row, requests.nothing), over(promise[row], queue.expected[row])
                hold(profiles, demand, spread[row], place, row, parts_of(parts, row), promise[row], end, 1)
        enough = True
        for s in range(len(left) if keeps else 0):
            enough = enough and not overdrawn(levels[s], steps[s])
        keeps = False


@lean
def forget_promise(profiles: Profiles, queue: LineArrays, demand: Amounts, spread: bool, row: int, many: int) -> None:
    """Take back what a request was promised, if it was; changes `profiles` and `queue`."""
    if queue.place[row] >= 0:
        start = queue.promise[row]
        hold(profiles, demand, spread, queue.place, row, many, start, over(start, queue.expected[row]), -1)
        queue.place[row] = -1


@lean
def promise_earliest(profiles: Profiles, queue: LineArrays, demand: Amounts, spread: bool, row: int, many: int) -> None:
    """Promise a request the earliest start, on the first server that has it then; changes `profiles` and `queue`."""
    times, levels, steps, need = profiles
    place, lasts, start, nodes = queue.place, queue.expected[row], np.inf, len(need) // len(demand)
    place[row] = -1
    if many > 1:
        start = promise_parts(profiles, lasts, demand, spread, place, row, many)
    for s in range(len(steps) if many == 1 else 0):
        for n in range(1 if spread else nodes):
            needed(need, demand, SPREAD if spread else n, nodes)
            begin = earliest(times[s], levels[s], steps[s], lasts, need)
            if begin < start:
                place[row], start = s * nodes + n, begin
    if start < np.inf:
        queue.promise[row] = start
        hold(profiles, demand, spread, place, row, many, start, over(start, lasts), 1)


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
    nodes = left.shape[1]
    demand, spread, many = demand_of(demands, row, nothing), spreads[row], parts_of(parts, row)
    ways = 1 if spread else nodes
    now_free = left.reshape(level.shape)
    need, released = np.zeros(level.shape[1], np.int64), np.zeros(level.shape[1], np.int64)
    room, total = np.zeros(len(left) * ways, np.int64), 0
    level[:] = now_free
    for way in range(len(room)):
        needed(need, demand, node_of(way, spread, nodes), nodes)
        room[way] = copies(level, way // ways, way // ways + 1, need)
        total += room[way]
    time, ended = now, 0
    while total < many:
        if ended == running or until[ended] == np.inf:
            return np.inf, 0, 0
        time = max(until[ended], soon)
        while ended < running and max(until[ended], soon) == time:
            part = runs[ended]
            end, gives = part + parts_of(parts, part), demand_of(demands, part, nothing)
            while part < end:
                after = alike(place, part, end)
                s = place[part] // nodes
                needed(released, gives, node_of(place[part], spreads[part], nodes), nodes)
                add_to(level[s], released, after - part)
                for way in range(s * ways, s * ways + ways):
                    needed(need, demand, node_of(way, spread, nodes), nodes)
                    total -= room[way]
                    room[way] = copies(level, s, s + 1, need)
                    total += room[way]
                part = after
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
            add_to(level[s], need, -room[way])
            low, high = min(low, s), s + 1
    return time, low, high


@allocating
def promise_parts(
    profiles: Profiles, lasts: float, demand: Amounts, spread: bool, place: Ints, row: int, many: int
) -> float:
    """Write to `place` where the parts of a gang have room at the earliest, and return when; infinity for never."""
    times, levels, steps, _ = profiles
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
