"""Define the tree of a specification, as written: nothing is checked here but its shape.

Places in the text do not take part in comparisons: two nodes are equal if they say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from binwright.agents.solver.language.errors import At


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the text."""

    at: At = field(compare=False)


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal: `raw` is the number if `whole`, otherwise millionths."""

    raw: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Text(Node):
    """The name of a ball or a bin, or one in a column; its number is put there before anything is evaluated."""

    text: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A parameter, a local, or BALL, BIN, BALLS, BINS, NULL."""

    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An entry of a table, or a row of it."""

    table: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Placed(Node):
    """ALLOC[ball]."""

    ball: Expr


@dataclass(frozen=True, slots=True)
class Used(Node):
    """UTIL.family[arguments]: what is used of a dimension, in a goal; or a link of HOSE and PIPE, without UTIL."""

    family: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """-x, not x, abs(x), floor(x), ceil(x), len(x)."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, comparisons, and, or."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Extreme(Node):
    """min(...) or max(...)."""

    op: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose(Node):
    """if test then yes else no."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Span(Node):
    """start .. stop, without stop."""

    start: Expr
    stop: Expr


@dataclass(frozen=True, slots=True)
class Axis(Node):
    """name in range [except skip]; the range is a span, a number (0 .. number) or a row of a table."""

    name: str
    range: Expr | Span
    skip: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """sum, count, min or max of (axis: body)."""

    op: str
    axis: Axis
    body: Expr


Expr = Number | Text | Name | Index | Placed | Used | Unary | Binary | Extreme | Choose | Reduce


@dataclass(frozen=True, slots=True)
class Let(Node):
    """let name = value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """if test then [else other] end."""

    test: Expr
    then: Block
    other: Block


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """for [all] axis body end."""

    axis: Axis
    body: Block


@dataclass(frozen=True, slots=True)
class AddTo(Node):
    """UTIL.family[arguments] += amount (sign 1) or -= amount (sign -1)."""

    family: str
    arguments: tuple[Expr, ...]
    sign: int
    amount: Expr


@dataclass(frozen=True, slots=True)
class Rejection(Node):
    """REJECT."""


Stmt = Let | Branch | Loop | AddTo | Rejection
Block = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Param(Node):
    """PARAM name = value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """[entry, ...]: numbers, or rows of them."""

    entries: tuple[Literal | Expr, ...]


@dataclass(frozen=True, slots=True)
class TableIs(Node):
    """TABLE name = [...]."""

    name: str
    value: Literal


@dataclass(frozen=True, slots=True)
class TableOf(Node):
    """TABLE name[axes] = value."""

    name: str
    axes: tuple[Axis, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class TableFrom(Node):
    """TABLE name FROM file [COLUMNS ...] [AS names]."""

    name: str
    file: str
    columns: tuple[str, ...]
    names: str | None


@dataclass(frozen=True, slots=True)
class Balls(Node):
    """BALLS count [AS names]."""

    count: Expr
    names: str | None


@dataclass(frozen=True, slots=True)
class Bins(Node):
    """BINS count [AS names], or BINS ? [FROM low] [TO high] with count None."""

    count: Expr | None
    names: str | None = None
    low: Expr | None = None
    high: Expr | None = None


@dataclass(frozen=True, slots=True)
class Resource(Node):
    """RESOURCES name[axes] => capacity."""

    name: str
    axes: tuple[Axis, ...]
    capacity: Expr


@dataclass(frozen=True, slots=True)
class Company(Node):
    """FRIENDS, FOES, DIFFERENT, GROUPS or DRAIN items [WITH chance] [for axes]."""

    kind: str
    items: tuple[Expr | Span, ...]
    chance: Expr | None
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Linked(Node):
    """HOSE or PIPE items RATE rate OVER links [for axes]."""

    kind: str
    items: tuple[Expr | Span, ...]
    rate: Expr
    links: tuple[Used, ...]
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Least(Node):
    """AT LEAST amount OF dim [OR NONE] [for axes]."""

    amount: Expr
    dim: Used
    or_none: bool
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Soft(Node):
    """SOFT family[slots] SHARE share OVER over [for axes]; a slot that is None is `*`."""

    family: str
    slots: tuple[Expr | None, ...] | None
    share: Expr
    over: Expr
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Pin(Node):
    """PIN ball TO bin [for axes]."""

    ball: Expr
    bin: Expr
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Now(Node):
    """NOW table."""

    table: str


@dataclass(frozen=True, slots=True)
class Moves(Node):
    """MOVES most."""

    most: Expr


@dataclass(frozen=True, slots=True)
class Goal(Node):
    """MINIMISE or MAXIMISE value."""

    aim: str
    value: Expr
    span: tuple[int, int] = field(compare=False)
    """Where in the text the value begins and ends."""
    said: str = field(default="", compare=False)
    """What people read, where the goal is not in the text."""


Declaration = (
    Param
    | TableIs
    | TableOf
    | TableFrom
    | Balls
    | Bins
    | Resource
    | Company
    | Linked
    | Least
    | Soft
    | Pin
    | Now
    | Moves
    | Goal
)


@dataclass(frozen=True, slots=True)
class Tree(Node):
    """A whole specification."""

    declarations: tuple[Declaration, ...]
    body: Block


def walk(part: object) -> Iterator[Node]:
    """Iterate over all nodes in a part of a tree, those further out first."""
    if isinstance(part, Node):
        yield part
        for name in type(part).__slots__:
            yield from walk(getattr(part, name))
    elif isinstance(part, tuple) and not isinstance(part, At):
        for one in part:
            yield from walk(one)


def mapped(part: Any, change: Callable[[Node], Node | None]) -> Any:
    """Return a part of a tree with nodes as `change` makes them; where that is None, with what is in them changed."""
    if isinstance(part, tuple) and not isinstance(part, At):
        return tuple(mapped(one, change) for one in part)
    if not isinstance(part, Node):
        return part
    changed = change(part)
    if changed is None:
        changed = replace(part, **{name: mapped(getattr(part, name), change) for name in type(part).__slots__})
    return changed


def names_in(part: object) -> set[str]:
    """Find the names in a part of a tree, those of tables too."""
    return {
        node.name if isinstance(node, Name) else node.table for node in walk(part) if isinstance(node, Name | Index)
    }
