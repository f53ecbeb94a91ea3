"""Search by ruin and recreate, for vector problems, on all cores. This search is ours, not the publication's.

It follows Schrimpf, Schneider, Stamm-Wilbrandt and Dueck, "Record breaking optimization results using the ruin and
recreate principle", Journal of Computational Physics 159, 2000. An attempt begins with a first fit of balls by
descending weight, each weight multiplied by chance. A step empties a few random bins and puts their balls and some
unplaced ones back in, by first fit in such an order again. The step stands if the weight of all unplaced balls does not
grow: steps that change nothing but the mix let the search drift. Attempts differ in their random numbers, and in how
far chance bends the order by size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import inf

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel, word
from binwright.agents.solver.search.first_fit import fit, fits, parted, take
from binwright.agents.solver.search.packing import Packing
from binwright.fabric.array_kernels import overwrite
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

RUIN = "ruin and recreate"
GROUP = -1
"""The group in the key of its random numbers: no group of bins has it."""
SPREADS = (2048, 4096, 512, 8192)
"""By how many 1024ths chance may raise a weight, attempt by attempt."""
MOST_BINS, MOST_UNPLACED = 4, 8
"""Bins emptied, and unplaced balls offered, in one step."""
STEPS, SLICE = 16, 2000
"""Steps per ball of a short attempt; steps between two looks at the clock."""


def attempts(
    problem: Problem, packing: Packing, seed: int, first: int, count: int, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 at a problem, of which `packing` is the dense form.

    It is up to the first success, yields the best now and then, and begins nothing after `monotonic()` is `until`.
    `checked` counts steps.
    """
    stop = np.zeros(1, np.int64)
    attempt = _attempt(packing, word(seed), stop, not problem.searched)
    nothing = Result(int((packing.pins < 0).sum()), packing.pins, 0, 0)
    for best in in_waves(attempt, range(first, first + count), nothing, until=until, halt=lambda: stop.fill(1)):
        yield Found(best.where[problem.unit_of].tolist(), best.left, best.attempt, 0, best.checked, RUIN)


@cache
def prepare() -> None:
    """Compile the search, or read what is kept of it."""
    tiny = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 2)
    _attempt(tiny, 0, np.zeros(1, np.int64), True)(0, lambda: False)


def _attempt(packing: Packing, seed: int, stop: Ints, spread: bool) -> Callable[[int, Callable[[], bool]], Result]:
    given = packing.demand, packing.capacity, packing.pins, packing.foe_sets, packing.weight

    def attempt(number: int, cancelled: Callable[[], bool]) -> Result:
        where, draws = begin(packing, seed, number, stop, spread and number == 0), 0
        left, made, most = int((where < 0).sum()), 0, luby(number) * STEPS * len(where)
        while left and made < most and not cancelled():
            left, draws = improve(*given, seed, number, draws, SLICE, where)
            made += SLICE
        return Result(left, where, number, made + 1)

    return attempt


def luby(number: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, ...: restarts that are never far from the best (Luby, Sinclair and Zuckerman 1993)."""
    while (number + 2) & (number + 1):
        number -= (1 << ((number + 1).bit_length() - 1)) - 1
    return (number + 2) >> 1


def begin(packing: Packing, seed: int, number: int, stop: Ints, spread: bool = False) -> Ints:
    """Make the first fit that an attempt begins with: the bin of each ball, int64 [balls], or -1.

    In attempts of even numbers balls that may stay where they are now do; if all are nowhere, and this is to `spread`
    them, those that fit go into random bins. `stop` [1] is set from outside.
    """
    where, now = packing.pins.copy(), packing.now
    if spread and (now == NULL).all() and len(packing.capacity):
        now = np.random.default_rng(seed % 2**63).integers(len(packing.capacity), size=len(now))
    if number % 2 == 0 and (now != NULL).any():
        stay(packing.demand, packing.capacity.copy(), packing.foe_sets, now, where)
    key = packing.weight.copy()
    bend(key, seed, number)
    order = np.argsort(-key, kind="stable")
    fit(packing, packing.capacity, where, order[where[order] == NULL], stop)
    return where


@kernel
def bend(key: Ints, seed: int, number: int) -> None:
    """Multiply weights by chance."""
    start, spread = stream_kernel(seed, GROUP, -1 - number), SPREADS[number % len(SPREADS)]
    for ball in range(len(key)):
        key[ball] *= 1024 + below_kernel(start, ball, spread)


@kernel
def stay(demand: Ints, free: Ints, foes: tuple[Ints, Ints, Ints, Ints], now: Ints, where: Ints) -> None:
    """Leave the balls that may stay in the bin where they are `now`, in order; writes where [balls] and free."""
    for ball in range(len(where)):
        if where[ball] >= 0:
            take(demand, ball, free, where[ball], 1)
    for ball in range(len(where)):
        here = now[ball]
        if where[ball] < 0 and here >= 0 and fits(demand, ball, free, here) and parted(ball, here, where, foes):
            where[ball] = here
            take(demand, ball, free, here, 1)


@kernel
def improve(
    demand: Ints,
    capacity: Ints,
    pins: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    weight: Ints,
    seed: int,
    number: int,
    draws: int,
    steps: int,
    where: Ints,
) -> tuple[int, int]:
    """Make so many more steps of an attempt, fewer if it succeeds; writes where [balls].

    Returns how many balls are unplaced, and the random numbers drawn, of which there were `draws` before.
    """
    start, spread = stream_kernel(seed, GROUP, number), SPREADS[number % len(SPREADS)]
    balls, dims = demand.shape
    bins = len(capacity)
    most = min(MOST_BINS, bins)
    free, head, after = capacity.copy(), np.full(bins, -1), np.empty(balls, np.int64)
    chosen, room = np.empty(most, np.int64), np.empty((most, dims), np.int64)
    left, offered, key, put = (
        np.empty(balls, np.int64), np.empty(balls, np.int64), np.empty(balls, np.int64), np.empty(balls, np.int64)
    )  # fmt: skip
    count = 0
    for ball in range(balls):
        target = where[ball]
        if target < 0:
            left[count] = ball
            count += 1
            continue
        take(demand, ball, free, target, 1)
        if pins[ball] < 0:
            after[ball] = head[target]
            head[target] = ball
    for _ in range(steps):
        if count == 0:
            break
        # Two bins in half of all steps, more in fewer: small steps are the cheap ones.
        draw = below_kernel(start, draws, 8)
        emptied = min(most, 2 if draw < 4 else 3 if draw < 6 else 1 if draw < 7 else 4)
        draws += 1
        for a in range(emptied):
            again = True
            while again:
                chosen[a] = below_kernel(start, draws, bins)
                draws += 1
                again = False
                for b in range(a):
                    again = again or chosen[b] == chosen[a]
        # The unplaced balls that are offered go to the end of `left`, and from there into `offered`.
        many = min(count, MOST_UNPLACED)
        kept = count - many
        out = 0  # by how much the weight of the unplaced balls grows
        for i in range(many):
            last = count - 1 - i
            j = below_kernel(start, draws, last + 1)
            draws += 1
            left[j], left[last] = left[last], left[j]
            offered[i] = left[last]
            out -= weight[offered[i]]
        for a in range(emptied):
            overwrite(room[a], free[chosen[a]])
            ball = head[chosen[a]]
            while ball >= 0:
                offered[many] = ball
                many += 1
                where[ball] = -1
                take(demand, ball, room, a, -1)
                ball = after[ball]
        for i in range(many):
            ball = offered[i]
            value = weight[ball] * (1024 + below_kernel(start, draws, spread))
            draws += 1
            j = i
            while j > 0 and key[j - 1] < value:
                key[j], offered[j] = key[j - 1], offered[j - 1]
                j -= 1
            key[j], offered[j] = value, ball
        for i in range(many):
            ball = offered[i]
            put[i] = -1
            for a in range(emptied):
                if fits(demand, ball, room, a) and parted(ball, chosen[a], where, foes):
                    put[i] = a
                    where[ball] = chosen[a]
                    take(demand, ball, room, a, 1)
                    break
            if put[i] < 0:
                out += weight[ball]
                if out > 0:
                    break
        if out > 0:
            for i in range(many):
                where[offered[i]] = -1
            for a in range(emptied):
                ball = head[chosen[a]]
                while ball >= 0:
                    where[ball] = chosen[a]
                    ball = after[ball]
            continue
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
                after[ball] = head[chosen[put[i]]]
                head[chosen[put[i]]] = ball
    return int(count), draws
