"""Compute a number of equal bins that no placement can do without.

The first step, threshold 0, is the rule of the language (`agents.solver.model.bounds`): the total over the capacity,
and the balls above half of it. Then come, for every resource on its own and for the sum of a ball's shares of all:

- L2 of Martello and Toth, "Lower bounds and reduction procedures for the bin packing problem", Discrete Applied
  Mathematics 28, 1990;
- dual-feasible functions f: whatever shares a bin adds up to no more than f(capacity). Those of Fekete and Schepers
  ("New classes of fast lower bounds for bin packing problems", Mathematical Programming 91, 2001) and of Carlier,
  Clautiaux and Moukrim ("New reduction procedures and lower bounds for the two-dimensional bin packing problem with
  fixed orientation", Computers and Operations Research 34, 2007);

and for all resources together a clique: balls of which no two share a bin, as together they exceed its capacity in some
dimension, or are FOES.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from binwright.simcore.types import Ints

FINE = 1 << 20
"""A share of 1."""
MULTIPLES, STEPS = 24, 200
"""Functions k of Fekete and Schepers that are taken, and step widths of Carlier, Clautiaux and Moukrim's, at most."""
WORK = 300_000
"""Values of each of the two that are computed: some ms."""
MOST = 800
"""Balls of which a clique is made: those with foes, and those with the largest share of any dimension."""
Pairs = Iterable[tuple[int, int]]


def lower_bound(demand: Ints, capacity: Ints, foes: Pairs = ()) -> int:
    """Return the best of all bounds. Every ball of demand [balls, d] must fit an empty bin of capacity [d].

    `foes` are pairs of balls that must not share a bin.
    """
    # Shares are rounded down, so that a bin that can hold some balls can hold them by this sum, too.
    wide = demand.astype(object) if demand.max(initial=0) >= 2**42 else demand
    shares = (wide * FINE // np.maximum(capacity, 1)).sum(axis=1).astype(np.int64)
    best = 1
    for column, of in [*zip(demand.T, capacity.tolist(), strict=True), (shares, FINE * len(capacity))]:
        amounts = np.sort(column)
        most = int(np.searchsorted(np.cumsum(amounts), of, side="right"))  # no bin holds more balls
        best = max(best, l2(amounts, of), -(-len(amounts) // max(most, 1)), *_dual_feasible(amounts, of))
    return max(best, len(clique(demand, capacity, foes, best)))


def l2(amounts: Ints, capacity: int) -> int:
    """Compute L2 of ascending amounts.

    For each threshold up to a half, balls below it do not count. A ball above capacity - threshold is alone; one above
    a half shares its bin with smaller ones only. The balls that find no room beside them need bins of their own.
    """
    sums = np.concatenate([[0], np.cumsum(amounts)])
    middle = int(np.searchsorted(amounts, capacity // 2, side="right"))
    thresholds = np.unique(np.concatenate([[0], amounts[:middle]]))
    first = np.searchsorted(amounts, thresholds, side="left")
    alone = np.searchsorted(amounts, capacity - thresholds, side="right")
    small, large = sums[middle] - sums[first], sums[alone] - sums[middle]
    beside = (alone - middle) * capacity - large
    more = -(-np.maximum(small - beside, 0) // max(capacity, 1))
    return int((len(amounts) - middle + more).max())


def _dual_feasible(amounts: Ints, capacity: int) -> Iterator[int]:
    """Compute a bound by each of the dual-feasible functions."""
    if capacity < 2:
        return
    kinds, counts = np.unique(amounts, return_counts=True)
    each = WORK // len(kinds)
    if capacity * (MULTIPLES + 1) < 2**62 // max(len(amounts), 1):
        for k in range(1, min(MULTIPLES, each) + 1):
            scaled = (k + 1) * kinds
            value = np.where(scaled % capacity == 0, k * kinds, scaled // capacity * capacity)
            yield -(-int(value @ counts) // (k * capacity))
    twice = 2 * kinds
    small = kinds[(kinds > 0) & (twice <= capacity)]
    for step in np.unique(small[np.linspace(0, len(small) - 1, min(len(small), STEPS, each)).astype(int)]).tolist():
        whole = capacity // step
        above = 2 * (whole - (capacity - kinds) // step)
        value = np.where(twice > capacity, above, np.where(twice == capacity, whole, 2 * (kinds // step)))
        yield -(-int(value @ counts) // (2 * whole))


def clique(demand: Ints, capacity: Ints, foes: Pairs = (), enough: int = 0) -> list[int]:
    """Find more than `enough` balls, ascending, of which no two share a bin; empty if none are found.

    Each ball of demand [balls, d] fits capacity [d]. In some orders, each ball is taken that is in conflict with all
    before it.
    """
    share = demand / np.maximum(capacity, 1)
    top = share.max(axis=1, initial=0)
    pairs = [pair for pair in foes if pair[0] != pair[1]]
    top[[ball for pair in pairs for ball in pair]] += 1
    chosen = np.sort(np.argsort(-top, kind="stable")[:MOST])
    share, place = share[chosen], {ball: at for at, ball in enumerate(chosen.tolist())}
    apart = np.zeros((len(chosen), len(chosen)), bool)
    for amounts, room in zip(demand[chosen].T, capacity.tolist(), strict=True):
        apart |= amounts[:, None] > room - amounts
    for first, second in pairs:
        if first in place and second in place:
            apart[place[first], place[second]] = apart[place[second], place[first]] = True
    best: list[int] = []
    for value in (apart.sum(axis=1), share.sum(axis=1), share.max(axis=1, initial=0)):
        taken, may = list[int](), np.ones(len(chosen), bool)
        for ball in np.argsort(-value, kind="stable").tolist():
            if may[ball]:
                taken.append(ball)
                may &= apart[ball]
        best = max(best, taken, key=len)
    return sorted(chosen[best].tolist()) if len(best) > enough else []
