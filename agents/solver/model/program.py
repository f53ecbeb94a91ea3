"""Define the data of checked programs: UTILFN, and goals, as statements of Python over flat integer arrays.

Every number is an int64. A *quantity* is a count of millionths (`MICRO` of them are 1), a bin is its index, and NULL,
"not placed yet", is -1. The checker has proven that no intermediate result leaves +-`WIDE`, that every read stays
inside its array and that no divisor is zero, so a back end needs no checks beside those that the program spells out as
statements. `binwright.agents.solver.model.source` runs a program in plain Python.

Expressions are those of Python over locals, `data`, and, in goals, `used` [dims]: `+ - * // %`, comparisons, `not`,
`and`, `or`, whose right operand is evaluated only if the left one does not decide (its reads may be legal only then),
and `placed`, `qmul` and `qdiv`, which this module defines for every back end. Constants stand in braces: see
`binwright.agents.solver.model.source`. Statements assign locals, branch with `if` and loop with `for` over a range;
those of UTILFN write `dims` and `amounts` of additions, of which there are `n`, and return -1, -2, ... where they
reject, each its own number.

`amounts` and `capacity` are millionths. After a call that did not reject, the ball fits if every touched dimension is
within its limit (`Problem.ceiling`), and every touched soft group has at most `soft_allowed` members above `capacity`.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from binwright.simcore.types import Ints

MICRO = 1_000_000
WIDE = 10**18
"""No intermediate result of a program is larger."""
BALL, BIN = "v0", "v1"
"""The locals that are the arguments; others follow."""
NULL = -1
Code: TypeAlias = int | str
"""A constant, or an expression: of truth values a test."""


class Reject(NamedTuple):
    """A statement that ends the call: not this ball in this bin, and nothing of this call counts."""

    line: int
    what: str
    """What stands in this line: REJECT itself, or what is not in its range."""


@dataclass(frozen=True)
class Program:
    """The checked UTILFN, and what is proven about it."""

    body: tuple[str, ...]
    """Lines of Python."""
    rejects: tuple[Reject, ...]
    """Statement by statement: that which returns -1 comes first."""
    steps: int
    """No call evaluates more nodes of the program than this."""
    adds: int
    """No call adds more often than this."""
    alloc_free: bool
    """ALLOC is not read: what a ball uses does not depend on the others."""
    non_negative: bool
    """No amount is below zero: what does not fit now will not fit later."""
    bin_local: bool
    """A ball in bin b touches dimensions of b only (`Problem.owner`)."""
    bin_blind: bool
    """Apart from whose dimensions are touched, nothing depends on the bin."""
    tables: Mapping[str, int]
    """The tables that are read, and where in `data` their values start."""
    data: Ints
    """The values of all tables that are read, one after another, and the starts of their rows."""

    @property
    def guards(self) -> tuple[Reject, ...]:
        """List the tests at run time that reject, where the checker could not prove them superfluous."""
        return tuple(dict.fromkeys(by for by in self.rejects if by.what != "REJECT"))


@dataclass(frozen=True)
class Family:
    """A resource: dimensions offset, ..., offset + product of sizes - 1, the last index running fastest."""

    name: str
    sizes: tuple[int, ...]
    offset: int
    bin_axis: int | None
    """The index that is the bin in all that UTILFN adds to it, if there is one."""
    falls: bool = False
    """An addition to it may be below zero."""
    labels: tuple[tuple[str, ...], ...] = ()
    """The names of what the indices run over; none of an index whose numbers have no names."""

    @property
    def count(self) -> int:
        return prod(self.sizes)

    def __contains__(self, dim: int) -> bool:
        """Tell whether a dimension is one of its own."""
        return self.offset <= dim < self.offset + self.count

    def name_of(self, dim: int, without: int | None = None) -> str:
        """Return what people call a dimension, `CPU[3]` or `CPU[n-c]`; of the indices not number `without`."""
        index = np.unravel_index(dim - self.offset, self.sizes) if self.sizes else ()
        named = zip(map(int, index), self.labels or ((),) * len(index), strict=True)
        called = [names[number] if number < len(names) else str(number) for number, names in named]
        if without is not None:
            del called[without]
        return f"{self.name}[{', '.join(called)}]" if called else self.name


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be made small or large."""

    aim: str
    """`MINIMISE` or `MAXIMISE`."""
    text: str
    """The expression, as written."""
    quantity: bool
    """Its value is in millionths."""
    bound: int
    """No allocation of all balls comes to less, less being better: of `MAXIMISE` values have the other sign."""

    def number(self, raw: int) -> float:
        """Convert a value of which less is better, or a bound, to what the text means."""
        value = -raw if self.aim == "MAXIMISE" else raw
        return value / MICRO if self.quantity else value


@dataclass(frozen=True)
class Objective:
    """All goals, as a program.

    Of two allocations the better one is that which is better in the first goal in which they differ.
    """

    goals: tuple[Goal, ...]
    body: tuple[str, ...]
    """Lines of Python: the last ones assign `values` [goals], what each goal comes to, less being better."""
    data: Ints

    @property
    def bounds(self) -> tuple[int, ...]:
        """Return what the goals come to, less being better, where none can be better."""
        return tuple(goal.bound for goal in self.goals)

    def bounded(self, bounds: Sequence[int]) -> Self:
        """Tighten the bounds of the first goals, less being better; a weaker bound changes nothing."""
        pairs = zip(self.goals, bounds, strict=False)
        goals = tuple(replace(goal, bound=max(goal.bound, bound)) for goal, bound in pairs)
        return replace(self, goals=goals + self.goals[len(goals) :])


def placed(alloc: Sequence[int], other: int, ball: int) -> int:
    """Return the bin of another ball, NULL for the ball itself."""
    return NULL if other == ball else alloc[other]


def qmul(left: int, right: int) -> int:
    """Return the floor of left * right / MICRO without a product wider than 64 bits (`//` rounds down)."""
    low = left % MICRO
    return left // MICRO * right + low * (right // MICRO) + low * (right % MICRO) // MICRO


def qdiv(left: int, right: int) -> int:
    """Return the floor of left * MICRO / right without a product wider than 64 bits; right is not 0."""
    rest = left % right * 1000
    return left // right * MICRO + rest // right * 1000 + rest % right * 1000 // right


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    "min": min, "max": max, "qmul": qmul, "qdiv": qdiv,
}  # fmt: skip
"""What two numbers come to, by the operator or the function of Python that stands in sources of programs."""
