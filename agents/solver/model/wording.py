"""Put balls and amounts into words, for messages."""

from __future__ import annotations

from collections.abc import Sequence

from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO

NAMED = 6
"""Balls that a message names."""


def balls_of(problem: Problem, members: Sequence[int]) -> str:
    """Name some balls."""
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - NAMED:,} more" if len(members) > NAMED else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:NAMED]))}{more}"


def amount_of(micro: int) -> str:
    """Write an amount that is given in millionths."""
    return f"{micro / MICRO:,.15g}"
