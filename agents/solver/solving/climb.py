"""Make an allocation better by its goals in plain Python, move by move, while kernels compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agents.solver.backends.reference import Partial
from agents.solver.local.objective_search import Better
from agents.solver.model.evaluate import evaluator, goal_values
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.model.random import below, stream, word

GROUP = -4
"""The group in the key of its random numbers."""
MOST = 2_000
"""Balls, at most: every move evaluates UTILFN for all of them."""


def climb(problem: Problem, alloc: list[int], seed: int, over: Callable[[], bool]) -> Iterator[Better]:
    """Put one unit into another bin, or let two change places, again and again; what is no worse stands.

    All balls stay placed, and no more sets WITH a chance break. Yields what is better than the best before. It ends
    when time is `over`, or when no goal can be better.
    """
    assert problem.objective is not None
    replay, bounds = _Replay(problem), [one.signed(one.bound) for one in problem.objective.goals]
    best = now = replay.values(alloc)
    if now is None or problem.balls > MOST:
        return
    alloc, broken = alloc.copy(), replay.broken(alloc)
    start, units, draws = stream(word(seed), GROUP, 0), [members for members, _ in problem.units], 0
    while not over() and list(best or ()) != bounds:
        kind, first, second, place = (
            below(start, draws + n, size) for n, size in enumerate((2, len(units), len(units), problem.bins))
        )
        draws += 4
        one, other = units[first], units[second] if kind else []
        moved = alloc.copy()
        for ball in other:
            moved[ball] = alloc[one[0]]
        for ball in one:
            moved[ball] = alloc[other[0]] if other else place
        values = None if moved == alloc or replay.broken(moved) > broken else replay.values(moved)
        if values is not None and values <= now:
            alloc, now = moved, values
            if best is None or now < best:
                best = now
                yield Better(alloc.copy(), now, draws // 4)


class _Replay:
    """Evaluates allocations of all balls as the verifier does, one ball after another."""

    def __init__(self, problem: Problem) -> None:
        assert problem.objective is not None
        self._problem = problem
        self._partial = Partial(problem, evaluator(problem.program), trims=True)
        self._goals = goal_values(problem.objective)

    def broken(self, alloc: list[int]) -> int:
        """Count the sets WITH a chance that do not hold."""
        return sum(len(wish.broken(alloc)) for wish in self._problem.wishes)

    def values(self, alloc: list[int]) -> tuple[int, ...] | None:
        """Return what the goals come to, less being better; None if the allocation is not allowed."""
        partial = self._partial
        partial.alloc[:], partial.used[:] = [NULL] * self._problem.balls, [0] * self._problem.dims
        for ball, place in enumerate(alloc):
            if not partial.put_ball(ball, place, []):
                return None
        return None if partial.over() else self._goals(alloc, partial.used)
