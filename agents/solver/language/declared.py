"""Say in the language itself what NOW, MOVES, DRAIN, DIFFERENT, HOSE, PIPE, AT LEAST and `BINS ?` with goals mean.

So whatever evaluates UTILFN and goals knows it. NOW is also a table with the bin of every ball, -1 for none, and DRAIN
one with 1 for every bin that is to be empty. Names that begin with a word of the language belong to no specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At
from binwright.agents.solver.language.parse import parse
from binwright.agents.solver.language.tables import Table

DIFFERENT, BALLS = "DIFFERENT", "BALLS"
NOW, MOVES, DRAIN = "NOW", "MOVES", "DRAIN"
ADDED = {
    DIFFERENT: "for set in different[BALL] UTIL.different[set, BIN] += 1 end",  # it has the sets of every ball
    BALLS: "UTIL.balls[BIN] += 1",
    MOVES: "if now[BALL] >= 0 and BIN != now[BALL] UTIL.moves += 1 end",
    DRAIN: "if drain[BIN] != 0 REJECT end",
}
"""What declarations add to UTILFN."""
OWN = {word.lower(): word for word in (DIFFERENT, BALLS, NOW, MOVES, DRAIN)} | {"set": f"{DIFFERENT} set"}
"""Names that no specification can have, and what they are written as here."""


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


def statements(at: At, text: str, **parts: Any) -> s.Block:
    """Return the tree of statements, where names stand for other names, or for expressions; UTIL.X for a link."""
    parts = OWN | parts

    def change(part: Any) -> Any:
        if isinstance(part, At):
            return at
        if isinstance(part, s.Name) and isinstance(known := parts.get(part.name), s.Node):
            return known
        if isinstance(part, s.AddTo) and isinstance(link := parts.get(part.family), s.Used):
            return s.AddTo(link.at, link.family, link.arguments, part.sign, s.mapped(part.amount, change))
        return parts.get(part) if isinstance(part, str) else None

    body: s.Block = s.mapped(parse(f"procedure UTILFN(BALL, BIN, ALLOC) {text} end").body, change)
    return body


def expression(at: At, text: str, **parts: Any) -> s.Expr:
    """Return the tree of an expression, where names stand for other names, or for expressions."""
    [let] = statements(at, f"let x = {text}", **parts)
    assert isinstance(let, s.Let)
    return let.value


def added(kind: str, at: At) -> s.Block:
    """Return what a declaration of this kind adds to UTILFN."""
    return statements(at, ADDED[kind])


def moved(at: At) -> s.Expr:
    """Count the balls that are in another bin than now: MOVES in a goal."""
    return expression(at, "count(moves in BALLS: now[moves] >= 0 and ALLOC[moves] != now[moves])")


def with_moves(goal: s.Goal) -> s.Goal:
    """Return a goal with what MOVES means in its place."""
    found: s.Goal = s.mapped(
        goal, lambda part: moved(part.at) if isinstance(part, s.Name) and part.name == MOVES else None
    )
    return found


def what_is_missing(nodes: Sequence[s.Least]) -> s.Goal:
    """Make a goal of all that is less than it is to be at least."""
    total: s.Expr | None = None
    for node in nodes:
        less = "if DIM > 0 then max(0, AMOUNT - DIM) else 0" if node.or_none else "max(0, AMOUNT - DIM)"
        found = expression(node.at, less, DIM=node.dim, AMOUNT=node.amount)
        for axis in reversed(node.axes):
            found = s.Reduce(node.at, "sum", axis, found)
        total = found if total is None else s.Binary(total.at, "+", total, found)
    assert total is not None
    return s.Goal(nodes[0].at, "MINIMISE", total, (0, 0), "what AT LEAST misses")


def opened(part: Any, least: int) -> Any:
    """Return a part of a goal with how many bins have balls, or are there in any case, in the place of BINS.

    Behind `in` it goes on being how many there may be.
    """

    def change(node: Any) -> Any:
        if isinstance(node, s.Name) and node.name == "BINS":
            text = f"max({least}, count(place in BINS: UTIL.balls[place] > 0))"
            return expression(node.at, text, place="BIN")
        return node if isinstance(node, s.Axis) else None

    return s.mapped(part, change)


def hose(at: At, links: Sequence[s.Used], own: str, balls: str, rates: str) -> s.Block:
    """Add to every link what one more ball below it changes of each hose of BALL.

    A link with m of the N balls of a hose below it carries min(m, N - m) times the rate. The tables have, of every
    ball, the hoses that it is `own` of; of every hose, its `balls`; and the `rates`.
    """
    other, text, parts = s.Placed(at, s.Name(at, f"{own} other")), "", dict[str, Any]()
    for n, link in enumerate(links):
        parts |= {f"link{n}": link, f"below{n}": f"{own} below {n}", f"beside{n}": _below(link, other)}
        text += f"""
            let below{n} = count(other in MEMBERS[hose] except BALL: beside{n})
            UTIL.link{n} += RATES[hose] * (min(below{n} + 1, len(MEMBERS[hose]) - below{n} - 1)
                - min(below{n}, len(MEMBERS[hose]) - below{n}))"""
    names = {"OWN": own, "MEMBERS": balls, "RATES": rates, "hose": f"{own} one", "other": f"{own} other"}
    return statements(at, f"for hose in OWN[BALL] {text} end", **names, **parts)


def pipe(at: At, links: Sequence[s.Used], own: str, balls: str, rates: str) -> s.Block:
    """Add the rate of each pipe of BALL to the links of both of its ends that are not links of the other one, too.

    The tables have, of every ball, the ends of pipes that are its `own`; of every end, the ball at the other one; and
    the `rates`. Whichever of two balls is placed later adds it.
    """
    there, text, parts = s.Name(at, f"{own} there"), "", dict[str, Any]()
    for n, link in enumerate(links):
        far = s.Used(link.at, link.family, _elsewhere(link.arguments, there))
        parts |= {f"link{n}": link, f"far{n}": far, f"same{n}": _same(link.arguments, far.arguments)}
        text += f" if same{n} else UTIL.link{n} += RATES[pipe] UTIL.far{n} += RATES[pipe] end"
    names = {"OWN": own, "FAR": balls, "RATES": rates, "pipe": f"{own} one", "there": there.name}
    placed = f"let there = ALLOC[FAR[pipe]] if there != NULL {text} end"
    return statements(at, f"for pipe in OWN[BALL] {placed} end", **names, **parts)


def _below(link: s.Used, there: s.Placed) -> s.Expr:
    """Tell whether another ball, which may be nowhere, is below the same link as BIN."""
    if link.arguments == (s.Name(link.at, "BIN"),):
        return s.Binary(there.at, "==", there, link.arguments[0])
    same = _same(link.arguments, _elsewhere(link.arguments, there))
    return expression(link.at, "there != NULL and same", there=there, same=same)


def _same(mine: Sequence[s.Expr], others: Sequence[s.Expr]) -> s.Expr:
    """Compare indices; those that are the same in all bins need not be."""
    found: s.Expr | None = None
    for here, there in zip(mine, others, strict=True):
        if here != there:
            equal = s.Binary(here.at, "==", here, there)
            found = equal if found is None else s.Binary(found.at, "and", found, equal)
    return found or expression(mine[0].at if mine else At(1, 1), "0 == 0")


def _elsewhere(part: Any, there: s.Expr) -> Any:
    """Return a part of a tree with the bin of another ball in the place of BIN."""
    return s.mapped(part, lambda node: there if isinstance(node, s.Name) and node.name == "BIN" else None)
