"""Search as Wrasse does: random orders of the balls, group of bins by group of bins.

Rai, Bhagwan and Guha, "Generalized Resource Allocation for the Cloud", SoCC 2012. An attempt takes one way to split the
bins into groups. For each group in turn it puts the balls that are still unplaced into random order, and each ball goes
into the first bin of the group that it fits, from a random one on. Nothing prefers one order to another: it explores.
This is the kernel for processors, one lane without a barrier; all lanes are attempts of their own.

Attempt `number` searches grouping `number % groupings`, and its random numbers are those of the stream (seed, that
grouping, `number // groupings`), one for each ball that is unplaced when a group begins: draw i of m swaps the balls in
places i and i + below(m - i). `agents.solver.backends.attempt` says at which bin of the group a ball begins. Pinned
balls come first.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.backends.attempt import TURNS
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.fabric.array_kernels import overwrite
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


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
def fits(demand: Ints, ball: int, free: Ints, target: int) -> bool:
    """Tell whether free [bins, d] of the target is enough for demand [balls, d] of the ball."""
    for j in range(demand.shape[1]):  # noqa: SIM110 (no generators in kernels)
        if demand[ball, j] > free[target, j]:
            return False
    return True


@kernel
def start(demand: Ints, capacity: Ints, pins: Ints, where: Ints, free: Ints, left: Ints) -> int:
    """Empty the bins but for the pinned balls; returns how many balls are left.

    Writes where [balls], free [bins, d] and left [balls], the balls to place. Pins must fit.
    """
    for target in range(len(capacity)):
        overwrite(free[target], capacity[target])
    count = 0
    for ball in range(len(pins)):
        where[ball] = pins[ball]
        if pins[ball] < 0:
            left[count] = ball
            count += 1
        else:
            for j in range(demand.shape[1]):
                free[pins[ball], j] -= demand[ball, j]
    return count


@kernel
def attempt(
    demand: Ints,
    capacity: Ints,
    pins: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    least: Ints,
    groupings: tuple[Ints, Ints, Ints],
    seed: int,
    number: int,
    stop: Ints,
    where: Ints,
    free: Ints,
    left: Ints,
    open_bins: Ints,
) -> int:
    """Make one attempt; returns how many balls are left. Writes where [balls], free [bins, d], left, open_bins [bins].

    `groupings` are offsets of each grouping's groups, offsets of each group's bins, and the bins. `least` [d] is what
    the smallest ball needs: a bin with less is closed, which changes the speed and nothing else. `stop` [1] is set from
    outside: balls that are not placed then stay so.
    """
    of_groupings, of_groups, members = groupings
    ways = len(of_groupings) - 1
    way = number % ways
    stream = stream_kernel(seed, way, number // ways)
    draws = 0
    count = start(demand, capacity, pins, where, free, left)
    dims = demand.shape[1]
    for group in range(of_groupings[way], of_groupings[way + 1]):
        if stop[0]:
            break
        base, size = of_groups[group], of_groups[group + 1] - of_groups[group]
        bins = size
        for i in range(bins):
            open_bins[i] = i
        still = 0
        for i in range(count):
            j = i + below_kernel(stream, draws, count - i)
            one = draws if number // ways % 2 == 0 else group - of_groupings[way]
            turn = below_kernel(stream, TURNS + one, size)
            draws += 1
            ball = left[j]
            left[j] = left[i]
            k, high = 0, bins
            while k < high:  # the first open bin from there on
                middle = (k + high) // 2
                if open_bins[middle] < turn:
                    k = middle + 1
                else:
                    high = middle
            target = -1
            for _ in range(bins):
                if stop[0]:
                    break
                k = k if k < bins else 0
                one = members[base + open_bins[k]]
                if fits(demand, ball, free, one) and parted(ball, one, where, foes):
                    target = k
                    break
                k += 1
            if target < 0:
                left[still] = ball
                still += 1
                continue
            chosen = members[base + open_bins[target]]
            where[ball] = chosen
            closed = False
            for d in range(dims):
                free[chosen, d] -= demand[ball, d]
                closed = closed or free[chosen, d] < least[d]
            if closed:
                bins -= 1
                for k in range(target, bins):
                    open_bins[k] = open_bins[k + 1]
        count = still
        if count == 0:
            break
    return count


@kernel
def attempts(
    demand: Ints,
    capacity: Ints,
    pins: Ints,
    foes: tuple[Ints, Ints, Ints, Ints],
    least: Ints,
    groupings: tuple[Ints, Ints, Ints],
    seed: int,
    first: int,
    last: int,
    stop: Ints,
    kept: Ints,
) -> tuple[int, int, int]:
    """Make attempts first, ..., last - 1, up to the first that succeeds.

    Returns how many were made, the number of the best, and its balls left. The best leaves the fewest balls; of several
    it has the lowest number. Writes its placement to `kept` [balls].
    """
    bins, balls = len(capacity), len(demand)
    where, left = np.empty(balls, np.int64), np.empty(balls, np.int64)
    free, open_bins = np.empty_like(capacity), np.empty(bins, np.int64)
    best, fewest = first, balls + 1
    for number in range(first, last):
        count = attempt(
            demand, capacity, pins, foes, least, groupings, seed, number, stop, where, free, left, open_bins
        )
        if count < fewest:
            best, fewest = number, count
            kept[:] = where
        if count == 0 or stop[0]:
            return number - first + 1, best, fewest
    return last - first, best, fewest
