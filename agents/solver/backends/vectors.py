"""Place the balls of vector problems by first fit, however many there are."""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, cast

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import LOOK, Over, never
from binwright.agents.solver.model.problem import Matrix
from binwright.agents.solver.model.program import NULL
from binwright.simcore.jit import kernel
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Ints

TINY = Matrix(np.full((3, 1), 2), np.full((3, 1), 3), (), np.arange(3)[:, None])
"""What searches are compiled with."""


def first_fit(packing: Matrix, over: Over = never) -> Ints:
    """Put the heaviest balls first, each into the first bin that takes it: int64 [balls], or -1.

    If time is `over` before all are tried, it is `next_fit` instead, which takes no time.
    """
    if over():
        return next_fit(packing)
    stop, where = np.zeros(1, np.int64), np.full(len(packing.demand), NULL)
    order = np.lexsort((*packing.demand.T, -weights(packing)))  # equal ones one after another
    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(fit, packing.demand, packing.capacity, order, where, stop)
        while wait([task], LOOK).not_done:
            stop[:] |= over()
        return where if task.result() else next_fit(packing)


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
def fits(demand: Ints, ball: int, free: Ints, target: int) -> bool:
    """Tell whether free [bins, d] of the target is enough for demand [balls, d] of the ball."""
    for d in range(demand.shape[1]):  # noqa: SIM110 (no generators in kernels)
        if demand[ball, d] > free[target, d]:
            return False
    return True


@kernel
def take(demand: Ints, ball: int, free: Ints, target: int, sign: int) -> None:
    """Take what a ball needs off free [bins, d] of the target, or give it back."""
    for d in range(demand.shape[1]):
        free[target, d] -= sign * demand[ball, d]


@kernel
def fit(demand: Ints, capacity: Ints, order: Ints, where: Ints, stop: Ints) -> bool:
    """Put balls in this order into the first bins that take them; writes their bins to `where` [balls].

    Returns whether it was not stopped: `stop` [1] is set from outside.
    """
    bins, dims = capacity.shape
    size = 1
    while size < bins:
        size *= 2
    # Of each resource a tree, entry n with the larger of entries 2 n and 2 n + 1: what a bin of the subtree has free.
    free = np.full((2 * size, dims), -1)
    free[size : size + bins] = capacity
    for node in range(size - 1, 0, -1):
        for d in range(dims):
            free[node, d] = max(free[2 * node, d], free[2 * node + 1, d])
    before, start = -1, 0
    for ball in order:
        if stop[0]:
            return False
        same = before >= 0
        for d in range(dims):
            same = same and demand[ball, d] == demand[before, d]
        if not same:  # where one ball finds no room, another one like it does not either
            start = 0
        node = size + start if start < bins else 0
        while node > 0 and not (fits(demand, ball, free, node) and node >= size):
            if fits(demand, ball, free, node):
                node *= 2
            else:
                while node & 1:
                    node >>= 1
                node += 1 if node > 0 else 0
        before, start = ball, node - size if node > 0 else bins
        if node > 0:
            where[ball] = node - size
            take(demand, ball, free, node, 1)
        while node > 1:
            node >>= 1
            for d in range(dims):
                free[node, d] = max(free[2 * node, d], free[2 * node + 1, d])
    return True
