"""Evaluate the constants of a specification by the rules that compile UTILFN: every value is a number at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import BOOL, INT, Compiler, Typed, alike, extreme
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.program import Const, Expr

STEP_LIMIT = 1_000_000
"""Nodes evaluated for the constants of one specification."""


def total(values: Sequence[Typed]) -> Typed:
    """Add numbers up."""
    kind, values = alike(*values)
    return Typed.of(kind, sum(value.low for value in values))


class Constants(Compiler):
    """Evaluates expressions over names and tables; whatever is wrong raises `SpecError`."""

    limit = STEP_LIMIT

    def step(self, at: At) -> None:
        """Count one node more."""
        self.steps += 1
        if self.steps > self.limit:
            remedy = "Compute large tables in Python and read them from a file."
            raise SpecError(f"the constants take more than {self.limit:,} steps", remedy, at)

    def begin(self, table: Table, at: At) -> int:
        """Do nothing: what is read is not read again."""
        return 0

    def read(self, table: Table, index: Expr, at: At, rows: int | None = None) -> Expr:
        """Return the entry of a table that stays as it is, or where a row starts or stops."""
        assert isinstance(index, Const)
        if rows is None or table.starts is None:
            return Const(int(table.constant(at).values[index.value]))
        return Const(int(table.starts[index.value + rows]))

    def int_of(self, node: s.Expr, what: str = "this") -> int:
        """Evaluate a whole number, or a bin."""
        return self.whole(node, what).low

    def numbers(self, node: s.Expr | s.Span) -> Iterator[int]:
        """Iterate over what the variable of a loop runs over."""
        entries, start, stop, *_ = self.over(node)
        assert isinstance(start, Const)
        assert isinstance(stop, Const)
        values = None if entries is None else entries.constant(node.at).values
        for number in range(start.value, stop.value):
            yield number if values is None else int(values[number])

    def members(self, node: s.Expr | s.Span) -> Iterator[int]:
        """Iterate over the members of a set that an item lists: a range, a row of a table, or a single one."""
        listed = isinstance(node, s.Span) or self.row_of(node) is not None
        yield from self.numbers(node) if listed else (self.int_of(node),)  # type: ignore[arg-type]

    def each(self, axis: s.Axis) -> Iterator[int]:
        """Iterate over the numbers of an axis; its name is set meanwhile."""
        self.check_free(axis.name, axis.at)
        skip = None if axis.skip is None else self.int_of(axis.skip)
        try:
            for number in self.numbers(axis.range):
                self.step(axis.at)
                if number != skip:
                    self.locals[axis.name] = Typed.of(INT, number)
                    yield number
        finally:
            self.locals.pop(axis.name, None)

    def combinations(self, axes: Sequence[s.Axis]) -> Iterator[tuple[int, ...]]:
        """Iterate over every combination of the axes, the last running fastest; their names are set meanwhile."""
        if not axes:
            yield ()
            return
        for number in self.each(axes[0]):
            for rest in self.combinations(axes[1:]):
                yield (number, *rest)

    def _placed(self, node: s.Placed) -> Typed:
        raise SpecError("ALLOC is known in UTILFN only", "Move this into UTILFN, or into a goal.", node.at)

    def _used(self, node: s.Used) -> Typed:
        raise SpecError("UTIL is known in goals only", "Move this into MINIMISE or MAXIMISE.", node.at)

    def _holds(self, node: s.Expr) -> bool:
        return self.truth(node) == Const(1)

    def _joined(self, node: s.Binary) -> Typed:
        decided = self._holds(node.left)
        return Typed.of(BOOL, int(self._holds(node.right) if decided == (node.op == "and") else decided))

    def _choose(self, node: s.Choose) -> Typed:
        return self.value(node.yes if self._holds(node.test) else node.no)

    def _reduce(self, node: s.Reduce) -> Typed:
        if node.op == "count":
            return Typed.of(INT, sum(self._holds(node.body) for _ in self.each(node.axis)))
        values = [self.number(node.body) for _ in self.each(node.axis)]
        if node.op == "sum":
            return total(values)
        if not values:
            raise SpecError(f"{node.op} of nothing", "Give it a range that is not empty.", node.at)
        return extreme(node.op, values)
