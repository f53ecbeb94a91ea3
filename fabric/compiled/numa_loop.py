"""Plays arrivals, the waiting line and ends of holding periods on arrays.

docs/developers/compiled-runs.md says what else to change with a rule of the run.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import pop, push
from binwright.fabric.compiled.tables import Counters, Tables, count_row, full, parts_of
from binwright.fabric.mask import Ruling, count
from binwright.fabric.ranking import note
from binwright.fabric.servers import fits_node, fits_spread, give, show
from binwright.simcore.jit import inlined, kernel, lean_inlined, tuple_setitem
from binwright.simcore.jit.bundle import Bundle
from binwright.simcore.record import PLACED, REJECTED, SPREAD
from binwright.simcore.types import Amounts, Flags, Floats, Ints

OVER, ASK, EVENT, RELEASED, REFUSED, BROKEN, ARRIVED, CHANGED = range(8)
"""Why the loop stopped: the run is over; the first in line is to be answered; the clock has something to do at this
time; the caller has to release what a row holds; one fits nowhere; the answer was not a place that the request could
take; and where the run is `GUARDED`, or a quota is in the way: a request arrives; the instant in which something
changed is over.
"""
DROP, WAIT, STOP = range(3)
"""What happens to a request that fits nowhere: the overflow modes as numbers."""
MODES = ("drop", "wait", "stop")
NO_REFUSALS, SOME_REFUSALS, ALL_REFUSALS = range(3)
"""At which refusals the loop stops: none, those of `interested` rows, or all."""
EVICTED, HOLDS, ELSEWHERE = range(3)
"""What `NumaState.holds` says of a row: nothing, its place in the record, or something that only the ledger knows."""

FIRST, LAST, TAIL, ENDS, GONE, HELD = range(6)
BLOCKED, STIRRED, SERVING, JUST_ANSWERED, ALL, STOPPED, GUARDED, ONE_BY_ONE, ARRIVING, ROW, COUNTERS = range(6, 17)
"""Places in `NumaState.at`. Six are counts: from where and up to where `line` has those who wait, how many of
`NumaRequests.rows` have arrived, how long the heap is, how many have left it, and how many wait apart from the line.
Nine are 0 or 1: the head of the line was refused and nothing has changed since; something has changed; the line is
offered because of that, not of an arrival; somebody was just answered; nobody arrives any more; overflow ended the run;
arrivals, ends and changes are the caller's to handle; the line is offered after every single event, and holding periods
that end together do so in the order in which they began; those arrive who come at this instant, before the line is
offered. And `ROW` is whom a stop is about.
"""

NOW = 0
"""The place of the time in `NumaState.clock`."""
ROWS = 2**32 - 1
"""The bits of a number in the heap that are its row."""


class NumaRequests(NamedTuple):
    """Holds the n requests of a workload, as the loop reads them.

    `rows` int32 [k], ascending, are the requests that some empty server could hold. `arrival` and `duration` are
    float64 [n], `demand` int64 [n, resources], `spread` bool [n]. `priority` int64 [n] is empty where the line does not
    go by it. `nothing` is a demand of 0, from which `demand_of` makes tuples of the right length.
    """

    rows: npt.NDArray[np.int32]
    arrival: Floats
    duration: Floats
    demand: Ints
    spread: Flags
    priority: Ints
    nothing: Amounts


class NumaState(NamedTuple):
    """Holds where one run is. The loop changes every array but `capacity`.

    `capacity` and `free` int64 [servers, nodes, resources] are what the rule sees. `left` is what is free: the same
    array, but where backfilling shows less. `line` int32 [k] has the rows that wait. `due` float64 [k] and `holder`
    int64 [k] are a heap of the times when placements end, and of their rows. `at` is int64 [COUNTERS], and `clock`
    float64 [1] has the time. `sequence` int32 [n] has the rows in the order of their `answers`, int64 [1]: how many
    there are. The others are the columns of `simcore.record.Record`, and `holds` int8 [n] tells
    which rows hold something. `log` int64 [any] tells which servers changed, as `fabric.ranking` has it.
    """

    capacity: Ints
    free: Ints
    left: Ints
    line: npt.NDArray[np.int32]
    due: Floats
    holder: Ints
    at: Ints
    clock: Floats
    sequence: npt.NDArray[np.int32]
    outcome: npt.NDArray[np.int8]
    decided: Floats
    server: npt.NDArray[np.int32]
    node: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int32]
    holds: npt.NDArray[np.int8]
    log: Ints
    answers: Ints


@kernel
def demand_of(demands: Ints, row: int, nothing: Amounts) -> Amounts:
    """Return one row of `demands` int64 [n, resources] as a tuple, whose length the compiler knows."""
    demand = nothing
    for r in range(len(nothing)):
        demand = tuple_setitem(demand, r, demands[row, r])
    return demand


@kernel
def move(left: Ints, free: Ints, log: Ints, demand: Amounts, server: int, node: int, sign: int) -> None:
    """Take a demand (sign -1) or give it back (sign 1); `node` is `SPREAD` for an even part on every node.

    Changes `left`, sets `free` to the same numbers, and notes it in `log`.
    """
    note(log, server)
    give(left, demand, server, node, sign)
    show(left, free, server)


@kernel
def fits(free: Ints, demand: Amounts, server: int, node: int) -> bool:
    """Tell whether the place exists and has room for the demand."""
    if not 0 <= server < len(free):
        return False
    return fits_spread(free, server, demand) if node == SPREAD else fits_node(free, server, node, demand)


@inlined
def readmits(at: Ints, quotas: Counters) -> bool:
    """Tell whether those held back may enter the line, or anything else is the caller's to handle after a change."""
    return bool(at[GUARDED] or (at[HELD] and quotas.returned[0]))


@lean_inlined
def arrive(requests: NumaRequests, state: NumaState, tables: Tables) -> int:
    """Put the next request that arrives into the line, behind those that are as urgent, and return its place there.

    The place is -1 where that is the caller's to do; the row is then in `ROW`. Changes `state` and `tables`.
    """
    quotas, limited, has_quota = tables.quotas, len(tables.limits.counter) > 0, len(tables.quotas.counter) > 0
    line, at, priority, row = state.line, state.at, requests.priority, requests.rows[state.at[TAIL]]
    within = not at[GUARDED]
    if limited:
        within &= not tables.limits.never[row]
    if has_quota:
        within &= not (at[HELD] and quotas.returned[0]) and full(quotas, quotas.used, row) < 0
    if not within:
        at[ROW] = row
        return -1
    if has_quota:
        count_row(quotas, row, True)
    at[TAIL] += 1
    if at[LAST] == len(line):  # those who wait move to its beginning
        for i in range(at[FIRST], at[LAST]):
            line[i - at[FIRST]] = line[i]
        at[FIRST], at[LAST] = 0, at[LAST] - at[FIRST]
    place = at[LAST]
    if len(priority):
        while place > at[FIRST] and priority[line[place - 1]] < priority[row]:
            line[place] = line[place - 1]
            place -= 1
        if place == at[FIRST]:
            at[BLOCKED] = 0
    line[place] = row
    at[LAST] += 1
    return int(place - at[FIRST])


@lean_inlined
def forward(requests: NumaRequests, state: NumaState, rules: Ruling | None, tables: Tables, until: float) -> int:
    """Let time go on to the next decision, or until the caller has to do something; returns why it stopped.

    Changes `state`, `rules` and `tables`, which are as for `numa_decisions.go`.
    """
    rows, arrival, _, demands, _, _, nothing = requests
    due, at, clock = state.due, state.at, state.clock
    while True:
        end = due[0] if at[ENDS] > 0 else np.inf
        # Whose holding period ends as it begins is gone before the next of the line is offered.
        at_once = at[JUST_ANSWERED] and (at[SERVING] or at[FIRST] < at[LAST]) and end <= clock[NOW]
        if not at_once:
            if at[JUST_ANSWERED]:
                at[JUST_ANSWERED] = 0
                if readmits(at, tables.quotas):
                    return CHANGED
            if at[STIRRED] and min(end, until) > clock[NOW]:  # all that happens at one instant comes first
                at[STIRRED], at[BLOCKED], at[SERVING] = 0, 0, 1
                if readmits(at, tables.quotas):
                    return CHANGED
            if at[FIRST] < at[LAST] and not at[BLOCKED]:
                return ASK
            next_arrival = np.inf
            if at[TAIL] < len(rows):
                next_arrival = arrival[rows[at[TAIL]]]
            else:
                at[ALL] = 1
                if (at[FIRST] == at[LAST] and not at[HELD]) or min(end, until) == np.inf:
                    return OVER
            if min(end, until) > next_arrival:
                clock[NOW], at[SERVING] = max(clock[NOW], next_arrival), 0
                if arrive(requests, state, tables) < 0:
                    return ARRIVED
                continue
            if end > until:
                at[STIRRED] = 1
                return EVENT
            at[STIRRED] = 1 if at[BLOCKED] or at[HELD] else 0
        clock[NOW] = max(clock[NOW], end)
        if end_next(state, rules, tables, demands, nothing):
            return RELEASED


@lean_inlined
def end_next(state: NumaState, rules: Ruling | None, tables: Tables, demands: Ints, nothing: Amounts) -> bool:
    """End the holding period that ends next, and release what it holds; tells whether the caller has to do that.

    The row is then in `ROW`. Changes `state`, `rules` and `tables`.
    """
    _, free, left, _, due, holder, at, _ = state[:8]
    servers, nodes_of, _, holds, log = state[11:16]
    row = holder[0] & ROWS
    at[ENDS] -= 1
    at[GONE] += 1
    pop(due, holder, at[ENDS])
    many = parts_of(tables.parts, row)
    elsewhere = at[GUARDED] > 0
    for part in range(row, row + many):
        elsewhere |= holds[part] == ELSEWHERE
    if elsewhere:
        at[ROW] = row
        return True
    for part in range(row, row + many):
        if holds[part] == HOLDS:
            holds[part] = EVICTED
            move(left, free, log, demand_of(demands, part, nothing), servers[part], nodes_of[part], 1)
            if rules is not None:
                count(rules.mask, servers[part], rules.roles[part], -1)
    if len(tables.quotas.counter):
        count_row(tables.quotas, row, False)
    if len(tables.limits.counter):
        count_row(tables.limits, row, False)
    return False


@kernel
def bundled(requests: NumaRequests, state: NumaState, rules: Ruling | None, tables: Tables) -> Any:
    """Return a bundle of what `advance` and `begin` work on."""
    return Bundle(requests, state, rules, tables)


@kernel
def advance(run: Any, until: float) -> int:
    """Let a run go on to the next decision as `forward` does; `run` is what `bundled` has made."""
    return forward(run.requests, run.state, run.rules, run.tables, until)


@lean_inlined
def hold(requests: NumaRequests, state: NumaState, row: int, server: int, node: int, held: int, stays: float) -> None:
    """Note that a request has its place, and when its holding period ends; `held` is a value of `holds`.

    It `stays` as long as its row says where that is negative. Changes `state`.
    """
    now, at = state.clock[NOW], state.at
    state.outcome[row], state.holds[row] = PLACED, held
    state.server[row], state.node[row], state.decided[row] = server, node, now
    state.sequence[state.answers[0]] = row
    state.answers[0] += 1
    if stays < 0:
        stays = requests.duration[row]
    if stays < np.inf:
        # Of those that end together the lowest number is first: by row, or by who began first, before all rows.
        number = ((state.answers[0] - 2**30) << 32) | row if at[ONE_BY_ONE] else row
        push(state.due, state.holder, at[ENDS], now + stays, number)
        at[ENDS] += 1


@kernel
def begin(run: Any, row: int, server: int, node: int, held: int, stays: float) -> None:
    """Note that a request has its place as `hold` does; `run` is what `bundled` has made."""
    hold(run.requests, run.state, row, server, node, held, stays)


@kernel
def place(run: Any, row: int, server: int, node: int) -> bool:
    """Give the first in line a node, if there is such a node and it fits; `run` is what `bundled` has made."""
    requests, state = run.requests, run.state
    demand = demand_of(requests.demand, row, requests.nothing)
    if not 0 <= node < state.left.shape[1] or not fits(state.left, demand, server, node):
        return False
    move(state.left, state.free, state.log, demand, server, node, -1)
    hold(requests, state, row, server, node, HOLDS, -1.0)
    state.at[FIRST] += 1
    state.at[JUST_ANSWERED] = 1
    return True


@lean_inlined
def refuse(state: NumaState, row: int, parts: int, reason: int) -> None:
    """Note that a request of so many parts gets no place; changes `state`."""
    for part in range(row, row + parts):
        state.outcome[part], state.reason[part], state.decided[part] = REJECTED, reason, state.clock[NOW]
    state.sequence[state.answers[0]] = row
    state.answers[0] += 1


@inlined
def leave(at: Ints) -> None:
    """Take the first out of the line; changes `at`."""
    at[FIRST] += 1
    if at[FIRST] == at[LAST]:
        at[FIRST] = at[LAST] = 0
