"""Compile templates for growing numbers of requests, and convert amounts, for all problems of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agents.solver.online.incremental import Online
from simcore.types import QUANTUM, Floats, Ints, Request


class BySize:
    """A template compiled for at most 1, 2, 4, ... requests.

    That for a single request is made at once, the others when they are needed. What is compiled does not depend on the
    number, so that a larger one only costs its tables and checks.
    """

    def __init__(self, make: Callable[[int], Online]) -> None:
        self._make = make
        self._made: dict[int, Online] = {}
        self(1)

    def __call__(self, requests: int) -> Online:
        """Return the smallest one that has room for so many requests."""
        size = 1 << (requests - 1).bit_length()
        if size not in self._made:
            self._made[size] = self._make(size)
        return self._made[size]


def exceeds(request: Request, most: Sequence[int]) -> bool:
    """Tell whether a request asks for more of something than there is at most."""
    return any(amount > limit for amount, limit in zip(request.demand, most, strict=True))


def in_units(quanta: Ints) -> Floats:
    """Convert quanta to quantities of the language, whose millionths they are."""
    return quanta / QUANTUM
