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
from math import inf

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import Found, in_waves
from binwright.agents.solver.local.runs import luby
from binwright.agents.solver.local.state import SPREADS
from binwright.agents.solver.model.dense import Matrix
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import RUIN, below_kernel, stream_kernel, word
from binwright.agents.solver.solving.first_fit import fit, fits, take
from binwright.fabric.array_kernels import overwrite
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


def attempts(problem: Problem, seed: int, first: int, count: int, until: float = inf) -> Iterator[Found]:
    """Make attempts at a vector problem, as `solving.searches.Search` says; `checked` counts steps."""
    packing = problem.packing
    assert packing is not None
    stop, weight, seed = np.zeros(1, np.int64), packing.weigh(), word(seed)

    def attempt(number: int, cancelled: Callable[[], bool]) -> Found:
        where, draws, made, most = begin(packing, weight, seed, number, stop), 0, 0, luby(number) * 16 * len(weight)
        left, _ = improve(*packing[:2], weight, seed, number, draws, 0, where)  # compiles it, even if time is over
        while left and made < most and not cancelled():
            left, draws = improve(*packing[:2], weight, seed, number, draws, 2000, where)
            made += 2000
        return Found(left, where[problem.unit_of], number, made + 1)

    return in_waves(attempt, range(first, first + count), until, stop)


def begin(packing: Matrix, weight: Ints, seed: int, number: int, stop: Ints) -> Ints:
    """Make the first fit that an attempt begins with: the bin of each ball, int64 [balls], or -1.

    `stop` [1] is set from outside.
    """
    rng, where = np.random.default_rng((seed % 2**64, number)), np.full(len(weight), NULL)
    key = weight * (1024 + rng.integers(SPREADS[number % len(SPREADS)], size=len(weight)))
    fit(packing.demand, packing.capacity, np.argsort(-key, kind="stable"), where, stop)
    return where


@kernel
def improve(
    demand: Ints, capacity: Ints, weight: Ints, seed: int, number: int, draws: int, steps: int, where: Ints
) -> tuple[int, int]:
    """Make so many more steps of an attempt, fewer if it succeeds; writes where [balls].

    Returns how many balls are unplaced, and the random numbers drawn, of which there were `draws` before.
    """
    start, spread = stream_kernel(seed, RUIN, number), SPREADS[number % len(SPREADS)]
    balls, dims, bins = len(demand), demand.shape[1], len(capacity)
    free, head, after = capacity.copy(), np.full(bins, NULL), np.empty(balls, np.int64)
    chosen, room = np.arange(bins), np.empty((4, dims), np.int64)
    left, offered = np.empty(balls, np.int64), np.empty(balls, np.int64)
    key, put = np.empty(balls, np.int64), np.empty(balls, np.int64)
    count = 0
    for ball in range(balls):
        target = where[ball]
        if target < 0:
            left[count] = ball
            count += 1
            continue
        take(demand, ball, free, target, 1)
        after[ball] = head[target]
        head[target] = ball
    for _ in range(steps):
        if count == 0:
            break
        # Two bins in half of all steps, more in fewer: small steps are the cheap ones.
        draw = below_kernel(start, draws, 8)
        emptied = min(bins, 2 if draw < 4 else 3 if draw < 6 else 1 if draw < 7 else 4)
        draws += 1
        for a in range(emptied):
            b = a + below_kernel(start, draws, bins - a)
            chosen[a], chosen[b] = chosen[b], chosen[a]
            draws += 1
        # The unplaced balls that are offered go to the end of `left`, and from there into `offered`.
        many = min(count, 8)
        remaining = count - many
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
                if fits(demand, ball, room, a):
                    put[i] = a
                    take(demand, ball, room, a, 1)
                    break
            if put[i] < 0:
                out += weight[ball]
                if out > 0:
                    break
        if out > 0:
            continue
        count = remaining
        for a in range(emptied):
            overwrite(free[chosen[a]], room[a])
            head[chosen[a]] = -1
        for i in range(many):
            ball = offered[i]
            if put[i] < 0:
                where[ball] = -1
                left[count] = ball
                count += 1
            else:
                where[ball] = chosen[put[i]]
                after[ball] = head[chosen[put[i]]]
                head[chosen[put[i]]] = ball
    return int(count), draws
