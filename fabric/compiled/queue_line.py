"""Lets time go on to the next offer of the line, and holds the line of a compiled batch queue and who runs.

`fabric.run.waiting_line` says what becomes of an offer in Python, `queue_loop` what becomes of one in machine code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import ascending, lower_bound
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, arrive, end_next, readmits
from binwright.fabric.compiled.tables import Tables
from binwright.fabric.mask import Ruling
from binwright.simcore.jit import allocating, kernel, lean, lean_inlined
from binwright.simcore.jit.cost_functions import ordered
from binwright.simcore.types import Floats, InOrder, Ints, Request, View

if TYPE_CHECKING:
    from binwright.fabric.run.arrays import RunArrays

NONE, ANY, EASY, CONSERVATIVE = range(4)
"""Who may start when one before gets no place."""
BACKFILLING = ("none", "any", "easy", "conservative")
RUNNING, SEEN, OFFERED, COUNTERS = range(4)
"""Places in `LineArrays.at`: how many run, how many of the line have been offered at this instant (-1: the instant is
over), and who was offered last."""


class LineArrays(NamedTuple):
    """Holds what a compiled queue keeps of its n requests and of k that wait or run. The loop changes the last nine.

    `expected` float64 [n] is how long each is expected to stay. Those that are offered go by `key`, the least first:
    float64 [n, 1], or float64 [n, 3] with a, p and b for -(wait / a)^p b; empty where they stay as they came.

    `offered` int32 [k] has who is offered, in order. `until` float64 [k] and `runs` int64 [k] are when those that run
    should end, ascending, and their rows; `times` and `changes` say the same of promises to all, too (`Plan`), and are
    empty without. `promise` float64 [n] is the start that is promised to each, then the end that is expected, and
    `place` int64 [n] the place of each part, -1 for none. `sums` int64 [2, 2, resources] are the most that a server
    has free, and what all have; then the same beside a promise.
    """

    expected: Floats
    key: Floats
    offered: Any
    until: Floats
    runs: Ints
    times: Floats
    changes: Ints
    promise: Floats
    place: Ints
    sums: Ints
    at: Ints


@lean
def expect(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Note until when one that starts should run; ends at the same time come before promised starts, ~row."""
    i = running
    while i > 0 and (until[i - 1] > end or (until[i - 1] == end and runs[i - 1] < 0 <= row)):
        until[i], runs[i] = until[i - 1], runs[i - 1]
        i -= 1
    until[i], runs[i] = end, row


@lean
def forget(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Drop one that has ended, of which `end` was expected."""
    at = lower_bound(until, running, end)
    while runs[at] != row:
        at += 1
    for i in range(at, running - 1):
        until[i], runs[i] = until[i + 1], runs[i + 1]


@lean
def _key_of(queue: LineArrays, row: int, wait: float) -> int:
    """Return by what a row that has waited so long is sorted: a whole number that orders as the float does."""
    key = queue.key
    if key.shape[1] == 1:
        return int(ordered(key[row, 0]))
    by_time = wait / key[row, 0]
    if key[row, 1] != 1.0:  # computing a power takes several times as long
        by_time = by_time ** key[row, 1]
    return int(ordered(-by_time * key[row, 2]))


@lean
def least_first(queue: LineArrays, urgency: Ints, arrival: Floats, now: float, begin: int, count: int) -> None:
    """Move the row of `offered` that `sort` would put first, from `begin` to before `count`, to `begin`.

    Where nobody passes another, most of those that are offered are not reached, and need no order.
    """
    offered, best = queue.offered, begin
    least = _key_of(queue, offered[begin], now - arrival[offered[begin]])
    for i in range(begin + 1, count):
        row = offered[i]
        more = urgency[row] - urgency[offered[best]] if len(urgency) else 0
        if more >= 0:
            key = _key_of(queue, row, now - arrival[row])
            if more > 0 or key < least:
                best, least = i, key
    row = offered[best]
    for i in range(best, begin, -1):
        offered[i] = offered[i - 1]
    offered[begin] = row


@allocating
def sort(queue: LineArrays, urgency: Ints, arrival: Floats, now: float, count: int) -> None:
    """Sort the first `count` of `offered` by their keys, within those that are as urgent; equal ones stay as they are.

    `urgency` int64 [n] is empty where all are equal. Changes `queue`.
    """
    offered, keys = queue.offered, np.empty(count, np.int64)
    for i in range(count):
        keys[i] = _key_of(queue, offered[i], now - arrival[offered[i]])
    _rearrange(offered, ascending(keys))
    if len(urgency):
        for i in range(count):
            keys[i] = -urgency[offered[i]]
        _rearrange(offered, ascending(keys))


@allocating
def _rearrange(rows: Any, order: Ints) -> None:
    """Put as many rows as `order` has places into that order; changes `rows`."""
    before = np.empty(len(order), np.int64)
    for i in range(len(order)):
        before[i] = rows[i]
    for i in range(len(order)):
        rows[i] = before[order[i]]


@lean_inlined
def to_offer(
    requests: NumaRequests,
    state: NumaState,
    rules: Ruling | None,
    tables: Tables,
    queue: LineArrays | None,
    together: int,
    until: float,
) -> int:
    """Let time go on until the line is to be offered, or the caller has to do something; returns why it stopped.

    The line is offered once for everything at an instant: for ends, changes, and arrivals among the first `together`.
    With `ONE_BY_ONE` it is offered after every single event. `queue` is that of a compiled run, whose promises end with
    the holding periods. Changes all of these but `requests`.
    """
    rows, arrival, _, demands, _, _, nothing = requests
    due, holder, at, clock = state.due, state.holder, state.at, state.clock
    while True:
        coming = arrival[rows[at[loop.TAIL]]] if at[loop.TAIL] < len(rows) else np.inf
        change = min(due[0] if at[loop.ENDS] else np.inf, until)
        waits = at[loop.FIRST] < at[loop.LAST] or at[loop.HELD] > 0
        if at[loop.ONE_BY_ONE]:
            if coming == np.inf and (change == np.inf or not waits):
                at[loop.ALL] = 1
                return loop.OVER
            if coming <= change:
                clock[loop.NOW] = coming
                return loop.ARRIVED if arrive(requests, state, tables) < 0 else loop.ASK
            if not at[loop.ENDS] or change < due[0]:
                return loop.EVENT
            clock[loop.NOW] = change
            return loop.RELEASED if end_next(state, rules, tables, demands, nothing) else loop.ASK
        if not at[loop.ARRIVING]:
            target = coming if coming < np.inf else change
            if not at[loop.STIRRED] and (target == np.inf or (coming == np.inf and not waits)):
                at[loop.ALL] = 1
                return loop.OVER
            while change <= target and not (at[loop.STIRRED] and change > clock[loop.NOW]):
                if not at[loop.ENDS] or change < due[0]:
                    return loop.EVENT
                clock[loop.NOW] = change
                if waits:
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
            if place < together or len(tables.limits.counter):
                at[loop.STIRRED] = 1
            coming = arrival[rows[at[loop.TAIL]]] if at[loop.TAIL] < len(rows) else np.inf
        at[loop.ARRIVING], changed, at[loop.STIRRED] = 0, at[loop.STIRRED], 0
        if changed and at[loop.FIRST] < at[loop.LAST]:
            return loop.ASK


@kernel
def advance_line(run: Any, together: int, until: float) -> int:
    """Let a run go on to the next offer as `to_offer` does; `run` is what `numa_loop.bundled` has made."""
    return to_offer(run.requests, run.state, run.rules, run.tables, None, together, until)


def queue_of(run: RunArrays, how: InOrder) -> LineArrays:
    """Make what a compiled queue keeps, in its order, of those who run already, too."""
    possible, record = run.requests.rows.astype(np.int64), run.record
    n, rows, nodes = len(run.workload), len(possible), run.view.free.shape[1]
    changes = 2 * rows if how.backfilling == "conservative" else 0
    at = np.zeros(COUNTERS, np.int64)
    at[SEEN] = -1
    queue = LineArrays(
        np.require(run.workload.expected, np.float64, ["C", "W"]),
        key=np.zeros((n if how.score or how.by_wait else 0, 3 if how.by_wait else 1)),
        offered=np.zeros(rows, np.int32),
        until=np.zeros(rows),
        runs=np.zeros(rows, np.int64),
        times=np.zeros(changes),
        changes=np.zeros(changes, np.int64),
        promise=np.zeros(n),
        place=np.where(run.holds[:n], record.server[:n] * np.int64(nodes) + np.maximum(record.node[:n], 0), -1),
        sums=np.zeros((2, 2, run.view.free.shape[2]), np.int64),
        at=at,
    )
    runs = possible[run.holds[possible] != loop.EVICTED]
    at[RUNNING], queue.promise[runs] = len(runs), record.decided[runs] + queue.expected[runs]
    queue.runs[: len(runs)] = runs = runs[np.argsort(queue.promise[runs], kind="stable")]
    queue.until[: len(runs)] = queue.promise[runs]
    if len(queue.key):
        rank(queue, how, run.view, run.rows.requests(possible))
    return queue


def rank(queue: LineArrays, how: InOrder, view: View, requests: Iterable[Request]) -> None:
    """Say by what requests go; changes `key`."""
    for request in requests:
        if how.by_wait:
            queue.key[request.index] = how.by_wait(request)
        elif how.score:
            queue.key[request.index] = how.score(view, request)


def with_returned(queue: LineArrays, rows: int, how: InOrder, view: View, back: Sequence[Request]) -> LineArrays:
    """Return a queue of so many rows, among which are those of requests that were sent back."""
    if rows > len(queue.place):
        columns = {name: getattr(queue, name) for name in ("expected", "key", "promise", "place")}
        queue = queue._replace(
            **{name: np.resize(of, (rows, *of.shape[1:])) for name, of in columns.items() if len(of)}
        )
    for request in back:
        parts = slice(request.index, request.index + request.parts)
        queue.expected[parts], queue.place[parts] = request[2], -1  # how long it stays may be hidden
    rank(queue, how, view, back)
    return queue


def drop_evicted(queue: LineArrays, holds: npt.NDArray[np.int8]) -> None:
    """Leave those who have been evicted, as `holds` int8 [n] tells, out of those who run; changes `queue`."""
    running = int(queue.at[RUNNING])
    stays = holds[queue.runs[:running]] != loop.EVICTED
    queue.at[RUNNING] = left = np.count_nonzero(stays)
    queue.until[:left], queue.runs[:left] = queue.until[:running][stays], queue.runs[:running][stays]
