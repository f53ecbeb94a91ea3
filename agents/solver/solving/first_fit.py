"""Answer vector problems, however many balls they have, by first fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from math import inf
from time import monotonic
from typing import Any, NamedTuple, cast

import numpy as np

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.jit import kernel
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Ints


class Packing(NamedTuple):
    """Balls, and bins whose capacity no dimension may exceed: there is no other rule. Nothing here is ever written."""

    demand: Ints
    """[balls, d], none below zero"""
    capacity: Ints
    """[bins, d], none below zero"""

    @classmethod
    def of(cls, problem: Problem) -> Packing | None:
        """Make it of a problem of the language, with the problem's `units` for balls; None if other rules count, too.

        There are such with PIN, NOW, DRAIN, FOES and wishes, and where amounts are below zero.
        """
        matrix = problem.matrix if problem.balls else None
        if matrix is None or len(problem.foes) or problem.drained.any() or (problem.friends.chance < MICRO).any():
            return None
        if (problem.pins != NULL).any() or (problem.now != NULL).any() or min(part.min() for part in matrix[:2]) < 0:
            return None
        demand = np.add.reduceat(matrix.demand[problem.units.members], problem.units.offsets[:-1], axis=0)
        return cls(demand, np.ascontiguousarray(matrix.capacity))

    def weigh(self) -> Ints:
        """Weigh balls, int64 [balls], from 1: by their shares of a mean bin, the scarcer a resource the more."""
        share = self.demand / np.maximum(self.capacity.mean(axis=0), 1)
        scarcity = share.sum(axis=0)
        scarcity /= max(scarcity.max(), 1e-9)
        weight: Ints = 1 + np.minimum(np.rint(rows_dot(share, scarcity) * 1e6), 1e9).astype(np.int64)
        return weight


TINY = Packing(np.full((3, 1), 2), np.full((3, 1), 3))
"""What searches are compiled with."""


def first_fit(packing: Packing, until: float = inf) -> Ints:
    """Put the heaviest balls first, each into the first bin that takes it: int64 [balls], or -1.

    Those that are left when `monotonic()` is `until` are put by `next_fit`, which takes no time.
    """
    stop, where = np.zeros(1, np.int64), np.full(len(packing.demand), NULL)
    order = np.lexsort((*packing.demand.T, -packing.weigh()))  # equal ones one after another
    with ThreadPoolExecutor(1) as pool:  # so that Ctrl-C is heard
        task = pool.submit(fit, packing, where, order, stop)
        try:
            wait([task], None if until == inf else max(0.0, until - monotonic()))
        finally:
            stop[:] = 1
        return where if task.result() else next_fit(packing, where)


def fit(packing: Packing, where: Ints, order: Ints, stop: Ints) -> bool:
    """Put balls in this order into the first bins that take them beside those that are placed in `where` [balls].

    Writes `where`; returns whether it was not stopped: `stop` [1] is set from outside.
    """
    bins, dims = packing.capacity.shape
    size: int = 1 << max(0, bins - 1).bit_length()
    # Of each resource a tree, entry n with the larger of entries 2 n and 2 n + 1: what a bin of the subtree has free.
    free = np.full((2 * size, dims), -1)
    free[size : size + bins] = packing.capacity
    placed = np.flatnonzero(where != NULL)
    np.subtract.at(free, size + where[placed], packing.demand[placed])
    for level in range(size.bit_length() - 2, -1, -1):
        low = 1 << level
        free[low : 2 * low] = np.maximum(free[2 * low : 4 * low : 2], free[2 * low + 1 : 4 * low : 2])
    return _fit(packing.demand, free, bins, order, where, stop)


def is_compiled() -> bool:
    """Tell whether this process has the machine code of first fit."""
    return bool(cast(Any, _fit).overloads)


def next_fit(packing: Packing, before: Ints) -> Ints:
    """Put each ball that has no bin `before` [balls] into the bin of the one before it, or the next empty one."""
    where, place = before.tolist(), int(before.max(initial=NULL))
    free: list[int] = [NULL] * packing.demand.shape[1]
    for ball in np.flatnonzero(before == NULL).tolist():
        demand = packing.demand[ball].tolist()
        if any(need > has for need, has in zip(demand, free, strict=True)):
            if place + 1 == len(packing.capacity) or (demand > packing.capacity[place + 1]).any():
                continue
            place += 1
            free = packing.capacity[place].tolist()
        where[ball] = place
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
def _fit(demand: Ints, free: Ints, bins: int, order: Ints, where: Ints, stop: Ints) -> bool:
    """Write the bins of the balls in `order` to `where` [balls], and the trees `free` [2 size, d].

    Returns whether it was not stopped.
    """
    size, dims = len(free) // 2, demand.shape[1]
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
