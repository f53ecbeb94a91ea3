"""Place the balls of vector problems by first fit, however many there are, or bin by bin."""

from typing import Any, cast

import numpy as np

from binwright.agents.solver.backends.cpu import Over, never
from binwright.agents.solver.model.problem import Matrix
from binwright.agents.solver.model.program import NULL
from binwright.simcore.jit import kernel
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Ints

NODES, FEW = 10_000, 5_000
"""Balls that are tried for a bin that is filled, and of how many balls bins are filled at most."""
BLOCK, SLICE = 8, 1000
"""Bins that first fit passes over at once, if it can, and balls between two looks at the clock."""
TINY = Matrix(np.full((3, 1), 2), np.full((3, 1), 3), (), np.arange(3)[:, None])
"""What searches are compiled with."""


def first_fit(packing: Matrix, over: Over = never) -> Ints:
    """Put the heaviest balls first, each into the first bin that takes it: int64 [balls], or -1.

    If time is `over` before all are tried, it is `next_fit` instead, which takes no time.
    """
    order, where = descending(packing, weights(packing)), np.full(len(packing.demand), NULL)
    free = packing.capacity.copy()
    most = np.maximum.reduceat(free, np.arange(0, len(free), BLOCK))
    for begin in range(0, len(order), SLICE):
        if over():
            return next_fit(packing)
        fit(packing.demand, free, most, order[begin : begin + SLICE], where)
    return where


def fullest_bins(packing: Matrix, over: Over = never) -> Ints:
    """Fill equal bins one by one: int64 [balls], or -1. If that takes long, or time is `over`, it is `next_fit`.

    So it is, too, if a ball fits no bin.
    """
    if over() or len(packing.demand) > FEW or (packing.demand > packing.capacity[0]).any():
        return next_fit(packing)
    weight, where = weights(packing), np.empty(len(packing.demand), np.int64)
    fill(packing.demand, weight, packing.capacity[:1], descending(packing, weight), where)
    return np.where(where < len(packing.capacity), where, NULL)


def is_loaded() -> bool:
    """Tell whether this process has the machine code of first fit."""
    return bool(cast(Any, fit).overloads)


def weights(packing: Matrix) -> Ints:
    """Weigh balls, int64 [balls], from 1: by their shares of a mean bin, the scarcer a resource the more."""
    share = packing.demand / np.maximum(packing.capacity.mean(axis=0), 1)
    scarcity = share.sum(axis=0)
    scarcity /= max(scarcity.max(), 1e-9)
    weight: Ints = 1 + np.minimum(np.rint(rows_dot(share, scarcity) * 1e6), 1e9).astype(np.int64)
    return weight


def descending(packing: Matrix, weight: Ints) -> Ints:
    """Order balls by descending weight, equal ones one after another."""
    return np.lexsort((*packing.demand.T, -weight))


def next_fit(packing: Matrix) -> Ints:
    """Put each ball into the bin of the one before it, or the next one: int64 [balls], or -1. That takes no time."""
    # Bins that take no ball, such as those to be empty, are passed over.
    bins = np.flatnonzero((packing.capacity >= packing.demand.min(axis=0)).all(axis=1)).tolist()
    where, place, free = list[int](), NULL, [NULL] * packing.demand.shape[1]
    for demand in packing.demand.tolist():
        if any(need > has for need, has in zip(demand, free, strict=True)):
            if place + 1 == len(bins) or (demand > packing.capacity[bins[place + 1]]).any():
                where.append(NULL)
                continue
            place += 1
            free = packing.capacity[bins[place]].tolist()
        where.append(bins[place])
        free = [has - need for need, has in zip(demand, free, strict=True)]
    return np.array(where, np.int64)


@kernel
def fits(demand: Ints, ball: int, free: Ints, at: int) -> bool:
    """Tell whether free [..., d] is enough there for demand [balls, d] of the ball."""
    for d in range(demand.shape[1]):  # noqa: SIM110 (no generators in kernels)
        if demand[ball, d] > free[at, d]:
            return False
    return True


@kernel
def fit(demand: Ints, free: Ints, most: Ints, order: Ints, where: Ints) -> None:
    """Put balls in this order into the first bins that take them; writes their bins to `where` [balls].

    Blocks of bins none of which has enough of some resource are passed over: `most` [blocks, d] is of what is `free`.
    """
    bins, before, start = len(free), -1, 0
    for ball in order:
        # Where one ball finds no room, another one like it does not either.
        place = start if before >= 0 and (demand[ball] == demand[before]).all() else 0
        while place < bins and not fits(demand, ball, free, place):
            place += 1
            while place < bins and place % BLOCK == 0 and not fits(demand, ball, most, place // BLOCK):
                place += BLOCK
        before, start = ball, place
        if place < bins:
            where[ball] = place
            free[place] -= demand[ball]
            block = place - place % BLOCK
            for d in range(demand.shape[1]):
                most[block // BLOCK, d] = free[block : block + BLOCK, d].max()


@kernel
def take(demand: Ints, ball: int, free: Ints, sign: int) -> None:
    """Take demand [balls, d] of the ball off free [1, d], or give it back: `sign` is 1 or -1."""
    for d in range(demand.shape[1]):
        free[0, d] -= sign * demand[ball, d]


@kernel
def fill(demand: Ints, weight: Ints, capacity: Ints, left: Ints, where: Ints) -> None:
    """Fill bin by bin with the first ball that is left, and those that weigh most beside it; writes to `where` [balls].

    `left` has the balls by descending weight, `capacity` [1, d] is that of each bin. What weighs most is looked for
    depth first, and not to the end: Gupta and Ho, "A new heuristic algorithm for the one-dimensional bin-packing
    problem", Production Planning & Control 10, 1999.
    """
    chosen, best, place = np.zeros(len(left), np.int64), np.zeros(len(left), np.int64), 0
    while len(left) > 0:
        count, free = len(left), capacity.copy()
        take(demand, left[0], free, 1)
        size, most, total, heaviest, i = 1, 1, 0, 0, 1
        for _ in range(NODES + count):
            if i < count:
                if fits(demand, left[i], free, 0):
                    take(demand, left[i], free, 1)
                    total += weight[left[i]]
                    chosen[size] = i
                    size += 1
                    if total > heaviest:
                        heaviest, most = total, size
                        best[:size] = chosen[:size]
                i += 1
            elif size > 1:
                size -= 1
                i = chosen[size]
                take(demand, left[i], free, -1)
                total -= weight[left[i]]
                same = i
                while i < count and (demand[left[i]] == demand[left[same]]).all():
                    i += 1  # another one like it makes no difference
            else:
                break
        stays = np.ones(count, np.bool_)
        stays[best[:most]] = False
        where[left[~stays]] = place
        left, place = left[stays], place + 1
