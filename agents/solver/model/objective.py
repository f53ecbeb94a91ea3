"""Describe the goals of a problem as a program, as compiled searches evaluate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binwright.agents.solver.model.program import MICRO
from binwright.simcore.types import Ints


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


@dataclass(frozen=True)
class Objective:
    """All goals, as a program of the kind that `binwright.agents.solver.model.program` describes.

    Of two allocations the better one is that which is better in the first goal in which they differ.
    """

    goals: tuple[Goal, ...]
    body: tuple[str, ...]
    """Lines of Python: the last ones assign `values` [goals], what each goal comes to, less being better."""
    data: Ints

    @property
    def bounds(self) -> tuple[int, ...]:
        """Return what the goals come to, less being better, where none can be better."""
        return tuple(goal.signed(goal.bound) for goal in self.goals)

    def bounded(self, bounds: Sequence[int | None]) -> Objective:
        """Tighten the bounds of the first goals, less being better; None, or a weaker bound, changes nothing."""
        goals = list(self.goals)
        for n, (goal, bound) in enumerate(zip(self.goals, bounds, strict=False)):
            if bound is not None and goal.aim == "MINIMISE":
                goals[n] = replace(goal, low=max(goal.low, bound))
            elif bound is not None:
                goals[n] = replace(goal, high=min(goal.high, -bound))
        return replace(self, goals=tuple(goals))
