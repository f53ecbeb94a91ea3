"""Say in the language itself what NOW, MOVES, DRAIN, HOSE, PIPE, AT LEAST and `BINS ?` with goals mean.

So whatever evaluates UTILFN and goals knows it. NOW is also a table with the bin of every ball, -1 for none, and DRAIN
a resource that every ball takes one of, with none in bins that are to be empty. Names that begin with a word of the
language belong to no specification.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At
from binwright.agents.solver.language.tables import Table, from_array

BALLS, NOW, MOVES, DRAIN = "BALLS", "NOW", "MOVES", "DRAIN"
ADDED = {
    BALLS: "UTIL.balls[BIN] += 1",
    MOVES: "if now[BALL] >= 0 and BIN != now[BALL] UTIL.moves += 1 end",
    DRAIN: "UTIL.drain[BIN] += 1",
}
"""What declarations add to UTILFN."""
OWN = {word.lower(): word for word in (BALLS, NOW, MOVES, DRAIN)}
"""Names that no specification can have, and what they are written as here."""
HOSE = """
    let below# = count(other in MEMBERS[one] except BALL: BESIDE#)
    UTIL.LINK# += RATES[one] * (
        min(below# + 1, len(MEMBERS[one]) - below# - 1) - min(below#, len(MEMBERS[one]) - below#))"""
PIPE = "if SAME# else UTIL.LINK# += RATES[one] UTIL.FAR# += RATES[one] end"
"""What a hose, or a pipe, adds to each link."""
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

    body: s.Block = s.mapped(s.parse(f"procedure UTILFN(BALL, BIN, ALLOC) {text} end").body, change, at)
    return body


def expression(at: At, text: str, **parts: Any) -> s.Node:
    """Return the tree of an expression, where names stand for other names, or for expressions."""
    [let] = statements(at, f"let x = {text}", **parts)
    value: s.Node = let.parts[1]
    return value


def moved(at: At) -> s.Node:
    """Count the balls that are in another bin than now: MOVES in a goal."""
    return expression(at, "count(moves in BALLS: now[moves] >= 0 and ALLOC[moves] != now[moves])")


def what_is_missing(nodes: Sequence[s.Node]) -> s.Node:
    """Make a goal of all that is less than it is to be at least."""
    terms = list[s.Node]()
    for node in nodes:
        amount, dim, or_none, axes = node.parts
        less = "if DIM > 0 then max(0, AMOUNT - DIM) else 0" if or_none else "max(0, AMOUNT - DIM)"
        term = expression(node.at, less, DIM=dim, AMOUNT=amount)
        for axis in reversed(axes):
            term = s.Node("reduction", node.at, ("sum", axis, term))
        terms.append(term)

    def total(some: Sequence[s.Node]) -> s.Node:
        half = len(some) // 2  # parsers allow some two hundred brackets in one another
        return s.Node("binary", some[half].at, ("+", total(some[:half]), total(some[half:]))) if half else some[0]

    return s.Node("goal", nodes[0].at, ("MINIMISE", total(terms), "what AT LEAST misses"))


def opening(goals: Sequence[s.Node], least: int, at: At) -> tuple[s.Node, ...]:
    """Return goals of `BINS ?`, the last one that bins are few; BINS is how many have balls, or are there in any case.

    Behind `in` it goes on being how many there may be.
    """
    number = s.name(at, "BINS")
    opened = expression(at, f"max({least}, count(place in BINS: UTIL.balls[place] > 0))", place="BIN")
    few = [] if any(each.parts[1] == number for each in goals) else [s.Node("goal", at, ("MINIMISE", number, "BINS"))]

    def change(part: Any) -> Any:
        if part == number:
            return opened
        return part if isinstance(part, s.Node) and part.kind == "axis" else None

    return tuple(s.mapped(each, change) for each in (*goals, *few))


def linked(node: s.Node, name: str, sets: Sets, balls: int) -> tuple[s.Block, list[Table]]:
    """Return what HOSE or PIPE adds to UTILFN, and its tables, which begin with this name.

    A link with m of the N balls of a hose below it carries min(m, N - m) times the rate: of BALL's hoses every link
    gets what one more ball below it changes. Of a pipe, the ball that is placed later adds the rate to the links of
    both ends that are not links of the other one, too. The tables have, of every ball, the hoses or ends of pipes that
    are its own; of every hose its members, of every end the ball at the other one; and the rates.
    """
    at, hose, adds = node.at, node.parts[0] == "HOSE", list[str]()
    parts: dict[str, Any] = {part: f"{name} {part}" for part in ("OWN", "MEMBERS", "RATES", "one", "other", "there")}
    other_end = s.Node("placed", at, (s.name(at, parts["other"]),)) if hose else s.name(at, parts["there"])
    for n, link in enumerate(node.parts[3]):
        elsewhere = s.mapped(link.parts, lambda part: other_end if part == s.name(at, "BIN") else None)
        same = expression(link.at, "0 == 0")
        for pair in zip(link.parts[1], elsewhere[1], strict=True):
            same = expression(link.at, "SAME and MINE == YOURS", SAME=same, MINE=pair[0], YOURS=pair[1])
        beside = expression(link.at, "THERE != NULL and SAME", THERE=other_end, SAME=same)
        adds.append((HOSE if hose else PIPE).replace("#", str(n)))
        parts |= {f"below{n}": f"{name} below {n}", f"SAME{n}": same, f"BESIDE{n}": beside}
        parts |= {f"LINK{n}": link, f"FAR{n}": s.Node("used", link.at, elsewhere)}
    each = " ".join(adds) if hose else f"let there = ALLOC[MEMBERS[one]] if there != NULL {' '.join(adds)} end"
    body = statements(at, f"for one in OWN[BALL] {each} end", **parts)
    owners: list[Sequence[int]] = [members for members, _ in sets]
    others: list[Any] = owners
    rates = [rate for _, rate in sets]
    if not hose:
        owners, others = [[end] for ends in owners for end in ends], [end for ends in owners for end in ends[::-1]]
        rates = [rate for rate in rates for _ in range(2)]
    own: list[list[int]] = [[] for _ in range(balls)]
    for number, members in enumerate(owners):
        for ball in members:
            own[ball].append(number)
    tables = [
        from_array(parts["OWN"], own, at), from_array(parts["MEMBERS"], others, at),
        Table(parts["RATES"], False, (len(rates),), np.array(rates, np.int64)),
    ]  # fmt: skip
    return body, tables
