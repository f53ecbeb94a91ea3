"""Result local searches of a problem on all cores: to place all balls first, then to make its goals better."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from time import monotonic

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.backends.flat import Flat
from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves, lowest
from binwright.agents.solver.local import goals, search
from binwright.agents.solver.local.goals import BEST, Goals, GoalState, goal_state
from binwright.agents.solver.local.search import load, polish
from binwright.agents.solver.local.state import State, state
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import word
from binwright.agents.solver.search.find import luby
from binwright.simcore.jit import prepared
from binwright.simcore.types import Ints

LOCAL = "local search"
STEPS, BRIEF, SLICE = 64, 8, 1000
"""Moves per unit of a short run; the same while the number of bins is searched, where most runs are for too few bins;
moves between two looks at the clock."""
GENTLE = 16_000
"""Moves of a run from where things are that only look for room for what is left out."""
RUNS, LEAST, EACH = 4, 2000, 20
"""Runs for goals that begin with the same allocation; moves of such a run, and more of them for each unit."""
PATIENCE = 100
"""Runs without a better allocation after which a search without limits ends."""


class LocalSearch:
    """Local searches of a problem, each named by its number: all depends on that and the seed, not on threads."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem, self._seed = problem, word(seed)
        self._source, numbers = utilfn(problem.program)
        self._flat = Flat.of_problem(problem, numbers, bool(problem.elastic.any()))
        self._sets = len(problem.friends) + len(problem.foes)
        self._free: list[State] = []
        self._scored: list[tuple[State, GoalState]] = []
        """Room of runs that are over: of those that place balls, and of those for goals."""
        self._stop = np.zeros(1, np.int64)
        self.length = 1.0
        """How long runs that place balls are, beside what is usual."""

    @cached_property
    def _compiled(self) -> tuple[Utilfn, Scan]:
        """UTILFN."""
        return compiled(self._source)

    @cached_property
    def _goals(self) -> Goals:
        """The goals."""
        assert self._problem.objective is not None
        return goals.compiled(self._problem.objective)

    @cached_property
    def _score(self) -> GoalState:
        """What every run for goals begins with a copy of."""
        return goal_state(self._problem)

    @cached_property
    def _bounds(self) -> tuple[int, ...]:
        """What goals come to where none can be better."""
        assert self._problem.objective is not None
        return tuple(goal.signed(goal.bound) for goal in self._problem.objective.goals)

    def halt(self) -> None:
        """End all runs."""
        self._stop[:] = 1

    def _state(self) -> State:
        """Return room for a run that places balls."""
        return self._free.pop() if self._free else state(self._problem, self._flat, self._stop)

    def _room(self) -> tuple[State, GoalState]:
        """Return room for a run for goals."""
        if self._scored:
            return self._scored.pop()
        return self._state(), GoalState(*(part.copy() for part in self._score))

    def place(self, first: int, count: int, until: float = inf) -> Iterator[Found]:
        """Make runs first, ..., first + count - 1 that place balls, up to the first success; yields the best so far.

        When `monotonic()` is `until`, they are cut short. Where balls are somewhere now, those of even numbers begin
        there.
        """
        self._stop[:] = 0
        checked = 0
        for best, wave in in_waves(self._place, first, count, until=until, halt=self.halt):
            checked += sum(run.checked for run in wave)
            if best is not None:
                yield Found(best.where.tolist(), best.left, best.attempt, 0, checked, LOCAL)

    def _place(self, number: int, cancelled: Callable[[], bool]) -> Result:
        """Make a run. From where units are now, its moves are gentle at first.

        Wishes that keep anything out are given up halfway.
        """
        problem, (call, scan), place = self._problem, self._compiled, self._state()
        staying = number % 2 == 0 and bool((problem.unit_now != NULL).any())
        now = problem.unit_now if staying else np.full(len(problem.units), NULL)
        left = search.begin(call, scan, place, self._sets, now, self._seed, number)
        each = BRIEF if problem.searched else STEPS
        most = max(1, int(luby(number) * each * len(problem.units) * self.length))
        made, relented = 0, self._sets == 0
        while left and made < most and not cancelled():
            if made >= most // 2 and not relented:
                search.relent(place)
                relented = True
            steps = min(SLICE, most - made, most if relented else max(1, most // 2 - made))
            left = search.improve(call, scan, place, steps, left, staying and made < GENTLE)
            made += steps
        run = Result(left, place.best.copy(), number, made + 1)
        self._free.append(place)
        return run

    def better(self, alloc: list[int], runs: int | None, until: float = inf) -> Iterator[Result]:
        """Look for better allocations than this one, of all balls; yields the best, with all moves, now and then.

        It ends after so many `runs`, when `monotonic()` is `until`, when no goal can be better, or, without limits,
        when it has found nothing for long. How far it comes depends on the seed and on `runs`.
        """
        best = self.begin(np.array(alloc, np.int64))
        checked, number, last = 0, 0, 0
        while best.left and number != runs and monotonic() < until:
            if runs is None and until == inf and number - last >= PATIENCE:
                return
            end = number + RUNS if runs is None else min(number + RUNS, runs)
            self._where = best.where
            outcome = lowest(self._improve, range(number, end), until=until, halt=self.halt)
            checked += sum(run.checked for run in outcome.tried)
            found = min(outcome.tried, key=lambda run: (run.left, run.values, run.attempt), default=best)
            if found.values < best.values:
                best, last = found, end
            yield best._replace(checked=checked)
            if outcome.interrupted:
                raise KeyboardInterrupt
            number = end

    def begin(self, where: Ints) -> Result:
        """Let runs for goals begin with an allocation of all balls [balls]; returns what it comes to."""
        imposed = [self._holds(members, kind, where) for kind in (0, 1) for members in self._members(kind)]
        self._imposed = np.array(imposed or [False], np.int64)
        self._where = where
        place, score = self.begun()
        values = tuple(score.values[BEST].tolist())
        self._scored.append((place, score))
        return Result(int(values != self._bounds), where, -1, 0, values)

    def begun(self) -> tuple[State, GoalState]:
        """Return the room for a run, with what it begins with."""
        place, score = self._room()
        place.imposed[:] = self._imposed
        assert load(self._compiled[0], place, self._where), "an allocation that is not allowed"
        goals.begin(self._goals, place, score)
        return place, score

    def _improve(self, number: int, cancelled: Callable[[], bool]) -> Result:
        """Make a run for goals."""
        place, score = self.begun()
        best = score.values[BEST]
        most = LEAST + EACH * len(self._problem.units)
        made = 0
        while made < most and not cancelled() and tuple(best.tolist()) != self._bounds:
            steps = min(SLICE, most - made)
            self.polish(place, score, number, steps)
            made += steps
        values = tuple(best.tolist())
        run = Result(int(values != self._bounds), place.best.copy(), number, made, values)
        self._scored.append((place, score))
        return run

    def polish(self, place: State, score: GoalState, number: int, steps: int) -> None:
        """Make so many more moves of a run for goals."""
        polish(*self._compiled, self._goals, place, score, self._seed, number, steps, *self._homes())

    def _homes(self) -> tuple[Ints, Ints]:
        """Return where units are now, and room for a list of bins."""
        return self._problem.unit_now, np.zeros(self._problem.bins, np.int64)

    def _members(self, kind: int) -> list[tuple[list[int], int]]:
        return list((self._problem.friends, self._problem.foes)[kind])

    def _holds(self, one: tuple[list[int], int], kind: int, where: Ints) -> bool:
        """Tell whether a set is to be kept: it must be, or is a wish that holds."""
        members, chance = one
        return chance == MICRO or (len(set(where[members].tolist())) == 1) == (kind == 0)

    def prepare_goals(self) -> None:
        """Compile what runs for goals need, or read it from disk."""
        place, score = self._room()
        call, scan = self._compiled
        prepared(load, call, place, place.best)
        prepared(goals.begin, self._goals, place, score)
        prepared(polish, call, scan, self._goals, place, score, 0, 0, 0, *self._homes())


def prepare(problem: Problem) -> None:
    """Compile what places balls, or read it from disk: it is the same for all problems."""
    if getattr(search.relent, "signatures", None):  # the last one: to look for them takes longer than some searches
        return
    source, numbers = utilfn(problem.program)
    given = *compiled(source), state(problem, Flat.of_problem(problem, numbers), np.zeros(1, np.int64))
    prepared(search.begin, *given, 0, problem.unit_now, 0, 0)
    prepared(search.improve, *given, 0, 0, False)
    prepared(search.relent, given[-1])
