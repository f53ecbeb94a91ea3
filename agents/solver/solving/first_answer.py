"""Find a first answer of problems without a dense form, before any search: by whole tenants, in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from binwright.agents.solver.local.greedy import Greedy
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.tenants import Tenants, tenants
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.search.bin_count import fewest
from binwright.agents.solver.solving.answer import Allocated
from binwright.agents.solver.solving.searches import Searches
from binwright.agents.solver.solving.shared_progress import Known

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
        """Tell whether balls can be placed one after another: without a dense form, and quickly enough."""
        steps = max(1, problem.program.steps)
        short = problem.balls * steps + problem.bins * (steps + NODES_PER_BIN) <= MOST_NODES
        return searches.ours and searches.dense and searches.packing is None and short

    def construct(self, alone: bool, brief: Callable[[], bool], over: Callable[[], bool]) -> Greedy | None:
        """Place balls one after another until `brief` says that it has taken too long, or whole tenants until `over`.

        Unless they may be `alone`, nothing is done where no tenant has several balls; nor for soft constraints, or
        where balls are somewhere now, or the number of bins is asked for. Returns what the search goes on with, if
        there is anything to search for by tenants.
        """
        problem, known = self._problem, self._known
        found = tenants(problem, over)
        staying = problem.most_moves is not None or bool((problem.now != NULL).any())
        alone = alone and not (len(problem.soft_allowed) or staying or problem.searched)
        if found is None or len(found.sets) == 1 or not (alone or found.several):
            return None
        known.tenants = found if found.several else None
        greedy = None
        if problem.searched:
            fewest(lambda: known.bound, known.most, None, [range(1)], lambda bins, _: self._into(bins, found, over))
        else:
            greedy = self._place(problem, found, over if found.several else brief)
        if known.best is None:
            known.tenants = None
        self._look()
        return greedy if greedy is not None and known.tenants is not None and greedy.left else None

    def _place(self, problem: Problem, found: Tenants, over: Callable[[], bool]) -> Greedy:
        """Place balls until time is `over`; what is placed whole by then, or when an interrupt comes, is kept."""
        greedy = Greedy(problem, found, self._seed, over)
        try:
            greedy.construct(over)
        finally:
            if greedy.placed:
                self._keep(problem, greedy.alloc)
        return greedy

    def _into(self, bins: int, found: Tenants, over: Callable[[], bool]) -> int | None:
        """Place tenants into so many bins; returns the fewest bins known then."""
        if not over():
            self._place(self._problem.with_bins(bins), found, over)
        return self._known.bins

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
                    last, left, best = made, now, greedy.alloc
        finally:  # it is verified once, at the end
            if best is not None:
                self._keep(self._problem, best)
        self._look()

    def _keep(self, problem: Problem, alloc: list[int]) -> None:
        """Keep an allocation, unless it has faults: some tenant takes what depends on other tenants after all."""
        if faults(problem, alloc):
            return
        left = len(np.unique(problem.unit_of[np.array(alloc) == NULL]))
        self._known.checked += 1
        self._known.keep(Allocated(left, problem, alloc, NAME))
