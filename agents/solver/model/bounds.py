"""Bound the number of bins that a problem needs from below."""

from __future__ import annotations

from agents.solver.model.dense import Matrix
from agents.solver.model.packing_bound import lower_bound as packing_bound
from agents.solver.model.problem import Problem


def lower_bound(problem: Problem) -> int:
    """Return a number of bins that every allocation of all balls needs, for a specification with `BINS ?`.

    For vector problems whose bins are all alike it is the bound of `agents.solver.model.packing_bound`: at least, over
    the dimensions of a bin, the total demand over the capacity, rounded up, and the balls that take more than half of a
    bin, no two of which share one. Otherwise it is what `BINS ?` starts from. It may be more than the most bins that
    are allowed.
    """
    least, most = problem.limits
    matrix = problem.with_bins(least).matrix
    if matrix is None or problem.counted:
        return least
    bound = max(least, vector_bound(matrix))
    if problem.bins_differ:
        last = problem.with_bins(min(bound, most)).matrix
        if last is None or (last.capacity != matrix.capacity[0]).any():
            return least
    return bound


def vector_bound(matrix: Matrix) -> int:
    """Return the bound of a vector problem if all bins are like the first; 1 if a demand is negative or fits no bin."""
    if (matrix.demand < 0).any() or (matrix.demand > matrix.capacity[0]).any() or not matrix.demand.size:
        return 1
    return packing_bound(matrix.demand, matrix.capacity[0])
