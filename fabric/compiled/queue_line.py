"""Lets time go on to the next offer of the line, and holds the line of a compiled batch queue and who runs.

`fabric.run.offering` says what becomes of an offer in Python, `queue_loop` what becomes of one in machine code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import ascending
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, arrive, end_next, readmits
from binwright.fabric.compiled.tables import URGENT, Tables
from binwright.fabric.placement.mask import Ruling
from binwright.simcore.jit import allocating, kernel, lean, lean_inlined
from binwright.simcore.jit.cost_functions import ordered
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Floats, InOrder, Ints, Request, View

if TYPE_CHECKING:
    from binwright.fabric.run.arrays import RunArrays

NONE, ANY, EASY, CONSERVATIVE = range(4)
"""Who may start when one before gets no place."""
BACKFILLING = ("none", "any", "easy", "conservative")
RUNNING, SEEN, COUNTED, ASKED, BEFORE, BEHIND, COUNTERS = range(7)
"""Places in `LineArrays.at`: how many run, how many of the line have been offered at this instant (-1: the instant is
over), how many answers there were as `play` counts them, who was asked last, and how many have come into the line
before and behind all others that are as urgent."""


class LineArrays(NamedTuple):
    """Holds the line of a run. The loop changes what comes after `factor`, but for `least`.

    `expected` float64 [n] is how long each of the n requests is expected to stay. The line goes by `urgency` int64 [n],
    the largest first, and of equals by `key` float64 [n], the least first. `urgency` is empty without queues, and `key`
    where requests stay as they came, or where `divisor` and `factor`, float64 [n], order them with the wait. `turn`
    int64 [n] is the order in which those who wait are offered: by urgency, and as they have come.

    `startable` and `offered` int32 [k] are scratch. `until` float64 [k] and `runs` int64 [k] are when those that run
    should end, ascending, and their rows. `promise` float64 [n] is the start that is promised to each, then the end
    that is expected, and `place` int64 [n] the place of each part, -1 for none. `least` int64 [resources] is the least
    that any request needs.
    """

    expected: Floats
    urgency: Ints
    key: Floats
    divisor: Floats
    factor: Floats
    turn: Ints
    startable: Any
    offered: Any
    until: Floats
    runs: Ints
    promise: Floats
    place: Ints
    at: Ints
    least: Ints


@lean
def sort_in(queue: LineArrays, line: Any, first: int, last: int) -> None:
    """Let the row that has come last into the line, at `last`, take its turn and its place: after its equals."""
    row, low, key, urgency = line[last], last, queue.key, queue.urgency
    queue.turn[row] = queue.at[BEHIND]
    queue.at[BEHIND] += 1
    if len(urgency):
        queue.turn[row] -= urgency[row] << URGENT
    if len(key) or len(urgency):
        low = first
        high = last
        while low < high:
            middle = (low + high) // 2
            other = line[middle]
            more = urgency[other] - urgency[row] if len(urgency) else 0
            if more > 0 or (more == 0 and (len(key) == 0 or key[other] <= key[row])):
                low = middle + 1
            else:
                high = middle
        for i in range(last, low, -1):
            line[i] = line[i - 1]
    line[low] = row


@lean
def expect(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Note until when one that starts should run."""
    i = running
    while i > 0 and until[i - 1] > end:
        until[i], runs[i] = until[i - 1], runs[i - 1]
        i -= 1
    until[i], runs[i] = end, row


@lean
def forget(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Drop one that has ended, of which `end` was expected."""
    low, high = 0, running
    while low < high:
        middle = (low + high) // 2
        if until[middle] < end:
            low = middle + 1
        else:
            high = middle
    while runs[low] != row:
        low += 1
    for i in range(low, running - 1):
        until[i], runs[i] = until[i + 1], runs[i + 1]


@allocating
def choose(queue: LineArrays, line: Any, arrival: Floats, now: float, count: int) -> None:
    """Write to `offered` who is offered, in order: of those in `line` int32 [waiting] the `count` whose turn it is."""
    offered, waiting, turn = queue.offered, len(line), queue.turn
    if len(queue.key) and count < waiting:
        turns = np.empty(waiting, np.int64)
        for i in range(waiting):
            turns[i] = turn[line[i]]
        latest, place = turns[ascending(turns)[count - 1]], 0
        for i in range(waiting):
            if turns[i] <= latest:
                offered[place] = line[i]
                place += 1
        return
    for i in range(count):
        offered[i] = line[i]
    if len(queue.divisor):
        keys = np.empty(count, np.int64)
        for i in range(count):
            row = line[i]
            wait = now - arrival[row]
            if len(queue.factor):
                keys[i] = ordered(-((wait / queue.divisor[row]) ** 3.0) * queue.factor[row])
            else:
                keys[i] = ordered(-wait / queue.divisor[row])
        order = ascending(keys)
        for i in range(count):
            offered[i] = line[order[i]]
        if len(queue.urgency):
            for i in range(count):
                keys[i] = -queue.urgency[offered[i]]
            by_urgency = ascending(keys)
            for i in range(count):
                offered[i] = line[order[by_urgency[i]]]


@lean
def hide(free: Ints, server: int, node: int) -> None:
    """Have a node look full, or for `SPREAD` its server; changes `free` int64 [servers, nodes, resources]."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            if node in (SPREAD, n):
                free[server, n, r] = 0


@lean
def show(left: Ints, free: Ints, server: int) -> None:
    """Have a server look as it is; changes `free`, of the shape of `left`."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            free[server, n, r] = left[server, n, r]


@lean_inlined
def to_offer(
    requests: NumaRequests,
    state: NumaState,
    rules: Ruling | None,
    tables: Tables,
    queue: LineArrays | None,
    together: int,
    window: float,
    until: float,
) -> int:
    """Let time go on until the line is to be offered, or the caller has to do something; returns why it stopped.

    The line is offered once for everything at an instant: for ends, changes, and arrivals among the first `together`;
    at multiples of `window` if that is not 0. `queue` is that of a compiled run, whose promises end with the holding
    periods; else the line goes by urgency. Changes all of these but `requests`.
    """
    rows, arrival, _, demands, _, _, nothing = requests
    line, due, holder, at, clock = state.line, state.due, state.holder, state.at, state.clock
    while True:
        coming = arrival[rows[at[loop.TAIL]]] if at[loop.TAIL] < len(rows) else np.inf
        if not at[loop.ARRIVING]:
            waits = at[loop.FIRST] < at[loop.LAST] or at[loop.HELD] > 0
            change = min(due[0] if at[loop.ENDS] else np.inf, until)
            target = min(coming, clock[loop.NEXT_OFFER])
            if target == np.inf:
                target = change
            if not at[loop.STIRRED] and (target == np.inf or (coming == np.inf and not waits)):
                at[loop.ALL] = 1
                return loop.OVER
            while change <= target and not (at[loop.STIRRED] and change > clock[loop.NOW]):
                if not at[loop.ENDS] or change < due[0]:
                    return loop.EVENT
                clock[loop.NOW] = change
                if waits and clock[loop.NEXT_OFFER] == np.inf:
                    at[loop.STIRRED] = 1
                row = holder[0] & loop.ROWS
                if queue is not None and queue.at[RUNNING] and state.holds[row] != loop.EVICTED:
                    forget(queue.until, queue.runs, queue.at[RUNNING], queue.promise[row], row)
                    queue.at[RUNNING] -= 1
                if end_next(state, rules, tables, demands, nothing):
                    return loop.RELEASED
                change = min(due[0] if at[loop.ENDS] else np.inf, until)
            if not at[loop.STIRRED]:
                clock[loop.NOW] = target
            at[loop.ARRIVING] = 1
            if readmits(at, tables.quotas):
                return loop.CHANGED
        while coming <= clock[loop.NOW]:
            place = arrive(requests, state, tables)
            if place < 0:
                return loop.ARRIVED
            if queue is not None:
                sort_in(queue, line, at[loop.FIRST], at[loop.LAST] - 1)
            if place < together or len(tables.limits.queue):
                at[loop.STIRRED] = 1
            coming = arrival[rows[at[loop.TAIL]]] if at[loop.TAIL] < len(rows) else np.inf
        at[loop.ARRIVING], changed, at[loop.STIRRED] = 0, at[loop.STIRRED], 0
        if changed and at[loop.FIRST] < at[loop.LAST] and clock[loop.NEXT_OFFER] == np.inf:
            now = clock[loop.NOW]
            clock[loop.NEXT_OFFER] = max(now, np.ceil(now / window) * window) if window else now
        if clock[loop.NEXT_OFFER] <= clock[loop.NOW]:
            clock[loop.NEXT_OFFER] = np.inf
            return loop.ASK


@kernel
def advance_line(run: Any, together: int, window: float, until: float) -> int:
    """Let a run go on to the next offer as `to_offer` does; `run` is what `numa_loop.bundled` has made."""
    return to_offer(run.requests, run.state, run.rules, run.tables, None, together, window, until)


def queue_of(run: RunArrays, how: InOrder) -> LineArrays:
    """Make the line of a compiled run, in its order; everybody is still to come."""
    possible = run.requests.rows.astype(np.int64)
    n, rows = len(run.workload), len(possible)
    at = np.zeros(COUNTERS, np.int64)
    at[SEEN] = -1
    ordered, timed, cubed = how.score is not None and how.by_wait is None, how.by_wait is not None, False
    if how.by_wait is not None and rows:
        cubed = len(how.by_wait(next(run.rows.requests(possible[:1])))) > 1
    limited = len(run.tables.limits.queue) > 0
    scratch = rows if ordered or timed or limited else 0
    demand = run.requests.demand
    queue = LineArrays(
        np.require(run.workload.expected, np.float64, ["C", "W"]),
        urgency=run.urgency,
        key=np.zeros(n if ordered else 0),
        divisor=np.zeros(n if timed else 0),
        factor=np.zeros(n if cubed else 0),
        turn=np.zeros(n, np.int64),
        startable=np.zeros(rows if limited else 0, np.int32),
        offered=np.zeros(scratch, np.int32),
        until=np.zeros(rows),
        runs=np.zeros(rows, np.int64),
        promise=np.zeros(n),
        place=np.full(n, -1),
        at=at,
        least=demand[possible].min(axis=0) if rows else np.zeros(demand.shape[1], np.int64),
    )
    if ordered or timed:
        rank(queue, how, run.view, run.rows.requests(possible))
    return queue


def rank(queue: LineArrays, how: InOrder, view: View, requests: Iterable[Request]) -> None:
    """Say by what requests go; changes `key`, or `divisor` and `factor`."""
    for request in requests:
        if how.by_wait is not None:
            queue.divisor[request.index], *factor = how.by_wait(request)
            queue.factor[request.index : request.index + 1] = factor
        elif how.score is not None:
            queue.key[request.index] = how.score(view, request)


def longer(queue: LineArrays, rows: int, urgency: Ints) -> LineArrays:
    """Return a queue for so many rows, of which some were sent back."""
    if rows <= len(queue.turn):
        return queue._replace(urgency=urgency)
    names = [name for name in ("expected", "key", "divisor", "factor", "turn", "promise") if len(getattr(queue, name))]
    columns = {name: np.resize(getattr(queue, name), rows) for name in names}
    place = np.full(rows, -1)
    place[: len(queue.place)] = queue.place
    return queue._replace(place=place, urgency=urgency, **columns)


def come_in(queue: LineArrays, how: InOrder, view: View, request: Request, line: Any, *, before: bool) -> int:
    """Let a request that was held or sent back take its turn `before` all others, or behind; returns its place in line.

    `line` int32 [k] are the rows of those who wait. Changes `queue`.
    """
    row = request.index
    for part in request.each():
        queue.expected[part.index] = part[2]  # which may be hidden
    rank(queue, how, view, [request])
    queue.at[BEFORE if before else BEHIND] += 1
    queue.turn[row] = -queue.at[BEFORE] if before else queue.at[BEHIND] - 1

    def standing(row: int) -> tuple[int, float]:
        return -int(queue.urgency[row]) if len(queue.urgency) else 0, queue.key[row] if len(queue.key) else 0.0

    if len(queue.urgency):
        queue.turn[row] -= int(queue.urgency[row]) << URGENT
    return (bisect_left if before else bisect_right)(line.tolist(), standing(row), key=standing)


def drop_evicted(queue: LineArrays, holds: npt.NDArray[np.int8]) -> None:
    """Leave those who have been evicted, as `holds` int8 [n] tells, out of those who run; changes `queue`."""
    running = int(queue.at[RUNNING])
    stays = holds[queue.runs[:running]] != loop.EVICTED
    queue.at[RUNNING] = left = np.count_nonzero(stays)
    queue.until[:left], queue.runs[:left] = queue.until[:running][stays], queue.runs[:running][stays]
