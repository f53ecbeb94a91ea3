"""Look for allocations that are better by the goals, from one of all balls on, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from agents.solver.backends.cpu import CALLED, compiled
from agents.solver.backends.flat import Flat
from agents.solver.backends.numbered_attempts import lowest
from agents.solver.local.polish import LATE, Goals, load, polish
from agents.solver.local.state import State, state
from agents.solver.model import emit
from agents.solver.model.emit import PYTHON, utilfn
from agents.solver.model.objective import Objective
from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO
from agents.solver.model.random import word
from simcore.jit import callback, generated, prepared
from simcore.types import Ints

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


class Goal(NamedTuple):
    """The compiled goals, with what they read."""

    call: Goals
    data: Ints
    numbers: Ints


def prepare(problem: Problem) -> None:
    """Compile what `better` will run, or read it from disk."""
    _Polish(problem, 0).prepare()


def better(problem: Problem, alloc: list[int], seed: int, runs: int | None, until: float = inf) -> Iterator[Better]:
    """Look for better allocations than this one, of all balls; yields the best after every few runs.

    It ends after so many `runs`, when `monotonic()` is `until`, when no goal can be better, or, without limits, when it
    has found nothing for long. How far it comes depends on the seed and on `runs`, not on how many threads there are.
    """
    search = _Polish(problem, seed)
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


class _Polish:
    """Runs of `polish` on one problem; `where` [balls] is what they begin with."""

    def __init__(self, problem: Problem, seed: int) -> None:
        assert problem.objective is not None
        self._problem, self._seed, self._objective = problem, word(seed), problem.objective
        source, numbers = utilfn(problem.program, PYTHON)
        self._compiled, self._goal = compiled(source), goal_of(problem.objective)
        self._flat = Flat.of_problem(problem, numbers, bool(problem.elastic.any()))
        self._friends = len(problem.friends)
        self._free: list[State] = []
        self._stop = np.zeros(1, np.int64)
        self._best = tuple(one.signed(one.bound) for one in problem.objective.goals)
        self.where = np.zeros(0, np.int64)

    def prepare(self) -> None:
        """Compile everything."""
        state, past, values = self._room()
        call, scan = self._compiled
        prepared(load, call, state, 0, state.best)
        prepared(polish, call, scan, *self._goal, state, 0, 0, 0, 0, past, values, *self._places())

    def begin(self, where: Ints) -> Tried:
        """Evaluate what the search begins with."""
        state, _, values = self._room()
        imposed = [self._holds(members, kind, where) for kind in (0, 1) for members in self._sets(kind)]
        self._imposed = np.array(imposed or [False], np.int64)
        self.where = where
        self._load(state)
        self._goal.call(state.alloc, self._goal.data, self._goal.numbers, state.used, values[0])
        found = tuple(values[0].tolist())
        return Tried(int(found != self._best), found, -1, where, 0)

    def halt(self) -> None:
        """End all runs."""
        self._stop[:] = 1

    def run(self, number: int, cancelled: Callable[[], bool]) -> Tried:
        """Make a run."""
        state, past, values = self._room()
        call, scan = self._compiled
        self._load(state)
        self._goal.call(state.alloc, self._goal.data, self._goal.numbers, state.used, values[0])
        values[:] = values[0]
        past[:] = values[0]
        most = LEAST + EACH * len(self._problem.units)
        home, hot = self._places()
        made = 0
        while made < most and not cancelled() and tuple(values[2].tolist()) != self._best:
            steps = min(SLICE, most - made)
            polish(call, scan, *self._goal, state, self._friends, self._seed, number, steps, past, values, home, hot)
            made += steps
        found, where = tuple(values[2].tolist()), state.best.copy()
        self._free.append(state)
        return Tried(int(found != self._best), found, number, where, made)

    def _room(self) -> tuple[State, Ints, Ints]:
        goals = len(self._objective.goals)
        room = self._free.pop() if self._free else state(self._problem, self._flat, self._stop)
        return room, np.zeros((LATE, goals), np.int64), np.zeros((4, goals), np.int64)

    def _places(self) -> tuple[Ints, Ints]:
        """Return where units are now, and room for a list of bins."""
        return self._problem.unit_now, np.zeros(self._problem.bins, np.int64)

    def _load(self, state: State) -> None:
        state.imposed[:] = self._imposed
        assert load(self._compiled[0], state, self._friends, self.where), "an allocation that is not allowed"

    def _sets(self, kind: int) -> list[tuple[list[int], int]]:
        return list((self._problem.friends, self._problem.foes)[kind])

    def _holds(self, one: tuple[list[int], int], kind: int, where: Ints) -> bool:
        """Tell whether a set is to be kept: it must be, or is a wish that holds."""
        members, chance = one
        return chance == MICRO or (len(set(where[members].tolist())) == 1) == (kind == 0)


def goal_of(objective: Objective) -> Goal:
    """Compile the goals."""
    source, numbers = emit.goals(objective)
    data = objective.data if len(objective.data) else np.zeros(1, np.int64)
    return Goal(_compiled(source), np.array(data, np.int64), np.array(numbers or [0], np.int64))


@lru_cache(maxsize=32)
def _compiled(source: str) -> Goals:
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, "<goals>", "exec"), names)
    goals: Goals = generated(names["goals"], callers=True)
    return callback(goals, "int64", *["int64[::1]"] * 5)
