"""Look for allocations that are better by the goals, from one of all balls on, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from time import monotonic
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.backends.flat import Flat
from binwright.agents.solver.backends.numbered_attempts import lowest
from binwright.agents.solver.local import goals
from binwright.agents.solver.local.goals import BEST, GoalState, goal_state
from binwright.agents.solver.local.polish import load, polish
from binwright.agents.solver.local.state import State, state
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.model.random import word
from binwright.simcore.jit import prepared
from binwright.simcore.types import Ints

RUNS, LEAST, EACH, SLICE = 4, 2000, 20, 1000
"""Runs that begin with the same allocation; moves of a run, and more of them for each unit; moves between two looks at
the clock."""
PATIENCE = 100
"""Runs without a better allocation after which a search without limits ends."""


class Better(NamedTuple):
    """The best so far."""

    alloc: list[int]
    values: tuple[int, ...]
    """Of each goal; what is to be made large counts with a minus."""
    checked: int
    """Moves."""


class Tried(NamedTuple):
    """The result of a run."""

    left: int
    """0 where no goal can be better, 1 otherwise: what `lowest` looks for is 0."""
    values: tuple[int, ...]
    number: int
    where: Ints
    checked: int


class Place(NamedTuple):
    """What one run works in."""

    state: State
    score: GoalState


def prepare(problem: Problem) -> None:
    """Compile what `better` will run, or read it from disk."""
    ObjectiveSearch(problem, 0).prepare()


def better(problem: Problem, alloc: list[int], seed: int, runs: int | None, until: float = inf) -> Iterator[Better]:
    """Look for better allocations than this one, of all balls; yields the best after every few runs.

    It ends after so many `runs`, when `monotonic()` is `until`, when no goal can be better, or, without limits, when it
    has found nothing for long. How far it comes depends on the seed and on `runs`, not on how many threads there are.
    """
    search = ObjectiveSearch(problem, seed)
    best = search.begin(np.array(alloc, np.int64))
    checked, number, last = 0, 0, 0
    while best.left and number != runs and monotonic() < until:
        if runs is None and until == inf and number - last >= PATIENCE:
            return
        end = number + RUNS if runs is None else min(number + RUNS, runs)
        search.where = best.where
        outcome = lowest(search.run, range(number, end), until=until, halt=search.halt)
        checked += sum(tried.checked for tried in outcome.tried)
        found = min(outcome.tried, key=lambda one: (one.left, one.values, one.number), default=best)
        if found.values < best.values:
            best, last = found, end
        yield Better(best.where.tolist(), best.values, checked)
        if outcome.interrupted:
            raise KeyboardInterrupt
        number = end


class ObjectiveSearch:
    """Runs of `polish` on one problem; `where` [balls] is what they begin with."""

    def __init__(self, problem: Problem, seed: int) -> None:
        assert problem.objective is not None
        self._problem, self._seed = problem, word(seed)
        source, numbers = utilfn(problem.program)
        self._compiled, self._goals = compiled(source), goals.compiled(problem.objective)
        self._score = goal_state(problem)
        self._flat = Flat.of_problem(problem, numbers, bool(problem.elastic.any()))
        self._friends = len(problem.friends)
        self._free: list[Place] = []
        self._stop = np.zeros(1, np.int64)
        self._best = tuple(one.signed(one.bound) for one in problem.objective.goals)
        self.where = np.zeros(0, np.int64)

    def prepare(self) -> None:
        """Compile everything."""
        place = self._place()
        call, scan = self._compiled
        prepared(load, call, place.state, 0, place.state.best)
        prepared(goals.begin, self._goals, *place)
        prepared(polish, call, scan, self._goals, *place, 0, 0, 0, 0, *self._homes())

    def begin(self, where: Ints) -> Tried:
        imposed = [self._holds(members, kind, where) for kind in (0, 1) for members in self._sets(kind)]
        self._imposed = np.array(imposed or [False], np.int64)
        self.where = where
        place = self.begun()
        found = tuple(place.score.values[BEST].tolist())
        self._free.append(place)
        return Tried(int(found != self._best), found, -1, where, 0)

    def halt(self) -> None:
        """End all runs."""
        self._stop[:] = 1

    def run(self, number: int, cancelled: Callable[[], bool]) -> Tried:
        place = self.begun()
        best = place.score.values[BEST]
        most = LEAST + EACH * len(self._problem.units)
        made = 0
        while made < most and not cancelled() and tuple(best.tolist()) != self._best:
            steps = min(SLICE, most - made)
            self.polish(*place, number, steps)
            made += steps
        found, where = tuple(best.tolist()), place.state.best.copy()
        self._free.append(place)
        return Tried(int(found != self._best), found, number, where, made)

    def begun(self) -> Place:
        """Return a place with what runs begin with."""
        place = self._place()
        place.state.imposed[:] = self._imposed
        assert load(self._compiled[0], place.state, self._friends, self.where), "an allocation that is not allowed"
        goals.begin(self._goals, *place)
        return place

    def polish(self, state: State, score: GoalState, number: int, steps: int) -> None:
        """Make so many more moves of a run."""
        homes = self._homes()
        polish(*self._compiled, self._goals, state, score, self._friends, self._seed, number, steps, *homes)

    def _place(self) -> Place:
        if self._free:
            return self._free.pop()
        own = (part.copy() for part in self._score)
        return Place(state(self._problem, self._flat, self._stop), GoalState(*own))

    def _homes(self) -> tuple[Ints, Ints, Ints]:
        """Return where units are now, and room for lists of bins and of units."""
        units = self._problem.unit_now
        return units, np.zeros(self._problem.bins, np.int64), np.zeros((len(units), 2), np.int64)

    def _sets(self, kind: int) -> list[tuple[list[int], int]]:
        return list((self._problem.friends, self._problem.foes)[kind])

    def _holds(self, one: tuple[list[int], int], kind: int, where: Ints) -> bool:
        """Tell whether a set is to be kept: it must be, or is a wish that holds."""
        members, chance = one
        return chance == MICRO or (len(set(where[members].tolist())) == 1) == (kind == 0)
