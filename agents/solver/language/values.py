"""Keep what is known of a value: its type, the interval that it is proven to stay in, and its code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import SpecError, look_up
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.emit import operation
from binwright.agents.solver.model.program import MICRO, NULL, OPERATIONS, Code, Family

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


def extreme(choice: str, values: Sequence[Typed]) -> Typed:
    """Return the smallest ("min") or the largest ("max") of some numbers."""
    kind, values = alike(*values)
    half = len(values) // 2  # parsers allow some two hundred brackets in one another
    return computed(choice, extreme(choice, values[:half]), extreme(choice, values[half:]), kind) if half else values[0]


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
