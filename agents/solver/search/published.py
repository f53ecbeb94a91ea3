"""Make published attempts at vector problems on processors, some fifteen times as fast as on the general form.

Rai, Bhagwan and Guha, "Generalized Resource Allocation for the Cloud", SoCC 2012. Attempt and numbers are those of
`agents.solver.backends.attempt`; number n is attempt n // groupings in grouping n % groupings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import inf

import numpy as np

from binwright.agents.solver.backends.attempt import TURNS
from binwright.agents.solver.backends.flat import groups_of
from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import below_kernel, stream_kernel, word
from binwright.agents.solver.search.first_fit import fits, parted, take
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

CHUNK = 1 << 16
"""Balls that a chunk of attempts looks at, roughly: some 10 ms."""


def attempts(
    problem: Problem, packing: Packing, seed: int, first: int, count: int, until: float = inf
) -> Iterator[Found]:
    """Make chunks of attempts, up to the first success, numbered as those of other searches; yields the best so far."""
    stop, each = np.zeros(1, np.int64), max(1, CHUNK // len(packing.demand))
    given = packing.demand, packing.capacity, packing.pins, packing.foe_sets, packing.demand.min(axis=0)
    groups = groups_of(problem)

    def attempt(chunk: int, _: Callable[[], bool]) -> Result:
        where = np.empty(len(packing.demand), np.int64)
        made, best, left = search(*given, groups, word(seed), chunk * each, (chunk + 1) * each, stop, where)
        return Result(left, where, best, made)

    nothing = Result(int((packing.pins < 0).sum()), packing.pins, 0, 0)
    for best in in_waves(attempt, range(first, first + count), nothing, until=until, halt=lambda: stop.fill(1)):
        yield Found(best.where[problem.unit_of].tolist(), best.left, best.attempt, 0, best.checked)


@cache
def prepare() -> None:
    """Compile the search, or read what is kept of it."""
    tiny, one = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 2), np.arange(2)
    given = tiny.demand, tiny.capacity, tiny.pins, tiny.foe_sets, np.full(1, 2)
    search(*given, (one, np.array([0, 2]), one), 0, 0, 1, np.zeros(1, np.int64), np.empty(3, np.int64))


@kernel
def search(
    demand: Ints, capacity: Ints, pins: Ints, foes: tuple[Ints, Ints, Ints, Ints], least: Ints,
    groups: tuple[Ints, Ints, Ints], seed: int, first: int, last: int, stop: Ints, kept: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Make attempts first, ..., last - 1, up to the first success: (attempts made, the best's number, its balls left).

    Writes the best placement to `kept` [balls]. `groups` are the offsets of each grouping's groups and of each group's
    bins, and the bins. A bin that has less free than `least` [d], what the smallest ball needs, is closed.
    """
    balls = len(demand)
    where, left = np.empty(balls, np.int64), np.empty(balls, np.int64)
    open_bins = np.empty(len(capacity), np.int64)
    best, fewest = first, balls + 1
    for number in range(first, last):
        free = capacity.copy()
        count = 0
        for ball in range(balls):
            where[ball] = pins[ball]
            if pins[ball] < 0:
                left[count] = ball
                count += 1
            else:
                take(demand, ball, free, pins[ball], 1)
        count = attempt(demand, foes, least, groups, seed, number, stop, where, free, left, open_bins, count)
        if count < fewest:
            best, fewest = number, count
            kept[:] = where
        if count == 0 or stop[0]:
            return number - first + 1, best, fewest
    return last - first, best, fewest


@kernel
def attempt(
    demand: Ints, foes: tuple[Ints, Ints, Ints, Ints], least: Ints, groups: tuple[Ints, Ints, Ints], seed: int,
    number: int, stop: Ints, where: Ints, free: Ints, left: Ints, open_bins: Ints, count: int,
) -> int:  # fmt: skip
    """Place the first `count` balls of `left` beside pinned ones; returns how many are left. Writes where and free."""
    of_ways, of_groups, members = groups
    ways = len(of_ways) - 1
    way = number % ways
    start, draws = stream_kernel(seed, way, number // ways), 0
    for group in range(of_ways[way], of_ways[way + 1]):
        if stop[0] or count == 0:
            break
        base, size = of_groups[group], of_groups[group + 1] - of_groups[group]
        bins, still = size, 0
        for i in range(size):
            open_bins[i] = i
        for i in range(count):
            j = i + below_kernel(start, draws, count - i)
            turn = below_kernel(start, TURNS + (draws if number // ways % 2 == 0 else group - of_ways[way]), size)
            draws += 1
            ball = left[j]
            left[j] = left[i]
            k = int(np.searchsorted(open_bins[:bins], turn))  # the first open bin from there on
            target = -1
            for _ in range(bins):
                if stop[0]:
                    break
                k = k if k < bins else 0
                chosen = members[base + open_bins[k]]
                if fits(demand, ball, free, chosen) and parted(ball, chosen, where, foes):
                    target = chosen
                    break
                k += 1
            if target < 0:
                left[still] = ball
                still += 1
                continue
            where[ball] = target
            take(demand, ball, free, target, 1)
            closed = False
            for d in range(demand.shape[1]):
                closed = closed or free[target, d] < least[d]
            if closed:
                bins -= 1
                for other in range(k, bins):
                    open_bins[other] = open_bins[other + 1]
        count = still
    return count
