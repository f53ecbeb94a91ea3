"""Keep what is known of values, write code, and count what a call of it evaluates."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import COUNT_LIMIT, At, SpecError, look_up, refuse
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.program import MICRO, NULL, OPERATIONS, Code, Family, Reject
from binwright.agents.solver.model.source import indented, operation, text
from binwright.simcore.types import Ints

INT, QUANTITY, BOOL, PLACE = "a whole number", "a quantity", "a truth value", "a bin or NULL"


class Typed(NamedTuple):
    """A value; of a constant both bounds and the code are the number."""

    kind: str
    low: int
    """The smallest that it may be; millionths for quantities."""
    high: int
    code: Code

    @classmethod
    def of(cls, kind: str, number: int) -> "Typed":
        """Make a constant: millionths if a quantity, 0 or 1 if a truth value, the bin or -1 if a place."""
        return cls(kind, number, number, number)

    @classmethod
    def truth(cls, test: Code) -> "Typed":
        """Make a truth value."""
        return cls.of(BOOL, test) if isinstance(test, int) else cls(BOOL, 0, 1, test)

    def micro(self) -> "Typed":
        """Convert a number to a quantity."""
        return self if self.kind == QUANTITY else computed("*", self, Typed.of(INT, MICRO), QUANTITY)

    def negated(self) -> "Typed":
        """Return the number with the other sign."""
        return computed("-", Typed.of(self.kind, 0), self, self.kind)

    def floored(self) -> "Typed":
        """Return the whole number that is not above it."""
        return computed("//", self, Typed.of(INT, MICRO), INT) if self.kind == QUANTITY else self


def op(symbol: str, left: Code, right: Code) -> Code:
    """Write an operation, or its result where the operands are known."""
    if symbol in ("and", "or", "&", "|"):
        for code, other in ((left, right), (right, left)):
            if isinstance(code, int):
                return other if bool(code) == (symbol in ("and", "&")) else code
    elif isinstance(left, int) and isinstance(right, int):
        return int(OPERATIONS[symbol](left, right))
    if (symbol, left) in (("+", 0), ("*", 1)):
        return right
    if (symbol, right) in (("+", 0), ("-", 0), ("*", 1), ("//", 1)):
        return left
    return 0 if symbol == "*" and 0 in (left, right) else operation(symbol, left, right)


def alike(*values: Typed) -> tuple[str, list[Typed]]:
    """Convert all numbers to quantities if one of them is a quantity; returns their type, too."""
    if any(value.kind == QUANTITY for value in values):
        return QUANTITY, [value.micro() for value in values]
    return INT, list(values)


def computed(symbol: str, left: Typed, right: Typed, kind: str) -> Typed:
    """Write an operation, which comes to the least and the most at ends of what its operands may be."""
    code = op(symbol, left.code, right.code)
    if isinstance(code, int):
        return Typed.of(kind, code)
    if kind == BOOL:
        return Typed.truth(code)
    if symbol == "%":
        return Typed(kind, min(0, right.low + 1), max(0, right.high - 1), code)
    divides = symbol in ("//", "qdiv")
    ends = [
        OPERATIONS[symbol](end, other)
        for end in (left.low, left.high)
        for other in ({right.low, right.high, -1, 1} if divides else {right.low, right.high})
        if right.low <= other <= right.high and (other or not divides)
    ]
    return Typed(kind, min(ends), max(ends), code)


@dataclass
class Scope:
    """What stands there by name: constants, tables, resources, and what is read AS names of something."""

    numbers: Mapping[str, Mapping[str, int]]
    """By what stands behind AS: the number of every name."""
    names: dict[str, Typed] = field(default_factory=lambda: {"NULL": Typed.of(PLACE, NULL)})
    tables: dict[str, Table] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)
    balls: int = -1
    bins: int = -1
    means: dict[str, str | None] = field(default_factory=lambda: {"BALLS": None, "BINS": None})
    """By BALLS, BINS, BALL, BIN and table: what stands behind AS where they, or the table's entries, are named."""
    indices: dict[tuple[str, int], str | None] = field(default_factory=dict)
    """By table or resource, and number of an index: what stands behind AS where its names are read."""

    def name_axes(self, name: str, axes: Sequence[s.Node]) -> None:
        """Find out which names the indices of a table or a resource have: `len(zone)` are the names of zones."""
        for number, range_ in enumerate(axis.parts[1] for axis in axes):
            of = range_.parts[0].parts[0] if range_.kind == "length" else None
            self.indices[name, number] = of if of in self.numbers else self.meant(range_)

    def name(self, of: str | None, number: int) -> str:
        """Return what something named `of` is called: the number itself where it has no name."""
        return next((name for name, other in self.numbers.get(of or "", {}).items() if other == number), str(number))

    def meant(self, node: s.Node) -> str | None:
        """Find out what an expression is the number of: what it may be compared with by name."""
        word = "BINS" if node.kind == "placed" else node.parts[0] if node.kind in ("name", "index") else ""
        return self.means.get(word)

    def number(self, node: s.Node, of: str | None) -> int:
        """Return the number of the `of` with this name."""
        [text] = node.parts
        if of is None:
            known = " or ".join(f'{of}["{text}"]' for of, names in self.numbers.items() if text in names)
            remedy = f"Write {known or 'zone[...], and TABLE ZONE FROM a file COLUMN a name AS zone'}."
            raise SpecError(f'it is not clear what "{text}" is the name of', remedy, node.at)
        return look_up(f"{of} called", text, self.numbers.get(of, {}), node.at)


class Writer:
    """Writes statements: `out` has those so far."""

    too_long = (
        f"one call of UTILFN may take more than {COUNT_LIMIT:,} steps",
        "Loop over fewer, or put what does not depend on ALLOC into a TABLE.",
    )

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names, self.tables, self.families = dict(scope.names), scope.tables, scope.families
        self.ceiling: Ints | None = None
        """[dims], in goals: every ball is placed, and all is evaluated, as nothing may be there to reject."""
        self.facts: frozenset[s.Node] = frozenset()
        """Expressions that are not NULL here."""
        self.reads_alloc, self.bin_reads = False, 0
        """Whether some place looks at ALLOC, and how often BIN is mentioned."""
        self.out: list[str] = []
        self.slots, self.loops, self.depth = 2, 0, 0
        """Locals, the two arguments included; variables of loops; loops around."""
        self.steps, self.trips = 0, 1
        """Nodes that one call evaluates, and how often this place runs, at most."""
        self.rejects: list[Reject] = []
        self.starts: dict[str, int] = {}
        """Where in `data` the values of a table start; its rows' starts come behind them."""
        self._data: list[Ints] = []

    def check_free(self, name: str, at: At) -> None:
        """Refuse a name that means something already."""
        known = name in self.names or name in self.tables
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
        solid = set()
        for side, other in ((left, right), (right, left)):
            is_null = side.kind == "name" and side.parts == ("NULL",)
            if (is_null and truth == (operator == "!=")) or (truth and operator == "==" and self._solid(side)):
                solid.add(other)
        return frozenset(solid) if operator in ("==", "!=") else frozenset()

    def _solid(self, node: s.Node) -> bool:
        """Tell whether an expression surely is not NULL, whatever else it is."""
        if node.kind != "name":
            return node.kind in ("number", "text") or node in self.facts
        known = self.names.get(node.parts[0])
        return node in self.facts or (known is not None and known.low >= 0)

    def step(self, at: At, nodes: int = 1) -> None:
        """Count a node, or some `nodes`, which are evaluated as often as this place runs."""
        self.steps += nodes * self.trips
        if self.steps > COUNT_LIMIT:
            raise SpecError(*self.too_long, at)

    def local(self) -> str:
        """Make a new local."""
        self.slots += 1
        return f"v{self.slots - 1}"

    def stored(self, value: Code) -> str:
        """Store a number in a local of its own."""
        local = self.local()
        self.out.append(f"{local} = {text(value)}")
        return local

    def repeatable(self, value: Code) -> Code:
        """Store a number in a local, unless it is one or a constant: it may be written more than once then."""
        return value if isinstance(value, int) or value.isidentifier() else self.stored(value)

    def branch(self, test: Code, then: Sequence[str], other: Sequence[str] = ()) -> None:
        """Write one block or the other."""
        if isinstance(test, int):
            self.out += then if test else other
            return
        self.out += [f"if {test}:", *indented(then)]
        self.out += ["else:", *indented(other)] if other else []

    def written(self) -> list[str]:
        """Return all statements, those before that let every local begin at 0."""
        return [f"v{slot} = 0" for slot in range(2, self.slots)] + self.out

    @contextmanager
    def apart(self, facts: frozenset[s.Node] = frozenset(), trips: int = 1) -> Iterator[list[str]]:
        """Collect what is written meanwhile, where these facts are known, too; what it defines and learns ends.

        It runs so many `trips` where this place runs once, at most.
        """
        before = self.out, self.names, self.facts, self.trips
        self.out, self.names, self.facts = [], dict(self.names), self.facts | facts
        self.trips *= trips
        try:
            yield self.out
        finally:
            self.out, self.names, self.facts, self.trips = before

    def reject(self, at: At, what: str = "REJECT") -> str:
        """Make a statement that ends the call."""
        self.rejects.append(Reject(at.line, what))
        return f"return {-len(self.rejects)}"

    def guard(self, wrong: Code, what: str, at: At) -> None:
        """Write a test that rejects at run time."""
        remedy = "Bound it with min(..., ...), max(..., ...) or %, or run over a range."
        refuse(self.ceiling is not None, f"{what} is not certain to be legal here", remedy, at)
        self.branch(wrong, [self.reject(at, what)])

    def read(self, table: Table, index: Code, at: At, rows: int | None = None) -> Code:
        """Read a value of a table, or where row number `index` starts if `rows` is 0, and stops if it is 1.

        What may become another value is read from `data`, of which the table is a part from then on.
        """
        if isinstance(index, int) and rows is not None and table.starts is not None:
            return int(table.starts[index + rows])
        if isinstance(index, int) and not table.varies:
            return int(table.values[index])
        if table.name not in self.starts:
            self.starts[table.name] = sum(part.size for part in self._data)
            self._data += [table.values] if table.starts is None else [table.values, table.starts]
        first = self.starts[table.name] + (0 if rows is None else table.values.size + rows)
        return f"data[{text(first)} + {text(index)}]"

    def data(self) -> Ints:
        """Join all tables that are read."""
        return np.concatenate(self._data) if self._data else np.zeros(0, np.int64)
