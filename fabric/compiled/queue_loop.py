"""Runs requests that are offered together as one compiled loop: the batch queue, with its orders and backfilling.

`queue_line.to_offer` defines when requests are offered, and `agents.heuristics.in_line` what becomes of them.
"""

from typing import Any

import numpy as np

from binwright.fabric.array_kernels import push
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, demand_of, fits, move
from binwright.fabric.compiled.queue_line import (
    CONSERVATIVE,
    EASY,
    NONE,
    OFFERED,
    RUNNING,
    SEEN,
    LineArrays,
    expect,
    least_first,
    sort,
    to_offer,
)
from binwright.fabric.compiled.queue_promises import (
    Plan,
    foresee,
    forget_promise,
    note_promise,
    over,
    promise_places,
    show_beside,
    show_least,
    sum_up,
)
from binwright.fabric.compiled.tables import Tables, count_row, full, is_held, parts_of
from binwright.fabric.servers import give, show
from binwright.simcore.jit import lean
from binwright.simcore.record import PLACED, SPREAD
from binwright.simcore.types import Ints


@lean
def go_line(
    rule: Any,
    weights: Any,
    requests: NumaRequests,
    state: NumaState,
    queue: LineArrays,
    tables: Tables,
    levels: Ints,
    backfilling: int,
    together: int,
    until_event: float,
    answers: int,
) -> tuple[int, int, int]:
    """Offer the line whenever something changes, until there were so many answers or more (no limit when negative).

    `rule`, `weights` and `tables` are as for `numa_decisions.go`, but every part is an answer, and an offer is one at
    least. Whom limits of `tables` keep waiting is not offered. `together` are offered at once. The clock has something
    to do at `until_event`. `levels` int64 [any, servers, nodes, resources] is scratch for what promises leave.

    Changes `state`, `queue`, `tables` and `levels`; makes no arrays, which would take twice as long to compile.
    Returns how many answers were made, why it stopped, and the last answer.
    """
    _, arrival, duration, demands, spread, urgency, nothing = requests
    capacity, free, left, line, due, holder, at, clock = state[:8]
    sequence, outcome, decided, servers, nodes_of, _, holds, log, answered_so_far = state[8:]
    expected, key, offered, until, runs, times, changes, promise, place, sums, counts = queue
    nodes, kinds = left.shape[1], left.shape[2]
    easy, conservative, pure = backfilling == EASY, backfilling == CONSERVATIVE, len(weights) == 0
    reserves, level, passing = easy or conservative, levels[0], levels[1]
    ends, answered = at[loop.ENDS], answered_so_far[0]
    first, last, running, seen = at[loop.FIRST], at[loop.LAST], counts[RUNNING], counts[SEEN]
    now, made, code, status = clock[loop.NOW], 0, -1, loop.ASK
    parts, limits, limited = tables.parts, tables.limits, len(tables.limits.counter) > 0
    keyed = len(key) > 0
    plain = not (limited or keyed)
    most, total, beside, known = sums[0, 0], sums[0, 1], sums[1, 1], 0
    plan = Plan(until, runs, place, demands, spread, parts, nothing)
    if conservative:
        plan = Plan(times, changes, place, demands, spread, parts, nothing)
    while status == loop.ASK and (answers < 0 or made < answers):
        if seen < 0:
            at[loop.ENDS], answered_so_far[0], counts[RUNNING] = ends, answered, running
            at[loop.FIRST], at[loop.LAST], clock[loop.NOW] = first, last, now
            status = to_offer(requests, state, None, tables, queue, together, until_event)
            ends, running, now = at[loop.ENDS], counts[RUNNING], clock[loop.NOW]
            first, last = at[loop.FIRST], at[loop.LAST]
            if status != loop.ASK:
                break
            seen = 0
        # -- one offer: to the first of the line, in their order -------------------------------------------------------
        waiting = last - first
        count = min(waiting, together)
        chosen, reach = line[first:last], first + count
        if not plain:
            waiting, count, chosen = 0 if limited else waiting, 0, offered
            for i in range(first, last if limited else reach):
                row = line[i]
                if limited and is_held(limits, row, now):
                    place[row] = -1
                    continue
                waiting += limited
                if count < together:
                    offered[count], reach = row, i + 1
                    count += 1
        if not waiting:
            seen = -1
            continue
        for i in range(reach if conservative else last, last):
            place[line[i]] = -1  # who is not offered loses a promise
        seen = count - waiting
        if keyed and backfilling != NONE:
            sort(queue, urgency, arrival, now, count)
        while reserves and running > 0 and until[0] <= now:
            # Who should have ended may end at any moment.
            row = runs[0]
            for i in range(running - 1):
                until[i], runs[i] = until[i + 1], runs[i + 1]
            promise[row] = over(now, 0.0)
            expect(until, runs, running - 1, promise[row], row)
        if pure:  # no rule says more for what is larger
            sum_up(sums[0], left, left)
        started, blocked, shadow, low, high, delayed = 0, False, np.inf, 0, 0, -1
        if conservative:
            counts[RUNNING], shadow, high = running, now, len(left)
            known = foresee(plan, queue, level, passing, left, chosen[:count], now)
        for i in range(count):
            if keyed and backfilling == NONE:
                least_first(queue, urgency, arrival, now, i, count)
            row = chosen[i]
            many = parts_of(parts, row)
            large, demand = False, demand_of(demands, row, nothing)
            if conservative:
                known = forget_promise(plan, known, queue, row)
            if limited and full(limits, limits.used, row) >= 0:
                continue
            for r in range(kinds if pure else 0):  # without a branch, which would be guessed wrong
                large |= (demand[r] > most[r]) | (demand[r] * many > total[r])
            if large and blocked and not conservative:
                continue
            if delayed >= 0:  # the first that waits is promised a time when somebody might delay it
                shadow, low, high = promise_places(plan, running, level, left, now, 0.0, delayed)
                sum_up(sums[1], left, level)
                delayed = -1
            code, placed, from_now = -1, 0, over(now, expected[row])
            s, after, hides = low, high, shadow < from_now
            for r in range(kinds if pure and easy and hides else 0):
                large |= demand[r] * many > beside[r]
            if conservative and not large:
                show_least(level, passing, left, plan, known, from_now)
            while not large:
                # -- it sees what is free for as long as it stays, beside what is promised ----------------------------
                while hides and s < after:
                    show_beside(free, left, level, s)
                    s += 1
                counts[OFFERED] = row + placed
                code = rule(free, capacity, demand, spread[row], *weights)
                if code < 0:
                    break
                s = code // nodes
                node = SPREAD if spread[row] else code - s * nodes
                if not fits(left, demand, s, node):
                    status = loop.BROKEN
                    break
                move(left, free, log, demand, s, node, -1)
                servers[row + placed], nodes_of[row + placed] = s, node
                if reserves:
                    place[row + placed] = code
                    if low <= s < high and hides:
                        give(level, demand, s, node, -1)
                placed += 1
                if placed == many:
                    break
                after = s + 1 if low <= s < high else s
            if hides and not large:
                for s in range(low, high):
                    show(left, free, s)
            if status == loop.BROKEN:
                break
            if placed == many:
                for part in range(row, row + many):
                    outcome[part], holds[part], decided[part] = PLACED, loop.HOLDS, now
                    sequence[answered] = part
                    answered += 1
                started += many
                if limited:
                    count_row(limits, row, True)
                if duration[row] < np.inf:
                    push(due, holder, ends, now + duration[row], row)
                    ends += 1
                if reserves:
                    promise[row] = from_now
                    expect(until, runs, running, from_now, row)
                    running += 1
                if conservative:
                    expect(times, changes, known, from_now, row)
                    known += 1
                for r in range(kinds if pure else 0):
                    total[r] -= demand[r] * many
                if easy and blocked:
                    sum_up(sums[1], left, level)
                if plain:
                    reach = first + i + 1
                continue
            code = -1
            for part in range(row, row + placed):
                move(left, free, log, demand, servers[part], nodes_of[part], 1)
                if low <= servers[part] < high and hides:
                    give(level, demand, servers[part], nodes_of[part], 1)
                servers[part], nodes_of[part] = -1, -1
            if backfilling == NONE:
                break
            if easy and not blocked:
                delayed = row
            blocked = True
            if conservative:
                start, _, _ = promise_places(plan, known, level, left, now, expected[row], row)
                if start < np.inf:
                    known = note_promise(plan, known, queue, row, start)
        # -- who has started leaves the line ---------------------------------------------------------------------------
        stays = reach
        for i in range(reach - 1 if started else -1, first - 1, -1):
            if outcome[line[i]] != PLACED:
                stays -= 1
                line[stays] = line[i]
        first = stays if started else first
        made += max(1, started)
        left_over = last - first
        if limited:
            left_over = 0
            for i in range(first, last):
                left_over += not is_held(limits, line[i], now)
        seen = max(0, seen + left_over)  # who starts may keep others from starting
        if left_over == waiting or left_over <= seen:
            seen = -1
    at[loop.FIRST], at[loop.LAST], at[loop.ENDS], answered_so_far[0] = first, last, ends, answered
    counts[RUNNING], counts[SEEN] = running, seen
    clock[loop.NOW] = now
    return made, status, code
