"""Compute with the numbers of programs, in plain Python: this defines the operations of every back end."""

import operator
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
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    "min": min, "max": max, "qmul": qmul, "qdiv": qdiv,
}  # fmt: skip
"""What two numbers come to, by the operator or the function of Python that stands in sources of programs."""
