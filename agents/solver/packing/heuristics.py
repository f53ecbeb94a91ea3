"""Pack by the three heuristics that Wrasse was compared with, and by best fit of descending balls.

Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for vector bin packing", Microsoft Research, 2011, as used by Rai,
Bhagwan and Guha, SoCC 2012. Demands x and what a bin has left r are shares of a bin's capacity; the weight w of a
resource is its mean demand. Balls that score the same are taken in the order given. All quantities that decide whether
a ball fits are integers; scores are floats, summed from the first resource to the last. All return the bin of each
ball, int64 [balls].
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.search.packing import fits
from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats, Ints


def ffd_prod(demand: Ints, capacity: Ints) -> Ints:
    """Put each ball into the first bin that it fits, in the order of descending products of demand [balls, d]."""
    shares = _shares(demand, capacity)
    return _fit(demand, capacity, np.zeros(len(demand)), np.argsort(-shares.prod(axis=1), kind="stable"))


def bfd_sum(demand: Ints, capacity: Ints) -> Ints:
    """Put each ball into the bin with the least left that it fits, in the order of descending sums of shares."""
    share = _shares(demand, capacity).sum(axis=1)
    return _fit(demand, capacity, share, np.argsort(-share, kind="stable"))


def dot_product(demand: Ints, capacity: Ints) -> Ints:
    """Fill bin by bin, each time with the ball that fits and has the largest sum of w * x * r."""
    return _fill(demand, capacity, _shares(demand, capacity).mean(axis=0), False)


def norm_greedy(demand: Ints, capacity: Ints) -> Ints:
    """Fill bin by bin, each time with the ball that fits and has the smallest sum of w * (x - r)^2."""
    return _fill(demand, capacity, _shares(demand, capacity).mean(axis=0), True)


def _shares(demand: Ints, capacity: Ints) -> Floats:
    """Divide demands by the capacity; where there is none of a resource, nobody needs any."""
    return demand / np.maximum(capacity, 1)


@kernel
def _fit(demand: Ints, capacity: Ints, share: Floats, order: Ints) -> Ints:
    """Put each ball, in this order [balls], into the bin that it fits with the largest sum of shares [balls] so far.

    Of bins with the same sum it is the first.
    """
    balls = len(demand)
    where = np.empty(balls, np.int64)
    free = np.empty_like(demand)
    held = np.zeros(balls)
    bins = 0
    for ball in order:
        target = -1
        for place in range(bins):
            if (target < 0 or held[place] > held[target]) and fits(demand, ball, free, place):
                target = place
        if target < 0:
            target = bins
            free[bins] = capacity
            bins += 1
        free[target] -= demand[ball]
        held[target] += share[ball]
        where[ball] = target
    return where


@kernel
def _fill(demand: Ints, capacity: Ints, weight: Floats, norm: bool) -> Ints:
    """Open a bin and fill it with the best ball, again and again, until none fits; then the next. weight [d]."""
    balls, dims = demand.shape
    where, left = np.empty(balls, np.int64), np.arange(balls)
    free = np.empty((1, dims), np.int64)
    count, target = balls, 0
    while count:
        free[0] = capacity
        best = 0
        while best >= 0:
            best, highest = -1, 0.0
            for place in range(count):
                ball = left[place]
                if not fits(demand, ball, free, 0):
                    continue
                score = 0.0
                for d in range(dims):
                    of = np.float64(max(capacity[d], 1))
                    x, r = demand[ball, d] / of, free[0, d] / of
                    score += -(weight[d] * (x - r) * (x - r)) if norm else weight[d] * x * r
                if best < 0 or score > highest:
                    best, highest = place, score
            if best >= 0:
                free[0] -= demand[left[best]]
                where[left[best]] = target
                count -= 1
                left[best:count] = left[best + 1 : count + 1].copy()
        target += 1
    return where
