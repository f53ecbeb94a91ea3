"""Evaluate UTILFN from its tree for all placed balls at once, with an array per expression: independent of programs.

The balls of an allocation are put in by index, so a ball sees in ALLOC those with a lower index, and nothing has to run
in turn. Nothing of the checker's or of the back ends' is used: what the checked program computes must agree with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import BOOL, INT, PLACE, QUANTITY, Typed
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.arithmetic import qdiv, qmul
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL, Family
from binwright.agents.solver.specification.build import Build
from binwright.agents.solver.specification.spec import Spec
from binwright.simcore.types import Ints

Data = Any
"""int64 [rows], or a number that is the same for all rows; truth values likewise."""


class Column(NamedTuple):
    """What an expression comes to in every row; see `binwright.agents.solver.language.compile.Typed`."""

    kind: str
    raw: Data


def from_text(problem: Problem, alloc: Sequence[int]) -> tuple[list[int], list[int]]:
    """Evaluate an allocation [balls]: utilisation [dims] in millionths, and the balls that are rejected."""
    assert isinstance(problem.source, Spec)
    build = Build(problem.source.given, problem.bins, limits=False)
    used, rejected = Columns(build.names, build.tables, build.families, alloc).run(build.body, build.dims)
    return used.tolist(), rejected.tolist()


class Columns:
    """The rows of an evaluation. A row is a placed ball; branches and loops run for some of the rows only."""

    def __init__(
        self,
        names: Mapping[str, Typed],
        tables: Mapping[str, Table],
        families: Mapping[str, Family],
        alloc: Sequence[int],
    ) -> None:
        self._tables, self._families = tables, families
        self._alloc = np.array(alloc, np.int64)
        self._rows = np.flatnonzero(self._alloc != NULL)
        self._rejected = np.zeros(len(alloc), bool)
        self._added: list[tuple[Ints, Data, Data]] = []
        self._names = {name: Column(value.kind, value.low) for name, value in names.items()}
        self._names |= {"BALL": Column(INT, self._rows), "BIN": Column(INT, self._alloc[self._rows])}
        self._names["NULL"] = Column(PLACE, NULL)

    def run(self, body: s.Block, dims: int) -> tuple[Ints, Ints]:
        """Return utilisation int64 [dims] in millionths, and the balls that are rejected, which add nothing."""
        if len(self._rows):
            self._block(body)
        used = np.zeros(dims, np.int64)
        for rows, dim, amount in self._added:
            kept = ~self._rejected[rows]
            np.add.at(used, np.broadcast_to(dim, rows.shape)[kept], np.broadcast_to(amount, rows.shape)[kept])
        return used, np.flatnonzero(self._rejected)

    # Rows

    @contextmanager
    def _within(self, chosen: Data) -> Iterator[bool]:
        """Restrict the rows to the chosen ones meanwhile; yields whether there are any."""
        chosen = np.broadcast_to(np.asarray(chosen, bool), self._rows.shape)
        if chosen.all():
            yield True
            return
        rows, names = self._rows, self._names
        if chosen.any():
            self._rows = rows[chosen]
            self._names = {
                name: Column(kind, raw[chosen] if np.ndim(raw) else raw) for name, (kind, raw) in names.items()
            }
            yield True
        else:
            yield False
        self._rows, self._names = rows, names

    def _reject(self, wrong: Data) -> None:
        """Reject the balls of rows in which a test fails; what these rows come to later does not matter."""
        self._rejected[self._rows[np.broadcast_to(wrong, self._rows.shape)]] = True

    # Statements

    def _block(self, body: s.Block) -> None:
        lets = []
        for statement in body:
            if isinstance(statement, s.Let):
                self._names[statement.name] = self._value(statement.value)
                lets.append(statement.name)
            elif isinstance(statement, s.Branch):
                test = self._truth(statement.test)
                for chosen, side in ((test, statement.then), (np.logical_not(test), statement.other)):
                    with self._within(chosen) as any_row:
                        if any_row:
                            self._block(side)
            elif isinstance(statement, s.Loop):
                self._each(statement.axis, partial(self._block, statement.body))
            elif isinstance(statement, s.AddTo):
                family, dim = self._families[statement.family], 0
                for size, argument in zip(family.sizes, statement.arguments, strict=True):
                    dim = dim * size + self._inside(self._number(argument).raw, size)
                amount = statement.sign * _micro(self._number(statement.amount)).raw
                self._added.append((self._rows, family.offset + dim, amount))
            else:
                self._reject(True)
        for name in lets:
            del self._names[name]

    def _each(self, axis: s.Axis, run: Callable[[], None]) -> None:
        """Call `run` once for every number of an axis, in the rows that have it."""
        name, base, skipped = axis.name, f"{axis.name} from", f"{axis.name} except"  # no names of the language
        table, offset, start, stop = self._range(axis.range)
        self._names[base] = Column(INT, offset)
        if axis.skip is not None:
            self._names[skipped] = self._number(axis.skip)
        for at in range(int(np.min(start)), int(np.max(stop))):
            with self._within((start <= at) & (at < stop)) as some:
                if some:
                    number = at if table is None else table.values[self._names[base].raw + at]
                    self._names[name] = Column(INT, number)
                    with self._within(True if axis.skip is None else number != self._names[skipped].raw) as left:
                        if left:
                            run()
                    del self._names[name]
        self._names.pop(skipped, None)
        del self._names[base]

    def _range(self, node: s.Expr | s.Span) -> tuple[Table | None, Data, Data, Data]:
        """Find what an axis runs over: (table, offset, start, stop).

        It is the numbers from start to stop, or the entries of a table that they number from the offset on.
        """
        if isinstance(node, s.Span):
            return None, 0, self._number(node.start).raw, self._number(node.stop).raw
        table = self._tables.get(node.table) if isinstance(node, s.Index) else None
        if isinstance(node, s.Index) and table is not None and len(node.arguments) == table.rank - 1:
            offset, length = self._row(table, node)
            return table, offset, 0, length
        if isinstance(node, s.Name) and node.name in self._tables:
            return self._tables[node.name], 0, 0, len(self._tables[node.name].values)
        return None, 0, 0, self._number(node).raw

    # Expressions

    def _value(self, node: s.Expr) -> Column:
        result: Column = self._literal(node) if isinstance(node, s.Number) else getattr(self, _method(node))(node)
        return result

    def _number(self, node: s.Expr) -> Column:
        """Evaluate a whole number or a quantity; a bin is its number."""
        kind, raw = self._value(node)
        return Column(INT if kind == PLACE else kind, raw)

    def _truth(self, node: s.Expr) -> Data:
        return self._value(node).raw

    def _name(self, node: s.Name) -> Column:
        return self._names[node.name]

    def _literal(self, node: s.Number) -> Column:
        return Column(INT if node.whole else QUANTITY, node.raw)

    def _inside(self, index: Data, size: int) -> Data:
        """Reject rows whose index is not in 0 .. size - 1; returns the indices, 0 for those."""
        wrong = (index < 0) | (index >= size)
        if not np.any(wrong):
            return index
        self._reject(wrong)
        return np.where(wrong, 0, index)

    def _row(self, table: Table, node: s.Index) -> tuple[Data, Data]:
        """Find where the row that all but the last index choose starts, and how long it is."""
        row: Data = 0
        sizes = table.sizes if table.starts is not None else table.sizes[:-1]
        for size, argument in zip(sizes, node.arguments, strict=False):
            row = row * size + self._inside(self._number(argument).raw, size)
        if table.starts is None:
            return row * table.sizes[-1], table.sizes[-1]
        return table.starts[row], table.starts[row + 1] - table.starts[row]

    def _index(self, node: s.Index) -> Column:
        table = self._tables[node.table]
        start, length = self._row(table, node)
        last = self._number(node.arguments[-1]).raw
        wrong = (last < 0) | (last >= length)
        at = start + last
        if np.any(wrong):
            self._reject(wrong)
            at = np.where(wrong, 0, at)
        return Column(INT if table.whole else QUANTITY, table.values[at])

    def _placed(self, node: s.Placed) -> Column:
        ball = self._inside(self._number(node.ball).raw, len(self._alloc))
        return Column(PLACE, np.where(ball < self._names["BALL"].raw, self._alloc[ball], NULL))

    def _unary(self, node: s.Unary) -> Column:
        if node.op == "not":
            return Column(BOOL, np.logical_not(self._truth(node.operand)))
        if node.op == "len":
            inner = node.operand
            if isinstance(inner, s.Name):
                return Column(INT, self._tables[inner.name].sizes[0])
            assert isinstance(inner, s.Index)
            return Column(INT, self._row(self._tables[inner.table], inner)[1])
        kind, raw = self._number(node.operand)
        if node.op in ("floor", "ceil"):
            sign = 1 if node.op == "floor" else -1
            return Column(INT, sign * (sign * raw // MICRO) if kind == QUANTITY else raw)
        return Column(kind, -raw if node.op == "-" else abs(raw))

    def _binary(self, node: s.Binary) -> Column:
        op = node.op
        if op in ("and", "or"):
            decided = np.array(np.broadcast_to(self._truth(node.left), self._rows.shape), bool)
            every = self._rows
            with self._within(decided == (op == "and")) as some:
                if some:
                    decided[np.searchsorted(every, self._rows)] = self._truth(node.right)
            return Column(BOOL, decided)
        if op in ("==", "!="):
            same = _same(self._value(node.left), self._value(node.right))
            return Column(BOOL, same if op == "==" else np.logical_not(same))
        left, right = self._number(node.left), self._number(node.right)
        if op in _ORDER:
            return Column(BOOL, _ORDER[op](_micro(left).raw, _micro(right).raw))
        quantity = QUANTITY in (left.kind, right.kind)
        kind = QUANTITY if quantity else INT
        if op in ("+", "-"):
            a, b = (_micro(left).raw, _micro(right).raw) if quantity else (left.raw, right.raw)
            return Column(kind, a + b if op == "+" else a - b)
        if op == "*":
            both = left.kind == right.kind == QUANTITY
            return Column(kind, qmul(left.raw, right.raw) if both else left.raw * right.raw)
        wrong = np.equal(right.raw, 0)
        if np.any(wrong):
            self._reject(wrong)
            right = Column(right.kind, np.where(wrong, 1, right.raw))
        if op == "/":
            return Column(QUANTITY, qdiv(_micro(left).raw, _micro(right).raw))
        return Column(INT, left.raw // right.raw if op == "//" else left.raw % right.raw)

    def _extreme(self, node: s.Extreme) -> Column:
        values = [self._number(argument) for argument in node.arguments]
        if any(value.kind == QUANTITY for value in values):
            values = [_micro(value) for value in values]
        result = values[0]
        for value in values[1:]:
            result = Column(value.kind, (np.minimum if node.op == "min" else np.maximum)(result.raw, value.raw))
        return result

    def _choose(self, node: s.Choose) -> Column:
        test = np.broadcast_to(self._truth(node.test), self._rows.shape)
        sides: list[tuple[Ints, Column]] = []
        for chosen, side in ((test, node.yes), (~test, node.no)):
            with self._within(chosen) as some:
                if some:
                    sides.append((self._rows, self._value(side)))
        kinds = {value.kind for _, value in sides}
        if QUANTITY in kinds:
            sides = [(rows, _micro(value)) for rows, value in sides]
        kind = QUANTITY if QUANTITY in kinds else PLACE if PLACE in kinds else sides[0][1].kind
        result = np.empty(len(self._rows), np.int64)
        for rows, value in sides:
            result[np.searchsorted(self._rows, rows)] = value.raw
        return Column(kind, result.astype(bool) if kind == BOOL else result)

    def _reduce(self, node: s.Reduce) -> Column:
        once = self._once(node)
        if once is not None:
            return once
        rows, total, kind = self._rows, np.zeros(len(self._rows), np.int64), INT

        def add() -> None:
            nonlocal total, kind
            value = Column(INT, self._truth(node.body) * 1) if node.op == "count" else self._number(node.body)
            if value.kind == QUANTITY and kind == INT:
                total, kind = total * MICRO, QUANTITY
            total[np.searchsorted(rows, self._rows)] += value.raw if value.kind == kind else _micro(value).raw

        self._each(node.axis, add)
        return Column(kind, total)

    def _once(self, node: s.Reduce) -> Column | None:
        """Evaluate a loop that is the same for every row, with its numbers as the rows meanwhile.

        Returns None if it is not the same for every row, or never runs.
        """
        outer = {name: column for name, column in self._names.items() if np.ndim(column.raw) == 0}
        if node.axis.skip is not None or not (_named(node) & self._names.keys() <= outer.keys()):
            return None
        table, offset, start, stop = self._range(node.axis.range)
        if start >= stop:
            return None
        numbers = np.arange(start, stop)
        rows, names, rejected = self._rows, self._names, self._rejected
        self._rows, self._rejected = np.arange(len(numbers)), np.zeros(len(numbers), bool)
        self._names = outer | {
            node.axis.name: Column(INT, numbers if table is None else table.values[offset + numbers])
        }
        value = Column(INT, self._truth(node.body) * 1) if node.op == "count" else self._number(node.body)
        wrong = self._rejected.any()
        self._rows, self._names, self._rejected = rows, names, rejected
        if wrong:
            self._reject(True)
        return Column(value.kind, np.broadcast_to(value.raw, numbers.shape).sum())


def _named(node: object) -> set[str]:
    """Find the names in an expression, and BALL where it looks at other balls: that depends on who looks."""
    if isinstance(node, s.Name):
        return {node.name}
    if isinstance(node, tuple):
        return set().union(*map(_named, node))
    if isinstance(node, s.Node):
        own = {"BALL"} if isinstance(node, s.Placed) else set()
        return own.union(*(_named(inner) for inner in vars(node).values()))
    return set()


def _method(node: s.Expr) -> str:
    return f"_{type(node).__name__.lower()}"


def _micro(value: Column) -> Column:
    """Convert to millionths."""
    return value if value.kind == QUANTITY else Column(QUANTITY, value.raw * MICRO)


def _same(left: Column, right: Column) -> Data:
    """Tell where two values are equal; NULL equals NULL and no number."""
    if left.kind == BOOL or left.kind == right.kind:
        return left.raw == right.raw
    equal = _micro(left).raw == _micro(right).raw
    for one in (left, right):
        if one.kind == PLACE:
            equal = equal & (one.raw != NULL)
    return equal


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
