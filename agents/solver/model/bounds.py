"""Bound the number of bins that a problem needs from below."""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.model.floor import Floor, floor
from binwright.agents.solver.model.packing_bound import lower_bound as packing_bound
from binwright.agents.solver.model.problem import Problem, leaving
from binwright.agents.solver.model.program import NULL
from binwright.simcore.types import Ints


def lower_bound(problem: Problem) -> int:
    """Return a number of bins that every allocation of all balls needs, for a specification with `BINS ?`.

    What every ball takes of its bin at least (`agents.solver.model.floor`) makes a vector problem, whose bound is that
    of `agents.solver.model.packing_bound`: at least, over the dimensions of a bin, the total demand over the capacity,
    rounded up, and the balls that take more than half of a bin, no two of which share one. Where bins differ, it is the
    least number for which the bound of bins like the best of each dimension is no larger, and the total fits. Balls
    that are DIFFERENT need a bin each. With MOVES, it is at least the number of bins in which enough balls can stay. It
    may be more than the most bins that are allowed.
    """
    least = problem.limits[0]
    if problem.counted:
        return least
    different = int(np.diff(problem.different.offsets).max(initial=1))
    return max(least, different, _for_moves(problem), _for_sizes(problem))


def opened_bound(problem: Problem, proven: int) -> int:
    """Return a number of bins that hold balls in every allocation of all balls, whichever bins these are.

    The problem is one of `BINS ?` that needs so many bins as is `proven`, the first ones; which says nothing of others
    where bins are not alike.
    """
    if problem.counted:
        return 1
    different = int(np.diff(problem.different.offsets).max(initial=1))
    if problem.bins_differ or not problem.without_alloc.bin_blind:
        given = None if problem.widest is None else floor(problem.widest)
        return different if given is None else max(different, _of_alike(given, given.capacity.max(axis=0)))
    if (problem.pins == NULL).all() and (problem.now == NULL).all() and not problem.drained.any():
        return proven
    given = floor(problem.with_bins(problem.limits[0]))
    return different if given is None else max(different, _of_alike(given, given.capacity.max(axis=0)))


def _for_moves(problem: Problem) -> int:
    """Return the least number of bins with which no more balls have to leave theirs than MOVES allows; 1 if none is."""
    widest = None if problem.most_moves is None else problem.widest
    if widest is None or widest.most_moves is None:
        return 1
    gone = leaving(widest.now, widest.drained, widest.pins)
    more = widest.most_moves - int(gone.sum())
    here = np.sort(widest.now[~gone & (widest.now != NULL)])[::-1]
    return int(here[more]) + 1 if 0 <= more < len(here) else 1


def _for_sizes(problem: Problem) -> int:
    """Return a number of bins without which balls find no room."""
    least, most = problem.limits
    if not problem.bins_differ and problem.without_alloc.bin_blind:
        given = floor(problem.with_bins(least))
        return least if given is None else _of_alike(given, given.capacity[0])
    widest = problem.widest
    given = None if widest is None else floor(widest)
    if given is None:
        return least
    if (given.capacity == given.capacity[0]).all():
        return _of_alike(given, given.capacity[0])
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
