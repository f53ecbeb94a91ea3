"""Try all allocations of a small problem, ball after ball, in plain Python: what `ours` begins with without CP-SAT.

A unit goes into the first bin that takes it; where none does, the one before it goes into its next one. Where UTILFN
looks at other balls, they come by index, as the verifier puts them in; else those with few bins, and large ones, come
first, and of all, those that may stay where they are. Nothing is compiled for it, and it is through most small problems
before anything were.
"""

from __future__ import annotations

from collections.abc import Callable

from binwright.agents.solver.backends.plain import Plain
from binwright.agents.solver.model.evaluate import Added, goal_values
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream, word

GROUP = -3
"""The group in the key of its random numbers."""
TRIED = 10_000
"""Balls times bins, at most."""
SORTED = 1_000_000
"""Nodes of UTILFN that are evaluated to sort the balls: a tenth of a second, at most."""


class DepthFirst:
    """The search on one problem with a given number of bins, which `work` goes on with."""

    def __init__(self, problem: Problem, seed: int, *, goals: bool = False) -> None:
        """Look for any allocation, or for the best one by its `goals`, which is known when it is `over`."""
        self.problem = problem
        self.found: list[int] | None = None
        """An allocation [balls] of all balls."""
        self.values: tuple[int, ...] = ()
        """What its goals come to, less being better."""
        self._goals = goal_values(problem.objective) if goals and problem.objective is not None else None
        self.over = False
        """All have been tried."""
        self.checked = 0
        """Allocations of all balls that were looked at."""
        program = problem.program
        self.proves = program.non_negative or not len(problem.soft_allowed)
        """That nothing is found proves that there is nothing. A SOFT group may be over what it falls below again."""
        self._plain = Plain(problem, trims=True)
        self._bins = [self._in_turn(unit, seed) for unit in range(len(problem.units))]
        self._order = list(range(len(problem.units)))
        if program.alloc_free and problem.balls * problem.bins * program.steps <= SORTED:
            self._order.sort(key=self._ease)
        self._next = [0] * len(problem.units)
        self._added: list[Added] = []

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether a problem is small enough, and whether what may stay where it is can be put in first."""
        here = (problem.now != NULL).any()
        return problem.balls * problem.bins <= TRIED and (problem.program.alloc_free or not here)

    def _in_turn(self, unit: int, seed: int) -> list[int]:
        """List the bins for a unit: the one where it is now, then all from a random one on and around."""
        bins, now = self.problem.bins, int(self.problem.unit_now[unit])
        first = below(stream(word(seed), GROUP, unit), 0, bins)
        around = [(first + n) % bins for n in range(bins)]
        return sorted(around, key=lambda place: place != now)

    def _ease(self, unit: int) -> tuple[bool, int, float]:
        """Say how easy a unit is to place: it stays; in how many bins it fits; how little it takes of them."""
        plain, now = self._plain, int(self.problem.unit_now[unit])
        bins, share = 0, 0.0
        for place in range(self.problem.bins):
            added = plain.put(unit, place)
            if added is not None:
                plain.take_back(unit, added)
                bins += 1
                share = max([share, *(amount / max(plain.flat.ceiling[dim], 1) for dim, amount in added)])
        return now == NULL or bool(self.problem.drained[now]), bins, -share

    def work(self, over: Callable[[], bool]) -> None:
        """Go on until something is found, all has been tried, or time is `over`."""
        plain, units = self._plain, len(self.problem.units)
        while not over():
            depth = len(self._added)
            if depth == units:
                self.checked += 1
                if not plain.over:
                    values = () if self._goals is None else self._goals(plain.room.alloc, plain.room.used)
                    if self.found is None or values < self.values:
                        self.found, self.values = plain.room.alloc[:], values
                    if self._goals is None:
                        return
                self._take_back()
                continue
            unit = self._order[depth]
            if self._next[depth] < self.problem.bins:
                place = self._bins[unit][self._next[depth]]
                self._next[depth] += 1
                added = plain.put(unit, place)
                if added is not None:
                    self._added.append(added)
            elif depth == 0:
                self.over = True
                return
            else:
                self._next[depth] = 0
                self._take_back()

    def _take_back(self) -> None:
        added = self._added.pop()
        self._plain.take_back(self._order[len(self._added)], added)
