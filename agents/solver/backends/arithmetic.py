"""Define the operations of a program for numba, as `agents.solver.model.program` describes them."""

from __future__ import annotations

from agents.solver.model.program import MICRO, NULL
from simcore.jit import kernel
from simcore.vocabulary import Ints


@kernel
def placed(alloc: Ints, other: int, ball: int) -> int:
    """Return the bin of another ball: `Placed`."""
    return NULL if other == ball else alloc[other]


@kernel
def floor_div(left: int, right: int) -> int:
    """`div`."""
    return left // right


@kernel
def floor_mod(left: int, right: int) -> int:
    """`mod`."""
    return left % right


@kernel
def qmul(left: int, right: int) -> int:
    """`qmul`."""
    high, low = left // MICRO, left % MICRO
    return high * right + low * (right // MICRO) + low * (right % MICRO) // MICRO


@kernel
def qdiv(left: int, right: int) -> int:
    """`qdiv`."""
    whole, rest = left // right, left % right
    first, rest = rest * 1000 // right, rest * 1000 % right
    return whole * MICRO + first * 1000 + rest * 1000 // right
