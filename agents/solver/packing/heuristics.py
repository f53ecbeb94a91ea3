"""Pack by the three heuristics that Wrasse was compared with, and by best fit of descending balls.

Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for vector bin packing", Microsoft Research, 2011, as used by Rai,
Bhagwan and Guha, SoCC 2012. Demands x and what a bin has left r are shares of a bin's capacity; the weight w of a
resource is its mean demand. Balls that score the same are taken in the order given. All quantities that decide whether
a ball fits are integers; scores are floats, summed from the first resource to the last. All return the bin of each
ball, int64 [balls].
"""

import numpy as np

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
    return _fill(demand, capacity, norm=False)


def norm_greedy(demand: Ints, capacity: Ints) -> Ints:
    """Fill bin by bin, each time with the ball that fits and has the smallest sum of w * (x - r)^2."""
    return _fill(demand, capacity, norm=True)


def _shares(demand: Ints, capacity: Ints) -> Floats:
    """Divide demands by the capacity; where there is none of a resource, nobody needs any."""
    shares: Floats = demand / np.maximum(capacity, 1)
    return shares


def _fit(demand: Ints, capacity: Ints, share: Floats, order: Ints) -> Ints:
    """Put each ball, in this order [balls], into the bin that it fits with the largest sum of shares [balls] so far.

    Of bins with the same sum it is the first.
    """
    where, free, held = np.empty(len(demand), np.int64), np.tile(capacity, (len(demand), 1)), np.zeros(len(demand))
    bins = 0
    for ball in order:
        fitting = np.flatnonzero((free[:bins] >= demand[ball]).all(axis=1))
        target = fitting[held[fitting].argmax()] if len(fitting) else bins
        bins = max(bins, target + 1)
        free[target] -= demand[ball]
        held[target] += share[ball]
        where[ball] = target
    return where


def _fill(demand: Ints, capacity: Ints, *, norm: bool) -> Ints:
    """Open a bin and fill it with the best ball, again and again, until none fits; then the next."""
    shares = _shares(demand, capacity)
    weight = shares.mean(axis=0)
    where, left, target = np.empty(len(demand), np.int64), np.arange(len(demand)), 0
    while len(left):
        free = capacity.copy()
        while len(fitting := left[(demand[left] <= free).all(axis=1)]):
            score = np.zeros(len(fitting))
            for w, x, r in zip(weight, shares[fitting].T, _shares(free, capacity), strict=True):
                score += -(w * (x - r) * (x - r)) if norm else w * x * r
            best = fitting[score.argmax()]
            free -= demand[best]
            where[best] = target
            left = left[left != best]
        target += 1
    return where
