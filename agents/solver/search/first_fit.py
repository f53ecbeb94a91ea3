"""Answer a vector problem, however many balls it has, by first fit.

Next fit takes its place where nothing is compiled yet.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from math import inf
from time import monotonic

import numpy as np

from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


def first_fit(packing: Packing, capacity: Ints, until: float = inf) -> Ints:
    """Put the heaviest balls first, each into the first bin of capacity [bins, d] that takes it: int64 [balls], or -1.

    Those that are left when `monotonic()` is `until` are put by `next_fit`, which takes no time.
    """
    stop, where = np.zeros(1, np.int64), packing.pins.copy()
    with ThreadPoolExecutor(1) as pool:  # so that Ctrl-C is heard
        task = pool.submit(fit, packing, capacity, where, _order(packing, where), stop)
        try:
            wait([task], None if until == inf else max(0.0, until - monotonic()))
        finally:
            stop[:] = 1
        return where if task.result() else next_fit(packing, capacity, where)


def fit(packing: Packing, capacity: Ints, where: Ints, order: Ints, stop: Ints) -> bool:
    """Put balls in this order into the first bins that take them beside those that are placed in `where` [balls].

    Writes `where`; returns whether it was not stopped.
    """
    bins, dims = capacity.shape
    size: int = 1 << max(0, bins - 1).bit_length()
    # Of each resource a tree, entry n with the larger of entries 2 n and 2 n + 1: what a bin of the subtree has free.
    free = np.full((2 * size, dims), -1)
    free[size : size + bins] = capacity
    placed = np.flatnonzero(where != NULL)
    np.subtract.at(free, size + where[placed], packing.demand[placed])
    for level in range(size.bit_length() - 2, -1, -1):
        low = 1 << level
        free[low : 2 * low] = np.maximum(free[2 * low : 4 * low : 2], free[2 * low + 1 : 4 * low : 2])
    return _fit(packing.demand, free, bins, packing.foe_sets, order, where, stop)


def next_fit(packing: Packing, capacity: Ints, before: Ints) -> Ints:
    """Put the balls that have no bin `before` [balls] into the bin of the one before it, or the next empty one.

    Balls with foes are alone.
    """
    where, demand = before.tolist(), packing.demand.tolist()
    foes = {ball for members in packing.foes for ball in members}
    nowhere = {members[0] for members in packing.foes if len(members) == 1}  # its own foe
    place = int(before.max(initial=NULL))
    free: list[int] = []
    for ball in _order(packing, before).tolist():
        if ball in nowhere:
            continue
        if not free or ball in foes or any(need > has for need, has in zip(demand[ball], free, strict=True)):
            if place + 1 == len(capacity) or (packing.demand[ball] > capacity[place + 1]).any():
                continue
            place += 1
            free = capacity[place].tolist()
        where[ball] = place
        free = [has - need for need, has in zip(demand[ball], free, strict=True)] if ball not in foes else []
    return np.array(where, np.int64)


def _order(packing: Packing, where: Ints) -> Ints:
    """Sort the balls that have no bin: the heaviest first, equal ones one after another."""
    order: Ints = np.lexsort((*packing.demand.T, -packing.weight))
    left: Ints = order[where[order] == NULL]
    return left


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
def parted(ball: int, target: int, where: Ints, foes: tuple[Ints, Ints, Ints, Ints]) -> bool:
    """Tell whether the ball may join this bin: of each of its sets of foes, another member must be elsewhere."""
    offsets, members, of_offsets, of_sets = foes
    for at in range(of_offsets[ball], of_offsets[ball + 1]):
        apart = False
        for place in range(offsets[of_sets[at]], offsets[of_sets[at] + 1]):
            other = members[place]
            if other != ball and where[other] != target:
                apart = True
                break
        if not apart:
            return False
    return True


@kernel
def _fit(
    demand: Ints, free: Ints, bins: int, foes: tuple[Ints, Ints, Ints, Ints], order: Ints, where: Ints, stop: Ints
) -> bool:
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
        while node > 0:
            enough = True
            for d in range(dims):
                enough = enough and demand[ball, d] <= free[node, d]
            if enough and node < size:
                node *= 2
            elif enough and parted(ball, node - size, where, foes):
                break
            else:
                while node & 1:
                    node >>= 1
                node += 1 if node > 0 else 0
        before, start = ball, node - size if node > 0 else bins
        if foes[2][ball] < foes[2][ball + 1]:
            before = -1
        if node == 0:
            continue
        where[ball] = node - size
        for d in range(dims):
            free[node, d] -= demand[ball, d]
        while node > 1:
            node >>= 1
            for d in range(dims):
                free[node, d] = max(free[2 * node, d], free[2 * node + 1, d])
    return True
