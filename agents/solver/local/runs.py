"""Run local searches of a problem on all cores: to place all balls first, then to make its goals better."""

from collections.abc import Iterator
from functools import cached_property
from math import inf

import numpy as np

from binwright.agents.solver.backends.cpu import compiled, compiled_problem
from binwright.agents.solver.backends.numbered_attempts import Found, Over, best_of, never
from binwright.agents.solver.local.polish import BEST, LATE, PAST, TRIED, Goals, evaluate, polish
from binwright.agents.solver.local.search import begin, improve
from binwright.agents.solver.local.state import load, state
from binwright.agents.solver.model import emit
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import word
from binwright.agents.solver.model.verify import goals_of
from binwright.simcore.types import Ints

SLICE = 1000
"""Moves between two looks at the clock."""


class LocalSearch:
    """Local searches of a problem, each named by its number: all depends on that and the seed, not on threads."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem, self._seed = problem, word(seed)
        self._call, self._flat = compiled_problem(problem, elastic=True)
        self.stop = np.zeros(1, np.int64)

    @cached_property
    def _goals(self) -> tuple[Goals, Ints, Ints]:
        """The compiled goals, and what they read: `data` and `numbers` of a state."""
        assert self._problem.objective is not None
        source, numbers = emit.goals(self._problem.objective)
        goals: Goals = compiled(source, "goals", *["int64[::1]"] * 5)
        return goals, np.append(self._problem.objective.data, 0), np.array([*numbers, 0], np.int64)

    def place(self, number: int) -> Found:
        """Make a run that places balls. Where balls are somewhere now, those of even numbers begin there."""
        problem, call, place = self._problem, self._call, state(self._problem, self._flat, self.stop)
        left, made = begin(call, place, self._seed, number), 0
        improve(call, place, 0, left)  # compiles it, even if time is over
        # Where the number of bins is searched, most runs are for too few bins.
        most = luby(number) * (32 if problem.searched else 64) * len(problem.units)
        while left and made < most and not self.stop[0]:
            left = improve(call, place, min(SLICE, most - made), left)
            made += SLICE
        return Found(left, place.room.best, number, min(made, most) + 1)

    def better(self, alloc: list[int], runs: int | None, over: Over = never, patience: float = inf) -> Iterator[Found]:
        """Look for better allocations than this one, of all balls; yields the best, with all moves, now and then.

        It ends after so many `runs`, when time is `over`, when no goal can be better, or when so many runs as it has
        `patience` have found nothing. Four runs begin with the same allocation. How far it comes depends on the seed
        and on `runs`.
        """
        problem, self._where = self._problem, np.array(alloc, np.int64)
        assert problem.objective is not None
        # Sets are kept that must be, and wishes that hold.
        sets = [(True, *each) for each in problem.friends] + [(False, *each) for each in problem.foes]
        holds = [chance == MICRO or (len(set(self._where[some])) == 1) == friends for friends, some, chance in sets]
        self._imposed = np.array(holds or [False], np.int64)
        values = goals_of(problem, alloc)
        best = Found(int(values != problem.objective.bounds), self._where, NULL, 0, values)
        checked, number, last = 0, 0, 0
        while best.left and number != runs and number - last < patience and not (number and over()):
            end = number + 4 if runs is None else min(number + 4, runs)
            self._where = best.where
            for run in best_of(self._improve, range(number, end), over, self.stop):
                if run.values < best.values:
                    best, last = run, end
                yield best._replace(checked=checked + run.checked)
            checked, number = checked + run.checked, end

    def _improve(self, number: int) -> Found:
        """Make a run for goals, or as much of it as there is time for."""
        objective, (goals, data, numbers) = self._problem.objective, self._goals
        assert objective is not None
        values = np.zeros((PAST + LATE, len(objective.goals)), np.int64)
        place = state(self._problem, self._flat, self.stop)._replace(data=data, numbers=numbers, values=values)
        place.room.imposed[:] = self._imposed
        allowed = load(self._call, place, self._where)
        assert allowed, "an allocation that is not allowed"
        evaluate(goals, place)
        values[:] = values[TRIED]
        polish(self._call, goals, place, self._seed, number, 0)  # compiles it, even if time is over
        most, made = 2000 + 20 * len(self._problem.units), 0
        while made < most and not self.stop[0] and tuple(values[BEST].tolist()) != objective.bounds:
            polish(self._call, goals, place, self._seed, number, min(SLICE, most - made))
            made += SLICE
        best = tuple(values[BEST].tolist())
        return Found(int(best != objective.bounds), place.room.best, number, min(made, most), best)


def attempts(problem: Problem, seed: int, first: int, count: int, over: Over = never) -> Iterator[Found]:
    """Make runs that place balls, as `numbered_attempts.Attempts` says."""
    searching = LocalSearch(problem, seed)
    return best_of(searching.place, range(first, first + count), over, searching.stop)


def luby(number: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, ...: restarts that are never far from the best (Luby, Sinclair and Zuckerman 1993)."""
    while (number + 2) & (number + 1):
        number -= (1 << ((number + 1).bit_length() - 1)) - 1
    return (number + 2) >> 1
