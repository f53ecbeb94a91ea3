"""Rewrites formulas: shorter ones that say the same, ones that rank places alike, and the text that is read as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from binwright.agents.formulas.parse import FUNCTIONS, Term, constant, term
from binwright.agents.formulas.vocabulary import PLAIN

BEFORE = {"after": "free", "share": "free_share"}
"""What of a resource is free before a request is placed, by what is free after it."""
EVERYWHERE = ("demand_", *PLAIN)
"""How the names of features begin that are the same at all places."""
ZERO, ONE = constant(0.0), constant(1.0)
COMPUTED: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power, "min": min, "max": max,
    "<": np.less, "<=": np.less_equal, "==": np.equal, "negative": np.negative, "abs": np.abs, "exp": np.exp,
    "log": np.log, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "not": np.logical_not,
    "where": lambda test, x, y: x if test else y, "lost": lambda x: 0.0,
}  # fmt: skip
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


def walk(formula: Term) -> Iterator[Term]:
    """Yield a formula and all its parts, each before its own parts."""
    yield formula
    for part in formula.of:
        yield from walk(part)


def constants(formula: Term) -> list[float]:
    """List the constants of a formula, in order."""
    return [one.value for one in walk(formula) if one.op == "constant"]


def with_constants(formula: Term, values: Sequence[float]) -> Term:
    """Return the formula with other constants, in the same order."""
    left = iter(values)

    def of(one: Term) -> Term:
        return constant(next(left)) if one.op == "constant" else one._replace(of=tuple(map(of, one.of)))

    return of(formula)


def expanded(formula: Term) -> Term:
    """Write every `lost(x)` of a formula as x before the request is placed, less x."""
    if not formula.of:
        return formula
    parts = map(expanded, formula.of)
    return term("-", _before(one := next(parts)), one) if formula.op == "lost" else term(formula.op, *parts)


def _before(formula: Term) -> Term:
    """Replace what is free after placing the request by what is free before."""
    if formula.of:
        return term(formula.op, *map(_before, formula.of))
    return formula._replace(name=re.sub("(?<!free_)(after|share)(?=_)", lambda of: BEFORE[of[0]], formula.name))


def written(formula: Term) -> str:
    """Write a formula as an expression, which is read as the same formula if it is `simplified`."""
    return _written(formula)[0]


def _written(one: Term) -> tuple[str, int]:
    """Return the text of a formula, and how strongly it binds: 1 as sums do, 2 products, 3 signs, 4 names and calls."""
    op = one.op
    if op == "constant":
        text = str(int(one.value)) if isfinite(one.value) and one.value == int(one.value) else repr(one.value)
        return text, 3 if one.value < 0 else 4
    if op == "feature":
        return one.name, 4
    if op in FUNCTIONS:
        return f"{op}({', '.join(map(written, one.of))})", 4
    if len(one.of) == 1:
        return (f"-{_within(one.of[0], 3)}", 3) if op == "negative" else (f"not {_within(one.of[0], 4)}", 0)
    strength = _STRENGTH.get(op, 0)
    x, y = (_within(part, max(strength + at, 4 * (not strength))) for at, part in enumerate(one.of))
    return f"{x} {op} {y}", 3 if op == "**" else strength


def _within(part: Term, strength: int) -> str:
    text, own = _written(part)
    return text if own >= strength else f"({text})"


def simplified(formula: Term) -> Term:
    """Return a formula of no more steps that has the same value, but for last digits, where all its parts are numbers.

    Sums and products are put into one order, so that equal formulas look alike.
    """
    if not formula.of:
        return formula
    found = term(formula.op, *map(simplified, formula.of))
    while (shorter := _shorter(found)) is not None:
        found = shorter
    return found


def _shorter(one: Term) -> Term | None:
    """Apply one rule to a formula whose parts are simplified; None where none applies."""
    op, parts = one.op, one.of
    if parts and all(part.op == "constant" for part in parts):
        with np.errstate(all="ignore"):
            value = float(COMPUTED[op](*(np.float64(part.value) for part in parts)))
        return constant(value) if isfinite(value) else None
    if op == "where":
        return (
            parts[1] if parts[1] == parts[2] else parts[1 + (not parts[0].value)] if parts[0].op == "constant" else None
        )
    if op == "negative":
        return _negated(parts[0])
    if op == "lost":
        return _lost(parts[0])
    if op == "abs" and parts[0].op in ("abs", "negative"):
        return term("abs", parts[0].of[0])
    return _of_two(op, *parts) if len(parts) == 2 else None


def _negated(x: Term) -> Term | None:
    """Write minus a formula as one that is no longer."""
    if x.op == "negative":
        return x.of[0]
    if x.op == "-":
        return term("-", x.of[1], x.of[0])
    if x.op in ("*", "/") and x.of[0].op == "constant":
        return term(x.op, constant(-x.of[0].value), x.of[1])
    return constant(-x.value) if x.op == "constant" else None


def _lost(x: Term) -> Term | None:
    """Move what placing does not change out of `lost(x)`."""
    if _before(x) == x:
        return ZERO
    if x.op == "negative":
        return term("negative", simplified(term("lost", x.of[0])))
    if x.op in ("+", "-"):
        changed = [part for part in x.of if _before(part) != part]
        if len(changed) == 1:
            lost = simplified(term("lost", changed[0]))
            return term("negative", lost) if x.op == "-" and changed[0] is x.of[1] else lost
    return None


def _of_two(op: str, x: Term, y: Term) -> Term | None:
    if x == y and op in ("-", "/", "min", "max", "+"):
        return {"-": ZERO, "/": ONE, "+": term("*", constant(2.0), x)}.get(op, x)
    if op in ("+", "*", "min", "max") and _order(op, y) < _order(op, x):
        return term(op, y, x)
    if op in ("+", "-"):
        if y == ZERO:
            return x
        if x == ZERO:
            return term("negative", y)  # sums have numbers last
        if y.op == "negative" or (y.op == "constant" and y.value < 0):
            return term("-" if op == "+" else "+", x, y.of[0] if y.of else constant(-y.value))
        if op == "+" and x.op == "negative":
            return term("-", y, x.of[0])
    elif op in ("*", "/"):
        if op == "*" and x in (ZERO, ONE, constant(-1.0)):
            return ZERO if x == ZERO else y if x == ONE else term("negative", y)
        if op == "/" and y == ONE:
            return x
        if op == "*" and x.op == "constant" and y.op == "*" and y.of[0].op == "constant":
            return term("*", constant(x.value * y.of[0].value), y.of[1])
        if "negative" in (x.op, y.op):
            positive = simplified(term(op, *(part.of[0] if part.op == "negative" else part for part in (x, y))))
            return positive if x.op == y.op else term("negative", positive)
    return None


def _order(op: str, one: Term) -> tuple[bool, str]:
    """Say where a part of a sum or a product belongs: numbers come last in sums, else first."""
    return (one.op == "constant") == (op == "+"), written(one)


def ranking(formula: Term) -> Term:
    """Simplify a formula, and leave out what changes scores but not which of two places of a request has more."""
    found = simplified(formula)
    while (shorter := _ranking(found)) is not None:
        found = simplified(shorter)
    return found


def _ranking(one: Term) -> Term | None:
    if is_same_everywhere(one):
        return None if one == ZERO else ZERO
    if one.op == "exp":
        return one.of[0]
    if one.op == "negative":
        shorter = _ranking(one.of[0])
        return shorter and term("negative", shorter)
    if one.op == "where" and is_same_everywhere(one.of[0]):
        yes, no = map(_ranking, one.of[1:])
        return term("where", one.of[0], yes or one.of[1], no or one.of[2]) if yes or no else None
    if len(one.of) != 2:
        return None
    x, y = one.of
    if one.op in ("+", "-") and is_same_everywhere(y):
        return x
    if one.op in ("+", "-") and is_same_everywhere(x):
        return y if one.op == "+" else term("negative", y)
    number, other = (x, y) if one.op == "*" else (y, x)
    if one.op in ("*", "/") and number.op == "constant" and abs(number.value) not in (0, 1):
        return other if number.value > 0 else term("negative", other)
    return None


def is_same_everywhere(formula: Term) -> bool:
    """Tell whether a formula has one value at all places of a request."""
    return all(one.op != "feature" or one.name.startswith(EVERYWHERE) for one in walk(formula))
