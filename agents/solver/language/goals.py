"""Compile goals, and find what the terms of their sums read (see `binwright.agents.solver.model.objective`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import INT, QUANTITY, Compiler, Scope, Typed
from binwright.agents.solver.language.constants import Constants
from binwright.agents.solver.model.objective import BALL, DIMENSION, Goal, Objective, Reduction
from binwright.agents.solver.model.program import Const
from binwright.simcore.types import Ints


def compile_goals(nodes: Sequence[s.Node], scope: Scope, ceiling: Ints) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    code, terms = Compiler(scope), Terms(scope)
    code.ceiling = ceiling
    found = [(aim, text, code.number(value)) for aim, value, text, _ in (node.parts for node in nodes)]
    reductions = tuple(
        Reduction(kind, total.slot, first, loop, partial(terms.read_by, node))
        for node, kind, total, first, loop in code.reductions
        if _steady(node)
    )
    return Objective(
        tuple(Goal(aim, text, value.kind == QUANTITY, value.low, value.high) for aim, text, value in found),
        tuple(code.out),
        tuple(value.code for _, _, value in found),
        code.slots,
        code.data(),
        reductions,
    )


def _varies(part: object) -> bool:
    """Tell whether a part of a goal depends on the allocation."""
    return any(node.kind in ("used", "placed") for node in s.walk(part))


def _steady(node: s.Node) -> bool:
    """Tell whether a term reads the same whatever the allocation is."""
    _, axis, term = node.parts
    inner = list(s.walk((axis.parts[2], term)))
    indices = [each.parts[-1] for each in inner if each.kind in ("placed", "used")]
    return not _varies((*indices, *(each.parts[1].parts[1] for each in inner if each.kind == "reduction")))


class Terms(Constants):
    """Finds what the terms of reductions read."""

    limit = inf  # the compiler has limited it

    def read_by(self, node: s.Node, number: int) -> set[tuple[int, int]]:
        """Return what term `number` reads: dimensions and balls."""
        name, range_, skip = node.parts[1].parts
        entries = self.over(range_).entries
        self.steps, number = 0, number if entries is None else int(entries.values[number])
        if skip is not None and not _varies(skip) and self.int_of(skip) == number:
            return set()
        self.locals[name] = Typed.of(INT, number)
        try:
            return {*self._reads((skip, node.parts[2]))}
        finally:
            del self.locals[name]

    def _reads(self, part: object) -> Iterator[tuple[int, int]]:
        if isinstance(part, tuple):
            for inner in part:
                yield from self._reads(inner)
        elif not isinstance(part, s.Node):
            return
        elif part.kind == "placed":
            yield self.within(part.parts[0], self.scope.balls, "BALLS", self.called.balls).low, BALL
        elif part.kind == "used":
            _, dim, _ = self.dimension(part)
            assert isinstance(dim, Const)
            yield dim.value, DIMENSION
        elif part.kind == "choose" and not _varies(part.parts[0]):
            yield from self._reads(part.parts[1 if self.holds(part.parts[0]) else 2])
        elif part.kind == "reduction":
            _, axis, term = part.parts
            skip = axis.parts[2]
            yield from self._reads(skip)
            for _ in self.each(replace(axis, parts=(*axis.parts[:2], None)) if _varies(skip) else axis):
                yield from self._reads(term)
        else:
            yield from self._reads(part.parts)
