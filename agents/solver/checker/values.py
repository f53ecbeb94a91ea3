"""Combine typed values by UTILFN's operators.

Every value has a type and an interval that it is proven to stay in. Where a divisor cannot be proven not to be zero, a
test is written that rejects; where it certainly is zero, and where a number might leave the numbers' range, the program
is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from binwright.agents.solver.checker.code import Code, op
from binwright.agents.solver.language.constants import BOOL, INT, PLACE, QUANTITY
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import LARGEST
from binwright.agents.solver.model.program import MICRO, WIDE, Const, Expr, Op


class Typed(NamedTuple):
    """A value of UTILFN."""

    kind: str
    low: int
    """The smallest that it may be; millionths for quantities."""
    high: int
    """The largest that it may be."""
    code: Expr

    def coded(self, code: Expr) -> Typed:
        """Return the same value, kept elsewhere."""
        return self._replace(code=code)


def truth_of(code: Expr) -> Typed:
    """Return a truth value."""
    return Typed(BOOL, 0, 1, code)


def micro(value: Typed) -> Typed:
    """Convert a number to millionths."""
    if value.kind == QUANTITY:
        return value
    return Typed(QUANTITY, value.low * MICRO, value.high * MICRO, op("mul", value.code, Const(MICRO)))


def alike(*values: Typed) -> tuple[str, list[Typed]]:
    """Convert all numbers to quantities if one of them is a quantity; returns their type, too."""
    if any(value.kind == QUANTITY for value in values):
        return QUANTITY, [micro(value) for value in values]
    return INT, list(values)


def negated(value: Typed) -> Typed:
    """Return -value."""
    return Typed(value.kind, -value.high, -value.low, op("sub", Const(0), value.code))


def floored(value: Typed) -> Typed:
    """Return floor(value), a whole number."""
    if value.kind != QUANTITY:
        return value
    return Typed(INT, value.low // MICRO, value.high // MICRO, op("div", value.code, Const(MICRO)))


def absolute(code: Code, value: Typed) -> Typed:
    """Return abs(value)."""
    once = code.repeatable(value.code)
    ends = abs(value.low), abs(value.high)
    low = 0 if value.low <= 0 <= value.high else min(ends)
    return Typed(value.kind, low, max(ends), op("max", once, op("sub", Const(0), once)))


def extreme(choice: str, values: list[Typed]) -> Typed:
    """Return the smallest ("min") or the largest ("max") of some numbers."""
    kind, values = alike(*values)
    result = values[0]
    choose = min if choice == "min" else max
    for value in values[1:]:
        low, high = choose(result.low, value.low), choose(result.high, value.high)
        result = Typed(kind, low, high, op(choice, result.code, value.code))
    return result


def equal(code: Code, left: Typed, right: Typed, truth: bool) -> Expr:
    """Write whether two values are equal, or unequal if `truth` is not asked for.

    NULL is kept as -1 and equals NULL only: a number that may be below zero is tested for that first.
    """
    if PLACE in (left.kind, right.kind) and left.kind != right.kind:
        place, number = (left, right) if left.kind == PLACE else (right, left)
        if place.low < 0 and number.low < 0:
            _, (place, number) = alike(place, number)
            once = code.repeatable(number.code)
            if truth:
                return Op("and", op("le", Const(0), once), op("eq", place.code, once))
            return Op("or", op("lt", once, Const(0)), op("ne", place.code, once))
    if left.kind != BOOL:
        _, (left, right) = alike(left, right)
    return op("eq" if truth else "ne", left.code, right.code)


def arithmetic(code: Code, symbol: str, left: Typed, right: Typed, at: At) -> Typed:
    """Compare two numbers, or compute with them; `symbol` is that of the language."""
    if symbol in ("<", "<=", ">", ">="):
        _, (left, right) = alike(left, right)
        if symbol in (">", ">="):
            left, right = right, left
        return truth_of(op("lt" if symbol in ("<", ">") else "le", left.code, right.code))
    if symbol in ("+", "-"):
        kind, (left, right) = alike(left, right)
        low, high = (right.low, right.high) if symbol == "+" else (-right.high, -right.low)
        result = op("add" if symbol == "+" else "sub", left.code, right.code)
        return Typed(kind, left.low + low, left.high + high, result)
    return _product(left, right, at) if symbol == "*" else _quotient(code, symbol, left, right, at)


def _product(left: Typed, right: Typed, at: At) -> Typed:
    both = left.kind == right.kind == QUANTITY
    ends = [a * b // (MICRO if both else 1) for a in (left.low, left.high) for b in (right.low, right.high)]
    kind = QUANTITY if QUANTITY in (left.kind, right.kind) else INT
    if both and max(abs(end) for end in ends) > WIDE:  # constants would be folded beyond it
        raise SpecError("this may go beyond 1e12", "Choose a larger unit, or bound it with min.", at)
    return Typed(kind, min(ends), max(ends), op("qmul" if both else "mul", left.code, right.code))


def _quotient(code: Code, symbol: str, left: Typed, right: Typed, at: At) -> Typed:
    """Write /, // or %, with a test of the divisor where it may be zero."""
    if right.low == right.high == 0:
        raise SpecError("division by zero", "Make the divisor at least one, with max(1, ...) for one.", at)
    if symbol == "/":
        left, right = micro(left), micro(right)
        if max(abs(right.low), abs(right.high)) > LARGEST * MICRO:
            raise SpecError("this divisor may go beyond 1e9", "Choose a larger unit, or bound it with min.", at)
    elif QUANTITY in (left.kind, right.kind):
        raise SpecError(f"{symbol} takes whole numbers", "Use / for quantities.", at)
    if right.low <= 0 <= right.high:
        right = right.coded(code.stored(right.code))
        code.guard(Op("eq", right.code, Const(0)), "a divisor", at)
    if symbol == "%":
        low, high = min(0, right.low + 1), max(0, right.high - 1)
        return Typed(INT, low, high, op("mod", left.code, right.code))
    divisors = [end for end in {right.low, right.high, -1, 1} if right.low <= end <= right.high and end]
    times = MICRO if symbol == "/" else 1
    ends = [a * times // b for a in (left.low, left.high) for b in divisors]
    kind, name = (QUANTITY, "qdiv") if symbol == "/" else (INT, "div")
    return Typed(kind, min(ends), max(ends), op(name, left.code, right.code))
