"""Evaluate goals from their tree, with Python's integers, for an allocation of all balls: this is what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.solver.language import syntax as s
from agents.solver.language.constants import PLACE, QUANTITY, Interpreter, Value
from agents.solver.language.errors import SpecError
from agents.solver.language.tables import Table
from agents.solver.model.program import Family

STEPS = 100_000_000
"""Nodes evaluated for all goals: the checker allows a million for each evaluation of them."""


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
