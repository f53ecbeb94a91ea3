"""Combine typed values by the operators of the language, those of constants, too.

Every value has a type and an interval that it is proven to stay in. Where a divisor cannot be proven not to be zero, a
test is written that rejects; where it certainly is zero, the program is refused.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from binwright.agents.solver.language.code import Code, op
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.model.arithmetic import OPERATIONS
from binwright.agents.solver.model.program import MICRO, Const, Expr, Op

INT, QUANTITY, BOOL, PLACE = "a whole number", "a quantity", "a truth value", "a bin or NULL"


class Typed(NamedTuple):
    """A value; of a constant both bounds and the code are the number."""

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
                return op("and", op("le", Const(0), once), op("eq", place.code, once))
            return op("or", op("lt", once, Const(0)), op("ne", place.code, once))
    if left.kind != BOOL:
        _, (left, right) = alike(left, right)
    return op("eq" if truth else "ne", left.code, right.code)


class Rule(NamedTuple):
    """How two numbers are combined: by an operation of programs, after each is multiplied by a factor."""

    operation: str
    kind: str
    """Of the result."""
    left: int
    right: int
    swapped: bool
    """The operation takes the right one first."""


@cache
def rule(symbol: str, left: str, right: str) -> Rule | None:
    """Return what a symbol of the language does to numbers of these kinds; None if it takes no quantities."""
    quantity = QUANTITY in (left, right)
    kind = QUANTITY if quantity else INT
    millionths = MICRO if left == INT else 1, MICRO if right == INT else 1
    first, second = millionths if quantity or symbol == "/" else (1, 1)
    if symbol in ("<", "<=", ">", ">="):
        return Rule("lt" if symbol in ("<", ">") else "le", BOOL, first, second, symbol in (">", ">="))
    if symbol in ("+", "-"):
        return Rule("add" if symbol == "+" else "sub", kind, first, second, False)
    if symbol == "*":
        return Rule("qmul" if left == right == QUANTITY else "mul", kind, 1, 1, False)
    if symbol == "/":
        return Rule("qdiv", QUANTITY, first, second, False)
    return None if quantity else Rule("div" if symbol == "//" else "mod", INT, 1, 1, False)


def rule_of(symbol: str, left: str, right: str, at: At) -> Rule:
    """Return the rule for a symbol, or refuse it."""
    found = rule(symbol, left, right)
    if found is None:
        raise SpecError(f"{symbol} takes whole numbers", "Use / for quantities.", at)
    return found


def zero(at: At) -> SpecError:
    """Refuse a divisor."""
    return SpecError("division by zero", "Make the divisor at least one, with max(1, ...) for one.", at)


def arithmetic(code: Code, symbol: str, left: Typed, right: Typed, at: At) -> Typed:
    """Compare two numbers, or compute with them, with a test of a divisor that may be zero."""
    divides = symbol in ("/", "//", "%")
    if divides and right.low == right.high == 0:
        raise zero(at)
    how = rule_of(symbol, left.kind, right.kind, at)
    left, right = _times(left, how.left), _times(right, how.right)
    if divides and right.low <= 0 <= right.high:
        right = right.coded(code.stored(right.code))
        code.guard(Op("eq", right.code, Const(0)), "a divisor", at)
    if how.swapped:
        left, right = right, left
    return Typed(how.kind, *_bounds(how.operation, left, right), op(how.operation, left.code, right.code))


def _times(value: Typed, factor: int) -> Typed:
    return value if factor == 1 else micro(value)


def _bounds(operation: str, left: Typed, right: Typed) -> tuple[int, int]:
    """Return the least and the largest that an operation may come to."""
    if operation in ("lt", "le"):
        return 0, 1
    if operation == "add":
        return left.low + right.low, left.high + right.high
    if operation == "sub":
        return left.low - right.high, left.high - right.low
    if operation == "mod":
        return min(0, right.low + 1), max(0, right.high - 1)
    divides = operation in ("div", "qdiv")
    others = {right.low, right.high, -1, 1} if divides else {right.low, right.high}
    ends = [
        OPERATIONS[operation](end, other)
        for end in (left.low, left.high)
        for other in others
        if right.low <= other <= right.high and (other or not divides)
    ]
    return min(ends), max(ends)
