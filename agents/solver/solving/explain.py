"""Explain an allocation: what is used of every resource, and what stands in the way of a ball."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import evaluator, rejection
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL, Family, Reject
from binwright.agents.solver.model.verify import utilisation
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints


class Obstacle(NamedTuple):
    """What keeps a ball, with its friends, out of a bin."""

    rule: str
    """The resource, or PIN, DRAIN, FOES, DIFFERENT, UTILFN or SOFT."""
    text: str
    """In plain words."""


class Use(NamedTuple):
    """What an allocation uses of a resource."""

    name: str
    used: float
    """Of all its dimensions."""
    capacity: float
    fullest: str
    """The dimension with least free of its capacity."""
    share: float
    """How much of the fullest is used; 0 where it has no capacity and nothing is used."""
    over: int
    """Dimensions above their capacity, as SOFT allows."""


def uses(problem: Problem, alloc: Sequence[int]) -> list[Use]:
    """Sum up what an allocation [balls] uses of every resource."""
    used = np.array(utilisation(problem, alloc)[0], np.int64)
    return [_use(family, used, problem.capacity) for family in problem.families if family.count]


def _use(family: Family, used: Ints, capacity: Ints) -> Use:
    part = slice(family.offset, family.offset + family.count)
    mine, most = used[part] / MICRO, capacity[part] / MICRO
    share = np.divide(mine, most, out=np.where(mine > 0, np.inf, 0.0), where=most > 0)
    fullest = int(share.argmax())
    name = family.name_of(family.offset + fullest)
    over = int((used[part] > capacity[part]).sum())
    return Use(family.name, float(mine.sum()), float(most.sum()), name, float(share[fullest]), over)


def _rejected(problem: Problem, by: Reject | None, ball: int) -> Obstacle:
    if by is None or by.what == "REJECT":
        where = "" if by is None else f" in line {by.line}"
        return Obstacle("UTILFN", f"UTILFN rejects {problem.ball(ball)} there{where}")
    return Obstacle(f"{by.what} out of range (line {by.line})", f"{by.what} is out of range in line {by.line}")


class Explained:
    """An allocation [balls] that is right, and questions about it."""

    def __init__(self, problem: Problem, alloc: Sequence[int]) -> None:
        self._problem, self._alloc = problem, list(alloc)
        self._evaluate = evaluator(problem.base)

    def obstacles(self, ball: int, bins: Iterable[int] | None = None) -> Iterator[tuple[int, list[Obstacle]]]:
        """Iterate over bins, by default all, and what keeps a ball out of each while all others stay as they are.

        Its certain friends come with it, as they are placed together. There is nothing in the way of it where it is.
        """
        problem = self._problem
        if not 0 <= ball < problem.balls:
            remedy = f"They go from 0 to {problem.balls - 1}."
            raise UserError("there is no such ball", key="ball", value=ball, remedy=remedy)
        members = np.flatnonzero(problem.unit_of == problem.unit_of[ball]).tolist()
        alloc = self._alloc.copy()
        for one in members:
            alloc[one] = NULL
        used = utilisation(problem, alloc)[0]
        # What it gives back where it is may be needed there: without it these are above their capacity.
        without = dict.fromkeys(np.flatnonzero(np.array(used) > problem.capacity).tolist(), 0)
        for place in range(problem.bins) if bins is None else bins:
            yield place, list(self._in(place, members, alloc.copy(), used, without))

    def summary(self, ball: int) -> dict[str, int]:
        """Count the bins that each rule keeps a ball out of, the most frequent rule first."""
        found = Counter(rule for _, them in self.obstacles(ball) for rule in dict.fromkeys(one.rule for one in them))
        return dict(found.most_common())

    def _in(
        self, place: int, members: list[int], alloc: list[int], used: list[int], without: dict[int, int]
    ) -> Iterator[Obstacle]:
        """Find what is wrong with some more balls in a bin; writes `alloc`.

        `without` has a 0 for every dimension that is above its capacity without these balls.
        """
        problem = self._problem
        if problem.drained[place]:
            yield Obstacle("DRAIN", "it is to be empty")
        pinned = {int(pin) for pin in problem.pins[members]} - {NULL, place}
        for pin in sorted(pinned):
            yield Obstacle("PIN", f"it is pinned to {problem.bin(pin)}")
        added = without.copy()
        for ball in members:
            some = self._evaluate(ball, place, alloc)
            alloc[ball] = place
            if some is None:
                alloc[ball] = NULL
                yield _rejected(problem, rejection(problem.base, ball, place, alloc), ball)
                return
            for dim, amount in some:
                added[dim] = added.get(dim, 0) + amount
        yield from self._sets(set(members), place, alloc)
        yield from self._over(added, used)

    def _sets(self, members: set[int], place: int, alloc: list[int]) -> Iterator[Obstacle]:
        for foes, chance in self._problem.foes:
            if chance == MICRO and not members.isdisjoint(foes) and all(alloc[one] == place for one in foes):
                others = ", ".join(self._problem.ball(one) for one in foes if one not in members)
                rule = "DIFFERENT" if any(set(foes) <= set(some) for some, _ in self._problem.different) else "FOES"
                yield Obstacle(rule, f"it would be with {others}" if others else "its friends are its foes")

    def _over(self, added: dict[int, int], used: list[int]) -> Iterator[Obstacle]:
        problem, soft = self._problem, set[int]()
        for dim, amount in added.items():
            after = used[dim] + amount
            if after > problem.ceiling[dim]:
                family = next(one for one in problem.families if dim in one)
                name, most = problem.name(dim), problem.ceiling[dim] / MICRO
                yield Obstacle(family.name, f"{name} would be used {after / MICRO:g} of {most:g}")
            elif after > problem.capacity[dim]:
                soft.add(int(problem.soft_group[dim]))
        for group in sorted(soft):
            dims = np.flatnonzero(problem.soft_group == group).tolist()
            over = sum(used[dim] + added.get(dim, 0) > problem.capacity[dim] for dim in dims)
            if over > problem.soft_allowed[group]:
                name, most = problem.name(dims[0]), problem.soft_allowed[group]
                yield Obstacle("SOFT", f"{over} dimensions of the soft group of {name} would be over, {most} may be")
