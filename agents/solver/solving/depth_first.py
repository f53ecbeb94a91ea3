"""Try all allocations of a small problem, ball after ball, in plain Python: what `ours` begins with without CP-SAT.

A unit goes into the first bin that takes it; where none does, the one before it goes into its next one. Units come by
index, as the verifier puts them in. Nothing is compiled for it, and it is through most small problems before anything
were.
"""

from __future__ import annotations

from collections.abc import Callable

from binwright.agents.solver.local.construct import Construction, Placed
from binwright.agents.solver.model.evaluate import goal_values
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import DEPTH, below, stream, word
from binwright.agents.solver.model.tenants import Tenants

TRIED = 10_000
"""Balls times bins, at most."""


class DepthFirst:
    """The search on one problem with a given number of bins, which `work` goes on with."""

    def __init__(self, problem: Problem, seed: int, *, goals: bool = False) -> None:
        """Look for an allocation, that keeps wishes if any does, or the best by `goals`, known once it is `over`."""
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
        self.proves = problem.program.non_negative or not len(problem.soft_allowed)
        """That nothing is found proves that there is nothing. A SOFT group may be over what it falls below again."""
        singles = Tenants(problem.units, [None] * problem.balls)
        self._state = Construction(problem, singles, seed, lambda: False)
        self._bins = [self._in_turn(unit, seed) for unit in range(len(problem.units))]
        self._next = [0] * len(problem.units)
        self._placed: list[Placed] = []

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether a problem is small enough."""
        return problem.balls * problem.bins <= TRIED

    def _in_turn(self, unit: int, seed: int) -> list[int]:
        """List the bins for a unit: the one where it is now, then all from a random one on and around."""
        bins, now = self.problem.bins, int(self.problem.unit_now[unit])
        first = below(stream(word(seed), DEPTH, unit), 0, bins)
        around = [(first + n) % bins for n in range(bins)]
        return sorted(around, key=lambda place: place != now)

    def work(self, over: Callable[[], bool]) -> None:
        """Go on until what it looks for is found, all has been tried, or time is `over`."""
        state, units = self._state, len(self.problem.units)
        while not over():
            depth = len(self._placed)
            if depth == units:
                self.checked += 1
                if not state.is_over(self._placed):
                    values = () if self._goals is None else self._goals(state.where, state.used)
                    met = self._goals is None and all(
                        len(wish.sets) - len(wish.broken(state.where)) >= wish.asked for wish in self.problem.wishes
                    )
                    if self.found is None or met or values < self.values:
                        self.found, self.values = state.where[:], values
                    if met:
                        return
                state.move(self._placed.pop(), out=True)
                continue
            if self._next[depth] < self.problem.bins:
                part = state.put_unit(depth, self._bins[depth][self._next[depth]])
                self._next[depth] += 1
                if part is not None:
                    self._placed.append(part)
            elif depth == 0:
                self.over = True
                return
            else:
                self._next[depth] = 0
                state.move(self._placed.pop(), out=True)
