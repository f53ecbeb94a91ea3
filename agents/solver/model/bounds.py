"""Bound the number of bins that a problem needs from below."""

from __future__ import annotations

import numpy as np

from agents.solver.model.floor import Floor, floor, without_alloc
from agents.solver.model.packing_bound import lower_bound as packing_bound
from agents.solver.model.problem import Problem
from simcore.vocabulary import Ints

ENTRIES = 2_000_000
"""Capacities of so many dimensions are looked at."""


def lower_bound(problem: Problem) -> int:
    """Return a number of bins that every allocation of all balls needs, for a specification with `BINS ?`.

    What every ball takes of its bin at least (`agents.solver.model.floor`) makes a vector problem, whose bound is that
    of `agents.solver.model.packing_bound`: at least, over the dimensions of a bin, the total demand over the capacity,
    rounded up, and the balls that take more than half of a bin, no two of which share one. Where bins differ, it is the
    least number for which the bound of bins like the best of each dimension is no larger, and the total fits. It may be
    more than the most bins that are allowed.
    """
    least, most = problem.limits
    if problem.counted:
        return least
    if not problem.bins_differ and without_alloc(problem).bin_blind:
        given = floor(problem.with_bins(least))
        return least if given is None else max(least, _of_alike(given, given.capacity[0]))
    if most * problem.dims // problem.bins > ENTRIES:
        return least
    given = floor(problem.with_bins(most))
    if given is None:
        return least
    if (given.capacity == given.capacity[0]).all():
        return max(least, _of_alike(given, given.capacity[0]))
    total, sums = given.demand.sum(axis=0), given.capacity.cumsum(axis=0, dtype=object)
    low, high = least, most + 1
    while low < high:  # whatever number of bins is too few, fewer are, too
        bins = (low + high) // 2
        few = bins <= most and ((total > sums[bins - 1]).any() or _of_alike(given, given.capacity[:bins].max(0)) > bins)
        low, high = (bins + 1, high) if few else (low, bins)
    return low


def _of_alike(given: Floor, capacity: Ints) -> int:
    """Return the bound if all bins have this capacity [d]; 1 if a unit fits no bin, however many there are."""
    if not given.demand.size or (given.demand > capacity).any() or (given.demand < 0).any():
        return 1
    return packing_bound(given.demand, np.asarray(capacity), given.foes)
