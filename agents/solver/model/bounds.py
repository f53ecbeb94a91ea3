"""Bound the bins that a problem needs, and find, without a search, plain reasons why not all balls can be placed.

Those are contradictions between declarations and, of vector problems (`Problem.matrix`), what balls take together. A
problem may well be impossible for other reasons.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.types import Ints


def lower_bound(problem: Problem) -> int:
    """Return a number of bins that every allocation of all balls needs, for a specification with `BINS ?`.

    It may be more than the most bins that are allowed.
    """
    least = problem.limits[0]
    if not problem.bins_alike:
        return least
    units, for_sizes = problem.matrix, 1
    if units is not None and (units.demand <= units.capacity[0]).all():
        for_sizes = packing_bound(units.demand, units.capacity[0])
    return max(least, for_sizes, int(np.diff(problem.different.offsets).max(initial=1)))


def impossible(problem: Problem) -> str:
    """Say why no allocation places all balls, if that is plain to see; otherwise return an empty text."""
    if problem.searched and not problem.bins_alike:
        return ""  # other numbers of bins are other problems
    return next(_reasons(problem), "")


def _reasons(problem: Problem) -> Iterator[str]:
    """Find reasons why not all balls can be placed, the simple ones first."""
    for members, _ in problem.different:
        if len(members) > problem.limits[1]:
            need = f"and need {len(members):,} bins; there are {problem.limits[1]:,}"
            yield f"{_balls(problem, members)} are DIFFERENT, {need}"
    bound = lower_bound(problem) if problem.searched else 1
    if (units := problem.matrix) is not None:
        demand, capacity, names, _ = units
        best: Ints = capacity.max(axis=0)
        for unit, d in np.argwhere(demand > best)[:1].tolist():
            members = np.flatnonzero(problem.unit_of == unit).tolist()
            together = "takes" if len(members) == 1 else "are FRIENDS, and together take"
            who = f"{_balls(problem, members)} {together} {_amount(demand[unit, d])} of {names[d]}"
            all_drained = names[d] == "DRAIN"  # the resource that only bins that are to be empty have none of
            yield "all bins are to be empty" if all_drained else f"{who}, and no bin has more than {_amount(best[d])}"
            return
        if not problem.searched:
            bound = packing_bound(demand, best)
            takes = (capacity >= demand.min(axis=0)).all(axis=1)  # not bins that are to be empty
            total, most = demand.sum(axis=0), capacity[takes].sum(axis=0, dtype=object)  # may be beyond 64 bits
            for d in np.flatnonzero(total > most)[:1].tolist():
                yield f"all balls take {_amount(total[d])} of {names[d]}, and all bins have {_amount(most[d])}"
    if bound > problem.limits[1]:
        there_are = "TO allows" if problem.searched else "there are"
        yield f"{problem.balls:,} balls need at least {bound:,} bins, and {there_are} {problem.limits[1]:,}"


def _balls(problem: Problem, members: Sequence[int]) -> str:
    """Name some balls, six at most."""
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - 6:,} more" if len(members) > 6 else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:6]))}{more}"


def _amount(micro: int) -> str:
    return f"{int(micro) / MICRO:,.15g}"


def packing_bound(demand: Ints, capacity: Ints) -> int:
    """Return a number of equal bins that no placement can do without.

    Every ball of demand [balls, d] must fit an empty bin of capacity [d]. It is the best `l2` of a resource, or the
    balls over how many of the smallest ones a bin holds.
    """
    best = 1
    for column, of in zip(demand.T, capacity.tolist(), strict=True):
        amounts = np.sort(column)
        most = int(np.searchsorted(np.cumsum(amounts), of, side="right"))  # no bin holds more balls
        best = max(best, l2(amounts, of), -(-len(amounts) // max(most, 1)))
    return best


def l2(amounts: Ints, capacity: int) -> int:
    """Compute L2 of ascending amounts (Martello and Toth, Discrete Applied Mathematics 28, 1990).

    For each threshold up to a half, balls below it do not count. A ball above capacity - threshold is alone; one above
    a half shares its bin with smaller ones only. The balls that find no room beside them need bins of their own.
    """
    sums = np.concatenate([[0], np.cumsum(amounts)])
    middle = int(np.searchsorted(amounts, capacity // 2, side="right"))
    thresholds = np.unique(np.concatenate([[0], amounts[:middle]]))
    first = np.searchsorted(amounts, thresholds, side="left")
    alone = np.searchsorted(amounts, capacity - thresholds, side="right")
    small, large = sums[middle] - sums[first], sums[alone] - sums[middle]
    beside = (alone - middle) * capacity - large
    more = -(-np.maximum(small - beside, 0) // max(capacity, 1))
    return int((len(amounts) - middle + more).max())
