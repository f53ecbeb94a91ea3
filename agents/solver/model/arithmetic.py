"""Compute with the numbers of programs, in plain Python: this defines the operations of every back end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binwright.agents.solver.model.program import MICRO, NULL


def placed(alloc: Sequence[int], other: int, ball: int) -> int:
    """Return the bin of another ball, NULL for the ball itself."""
    return NULL if other == ball else alloc[other]


def qmul(left: int, right: int) -> int:
    """Return the floor of left * right / MICRO without a product wider than 64 bits (`//` rounds down)."""
    low = left % MICRO
    return left // MICRO * right + low * (right // MICRO) + low * (right % MICRO) // MICRO


def qdiv(left: int, right: int) -> int:
    """Return the floor of left * MICRO / right without a product wider than 64 bits; right is not 0."""
    rest = left % right * 1000
    return left // right * MICRO + rest // right * 1000 + rest % right * 1000 // right


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
"""Both operands evaluated; `div` and `mod` round down, `eq` to `le` are 1 or 0."""
