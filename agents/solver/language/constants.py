"""Evaluate the constants of a specification, directly from the tree, with Python's integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At, SpecError, indices_beside
from binwright.agents.solver.language.tables import Table, quantity_of
from binwright.agents.solver.language.values import BOOL, INT, PLACE, QUANTITY, rule_of, zero
from binwright.agents.solver.model.arithmetic import OPERATIONS
from binwright.agents.solver.model.program import MICRO, NULL, WIDE
from binwright.simcore.errors import suggest

STEP_LIMIT = 1_000_000
"""Nodes evaluated for the constants of one specification."""


class Value(NamedTuple):
    """A number: itself, millionths if a quantity, 0 or 1 if a truth value, the bin or -1 if a place."""

    kind: str
    raw: int


def micro(value: Value) -> int:
    """Convert to millionths."""
    return value.raw if value.kind == QUANTITY else value.raw * MICRO


def is_null(value: Value) -> bool:
    """Tell NULL from a number that is kept in the same way."""
    return value.kind == PLACE and value.raw == NULL


class Interpreter:
    """Evaluates expressions over names and tables; whatever is wrong raises `SpecError`."""

    limit = STEP_LIMIT

    def __init__(self, names: dict[str, Value], tables: dict[str, Table]) -> None:
        self.names = names
        self.tables = tables
        self.steps = 0

    def step(self, at: At) -> None:
        """Count one node more."""
        self.steps += 1
        if self.steps > self.limit:
            remedy = "Compute large tables in Python and read them from a file."
            raise SpecError(f"the constants take more than {self.limit:,} steps", remedy, at)

    def value(self, node: s.Expr) -> Value:
        """Evaluate any expression."""
        self.step(node.at)
        result: Value = getattr(self, f"_{type(node).__name__.lower()}")(node)
        if abs(micro(result)) > WIDE:
            raise SpecError("the number is out of range", "Numbers are at most 1e12: choose a larger unit.", node.at)
        return result

    def whole(self, node: s.Expr, what: str = "this") -> int:
        """Evaluate a whole number, or a bin."""
        value = self.number(node)
        if value.kind != INT:
            raise SpecError(f"{what} must be a whole number", quantity_of(node, self.tables), node.at)
        return value.raw

    def number(self, node: s.Expr) -> Value:
        """Evaluate a whole number or a quantity."""
        value = self.value(node)
        if value.kind not in (INT, QUANTITY, PLACE):
            raise SpecError("this must be a number", f"It is {value.kind}.", node.at)
        if is_null(value):
            raise SpecError("NULL is not a number", "Where a bin is missing in a table, write -1.", node.at)
        return value if value.kind != PLACE else Value(INT, value.raw)

    def truth(self, node: s.Expr) -> bool:
        """Evaluate a truth value."""
        value = self.value(node)
        if value.kind != BOOL:
            raise SpecError("this must be true or false", f"It is {value.kind}: compare it with something.", node.at)
        return bool(value.raw)

    def over(self, axes: Sequence[s.Axis]) -> Iterator[tuple[int, ...]]:
        """Iterate over every combination of the axes, the last running fastest; their names are set meanwhile."""
        if not axes:
            yield ()
            return
        for number in self.each(axes[0]):
            for rest in self.over(axes[1:]):
                yield (number, *rest)

    def each(self, axis: s.Axis) -> Iterator[int]:
        """Iterate over the numbers of an axis; its name is set meanwhile."""
        if axis.name in self.names or axis.name in self.tables:
            raise SpecError(f"{axis.name} has a meaning already", "Choose another name.", axis.at)
        skip = None if axis.skip is None else self.whole(axis.skip)
        try:
            for number in self.range(axis.range):
                self.step(axis.at)
                if number.raw != skip:
                    self.names[axis.name] = number
                    yield number.raw
        finally:
            self.names.pop(axis.name, None)

    def range(self, node: s.Expr | s.Span) -> Iterable[Value]:
        """Return the numbers that an axis runs over."""
        if isinstance(node, s.Span):
            return (Value(INT, i) for i in range(self.whole(node.start), self.whole(node.stop)))
        table = self.tables.get(node.table) if isinstance(node, s.Index) else None
        if isinstance(node, s.Index) and table is not None and len(node.arguments) == table.rank - 1:
            if not table.whole:
                raise SpecError(f"a row of {table.name} has quantities", "Run over 0 .. len(...) instead.", node.at)
            return (Value(INT, int(table.values[i])) for i in table.constant(node.at).row(self._row(table, node)))
        if isinstance(node, s.Name) and node.name in self.tables and self.tables[node.name].rank == 1:
            table = self.tables[node.name]
            if not table.whole:
                raise SpecError(f"{table.name} has quantities", "Run over len(...) instead.", node.at)
            return (Value(INT, int(number)) for number in table.constant(node.at).values)
        return (Value(INT, i) for i in range(self.whole(node, "a range")))

    def _number(self, node: s.Number) -> Value:
        return Value(INT if node.whole else QUANTITY, node.raw)

    def _name(self, node: s.Name) -> Value:
        if node.name == "NULL":
            return Value(PLACE, NULL)
        if node.name in self.tables:
            raise SpecError(f"{node.name} is a table", f"Write {node.name}[...].", node.at)
        if node.name not in self.names:
            known = {*self.names, *self.tables}
            raise SpecError(f"unknown name {node.name}", suggest(node.name, known), node.at)
        return self.names[node.name]

    def _row(self, table: Table, node: s.Index) -> int:
        """Return the number of the row that all but the last index choose."""
        row = 0
        for size, argument in zip(table.sizes, node.arguments, strict=False):
            number = self.whole(argument, "an index")
            if not 0 <= number < size:
                remedy = f"{table.name} goes from 0 to {size - 1} here." if size else f"{table.name} is empty."
                raise SpecError(f"index {number} leaves {table.name}", remedy, argument.at)
            row = row * size + number
        return row

    def _index(self, node: s.Index) -> Value:
        table = self.tables.get(node.table)
        if table is None:
            raise SpecError(f"unknown table {node.table}", suggest(node.table, self.tables), node.at)
        if len(node.arguments) != table.rank:
            problem = f"{table.name} takes {indices_beside(table.rank, len(node.arguments))}"
            raise SpecError(problem, "Write one per level, with commas between: T[row, column].", node.at)
        place = self._row(table, node)
        if table.starts is not None:
            row = table.row(place)
            last = self.whole(node.arguments[-1], "an index")
            if not 0 <= last < len(row):
                raise SpecError(f"index {last} leaves the row of {table.name}", f"It has {len(row)}.", node.at)
            place = row[last]
        return Value(INT if table.whole else QUANTITY, int(table.constant(node.at).values[place]))

    def _placed(self, node: s.Placed) -> Value:
        raise SpecError("ALLOC is known in UTILFN only", "Move this into UTILFN, or into a goal.", node.at)

    def _used(self, node: s.Used) -> Value:
        raise SpecError("UTIL is known in goals only", "Move this into MINIMISE or MAXIMISE.", node.at)

    def _unary(self, node: s.Unary) -> Value:
        if node.op == "not":
            return Value(BOOL, not self.truth(node.operand))
        if node.op == "len":
            return Value(INT, self._len(node.operand))
        value = self.number(node.operand)
        if node.op in ("floor", "ceil"):
            sign = 1 if node.op == "floor" else -1
            return Value(INT, sign * (sign * micro(value) // MICRO))
        return Value(value.kind, -value.raw if node.op == "-" else abs(value.raw))

    def _len(self, node: s.Expr) -> int:
        if isinstance(node, s.Name) and node.name in self.tables:
            return self.tables[node.name].sizes[0]
        if isinstance(node, s.Index) and node.table in self.tables:
            table = self.tables[node.table]
            if len(node.arguments) == table.rank - 1:
                return len(table.row(self._row(table, node)))
        raise SpecError("len takes a table or a row of it", "Write len(T), or len(T[row]) if rows differ.", node.at)

    def _binary(self, node: s.Binary) -> Value:
        if node.op in ("and", "or"):
            decided = self.truth(node.left)
            return Value(BOOL, self.truth(node.right) if decided == (node.op == "and") else decided)
        if node.op in ("==", "!="):
            left, right = self.value(node.left), self.value(node.right)
            if (left.kind == BOOL) != (right.kind == BOOL):
                raise SpecError("truth values and numbers differ", "Compare like with like.", node.at)
            if left.kind == BOOL:
                same = left.raw == right.raw
            else:  # NULL equals NULL and no number
                same = is_null(left) == is_null(right) and micro(left) == micro(right)
            return Value(BOOL, same == (node.op == "=="))
        left, right = self.number(node.left), self.number(node.right)
        how = rule_of(node.op, left.kind, right.kind, node.at)
        if right.raw == 0 and how.operation in ("div", "mod", "qdiv"):
            raise zero(node.at)
        numbers = left.raw * how.left, right.raw * how.right
        return Value(how.kind, OPERATIONS[how.operation](*(numbers[::-1] if how.swapped else numbers)))

    def _extreme(self, node: s.Extreme) -> Value:
        return extreme(node.op, [self.number(argument) for argument in node.arguments])

    def _choose(self, node: s.Choose) -> Value:
        return self.value(node.yes if self.truth(node.test) else node.no)

    def _reduce(self, node: s.Reduce) -> Value:
        if node.op == "count":
            return Value(INT, sum(self.truth(node.body) for _ in self.each(node.axis)))
        values = [self.number(node.body) for _ in self.each(node.axis)]
        if node.op in ("min", "max"):
            if not values:
                raise SpecError(f"{node.op} of nothing", "Give it a range that is not empty.", node.at)
            return extreme(node.op, values)
        return total(values)


def extreme(choice: str, values: Sequence[Value]) -> Value:
    """Return the smallest ("min") or the largest ("max") of some numbers."""
    choose = min if choice == "min" else max
    if any(value.kind == QUANTITY for value in values):
        return Value(QUANTITY, choose(map(micro, values)))
    return Value(INT, choose(value.raw for value in values))


def total(values: Sequence[Value]) -> Value:
    """Add numbers up."""
    if any(one.kind == QUANTITY for one in values):
        return Value(QUANTITY, sum(map(micro, values)))
    return Value(INT, sum(one.raw for one in values))
