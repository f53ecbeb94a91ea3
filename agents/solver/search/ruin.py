"""Search by ruin and recreate, for bin-local problems. This search is ours, not the publication's.

It follows Schrimpf, Schneider, Stamm-Wilbrandt and Dueck, "Record breaking optimization results using the ruin and
recreate principle", Journal of Computational Physics 159, 2000. An attempt begins with a first fit of balls by
descending weight, each weight multiplied by chance. A step empties a few random bins and puts their balls and some
unplaced ones back in, by first fit in such an order again. The step stands if the weight of all unplaced balls does not
grow: steps that change nothing but the mix let the search drift. Attempts differ in their random numbers, and in how
far chance bends the order by size.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.agents.solver.search.published import fits, parted, start
from binwright.fabric.array_kernels import ascending, overwrite
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

GROUP = -1
"""The group in the key of its random numbers: no group of bins has it."""
SPREADS = (2048, 4096, 512, 8192)
"""By how many 1024ths chance may raise a weight, attempt by attempt."""
MOST_BINS, MOST_UNPLACED = 4, 8
"""Bins emptied, and unplaced balls offered, in one step."""
LEFT, WEIGHT, DRAWS = 0, 1, 2
"""What `tally` int64 [3] holds: unplaced balls, their weight, random numbers drawn."""


State = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""Where [balls], free [bins, d], unplaced [balls], tally [3], first ball of each bin [bins], the next [balls]."""


def state(demand: Ints, capacity: Ints) -> State:
    """Make the room for an attempt."""
    each = np.empty((3, len(demand)), np.int64)
    bins = np.empty(len(capacity), np.int64)
    return each[0], np.empty_like(capacity), each[1], np.empty(3, np.int64), bins, each[2]


@kernel
def stay(
    demand: Ints,
    now: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    where: Ints,
    free: Ints,
    left: Ints,
    head: Ints,
    after: Ints,
    count: int,
) -> int:
    """Put those of the first `count` balls of `left` that may stay where they are now there, in order.

    Writes the state; returns how many of `left` are unplaced still.
    """
    still = 0
    for i in range(count):
        ball = left[i]
        here = now[ball]
        if here >= 0 and fits(demand, ball, free, here) and parted(ball, here, where, foes):
            where[ball] = here
            after[ball] = head[here]
            head[here] = ball
            for d in range(demand.shape[1]):
                free[here, d] -= demand[ball, d]
        else:
            left[still] = ball
            still += 1
    return still


@kernel
def begin(
    demand: Ints,
    capacity: Ints,
    pins: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    least: Ints,
    weight: Ints,
    now: Ints,
    seed: int,
    number: int,
    turning: bool,
    stop: Ints,
    state: State,
) -> int:
    """Make the first fit that an attempt begins with. Writes the state; returns how many balls are unplaced.

    Balls that may stay where they are `now` [balls], or -1, do. If `turning`, it goes round from a random bin on.
    `stop` [1] is set from outside: balls that are not placed then stay so.
    """
    where, free, left, tally, head, after = state
    stream = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    head[:] = -1
    count = stay(demand, now, foes, where, free, left, head, after, start(demand, capacity, pins, where, free, left))
    key = np.empty(count, np.int64)
    for i in range(count):
        key[i] = -weight[left[i]] * (1024 + below_kernel(stream, i, spread))
    order = left[ascending(key)]
    tally[DRAWS] = 2 * count
    bins = len(capacity)
    open_bins = np.arange(bins)
    still, total = 0, 0
    for at, ball in enumerate(order):
        target = -1
        turn = below_kernel(stream, count + at, bins) if turning and bins else 0
        for i in range(bins):
            if stop[0]:
                break
            k = turn + i if turn + i < bins else turn + i - bins
            if fits(demand, ball, free, open_bins[k]) and parted(ball, open_bins[k], where, foes):
                target = k
                break
        if target < 0:
            left[still] = ball
            still += 1
            total += weight[ball]
            continue
        chosen = open_bins[target]
        where[ball] = chosen
        after[ball] = head[chosen]
        head[chosen] = ball
        closed = False
        for d in range(demand.shape[1]):
            free[chosen, d] -= demand[ball, d]
            closed = closed or free[chosen, d] < least[d]
        if closed:
            bins -= 1
            for k in range(target, bins):
                open_bins[k] = open_bins[k + 1]
    tally[LEFT], tally[WEIGHT] = still, total
    return still


@kernel
def improve(
    demand: Ints,
    capacity: Ints,
    pins: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    weight: Ints,
    seed: int,
    number: int,
    steps: int,
    state: State,
) -> int:
    """Make so many more steps of an attempt, fewer if it succeeds.

    Writes the state; returns how many balls are unplaced.
    """
    where, free, left, tally, head, after = state
    stream = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    balls, dims = demand.shape
    bins = len(capacity)
    most = min(MOST_BINS, bins)
    chosen, room = np.empty(most, np.int64), np.empty((most, dims), np.int64)
    offered, key, put = np.empty(balls, np.int64), np.empty(balls, np.int64), np.empty(balls, np.int64)
    count, total, draws = tally[LEFT], tally[WEIGHT], tally[DRAWS]
    for _ in range(steps):
        if count == 0:
            break
        # Two bins in half of all steps, more in fewer: small steps are the cheap ones.
        draw = below_kernel(stream, draws, 8)
        emptied = min(most, 2 if draw < 4 else 3 if draw < 6 else 1 if draw < 7 else 4)
        draws += 1
        for a in range(emptied):
            again = True
            while again:
                chosen[a] = below_kernel(stream, draws, bins)
                draws += 1
                again = False
                for b in range(a):
                    again = again or chosen[b] == chosen[a]
        # The unplaced balls that are offered go to the end of `left`, and from there into `offered`.
        many = min(count, MOST_UNPLACED)
        kept = count - many
        unplaced = total
        for i in range(many):
            last = count - 1 - i
            j = below_kernel(stream, draws, last + 1)
            draws += 1
            ball = left[j]
            left[j] = left[last]
            left[last] = ball
            offered[i] = ball
            unplaced -= weight[ball]
        for a in range(emptied):
            overwrite(room[a], free[chosen[a]])
            ball = head[chosen[a]]
            while ball >= 0:
                offered[many] = ball
                many += 1
                where[ball] = -1
                for d in range(dims):
                    room[a, d] += demand[ball, d]
                ball = after[ball]
        for i in range(many):
            ball = offered[i]
            value = weight[ball] * (1024 + below_kernel(stream, draws, spread))
            draws += 1
            j = i
            while j > 0 and key[j - 1] < value:
                key[j] = key[j - 1]
                offered[j] = offered[j - 1]
                j -= 1
            key[j] = value
            offered[j] = ball
        stands = True
        for i in range(many):
            ball = offered[i]
            put[i] = -1
            for a in range(emptied):
                if fits(demand, ball, room, a) and parted(ball, chosen[a], where, foes):
                    put[i] = a
                    where[ball] = chosen[a]
                    for d in range(dims):
                        room[a, d] -= demand[ball, d]
                    break
            if put[i] < 0:
                unplaced += weight[ball]
                if unplaced > total:
                    stands = False
                    break
        if stands:
            total = unplaced
            count = kept
            for a in range(emptied):
                overwrite(free[chosen[a]], room[a])
                head[chosen[a]] = -1
            for i in range(many):
                ball = offered[i]
                if put[i] < 0:
                    left[count] = ball
                    count += 1
                else:
                    target = chosen[put[i]]
                    after[ball] = head[target]
                    head[target] = ball
        else:
            for i in range(many):
                where[offered[i]] = -1
            for a in range(emptied):
                ball = head[chosen[a]]
                while ball >= 0:
                    where[ball] = chosen[a]
                    ball = after[ball]
    tally[LEFT], tally[WEIGHT], tally[DRAWS] = count, total, draws
    return int(count)
