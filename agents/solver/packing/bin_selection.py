"""Choose which bins of several kinds to take: rules, and a lower bound."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.simcore.types import Ints

FINE = 1 << 20
"""How fine the numbers are by which needs are added."""
NOISE = 0.2
"""By how much chance bends what a bin is worth, at most."""
TINY = 1e-9
SECONDS = 0.5
"""Of a search for a set of bins, at most: some ms are usual."""
TRIED = 20
"""Kinds up to which the heuristics try each first."""


class Bought(NamedTuple):
    """A placement, and the bins that it is in."""

    where: Ints
    """[balls]: the bin"""
    which: Ints
    """[bins]: the kind of each bin"""


def fit(demand: Ints, fleet: Fleet, best: bool) -> Bought | None:
    """Put balls of demand [balls, d], by descending products of their shares, into the first or the best bin there is.

    The best has the least left, in shares of what all balls need. Where none has room, a bin is added of the kind that
    has most for its price, of those that take the ball: the mean of its shares of what all balls need, of equals the
    largest. Then one after another each of the kinds, `TRIED` at most, comes before that, and the cheapest placement
    counts, of those the one of fewest bins; each has had its bins `exchanged` for cheaper ones. None if there are not
    enough bins.
    """
    share = demand / np.maximum(fleet.capacity.max(axis=0), 1)
    order = np.argsort(-share.prod(axis=1), kind="stable")
    value = (fleet.capacity / np.maximum(demand.sum(axis=0), 1))[:, demand.any(axis=0)].sum(axis=1)
    ranked = np.lexsort((-value, -value / np.maximum(fleet.price, 1e-3)))
    found = [_fit(demand, fleet, order, ranked, best)]
    if len(ranked) <= TRIED:
        others = (np.append(kind, ranked[ranked != kind]) for kind in ranked[1:].tolist())
        found += [_fit(demand, fleet, order, other, best) for other in others]
    bought = [exchanged(demand, fleet, one) for one in found if one is not None]
    return min(bought, key=lambda one: (fleet.cost(one.which), len(one.which)), default=None)


def _fit(demand: Ints, fleet: Fleet, order: Ints, ranked: Ints, best: bool) -> Bought | None:
    """Put balls, in this order [balls], into bins that are there, or else into one more, of the first kind that can."""
    total = np.maximum(demand.sum(axis=0), 1)
    takes = fleet.takes(demand)
    there = fleet.count.copy()
    free = np.empty_like(demand)
    where, which = np.empty(len(demand), np.int64), np.empty(len(demand), np.int64)
    bins = 0
    for ball in order:
        room = np.flatnonzero((free[:bins] >= demand[ball]).all(axis=1))
        if len(room):
            target = room[np.argmin((free[room] / total).sum(axis=1))] if best else room[0]
        else:
            kind = next((kind for kind in ranked if there[kind] > 0 and takes[ball, kind]), None)
            if kind is None:
                return None
            target, bins = bins, bins + 1
            free[target], which[target] = fleet.capacity[kind], kind
            there[kind] -= 1
        free[target] -= demand[ball]
        where[ball] = target
    return Bought(where, which[:bins])


def emptied(bought: Bought) -> Bought:
    """Leave out the bins that nothing is in."""
    used, where = np.unique(bought.where, return_inverse=True)
    return Bought(where.astype(np.int64), bought.which[used])


def exchanged(demand: Ints, fleet: Fleet, bought: Bought) -> Bought:
    """Leave out empty bins, and take for every other, the dearest first, the cheapest kind that holds what is in it."""
    where, which = emptied(bought)
    load = np.zeros((len(which), demand.shape[1]), np.int64)
    np.add.at(load, where, demand)
    there = fleet.count - np.bincount(which, minlength=len(fleet.count))
    enough = fleet.takes(load)
    for place in np.argsort(-fleet.price[which], kind="stable"):
        better = enough[place] & (there > 0) & (fleet.price < fleet.price[which[place]])
        if better.any():
            cheapest = np.flatnonzero(better)[np.argmin(fleet.price[better])]
            there[which[place]] += 1
            there[cheapest] -= 1
            which[place] = cheapest
    return Bought(where, which)


def needs(demand: Ints, fleet: Fleet) -> list[tuple[int, list[int]]]:
    """List what balls need, and what a bin of each kind [kinds] has of that.

    These are the totals of each resource, and those of the balls that need more of it than some kind has; the bins of
    the larger kinds must have them.
    """
    found = []
    for column, room in zip(demand.T, fleet.capacity.T, strict=True):
        for above in [0, *np.unique(room).tolist()]:
            value = int(column[column > above].sum())
            if value:
                found.append((value, np.where(room > above, room, 0).tolist()))
    every = lower_bound(demand, fleet.capacity.max(axis=0)) if fleet.takes(demand).any(axis=1).all() else 1
    return [*found, (every, [1] * len(fleet.count))]


def least_cost(demand: Ints, fleet: Fleet) -> int:
    """Return what no placement costs less than; more than all bins do, if they are not enough."""
    best, needed = 0, needs(demand, fleet)
    for value, worth in [*needed, together(needed, fleet)]:
        cost = fleet.cover(value, worth)
        if cost is None:
            return int(fleet.price @ np.minimum(fleet.count, len(demand))) + 1
        best = max(best, ceil(cost))
    return best


def together(needed: list[tuple[int, list[int]]], fleet: Fleet) -> tuple[int, list[int]]:
    """Add up what balls need, each times whole numbers such that bins cost as much as possible for that.

    The numbers come from a linear program, and prove what they prove, however good they are.
    """
    from scipy.optimize import linprog

    values, worths = np.array([value for value, _ in needed], float), np.array([worth for _, worth in needed], float)
    rows = worths / values[:, None]
    spans = [(0, float(count)) for count in fleet.count]
    found = linprog(fleet.price.astype(float), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=spans, method="highs")
    if found.x is None:
        return needed[0]
    prices = np.maximum(-found.ineqlin.marginals, 0)
    times = np.rint(prices / max(prices.max(), 1e-9) * FINE / values * values.max()).astype(object)
    value = sum(int(one) * value for one, (value, _) in zip(times, needed, strict=True))
    worth = [sum(int(one) * row[k] for one, (_, row) in zip(times, needed, strict=True)) for k in range(len(rows[0]))]
    return int(value), [int(one) for one in worth]


class Mixes:
    """Proposes bins of several kinds that may be enough."""

    def __init__(self, demand: Ints, fleet: Fleet, seed: int) -> None:
        self.fleet, self.seed = fleet, seed
        needed = needs(demand, fleet)
        alone = np.unique(fleet.takes(demand), axis=0).astype(float)  # some bin takes each ball
        values = np.array([[value] for value, _ in needed], float)
        self._rows = np.concatenate([np.array([worth for _, worth in needed], float) / values, alone])
        self._most = np.minimum(fleet.count, len(demand)).astype(float)
        self._value = (fleet.capacity / np.maximum(demand.sum(axis=0), 1)).sum(axis=1)

    def propose(self, cost: int, number: int) -> Ints | None:
        """Choose bins that have as much as possible, for that cost at most: the kind of each [bins], the largest first.

        They have what `needs` says. Chance bends what kinds are worth, but for proposal number 0. None if there is no
        such set.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        rng = np.random.default_rng([self.seed % 2**63, number])
        value = self._value * (rng.uniform(1 - NOISE, 1 + NOISE, len(self._value)) if number else 1.0)
        rules = [
            LinearConstraint(self._rows, 1 - TINY, np.inf),
            LinearConstraint(self.fleet.price[None, :].astype(float), 0, cost),
        ]
        ones, span = np.ones(len(value)), Bounds(0, self._most)
        found = milp(-value, integrality=ones, bounds=span, constraints=rules, options={"time_limit": SECONDS})
        if found.x is None:
            return None
        kinds = np.argsort(-self._value, kind="stable")
        return np.repeat(kinds, np.rint(found.x).astype(np.int64)[kinds])
