"""Problems of the solver and their answers as plain data: what `solve --json` prints and the service sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.answer import Answer, Reached


def properties(problem: Problem) -> dict[str, Any]:
    """Describe what the compiler knows of a problem."""
    proven = problem.program
    names = ("alloc_free", "non_negative", "bin_local", "bin_blind", "steps", "adds")
    return {
        "balls": problem.balls,
        "bins": "?" if problem.searched else problem.bins,
        "dims": problem.dims,
        "resources": {family.name: list(family.sizes) for family in problem.families},
        **{name: getattr(proven, name) for name in names},
        "vector": problem.matrix is not None,
        "guards": [{"line": line, "what": what} for line, what in proven.guards],
    }


LEFT = 20
"""Balls that are left out of which it is said why."""
CALLS = 5_000
"""Balls times bins that are looked at for that."""


def left(problem: Problem, alloc: Sequence[int]) -> list[dict[str, Any]]:
    """Say for the first balls that are left out how many bins each rule keeps them out of."""
    from binwright.agents.solver.solving.answer import summary

    some = [ball for ball, place in enumerate(alloc) if place < 0][: min(LEFT, CALLS // problem.bins)]
    return [{"ball": ball, "in_the_way": summary(problem, alloc, ball)} for ball in some]


def reached(goals: Sequence[Reached]) -> list[dict[str, Any]]:
    """Say what became of goals."""
    return [goal._asdict() | {"gap": goal.gap} for goal in goals]


AS_IT_IS = "status", "search", "interrupted", "bins", "used", "bound", "gap", "placed", "checked", "impossible"
"""What `--json` has of an answer by the same name."""


def as_json(answer: Answer) -> dict[str, Any]:
    """Shape an answer as `--json` prints it."""
    problem = answer.problem
    moves = [{"ball": ball, "from": source, "to": _place(target)} for ball, source, target in answer.moves]
    return {name: getattr(answer, name) for name in AS_IT_IS} | {
        "balls": problem.balls,
        "searched": problem.searched,
        "seconds": round(answer.seconds, 6),
        "at_fault": [each._asdict() for each in answer.at_fault],
        "goals": reached(answer.goals),
        "notes": list(answer.notes),
        "left": left(problem, answer.alloc),
        "moves": moves if (problem.now >= 0).any() else None,
        "ball_names": list(problem.ball_names) or None,
        "bin_names": list(problem.bin_names) or None,
        "alloc": [_place(place) for place in answer.alloc],
    }


def _place(place: int) -> int | None:
    return None if place < 0 else place
