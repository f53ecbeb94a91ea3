"""Define the tree of a specification, as written: nothing is checked here but its shape.

Places in the text do not take part in comparisons: two nodes are equal if they say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

from binwright.agents.solver.language.errors import At


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Node:
    """Anything with a place in the text. All kinds of it are frozen dataclasses."""

    at: At = field(compare=False)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class Number(Node):
    """A literal: `raw` is the number if `whole`, otherwise millionths."""

    raw: int
    whole: bool


class Text(Node):
    """The name of a ball or a bin, or one in a column; its number is put there before anything is evaluated."""

    text: str


class Name(Node):
    """A parameter, a local, or BALL, BIN, BALLS, BINS, NULL."""

    name: str


class Index(Node):
    """An entry of a table, or a row of it."""

    table: str
    arguments: tuple[Expr, ...]


class Placed(Node):
    """ALLOC[ball]."""

    ball: Expr


class Used(Node):
    """UTIL.family[arguments]: what is used of a dimension, in a goal; or a link of HOSE and PIPE, without UTIL."""

    family: str
    arguments: tuple[Expr, ...]


class Unary(Node):
    """-x, not x, abs(x), floor(x), ceil(x), len(x)."""

    op: str
    operand: Expr


class Binary(Node):
    """Arithmetic, comparisons, and, or."""

    op: str
    left: Expr
    right: Expr


class Extreme(Node):
    """min(...) or max(...)."""

    op: str
    arguments: tuple[Expr, ...]


class Choose(Node):
    """if test then yes else no."""

    test: Expr
    yes: Expr
    no: Expr


class Span(Node):
    """start .. stop, without stop."""

    start: Expr
    stop: Expr


class Axis(Node):
    """name in range [except skip]; the range is a span, a number (0 .. number) or a row of a table."""

    name: str
    range: Expr | Span
    skip: Expr | None = None


class Reduce(Node):
    """sum, count, min or max of (axis: body)."""

    op: str
    axis: Axis
    body: Expr


Expr = Number | Text | Name | Index | Placed | Used | Unary | Binary | Extreme | Choose | Reduce


class Let(Node):
    """let name = value."""

    name: str
    value: Expr


class Branch(Node):
    """if test then [else other] end."""

    test: Expr
    then: Block
    other: Block


class Loop(Node):
    """for [all] axis body end."""

    axis: Axis
    body: Block


class AddTo(Node):
    """UTIL.family[arguments] += amount (sign 1) or -= amount (sign -1)."""

    family: str
    arguments: tuple[Expr, ...]
    sign: int
    amount: Expr


class Rejection(Node):
    """REJECT."""


Stmt = Let | Branch | Loop | AddTo | Rejection
Block = tuple[Stmt, ...]


class Param(Node):
    """PARAM name = value."""

    name: str
    value: Expr


class Literal(Node):
    """[entry, ...]: numbers, or rows of them."""

    entries: tuple[Literal | Expr, ...]


class TableIs(Node):
    """TABLE name = [...]."""

    name: str
    value: Literal


class TableOf(Node):
    """TABLE name[axes] = value."""

    name: str
    axes: tuple[Axis, ...]
    value: Expr


class TableFrom(Node):
    """TABLE name FROM file [COLUMNS ...] [AS names]."""

    name: str
    file: str
    columns: tuple[str, ...]
    names: str | None


class Balls(Node):
    """BALLS count [AS names]."""

    count: Expr
    names: str | None


class Bins(Node):
    """BINS count [AS names], or BINS ? [FROM low] [TO high] with count None."""

    count: Expr | None
    names: str | None = None
    low: Expr | None = None
    high: Expr | None = None


class Resource(Node):
    """RESOURCES name[axes] => capacity."""

    name: str
    axes: tuple[Axis, ...]
    capacity: Expr


class Company(Node):
    """FRIENDS, FOES, DIFFERENT, GROUPS or DRAIN items [WITH chance] [for axes]."""

    kind: str
    items: tuple[Expr | Span, ...]
    chance: Expr | None
    axes: tuple[Axis, ...]


class Linked(Node):
    """HOSE or PIPE items RATE rate OVER links [for axes]."""

    kind: str
    items: tuple[Expr | Span, ...]
    rate: Expr
    links: tuple[Used, ...]
    axes: tuple[Axis, ...]


class Least(Node):
    """AT LEAST amount OF dim [OR NONE] [for axes]."""

    amount: Expr
    dim: Used
    or_none: bool
    axes: tuple[Axis, ...]


class Soft(Node):
    """SOFT family[slots] SHARE share OVER over [for axes]; a slot that is None is `*`."""

    family: str
    slots: tuple[Expr | None, ...] | None
    share: Expr
    over: Expr
    axes: tuple[Axis, ...]


class Pin(Node):
    """PIN ball TO bin [for axes]."""

    ball: Expr
    bin: Expr
    axes: tuple[Axis, ...]


class Now(Node):
    """NOW table."""

    table: str


class Moves(Node):
    """MOVES most."""

    most: Expr


class Goal(Node):
    """MINIMISE or MAXIMISE value."""

    aim: str
    value: Expr
    span: tuple[int, int] = field(compare=False)
    """Where in the text the value begins and ends."""
    said: str = field(default="", compare=False)
    """What people read, where the goal is not in the text."""


Declaration = (
    Param | TableIs | TableOf | TableFrom | Balls | Bins | Resource | Company | Linked | Least | Soft | Pin | Now
    | Moves | Goal
)  # fmt: skip


class Tree(Node):
    """A whole specification."""

    declarations: tuple[Declaration, ...]
    body: Block


def walk(part: object) -> Iterator[Node]:
    """Iterate over all nodes in a part of a tree, those further out first."""
    if isinstance(part, Node):
        yield part
        for inner in vars(part).values():
            yield from walk(inner)
    elif isinstance(part, tuple) and not isinstance(part, At):
        for each in part:
            yield from walk(each)


def mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """Return a part of a tree with nodes, texts and places as `change` makes them.

    Where that is None, what is in them is changed.
    """
    changed = change(part)
    if changed is not None or part is None:
        return changed
    if isinstance(part, Node):
        return type(part)(**{name: mapped(inner, change) for name, inner in vars(part).items()})
    if isinstance(part, tuple) and not isinstance(part, At):
        return tuple(mapped(each, change) for each in part)
    return part


def names_in(part: object) -> set[str]:
    """Find the names in a part of a tree, those of tables too."""
    return {
        node.name if isinstance(node, Name) else node.table for node in walk(part) if isinstance(node, Name | Index)
    }
