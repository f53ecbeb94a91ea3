"""Find a first answer of problems without a dense form, before any search: by whole tenants, in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from agents.solver.local.greedy import Greedy
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.model.tenants import tenants
from agents.solver.model.verify import faults
from agents.solver.solving.conclude import Allocated
from agents.solver.solving.searches import Searches
from agents.solver.solving.shared_progress import Known

NAME = "whole tenants"
MOST_NODES = 25_000_000
"""Nodes of UTILFN that calls for every ball and for every bin evaluate, at most: half a second."""
NODES_PER_BIN = 200
"""Nodes whose evaluation takes as long as what else is done for a bin before the first ball is placed."""
LEAST_STEPS, STEPS_PER_ATTEMPT = 200, 20
"""The search makes so many steps at least, and goes on while it found something better in the second half of all steps;
an attempt stands for so many of them."""


class FirstAnswer:
    """Places the tenants of a problem; what it comes to goes to `known`, and `look` is called with how it goes."""

    def __init__(self, problem: Problem, known: Known, seed: int, look: Callable[[], None]) -> None:
        self._problem, self._known, self._seed, self._look = problem, known, seed, look

    @staticmethod
    def suits(problem: Problem, searches: Searches) -> bool:
        """Tell whether balls can be placed one after another: into a given number of bins, all of them anew."""
        if not (searches.ours and searches.dense) or problem.searched or searches.packing is not None:
            return False
        fixed = not len(problem.soft_allowed) and problem.most_moves is None and not (problem.now != NULL).any()
        steps = max(1, problem.program.steps)
        return fixed and problem.balls * steps + problem.bins * (steps + NODES_PER_BIN) <= MOST_NODES

    def construct(self, alone: bool, brief: Callable[[], bool], over: Callable[[], bool]) -> Greedy | None:
        """Place balls one after another until `brief` says that it has taken too long, or whole tenants until `over`.

        Unless they may be `alone`, nothing is done where no tenant has several balls. Returns what the search goes on
        with, if there is anything to search for by tenants.
        """
        found = tenants(self._problem, over)
        if found is None or len(found.sets) == 1 or not (alone or found.several):
            return None
        self._known.tenants = found if found.several else None
        over = over if found.several else brief
        greedy = Greedy(self._problem, found, self._seed, over)
        greedy.construct(over)
        if not greedy.placed or not self._keep(greedy.alloc, _units_left(greedy)):
            self._known.tenants = None
            return None
        self._look()
        return greedy if found.several and greedy.left else None

    def search(self, greedy: Greedy, attempts: int | None, over: Callable[[], bool]) -> None:
        """Search by tenants until all are placed, time is `over`, or nothing better has been found for long.

        With `attempts` it makes `STEPS_PER_ATTEMPT` steps for each of them, at most.
        """
        made, last, left, best = 0, 0, greedy.count(greedy.left), None
        greedy.over = over
        most = inf if attempts is None else STEPS_PER_ATTEMPT * attempts
        try:
            while left and made < max(LEAST_STEPS, 2 * last) and made < most and not over():
                greedy.ruin_and_recreate()
                made += 1
                if (now := greedy.count(greedy.left)) < left:
                    last, left, best = made, now, (greedy.alloc, _units_left(greedy))
        finally:  # it is verified once, at the end; an interrupt may come while half of a tenant is in
            if best is not None:
                self._keep(*best)
        self._look()

    def _keep(self, alloc: list[int], left: int) -> bool:
        """Keep an allocation that leaves so many units, if it has no faults; returns whether that is so.

        It has some where what a tenant takes depends on other tenants after all.
        """
        if faults(self._problem, alloc):
            return False
        self._known.checked += 1
        self._known.keep(Allocated(left, self._problem, alloc, NAME))
        return True


def _units_left(greedy: Greedy) -> int:
    """Count the units that are not placed."""
    return sum(len(greedy.units[one]) for one in greedy.left)
