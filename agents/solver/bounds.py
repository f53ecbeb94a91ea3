"""A lower bound on the number of bins."""

from __future__ import annotations

import numpy as np

from agents.solver.program import Matrix, Problem


def lower_bound(problem: Problem) -> int:
    """No allocation of all balls needs fewer bins, for a specification with `BINS ?`.

    For vector problems whose bins are all alike the largest, over the dimensions of a bin, of the total demand over the
    capacity, rounded up, and of the balls that take more than half of a bin, no two of which share one; otherwise what
    `BINS ?` starts from.
    """
    least, most = problem.spec.limits
    matrix = problem.with_bins(least).matrix()
    if matrix is None:
        return least
    bound = min(max(least, vector_bound(matrix)), most + 1)
    last = problem.with_bins(min(bound, most)).matrix()
    if last is None or (last.demand != matrix.demand).any() or (last.capacity != matrix.capacity[0]).any():
        return least  # something depends on the bin, or on how many there are
    return bound


def vector_bound(matrix: Matrix) -> int:
    """The bound of a vector problem if all bins are like the first; 1 if there are negative demands."""
    if (matrix.demand < 0).any():
        return 1
    capacity = matrix.capacity[0].tolist()
    total = [sum(column) for column in matrix.demand.T.tolist()]  # Python's integers do not overflow
    filled: list[int] = [-(-amount // room) for amount, room in zip(total, capacity, strict=True) if room > 0]
    halves = (2 * matrix.demand > matrix.capacity[0]).sum(axis=0)
    return max(1, *filled, int(np.max(halves, initial=0)))
