"""Evaluate UTILFN from its tree for all placed balls at once, with an array per expression: independent of programs.

The balls of an allocation are put in by index, so a ball sees in ALLOC those with a lower index, and nothing has to run
in turn. Nothing of the checker's or of the back ends' is used: what the checked program computes must agree with this.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.language.writer import BOOL, INT, PLACE, QUANTITY, Typed
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL, Family, qdiv, qmul
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
    build = Build(problem.source, problem.bins)
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
            kind, parts = statement.kind, statement.parts
            if kind == "let":
                self._names[parts[0]] = self._value(parts[1])
                lets.append(parts[0])
            elif kind == "if_":
                test = self._truth(parts[0])
                for chosen, side in ((test, parts[1]), (np.logical_not(test), parts[2])):
                    with self._within(chosen) as any_row:
                        if any_row:
                            self._block(side)
            elif kind == "for_":
                self._each(parts[0], partial(self._block, parts[1]))
            elif kind == "add":
                name, arguments, sign, added = parts
                family, dim = self._families[name], 0
                for size, argument in zip(family.sizes, arguments, strict=True):
                    dim = dim * size + self._inside(self._number(argument).raw, size)
                amount = (1 if sign == "+=" else -1) * _micro(self._number(added)).raw
                self._added.append((self._rows, family.offset + dim, amount))
            else:
                self._reject(True)
        for name in lets:
            del self._names[name]

    def _each(self, axis: s.Node, run: Callable[[], None]) -> None:
        """Call `run` once for every number of an axis, in the rows that have it."""
        name, range_, skip = axis.parts
        base, skipped = f"{name} from", f"{name} except"  # no names of the language
        table, offset, start, stop = self._range(range_)
        self._names[base] = Column(INT, offset)
        if skip is not None:
            self._names[skipped] = self._number(skip)
        for at in range(int(np.min(start)), int(np.max(stop))):
            with self._within((start <= at) & (at < stop)) as some:
                if some:
                    number = at if table is None else table.values[self._names[base].raw + at]
                    self._names[name] = Column(INT, number)
                    with self._within(True if skip is None else number != self._names[skipped].raw) as left:
                        if left:
                            run()
                    del self._names[name]
        self._names.pop(skipped, None)
        del self._names[base]

    def _range(self, node: s.Node) -> tuple[Table | None, Data, Data, Data]:
        """Find what an axis runs over: (table, offset, start, stop).

        It is the numbers from start to stop, or the entries of a table that they number from the offset on.
        """
        if node.kind == "span":
            return None, 0, self._number(node.parts[0]).raw, self._number(node.parts[1]).raw
        table = self._tables.get(node.parts[0]) if node.kind in ("index", "name") else None
        if node.kind == "index" and table is not None and len(node.parts[1]) == table.rank - 1:
            offset, length = self._row(table, node)
            return table, offset, 0, length
        if node.kind == "name" and table is not None:
            return table, 0, 0, len(table.values)
        return None, 0, 0, self._number(node).raw

    # Expressions

    def _value(self, node: s.Node) -> Column:
        result: Column = getattr(self, f"_{node.kind}_of")(*node.parts)
        return result

    def _number(self, node: s.Node) -> Column:
        """Evaluate a whole number or a quantity; a bin is its number."""
        kind, raw = self._value(node)
        return Column(INT if kind == PLACE else kind, raw)

    def _truth(self, node: s.Node) -> Data:
        return self._value(node).raw

    def _name_of(self, name: str) -> Column:
        return self._names[name]

    def _number_of(self, raw: int, whole: bool) -> Column:
        return Column(INT if whole else QUANTITY, raw)

    def _inside(self, index: Data, size: int) -> Data:
        """Reject rows whose index is not in 0 .. size - 1; returns the indices, 0 for those."""
        wrong = (index < 0) | (index >= size)
        if not np.any(wrong):
            return index
        self._reject(wrong)
        return np.where(wrong, 0, index)

    def _row(self, table: Table, node: s.Node) -> tuple[Data, Data]:
        """Find where the row that all but the last index choose starts, and how long it is."""
        row: Data = 0
        sizes = table.sizes if table.starts is not None else table.sizes[:-1]
        for size, argument in zip(sizes, node.parts[1], strict=False):
            row = row * size + self._inside(self._number(argument).raw, size)
        if table.starts is None:
            return row * table.sizes[-1], table.sizes[-1]
        return table.starts[row], table.starts[row + 1] - table.starts[row]

    def _index_of(self, name: str, arguments: tuple[s.Node, ...]) -> Column:
        table = self._tables[name]
        start, length = self._row(table, s.Node("index", At(1, 1), (name, arguments)))
        last = self._number(arguments[-1]).raw
        wrong = (last < 0) | (last >= length)
        at = start + last
        if np.any(wrong):
            self._reject(wrong)
            at = np.where(wrong, 0, at)
        return Column(INT if table.whole else QUANTITY, table.values[at])

    def _placed_of(self, other: s.Node) -> Column:
        ball = self._inside(self._number(other).raw, len(self._alloc))
        return Column(PLACE, np.where(ball < self._names["BALL"].raw, self._alloc[ball], NULL))

    def _not__of(self, operand: s.Node) -> Column:
        return Column(BOOL, np.logical_not(self._truth(operand)))

    def _length_of(self, inner: s.Node) -> Column:
        table = self._tables[inner.parts[0]]
        return Column(INT, table.sizes[0] if inner.kind == "name" else self._row(table, inner)[1])

    def _floor_of(self, operand: s.Node, sign: int = 1) -> Column:
        kind, raw = self._number(operand)
        return Column(INT, sign * (sign * raw // MICRO) if kind == QUANTITY else raw)

    def _ceil_of(self, operand: s.Node) -> Column:
        return self._floor_of(operand, -1)

    def _negative_of(self, operand: s.Node) -> Column:
        kind, raw = self._number(operand)
        return Column(kind, -raw)

    def _absolute_of(self, operand: s.Node) -> Column:
        kind, raw = self._number(operand)
        return Column(kind, abs(raw))

    def _binary_of(self, op: str, one: s.Node, other: s.Node) -> Column:
        if op in ("and", "or"):
            decided = np.array(np.broadcast_to(self._truth(one), self._rows.shape), bool)
            every = self._rows
            with self._within(decided == (op == "and")) as some:
                if some:
                    decided[np.searchsorted(every, self._rows)] = self._truth(other)
            return Column(BOOL, decided)
        if op in ("==", "!="):
            same = _same(self._value(one), self._value(other))
            return Column(BOOL, same if op == "==" else np.logical_not(same))
        left, right = self._number(one), self._number(other)
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

    def _extreme_of(self, choice: str, *arguments: s.Node) -> Column:
        values = [self._number(argument) for argument in arguments]
        if any(value.kind == QUANTITY for value in values):
            values = [_micro(value) for value in values]
        result = values[0]
        for value in values[1:]:
            result = Column(value.kind, (np.minimum if choice == "min" else np.maximum)(result.raw, value.raw))
        return result

    def _choose_of(self, if_: s.Node, then_: s.Node, else_: s.Node) -> Column:
        test = np.broadcast_to(self._truth(if_), self._rows.shape)
        sides: list[tuple[Ints, Column]] = []
        for chosen, side in ((test, then_), (~test, else_)):
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

    def _reduction_of(self, op: str, axis: s.Node, term: s.Node) -> Column:
        once = self._once(op, axis, term)
        if once is not None:
            return once
        rows, total, kind = self._rows, np.zeros(len(self._rows), np.int64), INT

        def add() -> None:
            nonlocal total, kind
            value = Column(INT, self._truth(term) * 1) if op == "count" else self._number(term)
            if value.kind == QUANTITY and kind == INT:
                total, kind = total * MICRO, QUANTITY
            total[np.searchsorted(rows, self._rows)] += value.raw if value.kind == kind else _micro(value).raw

        self._each(axis, add)
        return Column(kind, total)

    def _once(self, op: str, axis: s.Node, term: s.Node) -> Column | None:
        """Evaluate a loop that is the same for every row, with its numbers as the rows meanwhile.

        Returns None if it is not the same for every row, or never runs.
        """
        outer = {name: column for name, column in self._names.items() if np.ndim(column.raw) == 0}
        if axis.parts[2] is not None or not (_named((axis, term)) & self._names.keys() <= outer.keys()):
            return None
        table, offset, start, stop = self._range(axis.parts[1])
        if start >= stop:
            return None
        numbers = np.arange(start, stop)
        rows, names, rejected = self._rows, self._names, self._rejected
        self._rows, self._rejected = np.arange(len(numbers)), np.zeros(len(numbers), bool)
        self._names = outer | {axis.parts[0]: Column(INT, numbers if table is None else table.values[offset + numbers])}
        value = Column(INT, self._truth(term) * 1) if op == "count" else self._number(term)
        wrong = self._rejected.any()
        self._rows, self._names, self._rejected = rows, names, rejected
        if wrong:
            self._reject(True)
        return Column(value.kind, np.broadcast_to(value.raw, numbers.shape).sum())


def _named(part: object) -> set[str]:
    """Find the names in an expression, and BALL where it looks at other balls: that depends on who looks."""
    nodes = list(s.walk(part))
    own = {"BALL"} if any(node.kind == "placed" for node in nodes) else set()
    return own | {node.parts[0] for node in nodes if node.kind == "name"}


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
