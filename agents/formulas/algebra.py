"""Rewrites formulas: shorter ones that say the same, ones that rank places alike, and the text that is read as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite

import numpy as np

from agents.formulas.parse import FUNCTIONS, Term, constant, term
from agents.formulas.vocabulary import PLAIN

EVERYWHERE = ("demand_", *PLAIN)
"""How the names of features begin that are the same at all places."""
ZERO, ONE = constant(0.0), constant(1.0)
_BINARY: dict[str, Callable[[float, float], float]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "min": lambda x, y: y if y < x else x, "max": lambda x, y: y if y > x else x,
    "<": np.less, "<=": np.less_equal, "==": np.equal,
}  # fmt: skip
_UNARY: dict[str, Callable[[float], float]] = {
    "negative": np.negative, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "floor": np.floor,
    "ceil": np.ceil, "not": lambda x: x == 0,
}  # fmt: skip
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


def walk(formula: Term) -> Iterator[Term]:
    """Yield a formula and all its parts, each before its own parts."""
    yield formula
    for part in formula.of:
        yield from walk(part)


def constants(formula: Term) -> list[float]:
    """List the constants of a formula, in the order in which they are written."""
    return [one.value for one in walk(formula) if one.op == "constant"]


def with_constants(formula: Term, values: Sequence[float]) -> Term:
    """Return the formula with other constants, in the same order."""
    left = iter(values)

    def of(one: Term) -> Term:
        return constant(next(left)) if one.op == "constant" else one._replace(of=tuple(map(of, one.of)))

    return of(formula)


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
        return f"{op}({', '.join(_written(part)[0] for part in one.of)})", 4
    if op == "negative":
        return f"-{_within(one.of[0], 3)}", 3
    if op == "not":
        return f"not {_within(one.of[0], 4)}", 0
    x, y = one.of
    if op in _STRENGTH:
        strength = _STRENGTH[op]
        return f"{_within(x, strength)} {op} {_within(y, strength + 1)}", strength
    return f"{_within(x, 4)} {op} {_within(y, 4)}", 3 if op == "**" else 0


def _within(part: Term, strength: int) -> str:
    text, own = _written(part)
    return text if own >= strength else f"({text})"


def simplified(formula: Term) -> Term:
    """Return a formula of as many steps or fewer that has the same value wherever all its parts are numbers.

    Only the last digits may differ. Sums and products are put into one order, so that equal formulas look alike.
    """
    parts = tuple(map(simplified, formula.of))
    if not parts:
        return formula
    found = term(formula.op, *parts)
    while (shorter := _shorter(found)) is not None:
        found = shorter
    return found


def _shorter(one: Term) -> Term | None:
    """Apply one rule to a formula whose parts are simplified; None where none applies."""
    values = [part.value for part in one.of if part.op == "constant"]
    if len(values) == len(one.of) and values:
        value = _folded(one.op, values)
        return None if value is None else constant(value)
    if len(one.of) == 1:
        return _of_one(one.op, one.of[0])
    if one.op == "where":
        test, yes, no = one.of
        if yes == no or test.op == "constant":
            return yes if yes == no or test.value else no
        return None
    return _of_two(one.op, *one.of) if len(one.of) == 2 else None


def _folded(op: str, values: Sequence[float]) -> float | None:
    """Compute an operation on constants; None where the result is no finite number."""
    if op == "where":
        return values[1] if values[0] else values[2]
    with np.errstate(all="ignore"):
        value = float(_UNARY[op](*values) if len(values) == 1 else _BINARY[op](*values))
    return value if isfinite(value) else None


def _of_one(op: str, x: Term) -> Term | None:
    if op == "negative":
        if x.op == "negative":
            return x.of[0]
        if x.op == "-":
            return _again("-", x.of[1], x.of[0])
        if x.op in ("*", "/") and x.of[0].op == "constant":
            return _again(x.op, constant(-x.of[0].value), x.of[1])
    if op == "abs" and x.op in ("abs", "negative"):
        return x if x.op == "abs" else _again("abs", x.of[0])
    return None


def _of_two(op: str, x: Term, y: Term) -> Term | None:
    if x == y and op in ("-", "/", "min", "max", "+"):
        return {"-": ZERO, "/": ONE, "min": x, "max": x}.get(op) or _again("*", constant(2.0), x)
    if op in ("+", "*", "min", "max") and _order(op, y) < _order(op, x):
        return _again(op, y, x)
    if op == "+":
        if y == ZERO:
            return x
        if y.op == "negative":
            return _again("-", x, y.of[0])
        if x.op == "negative":
            return _again("-", y, x.of[0])
        if y.op == "constant" and y.value < 0:
            return _again("-", x, constant(-y.value))
    if op == "-":
        if y == ZERO:
            return x
        if x == ZERO:
            return _again("negative", y)
        if y.op == "negative":
            return _again("+", x, y.of[0])
        if y.op == "constant" and y.value < 0:
            return _again("+", x, constant(-y.value))
    if op == "*":
        if x in (ZERO, ONE):
            return y if x == ONE else ZERO
        if x == constant(-1.0):
            return _again("negative", y)
        if x.op == "constant" and y.op == "*" and y.of[0].op == "constant":
            return _again("*", constant(x.value * y.of[0].value), y.of[1])
    if op in ("*", "/") and "negative" in (x.op, y.op):
        positive = _again(op, *(part.of[0] if part.op == "negative" else part for part in (x, y)))
        return positive if x.op == y.op else _again("negative", positive)
    if op == "/" and y == ONE:
        return x
    return None


def _again(op: str, *parts: Term) -> Term:
    found = term(op, *parts)
    return _shorter(found) or found


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
        return None if shorter is None else term("negative", shorter)
    if one.op == "where" and is_same_everywhere(one.of[0]):
        test, yes, no = one.of
        shorter_yes, shorter_no = _ranking(yes), _ranking(no)
        return None if shorter_yes is shorter_no is None else term("where", test, shorter_yes or yes, shorter_no or no)
    if len(one.of) != 2:
        return None
    x, y = one.of
    if one.op in ("+", "-") and is_same_everywhere(y):
        return x
    if one.op in ("+", "-") and is_same_everywhere(x):
        return y if one.op == "+" else term("negative", y)
    if one.op == "*" and x.op == "constant" and abs(x.value) != 1:
        return y if x.value > 0 else term("negative", y)
    if one.op == "/" and y.op == "constant" and y.value:
        return x if y.value > 0 else term("negative", x)
    return None


def is_same_everywhere(formula: Term) -> bool:
    """Tell whether a formula has one value at all places of a request."""
    return all(one.op != "feature" or one.name.startswith(EVERYWHERE) for one in walk(formula))
