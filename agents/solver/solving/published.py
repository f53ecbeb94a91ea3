"""Make published attempts at vector problems on processors, four to twelve times as fast as on the general form.

Rai, Bhagwan and Guha, "Generalized Resource Allocation for the Cloud", SoCC 2012. Attempt and numbers are those of
`agents.solver.backends.attempt`; number n is attempt n // groupings in grouping n % groupings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from binwright.agents.solver.backends.attempt import TURNS
from binwright.agents.solver.backends.flat import groups_of
from binwright.agents.solver.backends.numbered_attempts import Found, in_waves
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import below_kernel, stream_kernel, word
from binwright.agents.solver.solving.first_fit import fits, take
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


def attempts(problem: Problem, seed: int, first: int, count: int, until: float = inf) -> Iterator[Found]:
    """Make chunks of attempts, up to the first success, numbered as those of other searches; yields the best so far."""
    assert problem.packing is not None
    demand, capacity, _ = problem.packing
    each = max(1, 65_536 // len(demand))  # some 10 ms
    stop, groups = np.zeros(1, np.int64), groups_of(problem)

    def attempt(chunk: int, _: Callable[[], bool]) -> Found:
        where = np.empty(len(demand), np.int64)
        made, best, left = search(demand, capacity, groups, word(seed), chunk * each, (chunk + 1) * each, stop, where)
        return Found(left, where[problem.unit_of], best, made)

    return in_waves(attempt, range(first, first + count), until, stop)


@kernel
def search(
    demand: Ints, capacity: Ints, groups: tuple[Ints, Ints, Ints], seed: int, first: int, last: int, stop: Ints,
    best: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Make attempts first, ..., last - 1, up to the first success: (attempts made, the best's number, its balls left).

    Writes the best placement to `best` [balls]. `groups` are the offsets of each grouping's groups and of each group's
    bins, and the bins.
    """
    where = np.empty(len(demand), np.int64)
    number, which, fewest = first, first, len(demand) + 1
    while number < last and fewest > 0 and not (stop[0] and number > first):
        left = attempt(demand, capacity.copy(), groups, seed, number, stop, where)
        if left < fewest:
            which, fewest = number, left
            best[:] = where
        number += 1
    return number - first, which, fewest


@kernel
def attempt(
    demand: Ints, free: Ints, groups: tuple[Ints, Ints, Ints], seed: int, number: int, stop: Ints, where: Ints
) -> int:
    """Place all balls; returns how many are left. Writes where [balls] and free [bins, d]."""
    of_ways, of_groups, members = groups
    ways = len(of_ways) - 1
    way = number % ways
    start, draws = stream_kernel(seed, way, number // ways), 0
    left, count = np.arange(len(where)), len(where)
    where[:] = -1
    for group in range(of_ways[way], of_ways[way + 1]):
        if stop[0]:  # there may be as many groups as bins
            break
        base, size, still = of_groups[group], of_groups[group + 1] - of_groups[group], 0
        for i in range(count):
            j = i + below_kernel(start, draws, count - i)
            at = below_kernel(start, TURNS + (draws if number // ways % 2 == 0 else group - of_ways[way]), size)
            draws += 1
            ball = left[j]
            left[j] = left[i]
            tried = size if stop[0] else 0
            while tried < size and not fits(demand, ball, free, members[base + at]):
                tried += 1
                at = at + 1 if at + 1 < size else 0
            if tried == size:
                left[still] = ball
                still += 1
            else:
                where[ball] = members[base + at]
                take(demand, ball, free, where[ball], 1)
        count = still
    return count
