"""Runs requests that are offered together as one compiled loop: the batch queue, with its orders and backfilling.

`simcore.engine` defines when requests are offered, and `agents.heuristics.in_line` what becomes of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric.availability import at_once, earliest, just_after, over, overdrawn, take
from fabric.compiled.heap import pop, push
from fabric.compiled.numa_loop import (
    ALL,
    ANSWERED,
    ASK,
    BROKEN,
    ENDS,
    HEAD,
    OVER,
    TAIL,
    NumaRequests,
    NumaState,
    demand_of,
    fits,
    move,
)
from fabric.compiled.queue_line import (
    ASKED,
    CONSERVATIVE,
    COUNTED,
    EASY,
    FIRST,
    LAST,
    NONE,
    NOWHERE,
    RUNNING,
    SEEN,
    Queue,
    add,
    choose,
    enter,
    expect,
    forget,
    hide,
    needed,
    node_of,
    room_on,
    show,
)
from fabric.servers import fits_node, fits_spread, why_not
from simcore.jit import kernel
from simcore.record import PLACED, REJECTED, SPREAD


@kernel
def go_line(
    rule: Any,
    weights: Any,
    asked: NumaRequests,
    state: NumaState,
    queue: Queue,
    backfilling: int,
    together: int,
    window: float,
    answers: int,
) -> tuple[int, int, int]:
    """Offer the line whenever something changes, until there were so many answers (without limit when negative).

    `rule` and `weights` are as for `numa_loop.go`. `together` are offered at once, at multiples of `window` if that is
    not 0. An offer counts as one answer at least.

    Changes `state` and `queue`. Returns how many answers were made, why it stopped, and the last answer.
    """
    rows, arrival, duration, demands, spread, nothing = asked
    capacity, free, left, due, holder, at, clock, sequence, outcome, decided, servers, nodes_of, reason, log = state
    expected, rank, _, _, line, offered, _, until, runs, promise, place, offering, counts = queue
    nodes, kinds = left.shape[1], left.shape[2]
    reserves = backfilling in (EASY, CONSERVATIVE)
    pure = len(weights) == 0
    tail, ends, answered = at[TAIL], at[ENDS], at[ANSWERED]
    first, last, running, seen = counts[FIRST], counts[LAST], counts[RUNNING], counts[SEEN]
    now, made, code, status = clock[0], 0, -1, ASK
    need, extra, most = np.zeros(nodes * kinds, np.int64), np.zeros(nodes * kinds, np.int64), np.zeros(kinds, np.int64)
    level = np.zeros_like(left) if backfilling == EASY else left[:0].copy()
    size = 64 if backfilling == CONSERVATIVE else 0
    times = np.zeros((len(left), size))
    levels = np.zeros((len(left), size, nodes * kinds), np.int64)
    steps = np.zeros(len(left), np.int64)
    least = np.zeros(kinds, np.int64)
    for r in range(kinds if pure and len(rows) else 0):
        least[r] = demands[rows[0], r]
        for row in rows:
            least[r] = min(least[r], demands[row, r])
    while status == ASK and made != answers:
        if seen < 0:
            # -- let time go on to the next offer ---------------------------------------------------------------------
            while True:
                coming = arrival[rows[tail]] if tail < len(rows) else np.inf
                if coming == np.inf and first == last:
                    status = OVER
                    break
                target = min(coming, offering[0])
                if target == np.inf:
                    if not ends:
                        status = OVER
                        break
                    target = due[0]
                eager, changed = offering[0] == np.inf and first < last, False
                while ends > 0 and due[0] <= target:
                    row, now = holder[0], due[0]
                    ends -= 1
                    pop(due, holder, ends)
                    move(left, free, log, demand_of(demands, row, nothing), servers[row], nodes_of[row], 1)
                    if reserves:
                        forget(until, runs, running, promise[row], row)
                        running -= 1
                    if eager and (not ends or due[0] > now):
                        changed = True
                        break
                if not changed:
                    now = target
                while tail < len(rows) and arrival[rows[tail]] <= now:
                    changed = changed or last - first < together
                    enter(line, first, last, rank, rows[tail])
                    last += 1
                    tail += 1
                if changed and first < last and offering[0] == np.inf:
                    offering[0] = max(now, np.ceil(now / window) * window) if window else now
                if offering[0] <= now:
                    offering[0] = np.inf
                    seen = 0
                    break
            if status != ASK:
                break
        # -- one offer -------------------------------------------------------------------------------------------------
        waiting = last - first
        count = min(waiting, together)
        seen = count - waiting
        counts[FIRST], counts[LAST] = first, last
        plain = not len(queue.divisor) and (count == waiting or not len(rank))
        chosen, begin = (line, first) if plain else (offered, 0)
        if not plain:
            choose(queue, arrival, now, first, count)
        soon, full = just_after(now), False
        while reserves and running > 0 and until[0] <= now:
            # Who should have ended may end at any moment.
            row = runs[0]
            for i in range(running - 1):
                until[i], runs[i] = until[i + 1], runs[i + 1]
            promise[row] = soon
            expect(until, runs, running - 1, soon, row)
        if pure:  # no rule says more for so small a question
            most[:] = 0
            for s in range(len(left)):
                for r in range(kinds):
                    total = 0
                    for n in range(nodes):
                        total += left[s, n, r]
                    most[r] = max(most[r], total)
            for r in range(kinds):
                full = full or most[r] < least[r]
        if backfilling == CONSERVATIVE:
            bound = 2 * (count + running) + 4
            if bound * 2 > times.shape[1]:
                times = np.zeros((len(left), 4 * bound))
                levels = np.zeros((len(left), 4 * bound, nodes * kinds), np.int64)
            for again in range(2):
                for s in range(len(left)):
                    times[s, 0], steps[s] = now, 1
                    levels[s, 0] = left[s].reshape(nodes * kinds)
                for i in range(running):
                    if until[i] < np.inf:
                        row = runs[i]
                        s = servers[row]
                        needed(need, demand_of(demands, row, nothing), nodes_of[row], nodes)
                        steps[s] = take(times[s], levels[s], steps[s], until[i], np.inf, need, -1)
                if again:
                    for i in range(begin, begin + count):
                        place[chosen[i]] = -1
                    break
                for i in range(begin, begin + count):
                    row = chosen[i]
                    if place[row] >= 0:
                        promise[row] = max(promise[row], now)
                        s = place[row] // nodes
                        needed(need, demand_of(demands, row, nothing), node_of(place[row], spread[row], nodes), nodes)
                        end = over(promise[row], expected[row])
                        steps[s] = take(times[s], levels[s], steps[s], promise[row], end, need, 1)
                short = False
                for s in range(len(left)):
                    short = short or overdrawn(levels[s], steps[s])
                if not short:
                    break
        started, blocked, shadow, reserved, far = 0, False, np.inf, -1, -1
        for i in range(begin, begin + count):
            row = chosen[i]
            large = False
            for r in range(kinds if pure else 0):
                large |= demands[row, r] > most[r]
            if pure and blocked and backfilling != CONSERVATIVE:
                if full:
                    break
                if large:
                    continue
            mine, promised = -1, now
            if backfilling == CONSERVATIVE and place[row] >= 0:
                mine, promised = place[row], promise[row]
            demand = demand_of(demands, row, nothing)
            code, counts[ASKED] = -1, row
            if mine >= 0:
                s = mine // nodes
                needed(need, demand, node_of(mine, spread[row], nodes), nodes)
                steps[s] = take(times[s], levels[s], steps[s], promised, over(promised, expected[row]), need, -1)
                place[row] = -1
            if not large:
                hidden = 0
                if backfilling == CONSERVATIVE or reserved >= 0:
                    for s in range(0 if reserved < 0 else reserved, len(left) if reserved < 0 else reserved + 1):
                        for n in range(1 if spread[row] else nodes):
                            node = SPREAD if spread[row] else n
                            if not (fits_spread(left, s, demand) if spread[row] else fits_node(left, s, n, demand)):
                                continue
                            needed(need, demand, node, nodes)
                            if backfilling == CONSERVATIVE:
                                harmless = at_once(times[s], levels[s], steps[s], expected[row], need)
                            else:
                                harmless = shadow > now and shadow >= now + expected[row]
                                if not harmless:
                                    harmless = True
                                    for k in range(len(need)):
                                        harmless = harmless and extra[k] >= need[k]
                            if not harmless:
                                hide(free, s, node)
                                hidden += 1
                code = rule(free, capacity, demand, spread[row], *weights)
                if hidden:
                    for s in range(0 if reserved < 0 else reserved, len(left) if reserved < 0 else reserved + 1):
                        show(left, free, s)
            if code >= 0:
                s = code // nodes
                node = SPREAD if spread[row] else code - s * nodes
                if not fits(left, demand, s, node):
                    status = BROKEN
                    break
                move(left, free, log, demand, s, node, -1)
                outcome[row], servers[row], nodes_of[row], decided[row] = PLACED, s, node, now
                sequence[answered] = row
                answered += 1
                started += 1
                end = now + duration[row]
                if duration[row] < np.inf:
                    push(due, holder, ends, end, row)
                    ends += 1
                if reserves:
                    needed(need, demand, node, nodes)
                    end = over(now, expected[row])
                    if backfilling == CONSERVATIVE:
                        steps[s] = take(times[s], levels[s], steps[s], now, end, need, 1)
                    elif s == reserved and end > shadow:
                        extra -= need
                    promise[row] = now + expected[row]
                    expect(until, runs, running, promise[row], row)
                    running += 1
                if pure and len(left) == 1:
                    for r in range(kinds):
                        most[r] -= demand[r]
                        full = full or most[r] < least[r]
                if plain:
                    line[i], far = -1, i
                continue
            code = -1
            if backfilling == NONE:
                break
            if backfilling == EASY and not blocked:
                # -- when does the first that waits have room? --------------------------------------------------------
                level[:] = left
                time, ended = now, 0
                for s in range(len(left)):
                    if reserved < 0 and room_on(level, s, demand, spread[row]) != NOWHERE:
                        reserved = s
                while reserved < 0 and ended < running and until[ended] < np.inf:
                    time = max(until[ended], soon)
                    while ended < running and max(until[ended], soon) == time:
                        other, s = runs[ended], servers[runs[ended]]
                        add(level, demand_of(demands, other, nothing), s, nodes_of[other])
                        if (reserved < 0 or s < reserved) and room_on(level, s, demand, spread[row]) != NOWHERE:
                            reserved = s
                        ended += 1
                if reserved >= 0:
                    shadow = time
                    needed(need, demand, room_on(level, reserved, demand, spread[row]), nodes)
                    extra[:] = level[reserved].reshape(nodes * kinds) - need
            blocked = True
            if backfilling == CONSERVATIVE:
                best, start = -1, np.inf
                for s in range(len(left)):
                    for n in range(1 if spread[row] else nodes):
                        needed(need, demand, SPREAD if spread[row] else n, nodes)
                        found = earliest(times[s], levels[s], steps[s], expected[row], need)
                        if found < start:
                            best, start = s * nodes + n, found
                if best >= 0:
                    s = best // nodes
                    needed(need, demand, node_of(best, spread[row], nodes), nodes)
                    end = over(start, expected[row])
                    steps[s] = take(times[s], levels[s], steps[s], start, end, need, 1)
                    promise[row], place[row] = start, best
        # -- who has started leaves the line ---------------------------------------------------------------------------
        if started:
            if not plain:
                far = last - 1
                for i in range(first, last):
                    if outcome[line[i]] == PLACED:
                        line[i] = -1
            stays = far + 1
            for i in range(far, first - 1, -1):
                if line[i] >= 0:
                    stays -= 1
                    line[stays] = line[i]
            first = stays
        counted = max(1, started)
        made += counted
        if answers >= 0:
            made = min(made, answers)
        counts[COUNTED] += counted
        seen += last - first
        if last - first == waiting or last - first <= seen:
            seen = -1
    if status == OVER:
        line[first:last] = np.sort(line[first:last])
    while status == OVER and first < last:  # they would wait for ever
        row = line[first]
        demand = demand_of(demands, row, nothing)
        outcome[row], reason[row], decided[row] = REJECTED, why_not(left, demand, spread[row]), now
        sequence[answered] = row
        answered += 1
        first += 1
    if status == OVER:
        at[ALL] = 1
    at[HEAD], at[TAIL], at[ENDS], at[ANSWERED] = answered, tail, ends, answered
    counts[FIRST], counts[LAST], counts[RUNNING], counts[SEEN] = first, last, running, seen
    clock[0] = now
    return made, status, code
