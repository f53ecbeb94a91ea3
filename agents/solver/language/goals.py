"""Compile goals, and find what the terms of their sums read (see `binwright.agents.solver.model.objective`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import INT, QUANTITY, Compiler, Typed
from binwright.agents.solver.language.constants import Constants
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.objective import BALL, DIMENSION, Goal, Objective, Reduction
from binwright.agents.solver.model.program import Const, Family
from binwright.simcore.types import Ints


def compile_goals(
    nodes: Sequence[s.Goal],
    text: str,
    balls: int,
    bins: int,
    names: dict[str, Typed],
    tables: dict[str, Table],
    families: Mapping[str, Family],
    ceiling: Ints,
) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    code, terms = Compiler(names, tables, balls, bins), Terms(names, tables, balls, bins)
    code.families, code.ceiling, terms.families = families, ceiling, families
    found = [code.number(node.value) for node in nodes]
    goals = []
    for node, value in zip(nodes, found, strict=True):
        written = node.said or " ".join(text[slice(*node.span)].split())
        goals.append(Goal(node.aim, written, value.kind == QUANTITY, value.low, value.high))
    reductions = tuple(
        Reduction(kind, total.slot, first, loop, partial(terms.read_by, node))
        for node, kind, total, first, loop in code.reductions
        if _steady(node)
    )
    values = tuple(value.code for value in found)
    return Objective(tuple(goals), tuple(code.out), values, code.slots, code.data(), reductions)


def _varies(part: object) -> bool:
    """Tell whether a part of a goal depends on the allocation."""
    return any(isinstance(node, s.Used | s.Placed) for node in s.walk(part))


def _steady(node: s.Reduce) -> bool:
    """Tell whether a term reads the same whatever the allocation is."""
    for inner in s.walk((node.axis.skip, node.body)):
        index: object = None
        if isinstance(inner, s.Placed | s.Used):
            index = inner.ball if isinstance(inner, s.Placed) else inner.arguments
        elif isinstance(inner, s.Reduce):
            index = inner.axis.range
        if _varies(index):
            return False
    return True


class Terms(Constants):
    """Finds what the terms of reductions read."""

    limit = 10**9

    def read_by(self, node: s.Reduce, number: int) -> set[tuple[int, int]]:
        """Return what term `number` reads: dimensions and balls."""
        entries = self.over(node.axis.range).entries
        self.steps, number = 0, number if entries is None else int(entries.values[number])
        skip = node.axis.skip
        if skip is not None and not _varies(skip) and self.int_of(skip) == number:
            return set()
        self.locals[node.axis.name] = Typed.of(INT, number)
        try:
            return {*self._reads(skip), *self._reads(node.body)}
        finally:
            del self.locals[node.axis.name]

    def _reads(self, part: object) -> Iterator[tuple[int, int]]:
        if isinstance(part, s.Placed):
            yield self.within(part.ball, self.balls, "BALLS").low, BALL
        elif isinstance(part, s.Used):
            _, dim, _ = self.dimension(part, part.arguments)
            assert isinstance(dim, Const)
            yield dim.value, DIMENSION
        elif isinstance(part, s.Choose) and not _varies(part.test):
            yield from self._reads(part.yes if self._holds(part.test) else part.no)
        elif isinstance(part, s.Reduce):
            skip = part.axis.skip
            yield from self._reads(skip)
            for _ in self.each(replace(part.axis, skip=None) if _varies(skip) else part.axis):
                yield from self._reads(part.body)
        elif isinstance(part, s.Node):
            for inner in vars(part).values():
                yield from self._reads(inner)
        elif isinstance(part, tuple) and part and isinstance(part[0], s.Node):
            for inner in part:
                yield from self._reads(inner)
