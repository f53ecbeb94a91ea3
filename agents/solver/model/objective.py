"""Describe the goals of a problem as a program, as compiled searches evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from binwright.agents.solver.model.program import MICRO, Block, Const, Expr, For
from binwright.simcore.types import Ints

DIMENSION, BALL = 0, 1
"""What a term reads."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be made small or large."""

    aim: str
    """`MINIMISE` or `MAXIMISE`."""
    text: str
    """The expression, as written."""
    quantity: bool
    """Its value is in millionths."""
    low: int
    """No allocation of all balls has less."""
    high: int
    """None has more."""

    @property
    def bound(self) -> int:
        """Return what no allocation of all balls is better than."""
        return self.low if self.aim == "MINIMISE" else self.high

    def signed(self, raw: int) -> int:
        """Convert a value to one of which less is better, or back."""
        return -raw if self.aim == "MAXIMISE" else raw

    def number(self, raw: int) -> float:
        """Convert a value, or a bound."""
        return raw / MICRO if self.quantity else raw


class Reduction(NamedTuple):
    """A sum, minimum or maximum at the outside of a goal: a move evaluates only those of its *terms* that it changes.

    A term is a round of the loop: `total` after `first` and then the body. It can be evaluated alone, and reads the
    same dimensions and bins of balls whatever the allocation is.
    """

    kind: str
    """What joins the terms: `add`, `min` or `max`."""
    total: int
    """The local that has the term, and in the rest of the program what all terms come to."""
    first: Block
    loop: For
    reads: Callable[[int], Iterable[tuple[int, int]]]
    """What a term reads, by its number: dimensions or balls, and which of the two."""

    @property
    def rounds(self) -> range:
        """Return the numbers of the terms."""
        assert isinstance(self.loop.start, Const)
        assert isinstance(self.loop.stop, Const)
        return range(self.loop.start.value, self.loop.stop.value)


@dataclass(frozen=True)
class Objective:
    """All goals, as a program of the kind that `binwright.agents.solver.model.program` describes, with `Used` in it.

    Of two allocations the better one is that which is better in the first goal in which they differ.
    """

    goals: tuple[Goal, ...]
    body: Block
    values: tuple[Expr, ...]
    """What each goal comes to after the body."""
    slots: int
    data: Ints
    reductions: tuple[Reduction, ...]
    """In the order of the body."""

    @property
    def rest(self) -> Block:
        """Return the body without its reductions."""
        taken = {id(each) for found in self.reductions for each in (*found.first, found.loop)}
        return tuple(each for each in self.body if id(each) not in taken)

    def proven(self, bounds: Sequence[int]) -> Objective:
        """Let the bounds of the first goals be these, less being better."""
        best = [
            replace(one, low=raw) if one.aim == "MINIMISE" else replace(one, high=-raw)
            for one, raw in zip(self.goals, bounds, strict=False)
        ]
        return replace(self, goals=(*best, *self.goals[len(best) :]))

    def at_least(self, floors: Sequence[int | None]) -> Objective:
        """Raise what goals have at least to what is known from elsewhere, None where nothing is [goals]."""
        known = zip(self.goals, floors, strict=True)
        return replace(
            self, goals=tuple(one if least is None else replace(one, low=max(one.low, least)) for one, least in known)
        )
