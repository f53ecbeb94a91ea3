"""The engine's rules as one compiled loop, for servers with NUMA nodes. Their definition is `simcore.engine`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabric.compiled.heap import pop, push
from fabric.servers import fits_node, fits_spread, why_not
from simcore.jit import callback, inlined, kernel, tuple_setitem
from simcore.record import PLACED, REJECTED, SPREAD
from simcore.vocabulary import Amounts, Floats, Ints, Placement, Request

OVER, ASK, GROW, CHANGE, BROKEN = range(5)
"""The run is over; a request needs an answer, or got one; servers are to be added because a request fits nowhere, or
because it is time to; the answer was no place that the request could take.
"""
DROP, WAIT, STOP, EXPAND = range(4)
"""Overflow."""
MODES = ("drop", "wait", "stop", "expand")

HEAD, TAIL, ENDS, ANSWERED, BLOCKED, STIRRED, SERVING, ALL, STOPPED, COUNTERS = range(10)
"""Places in `State.at`: of `Requests.rows`, how many have their answer and how many have arrived; the length of the
heap; how many answers; and as 0 or 1: the head of the line was refused and nothing has changed since; something has;
the line is being served again; there are no more arrivals; overflow ended the run.
"""


class Requests(NamedTuple):
    """`rows` int64 [k], ascending, are those of the n requests that some server could hold.

    `arrival` and `duration` float64 [n], `demand` int64 [n, resources], `spread` bool [n]; `nothing` is a demand of 0.
    """

    rows: Ints
    arrival: Floats
    duration: Floats
    demand: Ints
    spread: npt.NDArray[np.bool_]
    nothing: Amounts


class State(NamedTuple):
    """Where one simulation is: everything changes but `capacity`.

    `capacity` and `free` int64 [servers, nodes, resources] are what the rule sees, `left` is what is free: what a rule
    writes gets it nothing. `due` float64 and `holder` int64 [k] are a heap of ends, and of which rows; `at` int64
    [COUNTERS]; `now` float64 [1]; `sequence` int64 [k], the rows answered, in order; the others are the columns of
    `simcore.record.Record`.
    """

    capacity: Ints
    free: Ints
    left: Ints
    due: Floats
    holder: Ints
    at: Ints
    now: Floats
    sequence: Ints
    outcome: npt.NDArray[np.int8]
    decided: Floats
    server: npt.NDArray[np.int32]
    node: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int32]


@kernel
def demand_of(demands: Ints, row: int, nothing: Amounts) -> Amounts:
    """As a tuple, whose length the compiler knows."""
    demand = nothing
    for r in range(len(nothing)):
        demand = tuple_setitem(demand, r, demands[row, r])
    return demand


@kernel
def move(left: Ints, free: Ints, demand: Amounts, server: int, node: int, sign: int) -> None:
    """Take (sign -1) or give back (1) a demand; `node` is `SPREAD` for an even part on every node.

    `left` changes, and `free` to the same there.
    """
    nodes: int = left.shape[1]
    if node != SPREAD:
        for r in range(len(demand)):
            left[server, node, r] += sign * demand[r]
            free[server, node, r] = left[server, node, r]
    elif nodes == 2:  # the usual two: a constant divides faster
        _move_parts(left, free, demand, server, 2, sign)
    else:
        _move_parts(left, free, demand, server, nodes, sign)


@inlined
def _move_parts(left: Ints, free: Ints, demand: Amounts, server: int, nodes: int, sign: int) -> None:
    for n in range(nodes):
        for r in range(len(demand)):
            left[server, n, r] += sign * (demand[r] // nodes + (n < demand[r] % nodes))
            free[server, n, r] = left[server, n, r]


@kernel
def fits(free: Ints, demand: Amounts, server: int, node: int) -> bool:
    """Is there such a place, and may it be taken?"""
    if not 0 <= server < len(free):
        return False
    return fits_spread(free, server, demand) if node == SPREAD else fits_node(free, server, node, demand)


@kernel
def go(
    rule: Any, weights: Any, asked: Requests, state: State, mode: int, change: float, answers: int, ahead: bool
) -> tuple[int, int, int]:
    """Let a rule answer so many times (for ever when negative), or until something else is to be done.

    `rule` is a `Scan` as `simcore.jit.callback` makes it, and `weights` a tuple of more arguments for it, each float64
    [any]; `change` is the time of the next planned expansion. `ahead` runs the clock on to the next request afterwards.

    Returns how many answers it has made, why it went no further, and its last answer.
    """
    # Unpacked once: within the loop, numba would count references at every look.
    rows, arrival, duration, demands, spread, nothing = asked
    capacity, free, left, due, holder, at, clock, sequence, outcome, decided, servers, nodes_of, reason = state
    nodes = left.shape[1]
    head, tail, ends, answered = at[HEAD], at[TAIL], at[ENDS], at[ANSWERED]
    blocked, stirred, serving = at[BLOCKED] > 0, at[STIRRED] > 0, at[SERVING] > 0
    now, made, code, status = clock[0], 0, -1, ASK
    while status == ASK and (ahead or made != answers):
        if serving:  # a holding period of no time is over again
            while ends > 0 and due[0] <= now:
                row = holder[0]
                ends -= 1
                pop(due, holder, ends)
                move(left, free, demand_of(demands, row, nothing), servers[row], nodes_of[row], 1)
            serving = head < tail and not blocked
        while True:
            end = due[0] if ends > 0 else np.inf
            if stirred and min(end, change) > now:  # all that happens at one instant comes first
                serving, stirred, blocked = blocked, False, False
            if head < tail and not blocked:
                break
            next_arrival = np.inf
            if tail < len(rows):
                next_arrival = arrival[rows[tail]]
            else:
                at[ALL] = 1
                if head == tail or min(end, change) == np.inf:
                    status = OVER
                    break
            if min(end, change) > next_arrival:
                now = next_arrival
                tail += 1
            elif end <= change:
                row, now = holder[0], end
                ends -= 1
                pop(due, holder, ends)
                move(left, free, demand_of(demands, row, nothing), servers[row], nodes_of[row], 1)
                stirred = blocked
            else:
                now, stirred, status = change, True, CHANGE
                break
        if status != ASK or made == answers:
            break
        row = rows[head]
        demand = demand_of(demands, row, nothing)
        code = rule(free, capacity, demand, spread[row], *weights)
        made += 1
        if code >= 0:
            server = code // 2 if nodes == 2 else code // nodes
            node = SPREAD if spread[row] else code - server * nodes
            if not fits(left, demand, server, node):
                status = BROKEN
                break
            move(left, free, demand, server, node, -1)
            outcome[row], servers[row], nodes_of[row] = PLACED, server, node
            if duration[row] < np.inf:
                push(due, holder, ends, now + duration[row], row)
                ends += 1
        elif mode == WAIT:
            blocked = True
            continue
        elif mode == EXPAND:
            status = GROW
            break
        else:
            outcome[row], reason[row] = REJECTED, why_not(left, demand, spread[row])
            if mode == STOP:
                status = OVER
                at[STOPPED] = 1
        sequence[answered], decided[row] = row, now
        answered += 1
        head += 1
    while status == OVER and head < tail and not at[STOPPED]:  # they would wait for ever
        row = rows[head]
        outcome[row], reason[row] = REJECTED, why_not(left, demand_of(demands, row, nothing), spread[row])
        sequence[answered], decided[row] = row, now
        answered += 1
        head += 1
    at[HEAD], at[TAIL], at[ENDS], at[ANSWERED] = head, tail, ends, answered
    at[BLOCKED], at[STIRRED], at[SERVING] = blocked, stirred, serving
    clock[0] = now
    return made, status, code


@kernel
def given(free: Ints, capacity: Ints, demand: Amounts, spread: bool, answer: Floats) -> int:
    """A `Scan` that says what it is given."""
    return int(answer[0])


@lru_cache(maxsize=256)
def as_argument(scan: Any, resources: int, weights: int) -> Any:
    """A rule as the loop takes it."""
    state = "int64[:,:,::1]"
    more = ["float64[::1]"] * weights
    return callback(scan, "int64", state, state, f"UniTuple(int64, {resources})", "boolean", *more)


def placement_of(code: int, request: Request, nodes: int) -> Placement:
    """The answer of a `Scan`, in words."""
    server = code // nodes
    return request.across(server, nodes) if request.spread else request.on(server, code - server * nodes)
