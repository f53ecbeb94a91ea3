"""Prove, beside the search of `solve`, how few bins a vector problem needs."""

from __future__ import annotations

from math import inf
from time import monotonic

from agents.solver.exact.prover import LARGEST, Prover, prepare
from agents.solver.model.fleet import Fleet
from agents.solver.model.problem import Problem
from agents.solver.search.packing import Packing
from agents.solver.solving.compiling import Compiling

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
