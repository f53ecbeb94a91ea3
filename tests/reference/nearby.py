"""The search of `agents.solver.online.virtual` again, slow and plain: filling a group is filling the groups in it."""

from collections.abc import Iterator, Sequence
from functools import partial

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from tests.reference.attempts import Partial
from tests.reference.interpreter import call

Rows = Sequence[Sequence[int]]


class Slow:
    """One search: `levels` has the group of every bin, in smaller groups, then in larger ones."""

    def __init__(self, problem: Problem, levels: Rows, free: Rows, least: Sequence[int]) -> None:
        bins = range(problem.bins)
        levels = [list(bins), *levels, [0] * problem.bins]
        order = sorted(bins, key=lambda place: [level[place] for level in reversed(levels)])
        self.groups = [
            [[b for b in order if level[b] == g] for g in dict.fromkeys(level[b] for b in order)] for level in levels
        ]
        self.problem, self.free, self.least = problem, free, least
        elastic = problem.elastic.tolist()
        touching: dict[int, set[int]] = {}
        for place in bins:
            for dim, _ in call(problem.program, 0, place, [NULL] * problem.balls) or ():
                if elastic[dim]:
                    touching.setdefault(dim, set()).add(place)
        every = [group for level in self.groups for group in level]
        self.own: dict[tuple[int, ...], list[int]] = {tuple(group): [] for group in every}
        for dim, places in touching.items():
            self.own[tuple(next(group for group in every if places <= set(group)))].append(dim)

    def slots(self, bins: Sequence[int]) -> int:
        """How many balls all that these bins have would hold."""
        there = [sum(kind) for kind in zip(*(self.free[b] for b in bins), strict=True)]
        return min((has // takes for has, takes in zip(there, self.least, strict=True) if takes), default=10**9)

    def tries(self, balls: int, attempts: int) -> Iterator[tuple[int, list[int]]]:
        """(level, group) in order."""
        for level, groups in enumerate(self.groups):
            if level and groups == self.groups[level - 1]:
                continue
            fitting = [g for g in sorted(groups, key=self.slots) if self.slots(g) >= balls]
            fitting = [g for g in fitting if sum(self.slots([b]) for b in g) >= balls]
            yield from ((level, group) for group in fitting[:attempts])

    def find(self, attempts: int, balls: int) -> Iterator[list[int]]:
        """The allocations."""
        units = [members for members, _ in self.problem.units if members[0] < balls]
        for level, group in self.tries(balls, attempts):
            made = Partial(self.problem, partial(call, self.problem.program), trims=True)
            made.impose(0)
            attempt = _Attempt(self, made, list(units))
            attempt.visit(level, group)
            if not attempt.left and not attempt.partial.over():
                yield attempt.partial.alloc


class _Attempt:
    def __init__(self, search: Slow, partial: Partial, left: list[list[int]]) -> None:
        self.search, self.partial, self.left = search, partial, left
        self.placed: list[list[int]] = []

    def visit(self, level: int, group: list[int]) -> None:
        """Fill a group and leave it."""
        mark = len(self.placed)
        if level == 0:
            self.fill(group[0])
        else:
            for smaller in self.search.groups[level - 1]:
                if self.left and set(smaller) <= set(group):
                    self.visit(level - 1, smaller)
        own = self.search.own[tuple(group)]
        while over := self.partial.over() & set(own):
            out = next(u for u in reversed(self.placed[mark:]) if self.partial.take([u], over))
            self.placed.remove(out)
            self.left.insert(0, out)

    def fill(self, place: int) -> None:
        most, still = self.search.slots([place]), []
        for unit in self.left:
            if len(unit) <= most and self.partial.put([unit], place):
                self.placed.append(unit)
                most -= len(unit)
            else:
                still.append(unit)
        self.left = still
