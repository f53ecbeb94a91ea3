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
    bound: int
    """No allocation of all balls comes to less, less being better: of `MAXIMISE` values have the other sign."""

    def number(self, raw: int) -> float:
        """Convert a value of which less is better, or a bound, to what the text means."""
        value = -raw if self.aim == "MAXIMISE" else raw
        return value / MICRO if self.quantity else value


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
        return tuple(goal.bound for goal in self.goals)

    def bounded(self, bounds: Sequence[int | None]) -> Objective:
        """Tighten the bounds of the first goals, less being better; None, or a weaker bound, changes nothing."""
        known = [*bounds, *[None] * len(self.goals)]
        pairs = zip(self.goals, known, strict=False)
        goals = (goal if bound is None else replace(goal, bound=max(goal.bound, bound)) for goal, bound in pairs)
        return replace(self, goals=tuple(goals))
