"""Run a program in plain Python, for one ball and one bin: this defines what programs mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agents.solver.model.program import (
    BALL,
    BIN,
    MICRO,
    NULL,
    Add,
    Block,
    Const,
    Expr,
    For,
    If,
    Local,
    Placed,
    Program,
    Read,
    Reject,
    Set,
    Used,
)


def placed(alloc: Sequence[int], other: int, ball: int) -> int:
    """Return the bin of another ball, NULL for the ball itself."""
    return NULL if other == ball else alloc[other]


def qmul(left: int, right: int) -> int:
    """Return the floor of left * right / MICRO without a product wider than 64 bits (`//` rounds down)."""
    high, low = left // MICRO, left % MICRO
    return high * right + low * (right // MICRO) + low * (right % MICRO) // MICRO


def qdiv(left: int, right: int) -> int:
    """Return the floor of left * MICRO / right without a product wider than 64 bits; right is not 0."""
    whole, rest = left // right, left % right
    first, rest = rest * 1000 // right, rest * 1000 % right
    return whole * MICRO + first * 1000 + rest * 1000 // right


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "qmul": qmul,
    "qdiv": qdiv,
    "min": min,
    "max": max,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}
"""`OPS` in Python, both operands evaluated."""


class Rejected(Exception):
    """Raised where UTILFN rejects, with the statement that does."""

    def __init__(self, by: Reject | None = None) -> None:
        super().__init__(by)
        self.by = by


def never() -> bool:
    """Tell that time is not over."""
    return False


def call(
    program: Program, ball: int, place: int, alloc: Sequence[int], over: Callable[[], bool] = never
) -> list[tuple[int, int]] | None:
    """Run the program once, and return (dimension, millionths) of each addition.

    The result is None if the program rejects, or if it still loops when time is `over`. `alloc` is [balls], -1 for
    NULL; a program that does not read ALLOC may be given an empty one.
    """
    try:
        return _call(program, ball, place, alloc, over)
    except Rejected:
        return None


def rejection(program: Program, ball: int, place: int, alloc: Sequence[int]) -> Reject | None:
    """Return what rejects the ball, None if nothing does."""
    try:
        _call(program, ball, place, alloc, never)
    except Rejected as error:
        return error.by
    return None


def _call(
    program: Program, ball: int, place: int, alloc: Sequence[int], over: Callable[[], bool]
) -> list[tuple[int, int]]:
    values = [0] * program.slots
    values[BALL], values[BIN] = ball, place
    data = program.data
    added: list[tuple[int, int]] = []

    def value(node: Expr) -> int:
        if isinstance(node, Const):
            return node.value
        if isinstance(node, Local):
            return values[node.slot]
        if isinstance(node, Read):
            return int(data[node.offset + value(node.index)])
        if isinstance(node, Placed):
            return placed(alloc, value(node.ball), ball)
        assert not isinstance(node, Used)
        if node.kind == "and":
            return value(node.left) and value(node.right)
        if node.kind == "or":
            return value(node.left) or value(node.right)
        return OPERATIONS[node.kind](value(node.left), value(node.right))

    def run(block: Block) -> None:
        for one in block:
            if isinstance(one, Set):
                values[one.slot] = value(one.value)
            elif isinstance(one, If):
                run(one.then if value(one.test) else one.other)
            elif isinstance(one, For):
                for number in range(value(one.start), value(one.stop)):
                    if over():
                        raise Rejected
                    values[one.slot] = number
                    run(one.body)
            elif isinstance(one, Add):
                added.append((value(one.dim), value(one.amount)))
            else:
                raise Rejected(one)

    run(program.body)
    return added
