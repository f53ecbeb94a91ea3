"""What the solver's problems of a simulation share: their sizes and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agents.solver.online.varying import Online
from simcore.vocabulary import QUANTUM, Floats, Ints, Request


class BySize:
    """A template compiled for 1, 2, 4, ... requests at most: made when it is needed, the one for a single one at once.

    What is compiled does not depend on the number, so that a larger one only takes its tables and checks.
    """

    def __init__(self, make: Callable[[int], Online]) -> None:
        self._make = make
        self._made: dict[int, Online] = {}
        self(1)

    def __call__(self, requests: int) -> Online:
        """The smallest that has room for so many."""
        size = 1 << (requests - 1).bit_length()
        if size not in self._made:
            self._made[size] = self._make(size)
        return self._made[size]


def exceeds(request: Request, most: Sequence[int]) -> bool:
    """Does it ask for more of something?"""
    return any(amount > limit for amount, limit in zip(request.demand, most, strict=True))


def in_units(quanta: Ints) -> Floats:
    """As the language counts: quantities, whose millionths are the quanta."""
    return quanta / QUANTUM
