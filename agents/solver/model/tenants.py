"""Find the balls that are one tenant, or one job.

Balls are one tenant if what one of them adds looks at where another one is, or if they are friends. This guides
searches; nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import Added, evaluator
from binwright.agents.solver.model.problem import Problem, Sets, joined
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints


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
        result = np.empty_like(places)
        result[order] = np.where(np.repeat(lowest, np.diff(self.sets.offsets)) == NULL, NULL, places[order])
        return result


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
