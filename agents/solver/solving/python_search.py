"""Search in plain Python, before kernels are compiled and while they are: the first answers come from here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from binwright.agents.solver.backends.reference import Partial, attempts_until
from binwright.agents.solver.local.objective_search import Better
from binwright.agents.solver.model.evaluate import Evaluate, evaluator, goal_values
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream, word
from binwright.agents.solver.search.bin_count import fewest, rounds
from binwright.agents.solver.solving.answer import Allocated
from binwright.agents.solver.solving.depth_first import DepthFirst
from binwright.agents.solver.solving.shared_progress import Known

LARGEST = 100_000
"""Balls times bins up to which plain Python gets through attempts."""
SLICE = 0.02
"""Seconds for which all allocations are tried between two attempts."""
FEW = 16
"""Attempts with a problem that is plainly impossible, and with every number of bins in the first round."""
ALL_TRIED = "all allocations have been tried"


class Plain:
    """Tries all allocations of a small problem, and makes published attempts; what is found goes to `known`.

    `look` is called again and again with how a search goes; it raises to end it.
    """

    def __init__(self, problem: Problem, known: Known, seed: int, ours: bool, look: Callable[[], None]) -> None:
        self._problem, self._known, self._seed, self._look = problem, known, seed, look
        self._trims = ours and bool(problem.elastic.any())
        self._tree: DepthFirst | None = None
        self._made: dict[int, tuple[Problem, Evaluate]] = {}
        self.small = problem.balls * known.bound <= LARGEST
        """Attempts take little time."""
        if ours:
            self._plant(known.bound)

    def _with_bins(self, bins: int) -> tuple[Problem, Evaluate]:
        """Return the problem with so many bins, and what evaluates UTILFN."""
        if bins not in self._made:
            problem = self._problem.with_bins(bins) if self._problem.searched else self._problem
            self._made[bins] = problem, evaluator(problem.program)
        return self._made[bins]

    def _plant(self, bins: int) -> None:
        """Begin to try all allocations into so many bins."""
        self._tree = None
        if bins <= self._known.most and self._problem.balls * bins <= LARGEST:
            problem, evaluate = self._with_bins(bins)
            self._tree = DepthFirst(problem, evaluate, self._seed) if DepthFirst.suits(problem) else None

    def try_all(self, over: Callable[[], bool]) -> None:
        """Go on with trying all allocations until time is `over`, there is one, or there is none."""
        known = self._known
        while self._tree is not None and not over():
            tree, bins = self._tree, self._tree.problem.bins
            tree.work(over)
            if known.bins is not None and known.bins <= bins:
                self._tree = None
            elif tree.found is not None:
                self._tree = None
                known.checked += 1
                known.keep(Allocated(0, tree.problem, tree.found, "depth first"))
            elif tree.over:
                if tree.proves and bins == known.bound:
                    known.bound = min(bins + 1, known.most)
                    known.impossible = ALL_TRIED if bins == known.most else ""
                self._plant(bins + 1)

    def attempt(self, bins: int, numbers: range, over: Callable[[], bool]) -> int | None:
        """Make published attempts with so many bins; returns the fewest bins known then."""
        (problem, evaluate), before = self._with_bins(bins), self._known.checked
        name = "trimming" if self._trims else "published"
        for found in attempts_until(problem, self._seed, numbers, self._trims, over, evaluate):
            self._known.checked = before + found.checked
            self._known.keep(Allocated(found.left, problem, found.alloc, name))
            self._look()
        return self._known.bins

    def while_not(self, over: Callable[[], bool]) -> None:
        """Search until time is `over`, or nothing can be better."""
        known, here = self._known, (self._problem.now != NULL).any()

        def a_slice() -> Callable[[], bool]:
            until = monotonic() + SLICE
            return lambda: monotonic() >= until or over()

        def attempt(bins: int, numbers: range) -> int | None:
            for number in numbers:
                self.try_all(a_slice())
                if over() or known.impossible or known.settled:
                    raise _Ended
                self.attempt(bins, range(number, number + 1), over)
                if known.bins is not None and known.bins <= bins:
                    break
            return known.bins

        try:
            if here or not self.small:  # attempts would move what may stay
                self.try_all(over)
            else:
                fewest(lambda: known.bound, known.most, known.bins, rounds(FEW), attempt)
        except _Ended:
            pass


class _Ended(Exception):
    """Raised when time is over, or nothing can be better."""


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
