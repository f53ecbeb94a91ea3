"""Evaluate goals from their tree, with Python's integers, for an allocation of all balls: this is what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest

from agents.solver.language import syntax as s
from agents.solver.language.constants import INT, PLACE, QUANTITY, Interpreter, Value, micro
from agents.solver.language.errors import SpecError
from agents.solver.language.named import Named
from agents.solver.language.tables import Table
from agents.solver.language.terms import Term
from agents.solver.model.problem import Part, Valued
from agents.solver.model.program import MICRO, Family

STEPS = 100_000_000
"""Nodes evaluated for all goals: the checker allows a million for each evaluation of them."""
LARGEST = 5
"""Entries of a sum that are told."""


class Whole(Interpreter):
    """Evaluates expressions that see the bin of every ball, and what is used of every dimension."""

    limit = STEPS

    def __init__(
        self,
        names: Mapping[str, Value],
        tables: Mapping[str, Table],
        families: Mapping[str, Family],
        alloc: Sequence[int],
        used: Sequence[int],
    ) -> None:
        super().__init__(dict(names), dict(tables))
        self._families, self._alloc, self._utilisation = families, alloc, used

    def goal(self, terms: Sequence[Term], called: Named) -> Valued:
        """Evaluate a goal term by term."""
        values, parts = [], []
        for sign, node, text in terms:
            largest: list[tuple[str, float]] = []
            if isinstance(node, s.Reduce) and node.op == "sum":
                entries = [(at, self.number(node.body)) for at in self.each(node.axis)]
                value = _total([one for _, one in entries])
                most = nlargest(LARGEST, (one for one in entries if one[1].raw), key=lambda one: abs(micro(one[1])))
                of = called.axes([node.axis])[0]
                largest = [(f"{node.axis.name} = {called.name(of, at)}", sign * _said(one)) for at, one in most]
            else:
                value = self.number(node)
            values.append(Value(value.kind, sign * value.raw))
            parts.append(Part(text, sign * _said(value), tuple(largest)))
        return Valued(_total(values).raw, tuple(parts))

    def _placed(self, node: s.Placed) -> Value:
        ball = self.whole(node.ball, "an index")
        if not 0 <= ball < len(self._alloc):
            raise SpecError(f"index {ball} leaves BALLS", f"It goes from 0 to {len(self._alloc) - 1}.", node.at)
        return Value(PLACE, self._alloc[ball])

    def _used(self, node: s.Used) -> Value:
        family, dim = self._families[node.family], 0
        for size, argument in zip(family.sizes, node.arguments, strict=True):
            index = self.whole(argument, "an index")
            if not 0 <= index < size:
                raise SpecError(f"index {index} leaves {family.name}", f"It goes from 0 to {size - 1}.", argument.at)
            dim = dim * size + index
        return Value(QUANTITY, self._utilisation[family.offset + dim])


def _total(values: Sequence[Value]) -> Value:
    if any(one.kind == QUANTITY for one in values):
        return Value(QUANTITY, sum(map(micro, values)))
    return Value(INT, sum(one.raw for one in values))


def _said(value: Value) -> float:
    return value.raw / MICRO if value.kind == QUANTITY else value.raw
