"""Define the data of a checked program: UTILFN as expressions and statements over flat integer arrays.

Every number is an int64. A *quantity* is a count of millionths (`MICRO` of them are 1), a boolean is 0 or 1, a bin is
its index, and NULL, "not placed yet", is -1. The checker has proven that no intermediate result leaves +-`WIDE`, that
every read stays inside its array and that no divisor is zero, so a back end needs no checks beside those that the
program spells out as statements. `binwright.agents.solver.model.evaluate` runs a program in plain Python.

Expressions are pure and total, apart from `and`/`or`, whose right operand is evaluated only if the left one does not
decide (its reads may be legal only then). `binwright.agents.solver.model.arithmetic` defines the operations.

`amount` and `capacity` are millionths. After a call that did not reject, the ball fits if every touched dimension is
within its limit (`Problem.ceiling`), and every touched soft group has at most `soft_allowed` members above `capacity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from binwright.simcore.types import Ints

MICRO = 1_000_000
WIDE = 10**18
"""No intermediate result of a program is larger."""
BALL, BIN = 0, 1
NULL = -1


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Local:
    """The value of a local; slot BALL and slot BIN are the arguments."""

    slot: int


@dataclass(frozen=True, slots=True)
class Read:
    """`program.data[offset + index]`."""

    offset: int
    index: Expr


@dataclass(frozen=True, slots=True)
class Placed:
    """The bin of a ball, or NULL; NULL for the ball that is being placed."""

    ball: Expr


@dataclass(frozen=True, slots=True)
class Used:
    """What is used of a dimension, in goals."""

    dim: Expr


@dataclass(frozen=True, slots=True)
class Op:
    """One of `binwright.agents.solver.model.arithmetic.OPERATIONS`."""

    kind: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Set:
    """Assigns a local; every `let`, loop and temporary has its own."""

    slot: int
    value: Expr


@dataclass(frozen=True, slots=True)
class If:
    """One branch or the other."""

    test: Expr
    then: Block
    other: Block = ()


@dataclass(frozen=True, slots=True)
class For:
    """The body for slot = start, ..., stop - 1; it never assigns the slot."""

    slot: int
    start: Expr
    stop: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Add:
    """Adds millionths to one dimension, 0 .. dims - 1."""

    dim: Expr
    amount: Expr


@dataclass(frozen=True, slots=True)
class Reject:
    """Ends the call: not this ball in this bin, and nothing of this call counts."""

    line: int = 0
    what: str = "REJECT"
    """What stands in this line: REJECT itself, or what is not in its range."""


Expr = Const | Local | Read | Placed | Used | Op
Stmt = Set | If | For | Add | Reject
Block = tuple[Stmt, ...]


@dataclass(frozen=True)
class Program:
    """The checked UTILFN, and what is proven about it."""

    body: Block
    slots: int
    """Locals, the two arguments included."""
    steps: int
    """No call evaluates more nodes of the program than this."""
    adds: int
    """No call runs more `Add` than this."""
    alloc_free: bool
    """No `Placed`: what a ball uses does not depend on the others."""
    non_negative: bool
    """No amount is below zero: what does not fit now will not fit later."""
    bin_local: bool
    """A ball in bin b touches dimensions of b only (`Problem.owner`)."""
    bin_blind: bool
    """Apart from whose dimensions are touched, nothing depends on the bin."""
    guards: tuple[tuple[int, str], ...]
    """(line, what) of each test at run time that rejects, where the checker could not prove it superfluous."""
    tables: Mapping[str, int]
    """The tables that are read, and where in `data` their values start."""
    data: Ints
    """The values of all tables that are read, one after another, and the starts of their rows."""


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
        index = self._called(self.index_of(dim))
        if without is not None:
            del index[without]
        return f"{self.name}[{', '.join(index)}]" if index else self.name

    def index_of(self, dim: int) -> tuple[int, ...]:
        """Return the indices of a dimension."""
        return tuple(map(int, np.unravel_index(dim - self.offset, self.sizes))) if self.sizes else ()

    def _called(self, index: Sequence[int]) -> list[str]:
        labels = self.labels or ((),) * len(self.sizes)
        named = zip(index, labels, strict=True)
        return [names[number] if number < len(names) else str(number) for number, names in named]
