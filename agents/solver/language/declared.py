"""Say in the language itself what NOW, MOVES, DRAIN, HOSE, PIPE, AT LEAST and `BINS ?` with goals mean.

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
from binwright.agents.solver.language.parse import parse
from binwright.agents.solver.language.tables import Table

BALLS, NOW, MOVES, DRAIN = "BALLS", "NOW", "MOVES", "DRAIN"
ADDED = {
    BALLS: "UTIL.balls[BIN] += 1",
    MOVES: "if now[BALL] >= 0 and BIN != now[BALL] UTIL.moves += 1 end",
    DRAIN: "if drain[BIN] != 0 REJECT end",
}
"""What declarations add to UTILFN."""
OWN = {word.lower(): word for word in (BALLS, NOW, MOVES, DRAIN)}
"""Names that no specification can have, and what they are written as here."""
HOSE = """
    let below{n} = count(other in MEMBERS[hose] except BALL: beside{n})
    UTIL.link{n} += RATES[hose] * (min(below{n} + 1, len(MEMBERS[hose]) - below{n} - 1)
        - min(below{n}, len(MEMBERS[hose]) - below{n}))"""
PIPE = " if same{n} else UTIL.link{n} += RATES[pipe] UTIL.far{n} += RATES[pipe] end"
Sets = Sequence[tuple[Sequence[int], int]]
"""Balls, and a rate."""


def statements(at: At, text: str, **parts: Any) -> s.Block:
    """Return the tree of statements, where names stand for other names, or for expressions; UTIL.X for a link."""
    parts = OWN | parts

    def change(part: Any) -> Any:
        if isinstance(part, str):
            return parts.get(part)
        known = parts.get(part.parts[0]) if isinstance(part, s.Node) and part.kind in ("name", "add") else None
        if not isinstance(known, s.Node) or part.kind == "name":
            return known if isinstance(known, s.Node) else None
        return s.Node("add", known.at, (*known.parts, *s.mapped(part.parts[2:], change, at)))

    body: s.Block = s.mapped(parse(f"procedure UTILFN(BALL, BIN, ALLOC) {text} end").body, change, at)
    return body


def expression(at: At, text: str, **parts: Any) -> s.Node:
    """Return the tree of an expression, where names stand for other names, or for expressions."""
    [let] = statements(at, f"let x = {text}", **parts)
    value: s.Node = let.parts[1]
    return value


def goal(at: At, value: s.Node, text: str) -> s.Node:
    """Make a goal that is not in the text: `value` is to be small."""
    return s.Node("goal", at, ("MINIMISE", value, text))


def moved(at: At) -> s.Node:
    """Count the balls that are in another bin than now: MOVES in a goal."""
    return expression(at, "count(moves in BALLS: now[moves] >= 0 and ALLOC[moves] != now[moves])")


def with_moves(goal: s.Node) -> s.Node:
    """Return a goal with what MOVES means in its place."""
    found: s.Node = s.mapped(goal, lambda part: moved(part.at) if part == s.name(goal.at, MOVES) else None)
    return found


def what_is_missing(nodes: Sequence[s.Node]) -> s.Node:
    """Make a goal of all that is less than it is to be at least."""
    terms = list[s.Node]()
    for node in nodes:
        amount, dim, or_none, axes = node.parts
        less = "if DIM > 0 then max(0, AMOUNT - DIM) else 0" if or_none else "max(0, AMOUNT - DIM)"
        found = expression(node.at, less, DIM=dim, AMOUNT=amount)
        for axis in reversed(axes):
            found = s.Node("reduction", node.at, ("sum", axis, found))
        terms.append(found)

    def total(some: Sequence[s.Node]) -> s.Node:
        half = len(some) // 2  # parsers allow some two hundred brackets in one another
        return s.Node("binary", some[half].at, ("+", total(some[:half]), total(some[half:]))) if half else some[0]

    return goal(nodes[0].at, total(terms), "what AT LEAST misses")


def opened(part: Any, least: int) -> Any:
    """Return a part of a goal with how many bins have balls, or are there in any case, in the place of BINS.

    Behind `in` it goes on being how many there may be.
    """

    def change(node: Any) -> Any:
        if isinstance(node, s.Node) and node.kind == "name" and node.parts == ("BINS",):
            text = f"max({least}, count(place in BINS: UTIL.balls[place] > 0))"
            return expression(node.at, text, place="BIN")
        return node if isinstance(node, s.Node) and node.kind == "axis" else None

    return s.mapped(part, change)


def linked(node: s.Node, name: str, sets: Sets, balls: int) -> tuple[s.Block, list[Table]]:
    """Return what HOSE or PIPE adds to UTILFN, and its tables, which begin with this name.

    A link with m of the N balls of a hose below it carries min(m, N - m) times the rate: of BALL's hoses every link
    gets what one more ball below it changes. Of a pipe, the ball that is placed later adds the rate to the links of
    both ends that are not links of the other one, too. The tables have, of every ball, the hoses or ends of pipes that
    are its own; of every hose its members, of every end the ball at the other one; and the rates.
    """
    own, members, rates = f"{name} of", f"{name} balls", f"{name} rates"
    parts: dict[str, Any] = {"OWN": own, "MEMBERS": members, "RATES": rates, "there": f"{name} there"}
    parts |= {"hose": f"{name} one", "pipe": f"{name} one", "other": f"{name} other"}
    links, hose = node.parts[3], node.parts[0] == "HOSE"
    there = s.name(node.at, f"{name} there")
    if hose:
        there = s.Node("placed", node.at, (s.name(node.at, f"{name} other"),))
    for n, link in enumerate(links):
        far = s.Node("used", link.at, _elsewhere(link.parts, there))
        same = _same(link.at, link.parts[1], far.parts[1])
        beside = s.Node("binary", node.at, ("==", there, s.name(node.at, "BIN")))  # a ball may be nowhere
        if link.parts[1] != beside.parts[2:]:
            beside = expression(link.at, "there != NULL and same", there=there, same=same)
        parts |= {f"link{n}": link, f"far{n}": far, f"same{n}": same, f"beside{n}": beside}
        parts[f"below{n}"] = f"{name} below {n}"
    text = "".join((HOSE if hose else PIPE).format(n=n) for n in range(len(links)))
    if hose:
        block = statements(node.at, f"for hose in OWN[BALL] {text} end", **parts)
        hoses = [balls_of for balls_of, _ in sets]
        mine, far_balls = rows_of(balls, hoses, own), rows(members, hoses)
        amounts = np.array([rate for _, rate in sets], np.int64)
    else:
        placed = f"let there = ALLOC[MEMBERS[pipe]] if there != NULL {text} end"
        block = statements(node.at, f"for pipe in OWN[BALL] {placed} end", **parts)
        pairs: dict[tuple[int, int], int] = {}  # both ways, and several pipes of two balls, are one
        for ends, rate in sets:
            pair = min(ends), max(ends)
            pairs[pair] = pairs.get(pair, 0) + rate
        both = [end for low, high in pairs for end in ((low, high), (high, low))]
        mine = rows_of(balls, [[ball] for ball, _ in both], own)
        far_balls = Table(members, True, (len(both),), np.array([other for _, other in both], np.int64))
        amounts = np.repeat(np.array(list(pairs.values()), np.int64), 2)
    return block, [mine, far_balls, Table(rates, False, amounts.shape, amounts)]


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


def _same(at: At, mine: Sequence[s.Node], others: Sequence[s.Node]) -> s.Node:
    """Compare indices; those that are the same in all bins need not be."""
    pairs = [pair for pair in zip(mine, others, strict=True) if pair[0] != pair[1]]
    equal = [s.Node("binary", at, ("==", *pair)) for pair in pairs] or [expression(at, "0 == 0")]
    return reduce(lambda one, other: s.Node("binary", at, ("and", one, other)), equal)


def _elsewhere(part: Any, there: s.Node) -> Any:
    """Return a part of a tree with the bin of another ball in the place of BIN."""
    return s.mapped(part, lambda node: there if node == s.name(there.at, "BIN") else None)
