"""Keep what is known of a problem while several searches work on it."""

from __future__ import annotations

from functools import cached_property

from binwright.agents.solver.model.impossible import hopeless
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.tenants import Tenants
from binwright.agents.solver.solving.answer import Allocated


class BestSoFar:
    """The best allocation so far, and between which numbers of bins the fewest lies."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.bound = self.most = problem.bins
        """No allocation of all balls has fewer bins, and none may have more."""
        self.best: Allocated | None = None
        """The one with the lowest rank."""
        self.rank = (0, 0, 0)
        """Of the best: units left, or where there are tenants balls of those not placed whole; wishes not met; bins."""
        self.bins: int | None = None
        """The fewest with which an allocation of all balls misses nothing."""
        self.checked = 0
        """Attempts so far."""
        self.better = 0
        """Of `checked`: when the best was found."""
        self.tenants: Tenants | None = None
        """Those of several balls, where there are any: one that is not placed whole counts as not placed."""
        self.impossible = ""
        """Why no allocation places all balls."""

    def keep(self, found: Allocated) -> bool:
        """Keep what is better than the best; returns whether all balls are placed, and no set is missing."""
        rank = self._rank_of(found)
        if self.best is None or rank < self.rank:
            self.best, self.rank, self.better = found, rank, self.checked
        if rank[:2] != (0, 0):
            return False
        self.bins = min(found.problem.bins, self.bins or self.most)
        return True

    def _rank_of(self, found: Allocated) -> tuple[int, int, int]:
        missing = self.missing(found.problem, found.alloc) if found.left == 0 else 0
        left = found.left
        if left and self.tenants is not None:
            left = int((self.tenants.whole(found.alloc) == NULL).sum())
        return left, missing, found.problem.bins

    def count_whole(self, tenants: Tenants | None) -> None:
        """Count a tenant of these that is not placed whole as not placed."""
        self.tenants = tenants
        if self.best is not None:
            self.rank = self._rank_of(self.best)

    def missing(self, problem: Problem, alloc: list[int]) -> int:
        """Count the sets that should hold, could hold, and do not."""
        wishes = zip(problem.wishes, self._hopeless, strict=True)
        return sum(max(0, len(one.broken(alloc)) - max(len(one.sets) - one.asked, never)) for one, never in wishes)

    @cached_property
    def _hopeless(self) -> list[int]:
        """How many sets of each wish cannot hold."""
        return hopeless(self.problem)

    @property
    def settled(self) -> bool:
        """Tell whether no allocation is better, leaving goals aside."""
        return self.bins is not None and self.bins <= self.bound
