"""What the back ends get: a checked allocation problem as flat integer arrays and a small program.

Every number is an int64. A *quantity* is a count of millionths (`MICRO` of them are 1), a boolean is 0 or 1, a bin is
its index, and NULL, "not placed yet", is -1. The checker has proven that no intermediate result leaves +-`WIDE`, that
every read stays inside its array and that no divisor is zero, so a back end needs no checks beside those that the
program spells out as statements.

**Expressions** are pure and total, apart from `and`/`or`, whose right operand is evaluated only if the left one does
not decide (its reads may be legal only then):

    Const(value)              the number
    Local(slot)               a local; slot BALL = 0 and slot BIN = 1 are the arguments
    Read(offset, index)       problem.data[offset + index]
    Placed(ball)              the bin that the ball is in, or -1; -1 for the ball that is being placed
    Op(kind, left, right)     see `OPS`

**Statements**:

    Set(slot, value)          assigns a local; every `let`, loop and temporary has its own slot
    If(test, then, other)
    For(slot, start, stop, body)   slot = start, ..., stop - 1; the body never assigns the slot
    Add(dim, amount)          utilisation[dim] += amount; dim is in 0 .. dims - 1
    Reject()                  the ball does not go into this bin: nothing of this call counts

`amount` and `capacity` are millionths. After a call that did not reject, the ball fits if every touched dimension is
within its limit (`Problem.ceiling`), and every touched soft group has at most `soft_allowed` members above `capacity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simcore.vocabulary import Ints as Ints

if TYPE_CHECKING:
    from agents.solver.specification.spec import Spec

MICRO = 1_000_000
WIDE = 10**18
"""No intermediate result of a program is larger."""
BALL, BIN = 0, 1
NULL = -1

OPS = {
    "add": "left + right",
    "sub": "left - right",
    "mul": "left * right",
    "div": "floor of left / right",
    "mod": "left - right * floor of left / right",
    "qmul": "floor of left * right / MICRO, for operands up to WIDE: see `qmul`",
    "qdiv": "floor of left * MICRO / right, for divisors up to WIDE / 1000: see `qdiv`",
    "min": "the smaller",
    "max": "the larger",
    "eq": "1 if equal, else 0",
    "ne": "1 if not equal, else 0",
    "lt": "1 if left < right, else 0",
    "le": "1 if left <= right, else 0",
    "and": "0 if left is 0, else right",
    "or": "1 if left is 1, else right",
}


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Local:
    """The value of a local."""

    slot: int


@dataclass(frozen=True, slots=True)
class Read:
    """`data[offset + index]`."""

    offset: int
    index: Expr


@dataclass(frozen=True, slots=True)
class Placed:
    """The bin of a ball, or NULL."""

    ball: Expr


@dataclass(frozen=True, slots=True)
class Op:
    """One of `OPS`."""

    kind: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Set:
    """Assigns a local."""

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
    """The body for slot = start, ..., stop - 1."""

    slot: int
    start: Expr
    stop: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Add:
    """Adds millionths to one dimension."""

    dim: Expr
    amount: Expr


@dataclass(frozen=True, slots=True)
class Reject:
    """Ends the call: not this ball in this bin."""


Expr = Const | Local | Read | Placed | Op
Stmt = Set | If | For | Add | Reject
Block = tuple[Stmt, ...]


def qmul(left: int, right: int) -> int:
    """Floor of left * right / MICRO without a product wider than 64 bits (`//` rounds down)."""
    high, low = left // MICRO, left % MICRO
    return high * right + low * (right // MICRO) + low * (right % MICRO) // MICRO


def qdiv(left: int, right: int) -> int:
    """Floor of left * MICRO / right without a product wider than 64 bits (`//` rounds down); right is not 0."""
    whole, rest = left // right, left % right
    first, rest = rest * 1000 // right, rest * 1000 % right
    return whole * MICRO + first * 1000 + rest * 1000 // right


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "qmul": qmul,
    "qdiv": qdiv,
    "min": min,
    "max": max,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}
"""`OPS` in Python, both operands evaluated."""


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
    distinct: bool
    """No call touches a dimension twice."""
    guards: tuple[tuple[int, str], ...]
    """(line, what) of each test at run time that rejects, where the checker could not prove it superfluous."""
    tables: Mapping[str, int]
    """The tables that are read, and where in `Problem.data` their values start."""


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

    @property
    def count(self) -> int:
        """How many dimensions."""
        return int(np.prod(self.sizes, dtype=np.int64))


@dataclass(frozen=True)
class Sets:
    """Sets of numbers, one after another, each with a chance in millionths of being imposed on an attempt."""

    offsets: Ints
    """[sets + 1]"""
    members: Ints
    chance: Ints
    """[sets]; MICRO means always."""

    def __len__(self) -> int:
        return len(self.chance)

    def __iter__(self) -> Iterator[tuple[list[int], int]]:
        """Each set's members and its chance."""
        members, bounds = self.members.tolist(), self.offsets.tolist()
        for number, chance in enumerate(self.chance.tolist()):
            yield members[bounds[number] : bounds[number + 1]], chance

    @classmethod
    def of(cls, sets: list[tuple[list[int], int]]) -> Sets:
        """From lists of (members, chance)."""
        sizes = [0, *(len(members) for members, _ in sets)]
        flat = [member for members, _ in sets for member in members]
        chances = [chance for _, chance in sets]
        return cls(np.cumsum(sizes, dtype=np.int64), np.array(flat, np.int64), np.array(chances, np.int64))


@dataclass(frozen=True)
class Matrix:
    """A vector problem: ball i adds demand[i] to the vector of its bin, whichever it is."""

    demand: Ints
    """[balls, d], millionths"""
    capacity: Ints
    """[bins, d], millionths"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""


@dataclass(frozen=True)
class Wish:
    """Sets of one declaration, of which a share is to hold, if possible."""

    kind: str
    """`FRIENDS` or `FOES`."""
    chance: int
    """The share, in millionths: of an attempt's sets so many are imposed."""
    sets: tuple[tuple[int, ...], ...]

    @property
    def asked(self) -> int:
        """How many of the sets are to hold."""
        return -(-len(self.sets) * self.chance // MICRO)

    def broken(self, alloc: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """The sets that do not hold in an allocation [balls]; one with a ball that has no bin does not."""
        places = ({alloc[ball] for ball in members} for members in self.sets)
        every = zip(self.sets, places, strict=True)
        return tuple(members for members, at in every if NULL in at or (len(at) == 1) != (self.kind == "FRIENDS"))


@dataclass(frozen=True)
class Problem:
    """An allocation problem with a given number of bins. Nothing here is ever written."""

    spec: Spec = field(repr=False, compare=False)
    balls: int
    bins: int
    families: tuple[Family, ...]
    capacity: Ints
    """[dims]"""
    ceiling: Ints
    """[dims]: `capacity`, and for members of a soft group what they may reach at most."""
    soft_group: Ints
    """[dims]: the soft group, or -1."""
    soft_allowed: Ints
    """[soft groups]: how many members may be above `capacity`."""
    data: Ints
    """All tables that the program reads, one after another."""
    program: Program
    friends: Sets
    """Balls that belong into one bin."""
    foes: Sets
    """Balls that must not all be in one bin."""
    pins: Ints
    """[balls]: the bin that the ball must be in, or -1."""
    groupings: tuple[Sets, ...]
    """Ways to split the bins into groups, each an order of disjoint groups with every bin in one of them. Search key
    `group` is the index here. The chance has no meaning."""
    counted: bool
    """Something besides GROUPS, and how many dimensions there are, may depend on how many bins there are."""
    bins_differ: bool
    """A capacity may depend on which bin it is of."""
    wishes: tuple[Wish, ...]
    """What is declared WITH a chance below one."""

    @property
    def dims(self) -> int:
        """How many dimensions there are."""
        return len(self.capacity)

    @property
    def searched(self) -> bool:
        """Was `BINS ?` asked for?"""
        return self.spec.searched

    def with_bins(self, bins: int) -> Problem:
        """The same specification with another number of bins; only for `BINS ?`."""
        return self.spec.problem(bins)

    @cached_property
    def owner(self) -> Ints:
        """[dims]: the bin that a dimension belongs to, -1 if to none; for bin-local programs."""
        owner = np.full(self.dims, -1, np.int64)
        for family in self.families:
            if family.bin_axis is not None:
                owner[family.offset : family.offset + family.count] = np.indices(family.sizes)[family.bin_axis].ravel()
        return owner

    @cached_property
    def elastic(self) -> Ints:
        """[dims]: 1 where a ball more may need less: a search that trims lets a group of bins be over meanwhile."""
        elastic = np.zeros(self.dims, np.int64)
        for family in self.families:
            elastic[family.offset : family.offset + family.count] = family.falls
        return np.where(self.soft_group < 0, elastic, 0)

    @cached_property
    def units(self) -> Sets:
        """Balls that are placed together: those that certain friendship joins, everyone else alone; by first ball."""
        return self._joined(MICRO)

    @cached_property
    def largest(self) -> int:
        """No more balls than this are placed together, if all that are friends by chance are."""
        return int(np.diff(self._joined(1).offsets).max(initial=1))

    def _joined(self, least: int) -> Sets:
        """Balls, joined by the FRIENDS with this chance at least; by first ball."""
        if not (self.friends.chance >= least).any():
            return Sets(np.arange(self.balls + 1), np.arange(self.balls), np.full(self.balls, MICRO))
        leader = list(range(self.balls))

        def find(ball: int) -> int:
            while leader[ball] != ball:
                leader[ball] = leader[leader[ball]]
                ball = leader[ball]
            return ball

        for members, chance in self.friends:
            for ball in members if chance >= least else ():
                low, high = sorted((find(members[0]), find(ball)))
                leader[high] = low
        joined: dict[int, list[int]] = {}
        for ball in range(self.balls):
            joined.setdefault(find(ball), []).append(ball)
        return Sets.of([(members, MICRO) for members in joined.values()])

    @cached_property
    def unit_of(self) -> Ints:
        """[balls]: the unit that a ball belongs to; a placement of units, indexed with it, is one of the balls."""
        found = np.empty(self.balls, np.int64)
        found[self.units.members] = np.repeat(np.arange(len(self.units)), np.diff(self.units.offsets))
        return found

    def name(self, dim: int) -> str:
        """What people call a dimension: `CPU[3]`."""
        family = next(one for one in self.families if one.offset <= dim < one.offset + one.count)
        index = np.unravel_index(dim - family.offset, family.sizes) if family.sizes else ()
        return f"{family.name}[{', '.join(map(str, index))}]" if index else family.name

    def matrix(self) -> Matrix | None:
        """`_matrix`, made once."""
        return self._matrix

    @cached_property
    def _matrix(self) -> Matrix | None:
        """The dense form, if there is one: no ALLOC, bin-local, the same demand in every bin, nothing soft.

        Friends, foes and pins are not in it; who uses the matrix looks whether there are any.
        """
        from agents.solver.model.dense import dense

        return dense(self)
