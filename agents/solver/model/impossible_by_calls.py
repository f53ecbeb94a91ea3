"""Find reasons why not all balls can be placed by calling UTILFN, which must add the same whatever the others do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from agents.solver.model.evaluate import evaluator
from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO, NULL

CALLS = 300_000
"""Nodes of UTILFN that may be evaluated here: some tenths of a second."""

Amounts = dict[int, int]
"""By dimension, in millionths."""
Sum = tuple[int, tuple[int | None, ...]]
"""Dimensions of a family, by its number, which have these indices, where None stands for all of them."""


class Calls:
    """Calls UTILFN for balls, with their friends, in bins, until they have taken too long."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._ceiling = problem, problem.ceiling.tolist()
        self._evaluate = evaluator(problem.program)
        self._left = CALLS // max(1, problem.program.steps)
        self._every = problem.balls * problem.bins <= self._left // 2
        self._parts_of: dict[int, tuple[Sum, ...]] = {}
        """Of a dimension: those that it is part of."""
        self._taken: dict[Sum, int] = {}
        """What all units take of dimensions together, whichever bins they go into."""

    def reasons(self) -> Iterator[str]:
        """Find pinned balls that take too much, balls that no bin takes, and what all balls take too much of."""
        yield from self._pinned()
        yield from self._nowhere()
        for (number, index), taken in self._taken.items():
            family = self._problem.families[number]
            capacity = self._problem.ceiling[family.offset : family.offset + family.count].reshape(family.sizes)
            some = tuple(slice(None) if one is None else one for one in index)
            most = int(capacity[some].sum(dtype=object))  # it may be beyond 64 bits
            if taken > most:
                name = family.name_at(index)
                yield f"all balls take at least {amount_of(taken)} of {name}, and there are {amount_of(most)}"

    def _added(self, members: Iterable[int], place: int) -> Amounts | None:
        """Return what balls add together in a bin; None if one of them is rejected."""
        sums: Amounts = {}
        for ball in members:
            self._left -= 1
            added = self._evaluate(ball, place, ())
            if added is None:
                return None
            for dim, amount in added:
                sums[dim] = sums.get(dim, 0) + amount
        return sums

    def _pinned(self) -> Iterator[str]:
        used: Amounts = {}
        for ball in np.flatnonzero(self._problem.pins != NULL).tolist():
            if self._left <= 0:
                return
            for dim, amount in (self._added([ball], int(self._problem.pins[ball])) or {}).items():
                used[dim] = used.get(dim, 0) + amount
                if used[dim] > self._ceiling[dim]:
                    took, has = amount_of(used[dim]), amount_of(self._ceiling[dim])
                    yield f"the pinned balls take {took} of {self._problem.name(dim)}, and it has {has}"
                    return

    def _nowhere(self) -> Iterator[str]:
        problem = self._problem
        for members, _ in problem.units:
            pins = sorted({int(pin) for pin in problem.pins[members]} - {NULL})
            rejected, least = True, None
            for place in pins[:1] or range(problem.bins):
                if self._left <= 0:
                    self._taken.clear()
                    return
                added = self._added(members, place)
                rejected = rejected and added is None
                if added is None or any(amount > self._ceiling[dim] for dim, amount in added.items()):
                    continue
                sums = self._sums(added) if self._every else {}
                least = sums if least is None else {one: min(least[one], sums[one]) for one in least.keys() & sums}
                if not self._every:
                    break
            if least is None:
                where = f"bin {problem.bin(pins[0])}, to which it is pinned" if pins else "every bin"
                yield f"{balls_of(problem, members)} {_how(len(members), rejected)} {where}"
                return
            for one, amount in least.items():
                self._taken[one] = self._taken.get(one, 0) + amount

    def _sums(self, added: Amounts) -> dict[Sum, int]:
        """Sum up over every index of a family, and over all of them."""
        sums: dict[Sum, int] = {}
        for dim, amount in added.items():
            if dim not in self._parts_of:
                self._parts_of[dim] = self._sums_with(dim)
            for each in self._parts_of[dim]:
                sums[each] = sums.get(each, 0) + amount
        return sums

    def _sums_with(self, dim: int) -> tuple[Sum, ...]:
        number, family = next(pair for pair in enumerate(self._problem.families) if dim in pair[1])
        index = family.index_of(dim)
        some = (tuple(None if at == axis else one for at, one in enumerate(index)) for axis in range(len(index)))
        return tuple((number, each) for each in dict.fromkeys((index, *some, (None,) * len(index))))


def _how(members: int, rejected: bool) -> str:
    if members == 1:
        return "is rejected in" if rejected else "alone is too much for"
    return "are FRIENDS, and one of them is rejected in" if rejected else "are FRIENDS, and together too much for"


NAMED = 6
"""Balls that a message names."""


def balls_of(problem: Problem, members: Sequence[int]) -> str:
    """Name some balls."""
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - NAMED:,} more" if len(members) > NAMED else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:NAMED]))}{more}"


def amount_of(micro: int) -> str:
    """Write an amount that is given in millionths."""
    return f"{micro / MICRO:,.15g}"
