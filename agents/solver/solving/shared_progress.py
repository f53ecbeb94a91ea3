"""Keep what is known of a problem while several searches, and a proof in another process, work on it."""

from __future__ import annotations

from functools import cached_property
from math import inf
from time import monotonic

from binwright.agents.solver.exact.prover import LARGEST, Prover, prepare
from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.impossible import hopeless
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.tenants import Tenants
from binwright.agents.solver.search.packing import Packing
from binwright.agents.solver.solving.answer import Allocated
from binwright.agents.solver.solving.searches import Compiling


class Known:
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
        missing = self.missing(found.problem, found.alloc) if found.left == 0 else 0
        left = found.left
        if left and self.tenants is not None:
            left = int((self.tenants.whole(found.alloc) == NULL).sum())
        rank = left, missing, found.problem.bins
        if self.best is None or rank < self.rank:
            self.best, self.rank, self.better = found, rank, self.checked
        if found.left or missing:
            return False
        self.bins = min(found.problem.bins, self.bins or self.most)
        return True

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


SHARE, FIRST = 0.2, 1.0
"""Of all the time, and if that is not limited of the time that has gone by, and so many seconds more."""
MARGIN = 0.5
"""Seconds before the end from which on nothing is begun: a step may take as long."""
SEARCH = "column generation"
"""The name of what found an answer."""


class Proofs:
    """Works a share of the time on a packing into equal bins; FOES and PIN are left out of account for the bound."""

    def __init__(self, problem: Problem, packing: Packing, end: float) -> None:
        self.problem, self.end = problem, end
        self.prover = Prover(packing.demand, Fleet.alike(packing.capacity[0]))
        self.start = monotonic()
        self.compiling: Compiling | None = None

    @staticmethod
    def suit(packing: Packing) -> bool:
        """Tell whether bins are alike, every ball fits one, and numbers are not too large."""
        alike = (packing.capacity == packing.capacity[0]).all()
        return bool(alike and (packing.demand <= packing.capacity[0]).all() and packing.demand.max() <= LARGEST)

    def work(self, known: int | None) -> tuple[int, tuple[Problem, list[int]] | None]:
        """Work, if the share of the time is not used yet, where `known` is the fewest bins of any allocation so far.

        Returns a lower bound, and an allocation [balls] in fewer bins with its problem, if one has been found.
        """
        if not self._compiled() or monotonic() > self.end - MARGIN:
            return self.prover.bound, None
        share = SHARE * (monotonic() - self.start) + FIRST if self.end == inf else SHARE * (self.end - self.start)
        self.prover.work(share, known, self.end)
        where = self.prover.where
        if where is None or int(where.max()) + 1 >= (inf if known is None else known):
            return self.prover.bound, None
        problem = self.problem
        if problem.searched:
            problem = problem.with_bins(max(problem.limits[0], int(where.max()) + 1))
        packing = Packing.of(problem)
        if packing is None or not packing.keeps(where):
            return self.prover.bound, None
        return self.prover.bound, (problem, where[problem.unit_of].tolist())

    def _compiled(self) -> bool:
        """Compile in a thread of its own, so that the search goes on; returns whether that is done."""
        if self.compiling is None:
            self.compiling = Compiling(prepare)
        return self.compiling.wait(inf if self.end == inf else 0)
