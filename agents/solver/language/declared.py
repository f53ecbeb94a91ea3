"""Say in the language itself what NOW, MOVES, DRAIN, DIFFERENT, HOSE, PIPE, AT LEAST and `BINS ?` with goals mean.

So whatever evaluates UTILFN and goals knows it. NOW is also a table with the bin of every ball, -1 for none, and DRAIN
one with 1 for every bin that is to be empty. Names that begin with a word of the language belong to no specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At
from binwright.agents.solver.language.tables import Table

DIFFERENT, BALLS = "DIFFERENT", "BALLS"
NOW, MOVES, DRAIN = "NOW", "MOVES", "DRAIN"
ONE = "DIFFERENT set"
"""The variable of a loop over sets."""


def rows(name: str, entries: Sequence[Sequence[int]]) -> Table:
    """Make a table of whole numbers in rows of any lengths."""
    starts = np.cumsum([0, *map(len, entries)], dtype=np.int64)
    return Table(name, True, (len(entries),), np.fromiter(chain.from_iterable(entries), np.int64), starts)


def rows_of(balls: int, sets: Sequence[Sequence[int]], name: str) -> Table:
    """Make a table with the numbers of the sets that each ball is in, a row for every ball."""
    found: list[list[int]] = [[] for _ in range(balls)]
    for number, members in enumerate(sets):
        for ball in members:
            found[ball].append(number)
    return rows(name, found)


def one_of_each(at: At) -> s.Stmt:
    """Take the only place that each set of BALL has in BIN: the table DIFFERENT has the sets of every ball."""
    ball, place = s.Name(at, "BALL"), s.Name(at, "BIN")
    add = s.AddTo(at, DIFFERENT, (s.Name(at, ONE), place), 1, s.Number(at, 1, True))
    return s.Loop(at, s.Axis(at, ONE, s.Index(at, DIFFERENT, (ball,))), (add,))


def counted(at: At) -> s.Stmt:
    """Count BALL in BIN, in the resource BALLS."""
    return s.AddTo(at, BALLS, (s.Name(at, "BIN"),), 1, s.Number(at, 1, True))


def moved(at: At) -> s.Reduce:
    """Count the balls that are in another bin than now: MOVES in a goal."""
    ball = s.Name(at, MOVES)
    return s.Reduce(at, "count", s.Axis(at, MOVES, s.Name(at, "BALLS")), _leaves(at, ball, s.Placed(at, ball)))


def limited(at: At) -> s.Stmt:
    """Count a move of BALL to BIN in the resource MOVES: what a limit adds to UTILFN."""
    one = s.AddTo(at, MOVES, (), 1, s.Number(at, 1, True))
    return s.Branch(at, _leaves(at, s.Name(at, "BALL"), s.Name(at, "BIN")), (one,), ())


def drained(at: At) -> s.Stmt:
    """Reject BALL where BIN is to be empty."""
    closed = s.Index(at, DRAIN, (s.Name(at, "BIN"),))
    return s.Branch(at, _binary("!=", closed, s.Number(at, 0, True)), (s.Rejection(at),), ())


def _leaves(at: At, ball: s.Expr, place: s.Expr) -> s.Expr:
    now = s.Index(at, NOW, (ball,))
    return _binary("and", _binary(">=", now, s.Number(at, 0, True)), _binary("!=", place, now))


def missing(node: s.Least) -> s.Expr:
    """Say how much less is used than there is to be."""
    at, nothing = node.at, s.Number(node.at, 0, True)
    found: s.Expr = s.Extreme(at, "max", (nothing, _binary("-", node.amount, node.dim)))
    if node.or_none:
        found = s.Choose(at, _binary(">", node.dim, nothing), found, nothing)
    for axis in reversed(node.axes):
        found = s.Reduce(at, "sum", axis, found)
    return found


def what_is_missing(nodes: Sequence[s.Least]) -> s.Goal:
    """Make a goal of all that is less than it is to be at least."""
    total = reduce(lambda one, other: _binary("+", one, other), map(missing, nodes))
    return s.Goal(nodes[0].at, "MINIMISE", total, (0, 0), "what AT LEAST misses")


def opened(part: Any, least: int) -> Any:
    """Return a part of a goal with how many bins have balls, or are there in any case, in the place of BINS.

    Behind `in` it goes on being how many there may be.
    """

    def change(node: s.Node) -> s.Node | None:
        if isinstance(node, s.Name) and node.name == "BINS":
            at, place = node.at, s.Name(node.at, "BIN")
            used = _binary(">", s.Used(at, BALLS, (place,)), s.Number(at, 0, True))
            count = s.Reduce(at, "count", s.Axis(at, place.name, node), used)
            return s.Extreme(at, "max", (s.Number(at, least, True), count))
        return node if isinstance(node, s.Axis) else None

    return s.mapped(part, change)


def hose(at: At, links: Sequence[s.Used], own: str, balls: str, rates: str) -> s.Stmt:
    """Add to every link what one more ball below it changes of each hose of BALL.

    A link with m of the N balls of a hose below it carries min(m, N - m) times the rate. The tables have, of every
    ball, the hoses that it is `own` of; of every hose, its `balls`; and the `rates`.
    """
    one, other = s.Name(at, f"{own} one"), s.Name(at, f"{own} other")
    row = s.Index(at, balls, (one,))
    more = s.Number(at, 1, True)
    size = s.Unary(at, "len", row)
    found: list[s.Stmt] = []
    for number, link in enumerate(links):
        beside = s.Axis(at, other.name, row, s.Name(at, "BALL"))
        below = s.Name(at, f"{own} below {number}")
        found.append(s.Let(at, below.name, s.Reduce(at, "count", beside, _below(link, s.Placed(at, other)))))
        above = _binary("-", size, below)
        before = s.Extreme(at, "min", (below, above))
        after = s.Extreme(at, "min", (_binary("+", below, more), _binary("-", above, more)))
        amount = _binary("*", s.Index(at, rates, (one,)), _binary("-", after, before))
        found.append(s.AddTo(link.at, link.family, link.arguments, 1, amount))
    return s.Loop(at, s.Axis(at, one.name, s.Index(at, own, (s.Name(at, "BALL"),))), tuple(found))


def pipe(at: At, links: Sequence[s.Used], own: str, balls: str, rates: str) -> s.Stmt:
    """Add the rate of each pipe of BALL to the links of both of its ends that are not links of the other one, too.

    The tables have, of every ball, the ends of pipes that are its `own`; of every end, the ball at the other one; and
    the `rates`. Whichever of two balls is placed later adds it.
    """
    one, there = s.Name(at, f"{own} one"), s.Name(at, f"{own} there")
    rate = s.Index(at, rates, (one,))
    found: list[s.Stmt] = []
    for link in links:
        ends = (link.arguments, _elsewhere(link.arguments, there))
        adds = tuple(s.AddTo(link.at, link.family, arguments, 1, rate) for arguments in ends)
        found.append(s.Branch(at, _same(*ends), (), adds))
    placed = s.Branch(at, _binary("!=", there, s.Name(at, "NULL")), tuple(found), ())
    let = s.Let(at, there.name, s.Placed(at, s.Index(at, balls, (one,))))
    return s.Loop(at, s.Axis(at, one.name, s.Index(at, own, (s.Name(at, "BALL"),))), (let, placed))


def _below(link: s.Used, there: s.Placed) -> s.Expr:
    """Tell whether another ball, which may be nowhere, is below the same link as BIN."""
    if link.arguments == (s.Name(link.at, "BIN"),):
        return _binary("==", there, link.arguments[0])
    placed = _binary("!=", there, s.Name(link.at, "NULL"))
    return _binary("and", placed, _same(link.arguments, _elsewhere(link.arguments, there)))


def _same(mine: Sequence[s.Expr], others: Sequence[s.Expr]) -> s.Expr:
    """Compare indices; those that are the same in all bins need not be."""
    at = mine[0].at if mine else At(1, 1)
    each = [_binary("==", one, other) for one, other in zip(mine, others, strict=True) if one != other]
    always = _binary("==", s.Number(at, 0, True), s.Number(at, 0, True))
    return reduce(lambda one, other: _binary("and", one, other), each) if each else always


def _binary(op: str, left: s.Expr, right: s.Expr) -> s.Binary:
    return s.Binary(left.at, op, left, right)


def _elsewhere(part: Any, there: s.Expr) -> Any:
    """Return a part of a tree with the bin of another ball in the place of BIN."""
    return s.mapped(part, lambda node: there if isinstance(node, s.Name) and node.name == "BIN" else None)
