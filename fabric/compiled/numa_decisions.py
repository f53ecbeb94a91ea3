"""Has compiled rules answer requests, each one where `numa_loop.forward` stops."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.array_kernels import push
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, demand_of, fits, forward, leave, move, refuse
from binwright.fabric.compiled.tables import Tables, count_row, parts_of
from binwright.fabric.mask import Ruling, count, show, why_ruled
from binwright.fabric.servers import why_not
from binwright.simcore.errors import KernelError
from binwright.simcore.jit import callback, kernel
from binwright.simcore.jit.cost_functions import arrays_in, table_of
from binwright.simcore.record import PLACED, SPREAD
from binwright.simcore.types import Amounts, Flags, Ints, Placement, Request

ROOMLESS = 3
"""Reasons of `why_not` beside one for each resource; those of rules come after."""


@kernel
def go(
    rule: Any,
    weights: Any,
    requests: NumaRequests,
    state: NumaState,
    rules: Ruling | None,
    tables: Tables,
    interested: Flags,
    stops: int,
    mode: int,
    until: float,
    answers: int,
) -> tuple[int, int, int]:
    """Let a rule answer `answers` times (without limit when negative), or until the caller has to do something.

    A gang is one answer; `tables` say which requests are gangs, and have quotas.

    `rule` and `weights` are what `as_argument` returns, and `rules` the rules of placement; there is a form of the loop
    without any. `stops` says at which refusals to stop, and `until` when the clock has something to do.

    Changes `state`, `rules` and `tables`. Returns how many answers were made, why it stopped, and the last answer.
    """
    # Unpacked once: within the loop, numba would count references at every access.
    _, _, duration, demands, spread, _, nothing = requests
    capacity, free, left, line, due, holder, at, clock = state[:8]
    sequence, outcome, decided, servers, nodes_of, reason, holds, log, answered = state[8:]
    if rules is not None:
        roles, is_open, mask, view = rules
        shown, refusing = view.free, view.refusing
    nodes = left.shape[1]
    made, code, status = 0, -1, loop.ASK
    while status == loop.ASK and made != answers:
        status = forward(requests, state, rules, tables, until)
        if status != loop.ASK:
            break
        # -- one decision ----------------------------------------------------------------------------------------------
        row, now = line[at[loop.FIRST]], clock[loop.NOW]
        demand = demand_of(demands, row, nothing)
        many, placed = parts_of(tables.parts, row), 0
        while placed < many:
            if rules is not None:
                role = roles[row]
                ruled = not is_open[role]
                if ruled:
                    show(mask, view, role, left)
                code = rule(shown if ruled else free, capacity, demand, spread[row], *weights)
            else:
                code = rule(free, capacity, demand, spread[row], *weights)
            if code < 0:
                break
            server = code // nodes
            node = SPREAD if spread[row] else code - server * nodes
            if not fits(left, demand, server, node):
                status = loop.BROKEN
                break
            if rules is not None:
                if ruled and refusing[server] >= 0:
                    status = loop.BROKEN
                    break
                count(mask, server, role, 1)
            move(left, free, log, demand, server, node, -1)
            servers[row + placed], nodes_of[row + placed] = server, node
            placed += 1
        made += 1
        if status == loop.BROKEN:
            break
        at[loop.JUST_ANSWERED] = 1
        if placed == many:
            for part in range(row, row + many):
                outcome[part], holds[part] = PLACED, loop.HOLDS
                sequence[answered[0]], decided[part] = part, now
                answered[0] += 1
            if duration[row] < np.inf:
                push(due, holder, at[loop.ENDS], now + duration[row], row)
                at[loop.ENDS] += 1
            leave(at)
            continue
        if mode in (loop.DROP, loop.STOP):
            reason[row] = why_not(left, demand, spread[row])
            if rules is not None and ruled and reason[row] == 0:
                rule_number = why_ruled(mask, view, role, left, demand, spread[row])
                reason[row] = ROOMLESS + left.shape[2] + rule_number if rule_number >= 0 else 0
        for part in range(row, row + placed):
            move(left, free, log, demand, servers[part], nodes_of[part], 1)
            if rules is not None:
                count(mask, servers[part], role, -1)
            servers[part], nodes_of[part] = -1, -1
        if stops == loop.ALL_REFUSALS or (stops == loop.SOME_REFUSALS and interested[row]):
            at[loop.ROW], status = row, loop.REFUSED
            break
        if mode == loop.WAIT:
            at[loop.BLOCKED] = 1
            continue
        refuse(state, row, many, reason[row])
        if len(tables.quotas.counter):
            count_row(tables.quotas, row, False)
        leave(at)
        if mode == loop.STOP:
            status = loop.OVER
            at[loop.STOPPED] = 1
    return made, status, code


def as_argument(scan: Any, resources: int, weights: Sequence[npt.NDArray[Any]]) -> tuple[Any, tuple[Ints, ...]]:
    """Return a `Scan`, with such arrays as weights, in the form in which `go` takes every rule, and its weights there.

    All rules with weights have one form, as these are handed over by their addresses: the loop is not compiled again
    for each number of them. The weights must be kept while it is called.
    """
    if not all(each.flags.c_contiguous for each in weights):
        raise KernelError("weights are not arrays in C order", remedy="Take np.ascontiguousarray of them.")
    kinds = tuple((each.dtype.name, each.ndim) for each in weights)
    return _as_argument(scan, resources, kinds), (table_of(weights),) if weights else ()


@lru_cache(maxsize=256)
def _as_argument(scan: Any, resources: int, kinds: tuple[tuple[str, int], ...]) -> Any:
    state, arrays = "int64[:,:,::1]", arrays_in(kinds)

    @kernel
    def with_weights(free: Ints, capacity: Ints, demand: Amounts, spread: bool, table: Ints) -> int:
        return int(scan(free, capacity, demand, spread, *arrays(table)))

    common = "int64", state, state, f"UniTuple(int64, {resources})", "boolean"
    return callback(with_weights, *common, "int64[::1]") if kinds else callback(scan, *common)


def placement_of(code: int, request: Request, nodes: int) -> Placement:
    """Turn the answer of a `Scan` into a placement; it must not be negative."""
    server = code // nodes
    return request.across(server, nodes) if request.spread else request.on(server, code - server * nodes)
