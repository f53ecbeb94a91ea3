"""Search for the cheapest bins of several kinds by ruin and recreate. This search is ours.

A step closes a few bins. Their balls, the heavier first as far as chance does not bend that, go into other bins or into
new ones: for every kind that there is it is tried which balls one would take, and the kind that takes the most weight
for its price is opened, bent by chance, too. The step stands if the bins then cost at most a little more than the
cheapest so far, less and less as a run goes on (Dueck, "New optimization heuristics: the great deluge algorithm and
the record-to-record travel", Journal of Computational Physics 104, 1993).
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.agents.solver.search.published import fits
from binwright.agents.solver.search.ruin import SPREADS
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

GROUP = -2
"""The group in the key of its random numbers."""
MOST_BINS = 5
"""Bins closed in one step."""
PROBES = 24
"""Other bins, at most, that a ball is offered to."""
BINS, COST, DRAWS, BEST, BEST_BINS = 0, 1, 2, 3, 4
"""What `tally` int64 [5] holds: bins and their cost, random numbers drawn, the lowest cost so far and its bins."""

State = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]
"""Where [balls], which [balls], free [balls, d], left of each kind [kinds], tally [5], first ball of each bin [balls],
the next [balls], and the cheapest so far: where [balls], which [balls]. There are no more bins than balls."""


def state(demand: Ints, capacity: Ints, count: Ints, price: Ints, where: Ints, which: Ints) -> State:
    """Begin with a placement [balls] into bins of these kinds [bins], none of which is empty."""
    balls, bins = len(demand), len(which)
    kinds, free = np.zeros(balls, np.int64), np.zeros_like(demand)
    kinds[:bins] = which
    free[:bins] = capacity[which]
    np.subtract.at(free, where, demand)
    head, after = np.full(balls, -1), np.full(balls, -1)
    for ball, target in enumerate(where.tolist()):
        after[ball] = head[target]
        head[target] = ball
    cost = int(price[which].sum())
    left = count - np.bincount(which, minlength=len(count))
    return (
        where.copy(),
        kinds,
        free,
        left,
        np.array([bins, cost, 0, cost, bins]),
        head,
        after,
        where.copy(),
        kinds.copy(),
    )


@kernel
def improve(
    demand: Ints, capacity: Ints, price: Ints, weight: Ints, seed: int, number: int, steps: int, band: int, state: State
) -> int:
    """Make so many more steps of run `number`; one stands if bins cost at most `band` more than the cheapest so far.

    Takes demand [balls, d], capacity [kinds, d], price [kinds] and weight [balls]; writes the state. Returns the lowest
    cost so far.
    """
    where, which, free, left, tally, head, after, best_where, best_which = state
    stream = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    balls, dims = demand.shape
    kinds = len(price)
    offered, key, put = np.empty(balls, np.int64), np.empty(balls, np.int64), np.empty(balls, np.int64)
    room, opened = np.empty((balls, dims), np.int64), np.empty(balls, np.int64)
    chosen, closed = np.empty(MOST_BINS, np.int64), np.zeros(balls, np.bool_)
    spare = np.empty(dims, np.int64)
    bins, cost, draws = tally[BINS], tally[COST], tally[DRAWS]
    for _ in range(steps):
        draw = below_kernel(stream, draws, 8)
        emptied = min(bins, 1 if draw < 1 else 2 if draw < 4 else 3 if draw < 6 else 4 if draw < 7 else MOST_BINS)
        draws += 1
        many, now = 0, cost
        for a in range(emptied):
            target = below_kernel(stream, draws, bins)
            draws += 1
            while closed[target]:
                target = target + 1 if target + 1 < bins else 0
            chosen[a] = target
            closed[target] = True
            left[which[target]] += 1
            now -= price[which[target]]
            ball = head[target]
            while ball >= 0:
                offered[many] = ball
                many += 1
                ball = after[ball]
        for i in range(many):  # sorted by bent weights, the largest first
            ball = offered[i]
            value = weight[ball] * (1024 + below_kernel(stream, draws, spread))
            draws += 1
            j = i
            while j > 0 and key[j - 1] < value:
                key[j] = key[j - 1]
                offered[j] = offered[j - 1]
                j -= 1
            key[j] = value
            offered[j] = ball
        # Half of all steps fill other bins first.
        waiting = many
        others = below_kernel(stream, draws, 2) == 0
        draws += 1
        for i in range(many):
            put[i] = -1
            if not others:
                continue
            target = below_kernel(stream, draws, bins)
            draws += 1
            for _ in range(min(bins, PROBES)):
                if not closed[target] and fits(demand, offered[i], free, target):
                    put[i] = target
                    waiting -= 1
                    for d in range(dims):
                        free[target, d] -= demand[offered[i], d]
                    break
                target = target + 1 if target + 1 < bins else 0
        new = 0
        limit = tally[BEST] + band
        while waiting > 0 and now <= limit:
            best, most = -1, -1.0
            for kind in range(kinds):
                if left[kind] <= 0 or now + price[kind] > limit:
                    continue
                for d in range(dims):
                    spare[d] = capacity[kind, d]
                taken = 0
                for i in range(many):
                    if put[i] < 0:
                        enough = True
                        for d in range(dims):
                            enough = enough and demand[offered[i], d] <= spare[d]
                        if enough:
                            taken += weight[offered[i]]
                            for d in range(dims):
                                spare[d] -= demand[offered[i], d]
                value = taken / (price[kind] + 0.001) * (1024 + below_kernel(stream, draws, spread) // 4)
                draws += 1
                if taken > 0 and value > most:
                    best, most = kind, value
            if best < 0:
                break
            for d in range(dims):
                room[new, d] = capacity[best, d]
            for i in range(many):
                if put[i] < 0 and fits(demand, offered[i], room, new):
                    put[i] = balls + new
                    waiting -= 1
                    for d in range(dims):
                        room[new, d] -= demand[offered[i], d]
            opened[new] = best
            left[best] -= 1
            now += price[best]
            new += 1
        for a in range(emptied):
            closed[chosen[a]] = False
        if waiting > 0 or now > limit:
            for i in range(many):
                if 0 <= put[i] < balls:
                    for d in range(dims):
                        free[put[i], d] += demand[offered[i], d]
            for a in range(new):
                left[opened[a]] += 1
            for a in range(emptied):
                left[which[chosen[a]]] -= 1
            continue
        # The new bins take the places of the closed ones; the last bins fill those that stay empty.
        cost = now
        for a in range(emptied):
            head[chosen[a]] = -1
        for a in range(new):
            target = chosen[a] if a < emptied else bins + a - emptied
            which[target] = opened[a]
            head[target] = -1
            for d in range(dims):
                free[target, d] = room[a, d]
        for i in range(many):
            target = put[i]
            if target >= balls:
                a = target - balls
                target = chosen[a] if a < emptied else bins + a - emptied
            where[offered[i]] = target
            after[offered[i]] = head[target]
            head[target] = offered[i]
        bins += max(0, new - emptied)
        for _hole in range(emptied - new):
            hole = -1  # the highest of those that are left, so that the last bin is not one of them
            for b in range(new, emptied):
                if chosen[b] >= 0 and (hole < 0 or chosen[b] > chosen[hole]):
                    hole = b
            target = chosen[hole]
            chosen[hole] = -1
            bins -= 1
            if target < bins:
                which[target] = which[bins]
                head[target] = head[bins]
                for d in range(dims):
                    free[target, d] = free[bins, d]
                ball = head[target]
                while ball >= 0:
                    where[ball] = target
                    ball = after[ball]
        if cost < tally[BEST] or (cost == tally[BEST] and bins < tally[BEST_BINS]):
            tally[BEST], tally[BEST_BINS] = cost, bins
            best_where[:] = where
            best_which[:] = which
    tally[BINS], tally[COST], tally[DRAWS] = bins, cost, draws
    return int(tally[BEST])
