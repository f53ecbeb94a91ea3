"""Compile expressions, UTILFN and goals: every value has a type, an interval that it is proven to stay in, and code.

Constant tables are known, so that the intervals of their entries are exact. Where an index cannot be proven to stay in
its table, or a divisor not to be zero, a test is written that rejects; where it certainly is wrong, the program is
refused. A constant is a value whose code is a number: `language.constants` evaluates the same rules at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import (
    COUNT_LIMIT,
    ENTRY_LIMIT,
    LARGEST,
    NESTING_LIMIT,
    At,
    SpecError,
    check_indices,
    look_up,
    refuse,
)
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model import program as p
from binwright.agents.solver.model.arithmetic import OPERATIONS
from binwright.simcore.errors import suggest
from binwright.simcore.types import Ints

INT, QUANTITY, BOOL, PLACE = "a whole number", "a quantity", "a truth value", "a bin or NULL"
OPERATORS = {
    "<": "lt", ">": "lt", "<=": "le", ">=": "le",
    "+": "add", "-": "sub", "*": "mul", "/": "qdiv", "//": "div", "%": "mod",
}  # fmt: skip
"""The operations of programs; quantities are multiplied by `qmul`."""


class Typed(NamedTuple):
    """A value; of a constant both bounds and the code are the number."""

    kind: str
    low: int
    """The smallest that it may be; millionths for quantities."""
    high: int
    code: p.Expr

    @classmethod
    def of(cls, kind: str, number: int) -> Typed:
        """Make a constant: millionths if a quantity, 0 or 1 if a truth value, the bin or -1 if a place."""
        return cls(kind, number, number, p.Const(number))

    def micro(self) -> Typed:
        """Convert a number to a quantity."""
        return self if self.kind == QUANTITY else computed("mul", self, Typed.of(INT, p.MICRO), QUANTITY)

    def negated(self) -> Typed:
        """Return the number with the other sign."""
        return computed("sub", Typed.of(self.kind, 0), self, self.kind)

    def floored(self) -> Typed:
        """Return the whole number that is not above it."""
        return computed("div", self, Typed.of(INT, p.MICRO), INT) if self.kind == QUANTITY else self


def op(kind: str, left: p.Expr, right: p.Expr) -> p.Expr:
    """Make an operation, or its result where the operands are known."""
    if isinstance(left, p.Const) and isinstance(right, p.Const):
        return p.Const(OPERATIONS[kind](left.value, right.value))
    if (kind == "add" and left == p.Const(0)) or (kind == "mul" and left == p.Const(1)):
        return right
    if (kind in ("add", "sub") and right == p.Const(0)) or (kind in ("mul", "div") and right == p.Const(1)):
        return left
    if kind == "mul" and p.Const(0) in (left, right):
        return p.Const(0)
    return p.Op(kind, left, right)


def alike(*values: Typed) -> tuple[str, list[Typed]]:
    """Convert all numbers to quantities if one of them is a quantity; returns their type, too."""
    if any(value.kind == QUANTITY for value in values):
        return QUANTITY, [value.micro() for value in values]
    return INT, list(values)


def extreme(choice: str, values: Sequence[Typed]) -> Typed:
    """Return the smallest ("min") or the largest ("max") of some numbers."""
    kind, values = alike(*values)
    return reduce(lambda one, other: computed(choice, one, other, kind), values)


def computed(operation: str, left: Typed, right: Typed, kind: str) -> Typed:
    """Write an operation, which comes to the least and the most at ends of what its operands may be."""
    code = op(operation, left.code, right.code)
    if isinstance(code, p.Const):
        return Typed.of(kind, code.value)
    if operation in ("lt", "le"):
        return Typed(kind, 0, 1, code)
    if operation == "mod":
        return Typed(kind, min(0, right.low + 1), max(0, right.high - 1), code)
    divides = operation in ("div", "qdiv")
    ends = [
        OPERATIONS[operation](end, other)
        for end in (left.low, left.high)
        for other in ({right.low, right.high, -1, 1} if divides else {right.low, right.high})
        if right.low <= other <= right.high and (other or not divides)
    ]
    return Typed(kind, min(ends), max(ends), code)


Over = tuple[Table | None, p.Expr, p.Expr, int, int, int]
"""What a loop runs over: the numbers from start to stop, or the entries of a table that these are numbers of; what the
variable may be, at least and at most; and the rounds, at most."""


@dataclass
class Scope:
    """What stands there by name: constants, tables, resources, and what is read AS names of something."""

    numbers: Mapping[str, Mapping[str, int]]
    """By what stands behind AS: the number of every name."""
    names: dict[str, Typed] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    families: dict[str, p.Family] = field(default_factory=dict)
    balls: int = -1
    bins: int = -1
    entries: dict[str, str] = field(default_factory=dict)
    """By table: what stands behind AS where its entries are read."""
    indices: dict[str, list[str | None]] = field(default_factory=dict)
    """By table and resource: for each index what stands behind AS where its names are read."""
    called: dict[str, str | None] = field(default_factory=dict)
    """By BALLS, BINS, BALL and BIN: what stands behind AS there."""

    @property
    def ball(self) -> str | None:
        """What stands behind AS at BALLS."""
        return self.called.get("BALLS")

    @property
    def bin(self) -> str | None:
        """What stands behind AS at BINS."""
        return self.called.get("BINS")

    def axes(self, axes: Sequence[s.Node]) -> list[str | None]:
        """Find out which names the indices of a table or a resource have: `len(zone)` are the names of zones."""
        found = []
        for range_ in (axis.parts[1] for axis in axes):
            of = range_.parts[0].parts[0] if range_.kind == "length" else None
            found.append(of if of in self.numbers else self.meant(range_))
        return found

    def name(self, of: str | None, number: int) -> str:
        """Return what something named `of` is called: the number itself where it has no name."""
        return next((name for name, other in self.numbers.get(of or "", {}).items() if other == number), str(number))

    def labels(self, named: Sequence[str | None]) -> tuple[tuple[str, ...], ...]:
        """Return the names of the indices of a resource, in the order of their numbers; none where it has none."""
        return tuple(() if of is None else tuple(self.numbers.get(of, ())) for of in named)

    def meant(self, node: s.Node) -> str | None:
        """Find out what an expression is the number of: what it may be compared with by name."""
        if node.kind == "index":
            return self.entries.get(node.parts[0])
        word = "BINS" if node.kind == "placed" else node.parts[0] if node.kind == "name" else ""
        return self.called.get(word)

    def number(self, node: s.Node, of: str | None) -> int:
        """Return the number of the `of` with this name."""
        [text] = node.parts
        if of is None:
            known = " or ".join(f'{of}["{text}"]' for of, names in self.numbers.items() if text in names)
            remedy = f"Write {known or 'zone[...], and TABLE ZONE FROM a file COLUMN a name AS zone'}."
            raise SpecError(f'it is not clear what "{text}" is the name of', remedy, node.at)
        return look_up(f"{of} called", text, self.numbers.get(of, {}), node.at)


class Compiler:
    """Writes the code of expressions, a kind of node by the method of its name: `out` has the statements so far."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names, self.tables, self.families = scope.names, scope.tables, scope.families
        self.locals = {"NULL": Typed.of(PLACE, p.NULL)}
        self.ceiling: Ints | None = None
        """[dims], in goals: every ball is placed, and nothing may be tested, as there is nothing to reject."""
        self.facts: frozenset[s.Node] = frozenset()
        """Expressions that are not NULL here."""
        self.depth = 0
        """Loops around."""
        self.reads_alloc, self.bin_reads = False, 0
        """Whether some place looks at ALLOC, and how often BIN is mentioned."""
        self.out: list[p.Stmt] = []
        self.slots, self.steps, self.trips = 2, 0, 1
        """Locals, the two arguments included; nodes that one call evaluates, and how often this place runs, at most."""
        self.guards: list[tuple[int, str]] = []
        self.starts: dict[str, int] = {}
        """Where in `data` the values of a table start; its rows' starts come behind them."""
        self._data: list[Ints] = []

    # Writing

    def step(self, at: At) -> None:
        """Count a node, which is evaluated as often as this place runs."""
        self.steps += self.trips
        if self.steps > COUNT_LIMIT:
            remedy = "Loop over fewer, or put what does not depend on ALLOC into a TABLE."
            raise SpecError(f"one call of UTILFN may take more than {COUNT_LIMIT:,} steps", remedy, at)

    def local(self) -> p.Local:
        """Make a new local."""
        self.slots += 1
        return p.Local(self.slots - 1)

    def stored(self, value: p.Expr) -> p.Local:
        """Store a value in a local of its own."""
        local = self.local()
        self.out.append(p.Set(local.slot, value))
        return local

    def repeatable(self, value: p.Expr) -> p.Local | p.Const:
        """Store a value in a local, unless it is one or a number: it may be written more than once then."""
        return value if isinstance(value, p.Local | p.Const) else self.stored(value)

    @contextmanager
    def apart(self, facts: frozenset[s.Node] = frozenset(), trips: int | None = None) -> Iterator[list[p.Stmt]]:
        """Collect what is written meanwhile, where these facts are known, too; what it defines and learns ends.

        It is in a loop if that runs so often, at most.
        """
        before = self.out, self.locals, self.facts, self.depth, self.trips
        self.out, self.locals, self.facts = [], dict(self.locals), self.facts | facts
        if trips is not None:
            self.depth, self.trips = self.depth + 1, self.trips * trips
        try:
            yield self.out
        finally:
            self.out, self.locals, self.facts, self.depth, self.trips = before

    def guard(self, wrong: p.Expr, what: str, at: At) -> None:
        """Write a test that rejects at run time."""
        remedy = "Bound it with min(..., ...), max(..., ...) or %, or run over a range."
        refuse(self.ceiling is not None, f"{what} is not certain to be legal here", remedy, at)
        self.out.append(p.If(wrong, (p.Reject(at.line, what),)))
        self.guards.append((at.line, what))

    def begin(self, table: Table, at: At) -> int:
        """Return where in `data` the values of a table begin; it becomes a part of it the first time."""
        if table.name not in self.starts:
            self.starts[table.name] = sum(part.size for part in self._data)
            self._data += [table.values] if table.starts is None else [table.values, table.starts]
            large = sum(part.size for part in self._data) > 2 * ENTRY_LIMIT
            refuse(large, f"the tables have more than {2 * ENTRY_LIMIT:,} entries", "Aggregate them first.", at)
        return self.starts[table.name]

    def read(self, table: Table, index: p.Expr, at: At, rows: int | None = None) -> p.Expr:
        """Read a value of a table, or where row number `index` starts if `rows` is 0, and stops if it is 1."""
        return p.Read(self.begin(table, at) + (0 if rows is None else table.values.size + rows), index)

    def data(self) -> Ints:
        """Join all tables that are read."""
        return np.concatenate(self._data) if self._data else np.zeros(0, np.int64)

    # What names mean, and what is known of them

    def check_free(self, name: str, at: At) -> None:
        """Refuse a name that means something already."""
        known = name in self.locals or name in self.names or name in self.tables
        refuse(known, f"{name} has a meaning already", "Names are assigned once: choose another one.", at)

    def learn(self, node: s.Node, truth: bool) -> frozenset[s.Node]:
        """Find the expressions that are not NULL where a test came out so."""
        if node.kind == "not_":
            return self.learn(node.parts[0], not truth)
        if node.kind != "binary":
            return frozenset()
        operator, left, right = node.parts
        if operator in ("and", "or") and truth == (operator == "and"):
            return self.learn(left, truth) | self.learn(right, truth)
        found = set()
        for side, other in ((left, right), (right, left)):
            is_null = side.kind == "name" and side.parts == ("NULL",)
            if (is_null and truth == (operator == "!=")) or (truth and operator == "==" and self._solid(side)):
                found.add(other)
        return frozenset(found) if operator in ("==", "!=") else frozenset()

    def _solid(self, node: s.Node) -> bool:
        """Tell whether an expression surely is not NULL, whatever else it is."""
        if node.kind != "name":
            return node.kind in ("number", "text") or node in self.facts
        known = self.names.get(node.parts[0]) or self.locals.get(node.parts[0])
        return node in self.facts or (known is not None and known.low >= 0)

    # Values of a type

    def value(self, node: s.Node, of: str | None = None) -> Typed:
        """Check an expression and write its code; a text is the name of an `of`."""
        self.step(node.at)
        if node.kind == "text":
            return Typed.of(INT, self.scope.number(node, of))
        result: Typed = getattr(self, f"_{node.kind}")(node, *node.parts)
        if result.kind == PLACE and result.low < 0 and node in self.facts:
            result = result._replace(low=0)
        most = p.WIDE if result.kind == QUANTITY else p.WIDE // p.MICRO
        remedy = "Choose a larger unit, or bound it with min(..., ...) and max(..., ...)."
        refuse(result.low < -most or result.high > most, "this may go beyond 1e12", remedy, node.at)
        return result

    def number(self, node: s.Node, of: str | None = None) -> Typed:
        """Check a whole number or a quantity; a bin counts as a number where it is not NULL."""
        found = self.value(node, of)
        if found.kind == PLACE:
            remedy = "Test it first: if ... != NULL ... end, or ... != NULL and ... In a table, write -1 for no bin."
            refuse(found.low < 0, "this may be NULL, and must be a number", remedy, node.at)
            return found._replace(kind=INT)
        remedy = "It is a truth value: if ... then 1 else 0 makes it one."
        refuse(found.kind == BOOL, "this must be a number", remedy, node.at)
        return found

    def whole(self, node: s.Node, what: str = "this", of: str | None = None) -> Typed:
        """Check a whole number."""
        found = self.number(node, of)
        remedy = "It is a quantity, as / and any entry of a table with a point make; // and floor(...) stay whole."
        refuse(found.kind == QUANTITY, f"{what} must be a whole number", remedy, node.at)
        return found

    def truth(self, node: s.Node) -> p.Expr:
        """Check a truth value; returns its code."""
        found = self.value(node)
        remedy = f"It is {found.kind}: compare it with something."
        refuse(found.kind != BOOL, "this must be true or false", remedy, node.at)
        return found.code

    # Indices and rows of tables

    def within(self, node: s.Node, size: int, what: str, of: str | None = None) -> Typed:
        """Check an index, which is proven or tested to be in 0 .. size - 1."""
        index = self.whole(node, "an index", of)
        if index.low >= 0 and index.high < size:
            return index
        found = str(index.low) if index.low == index.high else f"{index.low} .. {index.high + 1}"
        remedy = f"{what} goes from 0 to {size - 1} here." if size else f"{what} is empty."
        refuse(index.high < 0 or index.low >= size, f"index {found} leaves {what}", remedy, node.at)
        local = index.code if isinstance(index.code, p.Local) else self.stored(index.code)
        tests = [p.Op("lt", local, p.Const(0))] if index.low < 0 else []
        tests += [p.Op("le", p.Const(size), local)] if index.high >= size else []
        self.guard(tests[0] if len(tests) == 1 else p.Op("or", *tests), f"an index of {what}", node.at)
        return Typed(INT, max(index.low, 0), min(index.high, size - 1), local)

    def indices(self, name: str, sizes: Sequence[int], nodes: Sequence[s.Node], what: str) -> Iterator[Typed]:
        """Check indices of a table or a resource, by name where they have names."""
        known = self.scope.indices.get(name, [])
        for size, node, of in zip(sizes, nodes, [*known, *[None] * len(nodes)], strict=False):
            yield self.within(node, size, what, of)

    def row_of(self, node: s.Node) -> Table | None:
        """Return the table of which an expression is a row; None if it is none."""
        table = self.tables.get(node.parts[0]) if node.kind == "index" else None
        return table if table is not None and len(node.parts[1]) == table.rank - 1 else None

    def _row(self, table: Table, node: s.Node) -> tuple[p.Expr, p.Expr, int, int]:
        """Write where a row starts and stops in the table's values; returns the shortest and longest possible, too."""
        row = self._row_number(table, node)
        if table.starts is None:
            size = table.sizes[-1]
            start = op("mul", row, p.Const(size))
            return start, op("add", start, p.Const(size)), size, size
        start, stop = (self.read(table, row, node.at, end) for end in (0, 1))
        if isinstance(start, p.Const) and isinstance(stop, p.Const):
            return start, stop, stop.value - start.value, stop.value - start.value
        return start, stop, int(np.diff(table.starts).min()), table.longest

    def _row_number(self, table: Table, node: s.Node) -> p.Expr:
        """Write the number of the row that the indices choose: all of them, or all but the last if rows are alike."""
        row: p.Expr = p.Const(0)
        rows = table.sizes if table.starts is not None else table.sizes[:-1]
        for size, index in zip(rows, self.indices(table.name, rows, node.parts[1], table.name), strict=False):
            row = op("add", op("mul", row, p.Const(size)), index.code)
        return self.repeatable(row)

    def _index(self, node: s.Node, name: str, arguments: Sequence[s.Node]) -> Typed:
        table = look_up("table", name, self.tables, node.at)
        check_indices(name, table.rank, len(arguments), node.at)
        if arguments[0].kind == "text" and name in self.scope.numbers:  # zone["west"]
            return self.value(arguments[0], name)
        self.begin(table, node.at)
        last, kind = arguments[-1], INT if table.whole else QUANTITY
        of = [*self.scope.indices.get(name, []), *[None] * len(arguments)][len(arguments) - 1]
        if table.starts is None:
            index = self.within(last, table.sizes[-1], table.name, of)
            row = self._row_number(table, node)
            place = op("add", op("mul", row, p.Const(table.sizes[-1])), index.code)
        else:
            start, stop, shortest, longest = self._row(table, node)
            start = start if isinstance(start, p.Local) else self.repeatable(start)
            index = self.within(last, longest, f"{'the' if shortest == longest else 'a'} row of {table.name}", of)
            if index.high >= shortest:
                code = self.repeatable(index.code)
                self.guard(p.Op("le", op("sub", stop, start), code), f"an index of a row of {table.name}", last.at)
                index = index._replace(code=code)
            place = op("add", start, index.code)
        read = self.read(table, place, node.at)
        if isinstance(read, p.Const):
            return Typed.of(kind, read.value)
        low, high = table.bounds
        if isinstance(index.code, p.Const) and table.starts is None and not table.varies:  # a column
            column = table.values[index.code.value :: table.sizes[-1]]
            low, high = int(column.min()), int(column.max())
        return Typed(kind, low, high, read)

    def _length(self, node: s.Node, rows: s.Node) -> Typed:
        if rows.kind == "name" and rows.parts[0] in self.tables:
            return Typed.of(INT, self.tables[rows.parts[0]].sizes[0])
        table = self.row_of(rows)
        if table is None:
            raise SpecError("len takes a table or a row of it", "Write len(T), or len(T[row]) if rows differ.", rows.at)
        start, stop, shortest, longest = self._row(table, rows)
        return Typed(INT, shortest, longest, p.Const(longest) if shortest == longest else op("sub", stop, start))

    # Other expressions

    def _number(self, node: s.Node, raw: int, whole: bool) -> Typed:
        return Typed.of(INT if whole else QUANTITY, raw)

    def _name(self, node: s.Node, name: str) -> Typed:
        if name in self.locals:
            self.bin_reads += name == "BIN"
            return self.locals[name]
        if name in self.names:
            return self.names[name]
        refuse(name in self.tables, f"{name} is a table", f"Write {name}[...].", node.at)
        raise SpecError(f"unknown name {name}", suggest(name, {*self.locals, *self.names, *self.tables}), node.at)

    def _placed(self, node: s.Node, ball: s.Node) -> Typed:
        number = self.within(ball, self.scope.balls, "BALLS", self.scope.ball)
        self.reads_alloc = True
        return Typed(PLACE, p.NULL if self.ceiling is None else 0, self.scope.bins - 1, p.Placed(number.code))

    def _used(self, node: s.Node, name: str, nodes: Sequence[s.Node]) -> Typed:
        if self.ceiling is None:
            raise SpecError("UTIL is read in goals only", "UTILFN adds to it: UTIL.CPU[BIN] += ...", node.at)
        family, dim, _ = self.dimension(node)
        most = int(self.ceiling[family.offset : family.offset + family.count].max(initial=0))
        lowest = -p.WIDE // 10  # what UTILFN subtracts from may be anything
        return Typed(QUANTITY, lowest if family.falls else 0, most, p.Used(dim))

    def dimension(self, node: s.Node) -> tuple[p.Family, p.Expr, tuple[p.Expr, ...]]:
        """Write the number of a dimension, and its indices; returns its family, too."""
        name, nodes = node.parts[:2]
        family = look_up("resource", name, self.families, node.at)
        check_indices(name, len(family.sizes), len(nodes), node.at)
        place: p.Expr = p.Const(0)
        arguments = []
        for size, index in zip(
            family.sizes, self.indices(name, family.sizes, nodes, f"{name} of RESOURCES"), strict=True
        ):
            arguments.append(index.code)
            place = op("add", op("mul", place, p.Const(size)), index.code)
        return family, op("add", p.Const(family.offset), place), tuple(arguments)

    def _not_(self, node: s.Node, operand: s.Node) -> Typed:
        return _truth(op("eq", self.truth(operand), p.Const(0)))

    def _negative(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).negated()

    def _floor(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).floored()

    def _ceil(self, node: s.Node, operand: s.Node) -> Typed:
        return self.number(operand).negated().floored().negated()

    def _absolute(self, node: s.Node, operand: s.Node) -> Typed:
        value = self.number(operand)
        once, ends = self.repeatable(value.code), (abs(value.low), abs(value.high))
        low = 0 if value.low <= 0 <= value.high else min(ends)
        return Typed(value.kind, low, max(ends), op("max", once, op("sub", p.Const(0), once)))

    def _binary(self, node: s.Node, operator: str, left: s.Node, right: s.Node) -> Typed:
        if operator in ("and", "or"):
            return self._joined(operator == "and", left, right)
        if operator in ("==", "!="):
            one, other = self.value(left, self.scope.meant(right)), self.value(right, self.scope.meant(left))
            _check_alike(one, other, node.at)
            return _truth(self._equal(one, other, operator == "=="))
        return self._arithmetic(operator, self.number(left), self.number(right), node.at)

    def _equal(self, left: Typed, right: Typed, truth: bool) -> p.Expr:
        """Write whether two values are equal, or unequal if `truth` is not asked for.

        NULL is kept as -1 and equals NULL only: a number that may be below zero is tested for that first.
        """
        if PLACE in (left.kind, right.kind) and left.kind != right.kind:
            place, number = (left, right) if left.kind == PLACE else (right, left)
            if place.low < 0 and number.low < 0:
                _, (place, number) = alike(place, number)
                once = self.repeatable(number.code)
                if truth:
                    return op("and", op("le", p.Const(0), once), op("eq", place.code, once))
                return op("or", op("lt", once, p.Const(0)), op("ne", place.code, once))
        if left.kind != BOOL:
            _, (left, right) = alike(left, right)
        return op("eq" if truth else "ne", left.code, right.code)

    def _arithmetic(self, operator: str, left: Typed, right: Typed, at: At) -> Typed:
        """Compare two numbers, or compute with them, with a test of a divisor that may be zero."""
        operation, divides = OPERATORS[operator], operator in ("/", "//", "%")
        quantities = (left.kind == QUANTITY) + (right.kind == QUANTITY)
        zero = divides and right.low == right.high == 0
        refuse(zero, "division by zero", "Make the divisor at least one, with max(1, ...) for one.", at)
        fraction = quantities and operation in ("div", "mod")
        refuse(fraction, f"{operator} takes whole numbers", "Use / for quantities.", at)
        if operation == "mul":
            operation = "qmul" if quantities == 2 else "mul"
        elif quantities or operation == "qdiv":
            left, right = left.micro(), right.micro()
        kind = QUANTITY if quantities or operation == "qdiv" else INT
        if operation in ("lt", "le"):
            kind = BOOL
            left, right = (right, left) if operator in (">", ">=") else (left, right)
        constant = isinstance(left.code, p.Const) and isinstance(right.code, p.Const)
        large = operator == "/" and not constant and max(abs(right.low), abs(right.high)) > LARGEST * p.MICRO
        refuse(large, "this divisor may go beyond 1e9", "Choose a larger unit, or bound it with min.", at)
        if divides and right.low <= 0 <= right.high:
            right = right._replace(code=self.stored(right.code))
            self.guard(p.Op("eq", right.code, p.Const(0)), "a divisor", at)
        return computed(operation, left, right, kind)

    def _joined(self, both: bool, one: s.Node, other: s.Node) -> Typed:
        """Write and, or: the other one is evaluated only if the first does not decide."""
        left = self.truth(one)
        with self.apart(self.learn(one, both)) as block:
            right = self.truth(other)
        if not block:
            if isinstance(left, p.Const):
                return _truth(right if left.value == both else left)
            return _truth(p.Op("and" if both else "or", left, right))
        result = self.stored(left)
        block.append(p.Set(result.slot, right))
        self.out.append(p.If(result, tuple(block)) if both else p.If(result, (), tuple(block)))
        return _truth(result)

    def _extreme(self, node: s.Node, choice: str, *arguments: s.Node) -> Typed:
        return extreme(choice, [self.number(argument) for argument in arguments])

    def _choose(self, node: s.Node, if_: s.Node, then_: s.Node, else_: s.Node) -> Typed:
        test, result = self.truth(if_), self.local()
        with self.apart(self.learn(if_, True)) as then:
            yes = self.value(then_)
        with self.apart(self.learn(if_, False)) as other:
            no = self.value(else_)
        _check_alike(yes, no, node.at)
        kind = yes.kind
        if yes.kind != no.kind:
            bins = PLACE in (yes.kind, no.kind)
            kind = PLACE if bins else QUANTITY
            remedy = "Write NULL for no bin, a whole number for a bin, and bound it with max(0, ...)."
            wrong = bins and any(one.kind == QUANTITY or (one.kind == INT and one.low < 0) for one in (yes, no))
            refuse(wrong, "a quantity, or a number below zero, is not a bin", remedy, node.at)
            if kind == QUANTITY:
                yes, no = yes.micro(), no.micro()
        sides = (*then, p.Set(result.slot, yes.code)), (*other, p.Set(result.slot, no.code))
        self.out.append(p.If(test, *sides))
        return Typed(kind, min(yes.low, no.low), max(yes.high, no.high), result)

    # Loops, as statements and as `sum` and `count`

    def over(self, node: s.Node) -> Over:
        """Write what the variable of a loop runs over."""
        table = self.row_of(node)
        if table is not None:
            start, stop, _, trips = self._row(table, node)
            found, what = (table, start, stop, *table.bounds, trips), f"a row of {table.name}"
        elif node.kind == "name" and node.parts[0] in self.tables and self.tables[node.parts[0]].rank == 1:
            table = self.tables[node.parts[0]]
            size = table.sizes[0]
            found, what = (table, p.Const(0), p.Const(size), *table.bounds, size), table.name
        else:
            first = self.whole(node.parts[0], "a range") if node.kind == "span" else Typed.of(INT, 0)
            last = self.whole(node.parts[1] if node.kind == "span" else node, "a range")
            return None, first.code, last.code, first.low, last.high - 1, max(0, last.high - first.low)
        refuse(not table.whole, f"{what} has quantities", "Run over 0 .. len(...) instead.", node.at)
        return found

    def loop(self, axis: s.Node, body: Callable[[], None]) -> None:
        """Write a loop around what `body` writes; one that certainly never runs is left out, unchecked."""
        name, range_, left_out = axis.parts
        self.check_free(name, axis.at)
        deep = self.depth == NESTING_LIMIT
        refuse(deep, f"more than {NESTING_LIMIT} loops in one another", "Join some of them in a table.", axis.at)
        entries, start, stop, low, high, trips = self.over(range_)
        skip = None if left_out is None else self.whole(left_out)
        if trips == 0:
            return
        slot = self.local()
        with self.apart(trips=trips) as block:
            number: p.Expr = slot if entries is None else self.stored(self.read(entries, slot, axis.at))
            self.locals[name] = Typed(INT, low, high, number)
            self.step(axis.at)
            if skip is None:
                body()
            else:
                with self.apart() as inner:
                    body()
                block.append(p.If(p.Op("ne", number, skip.code), tuple(inner)))
        self.out.append(p.For(slot.slot, start, stop, tuple(block)))

    def _reduction(self, node: s.Node, kind: str, axis: s.Node, term: s.Node) -> Typed:
        """Write a sum, a count, or in goals the least or most over a range of constants, which is not empty."""
        extremes = kind in ("min", "max")
        remedy = "Put it into a TABLE, if it is constant."
        refuse(extremes and self.ceiling is None, f"{kind} over a range is for goals", remedy, node.at)
        before = self.trips
        total = self.stored(p.Const(0))
        none = self.stored(p.Const(1)) if extremes else None
        found = Typed(INT, 0, 0, total)

        def body() -> None:
            nonlocal found
            if kind == "count":
                self.out.append(p.If(self.truth(term), (p.Set(total.slot, p.Op("add", total, p.Const(1))),)))
                value = Typed.of(INT, 1)
            else:
                value = self.number(term)
            if none is not None:
                once = self.repeatable(value.code)
                test = p.Op("lt", once, total) if kind == "min" else p.Op("lt", total, once)
                self.out.append(p.If(p.Op("or", none, test), (p.Set(total.slot, once), p.Set(none.slot, p.Const(0)))))
                found = value._replace(code=total)
                return
            if kind == "sum":
                self.out.append(p.Set(total.slot, p.Op("add", total, value.code)))
            times = self.trips // before
            found = Typed(value.kind, min(0, value.low * times), max(0, value.high * times), total)

        self.loop(axis, body)
        loop, remedy = self.out[-1], "Give it a range of constants, without except."
        runs = isinstance(loop, p.For) and isinstance(loop.start, p.Const) and isinstance(loop.stop, p.Const)
        refuse(extremes and (axis.parts[2] or not runs), f"{kind} may be of nothing", remedy, node.at)
        return found


def _check_alike(one: Typed, other: Typed, at: At) -> None:
    differ = (one.kind == BOOL) != (other.kind == BOOL)
    refuse(differ, "truth values and numbers differ", "Both are truth values, or both numbers.", at)


def _truth(code: p.Expr) -> Typed:
    return Typed(BOOL, 0, 1, code)


Added = tuple[str, int, tuple[p.Expr, ...]]
"""One `UTIL... += ...` of a program: the resource, the lowest amount, and the indices."""


def bin_axis(added: Sequence[Added], family: p.Family) -> int | None:
    """Find the index of a family that is BIN wherever something is added to it; None if there is none."""
    places = [arguments for name, _, arguments in added if name == family.name]
    every = range(len(family.sizes)) if places else ()
    return next((axis for axis in every if all(place[axis] == p.Local(p.BIN) for place in places)), None)


class Statements(Compiler):
    """Writes the code of UTILFN, and notes what its statements add."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.locals["BALL"] = Typed(INT, 0, scope.balls - 1, p.Local(p.BALL))
        self.locals["BIN"] = Typed(INT, 0, scope.bins - 1, p.Local(p.BIN))
        self.added: list[Added] = []
        self.adds = self._reach = 0
        """Additions of one call, and what they may come to, at most."""

    def block(self, body: s.Block) -> None:
        """Check statements in order."""
        for statement in body:
            self.step(statement.at)
            getattr(self, f"_{statement.kind}")(statement, *statement.parts)

    def _let(self, node: s.Node, name: str, value: s.Node) -> None:
        self.check_free(name, node.at)
        known = self.value(value)
        constant = isinstance(known.code, p.Const)
        self.locals[name] = known if constant else known._replace(code=self.stored(known.code))

    def _for_(self, node: s.Node, axis: s.Node, body: s.Block) -> None:
        self.loop(axis, partial(self.block, body))

    def _reject(self, node: s.Node) -> None:
        self.out.append(p.Reject(node.at.line))

    def _if_(self, node: s.Node, if_: s.Node, *bodies: s.Block) -> None:
        test = self.truth(if_)
        facts = self.learn(if_, True), self.learn(if_, False)
        if isinstance(test, p.Const):
            with self.apart(facts[not test.value]) as block:
                self.block(bodies[not test.value])
            self.out += block
            return
        sides: list[p.Block] = []
        for body, known in zip(bodies, facts, strict=True):
            with self.apart(known) as block:
                self.block(body)
            sides.append(tuple(block))
        self.out.append(p.If(test, *sides))
        for written, known in zip(sides, reversed(facts), strict=True):
            if written and isinstance(written[-1], p.Reject):  # what follows runs in the other case only
                self.facts = self.facts | known

    def _add(self, node: s.Node, name: str, places: Sequence[s.Node], sign: str, added: s.Node) -> None:
        family, place, arguments = self.dimension(node)
        amount = self.number(added).micro()
        amount = amount if sign == "+=" else amount.negated()
        self.out.append(p.Add(place, amount.code))
        self.added.append((family.name, amount.low, arguments))
        self.adds += self.trips
        self._reach += max(abs(amount.low), abs(amount.high)) * self.trips
        remedy = "Choose a larger unit, or bound the amount with min(..., ...)."
        refuse(self._reach * self.scope.balls > p.WIDE, "the utilisation may go beyond 1e12", remedy, node.at)


def compile_utilfn(body: s.Block, scope: Scope) -> tuple[p.Program, tuple[p.Family, ...]]:
    """Make the program, and the families with what is proven of them; raises `SpecError` if UTILFN is refused."""
    code = Statements(scope)
    code.block(body)
    added, families = code.added, scope.families
    axes = {name: bin_axis(added, family) for name, family in families.items()}
    mentions = sum(axes[name] is not None for name, *_ in added)  # of BIN that only say whose dimension it is
    program = p.Program(
        body=tuple(code.out),
        slots=code.slots,
        steps=code.steps,
        adds=code.adds,
        alloc_free=not code.reads_alloc,
        non_negative=min((lowest for _, lowest, _ in added), default=0) >= 0,
        bin_local=all(axes[name] is not None for name, *_ in added),
        bin_blind=code.bin_reads == mentions,
        guards=tuple(dict.fromkeys(code.guards)),
        tables=code.starts,
        data=code.data(),
    )
    falling = {name for name, lowest, _ in added if lowest < 0}
    return program, tuple(
        replace(family, bin_axis=axes[name], falls=name in falling) for name, family in families.items()
    )
