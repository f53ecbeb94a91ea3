"""Find the balls that are one tenant, or one job, and the bins that are near one another.

Balls are one tenant if what one of them adds looks at where another one is, or if they are friends. Bins are near if
they share dimensions: servers below the uplink of a rack, for one. Both guide searches; nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import Added, evaluator
from binwright.agents.solver.model.problem import Problem, Sets, joined
from binwright.agents.solver.model.program import MICRO, NULL, Family
from binwright.simcore.types import Ints

SAMPLE = 4
"""Balls that are asked which dimensions they touch in a bin, where those before are rejected there."""


class Tenants(NamedTuple):
    """The tenants of a problem, each with its balls ascending, and what each ball adds while all others are nowhere."""

    sets: Sets
    alone: list[Added | None]
    """[balls]: in the bin that it is pinned to, or else in bin 0; None where it is rejected there"""

    @property
    def several(self) -> bool:
        """Tell whether there are several tenants, some of which have several balls."""
        return 1 < len(self.sets) < len(self.alone)

    def whole(self, alloc: Sequence[int]) -> Ints:
        """Take out of an allocation [balls] the balls of tenants that are not placed whole."""
        order, places = self.sets.members, np.asarray(alloc)
        lowest = np.minimum.reduceat(places[order], self.sets.offsets[:-1])
        found = np.empty_like(places)
        found[order] = np.where(np.repeat(lowest, np.diff(self.sets.offsets)) == NULL, NULL, places[order])
        return found


def tenants(problem: Problem, over: Callable[[], bool]) -> Tenants | None:
    """Find the tenants by calling UTILFN for every ball; None if time is `over` before that is done."""
    read: set[int] = set()

    def note(alloc: Sequence[int], other: int, ball: int) -> int:
        read.add(other)
        return NULL

    evaluate, alone, seen = evaluator(problem.program, placed=note), list[Added | None](), list[list[int]]()
    for ball, pin in enumerate(problem.pins.tolist()):
        if over():
            return None
        read.clear()
        alone.append(evaluate(ball, max(pin, 0), ()))
        seen.append([ball, *read])
    friends = [members for members, chance in problem.friends if chance == MICRO]
    return Tenants(joined(problem.balls, [*friends, *seen]), alone)


class Level(NamedTuple):
    """Groups of bins, and whose dimensions they share."""

    group: Ints
    """[bins]"""
    family: Family | None
    """A dimension of each group is its own; None where GROUPS declares them."""


def levels(problem: Problem, over: Callable[[], bool] = lambda: False) -> list[Level]:
    """Find groups of bins, in smaller groups and then in larger ones.

    They are the declared GROUPS, or the families of resources of which each bin touches one dimension that others do,
    too. Neither single bins nor all bins are among them. There are none if time is `over` before they are found.
    """
    if len(problem.groupings) == 1:
        found = np.empty(problem.bins, np.int64)
        [groups] = problem.groupings
        found[groups.members] = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
        return [Level(found, None)] if 1 < len(groups) < problem.bins else []
    evaluate, nowhere = evaluator(problem.program), [NULL] * problem.balls
    touched = list[set[int]]()
    for place in range(problem.bins):
        if over():
            return []
        touched.append(_dims_in(evaluate, place, nowhere))
    found_levels = []
    for family in problem.families:
        own = [[dim for dim in dims if dim in family] for dims in touched]
        if all(len(dims) == 1 for dims in own):
            names, group = np.unique([dims[0] for dims in own], return_inverse=True)
            if 1 < len(names) < problem.bins:
                found_levels.append(Level(group.astype(np.int64), family))
    return sorted(found_levels, key=lambda one: -int(one.group.max()))


def _dims_in(evaluate: Callable[[int, int, Sequence[int]], Added | None], place: int, nowhere: list[int]) -> set[int]:
    """Find the dimensions that a ball touches in a bin, of those that are not rejected there the first one."""
    for ball in range(min(SAMPLE, len(nowhere))):
        added = evaluate(ball, place, nowhere)
        if added is not None:
            return {dim for dim, _ in added}
    return set()
