"""Describe what a solver answers: an allocation, what is known of it, and what stands in the way of a ball."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.source import evaluator, rejection
from binwright.agents.solver.model.verify import Violation, faults, goals_of, put, utilisation, violations
from binwright.simcore.errors import UserError

Status = Literal["optimal", "solved", "partial", "unsolved"]
AS_IT_IS = "status", "search", "interrupted", "bins", "used", "bound", "gap", "placed", "checked", "impossible"
"""What `--json` has of an answer by the same name."""
LEFT, CALLS = 20, 5_000
"""Balls that are left out of which it is said why, and balls times bins that are looked at for that."""


class Reached(NamedTuple):
    """What became of a goal."""

    aim: str
    """`MINIMISE` or `MAXIMISE`."""
    text: str
    """The expression."""
    value: float
    bound: float
    """No allocation of all balls is better, of those that are as good in the goals before it."""

    @property
    def gap(self) -> float:
        """Return how far the value is from the bound."""
        return abs(self.value - self.bound)


@dataclass(frozen=True)
class Answer:
    """What `solve` gives back; it has passed the verifier."""

    problem: Problem = field(repr=False)
    """With the number of bins of the answer."""
    alloc: list[int]
    """[balls]: the bin, -1 for a ball that is left out."""
    search: str
    """What found it: `published`, or `first fit`, `fullest bins`, `whole tenants`, `CP-SAT` or `local search`."""
    bound: int
    """Every allocation of all balls needs so many bins; `bins` where the number is fixed."""
    impossible: str
    """Why no allocation places all balls, where that is plain to see."""
    at_fault: tuple[Fault, ...]
    """Declarations that are impossible together, and of which none can be left out, where that is plain to see."""
    checked: int
    """Attempts, each a whole allocation that was built and checked."""
    seconds: float
    best_after: float
    """After how many seconds so many balls were in so few bins; the search may have gone on."""
    interrupted: bool
    """Ctrl-C."""
    notes: Sequence[str] = ()
    """What else is to be known about the answer."""

    @property
    def bins(self) -> int:
        """Return how many bins the problem has."""
        return self.problem.bins

    @property
    def placed(self) -> int:
        """Count the balls that are placed."""
        return sum(place != NULL for place in self.alloc)

    @property
    def moves(self) -> tuple[tuple[int, int, int], ...]:
        """List the balls that are in a bin now and not in it here: (ball, from, to), to -1 for one that is left out."""
        return self.problem.moved(self.alloc)

    @property
    def used(self) -> int:
        """Count the bins that have a ball."""
        return len({place for place in self.alloc if place != NULL})

    @property
    def gap(self) -> int | None:
        """Count the bins beyond the bound; None where their number is given."""
        return self.bins - self.bound if self.problem.searched else None

    @cached_property
    def goals(self) -> tuple[Reached, ...]:
        """List what became of each goal, if all balls are placed."""
        return reached(self.problem, self.alloc)

    @cached_property
    def status(self) -> Status:
        """Tell how good it is.

        `optimal`: all balls placed, in `bound` bins, and nothing, no goal either, can be better. `solved`: all placed.
        `partial`: some, or all, but less is used than AT LEAST asks for. `unsolved`: none.
        """
        if max(self.alloc) == NULL:
            return "unsolved"
        if NULL in self.alloc or (self.problem.bounded_below and self.goals[0].value > 0):
            return "partial"
        enough = self.bins == self.bound and not any(wish.missing(self.alloc) for wish in self.problem.wishes)
        return "optimal" if enough and not any(goal.gap for goal in self.goals) else "solved"

    def as_json(self) -> dict[str, Any]:
        """Shape it as `solve --json` prints it, and the service sends it."""
        problem = self.problem
        alloc = [None if place == NULL else place for place in self.alloc]
        moves = [{"ball": ball, "from": source, "to": alloc[ball]} for ball, source, _ in self.moves]
        return {name: getattr(self, name) for name in AS_IT_IS} | {
            "balls": problem.balls,
            "searched": problem.searched,
            "seconds": round(self.seconds, 6),
            "at_fault": [each._asdict() for each in self.at_fault],
            "goals": [goal._asdict() | {"gap": goal.gap} for goal in self.goals],
            "notes": list(self.notes),
            "left": left(problem, self.alloc),
            "moves": moves if (problem.now >= 0).any() else None,
            "ball_names": list(problem.ball_names) or None,
            "bin_names": list(problem.bin_names) or None,
            "alloc": alloc,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a search that `progress` is told, several times per second at most."""

    bins: int
    """Of the best allocation so far."""
    bound: int
    placed: int
    """Balls in the best allocation so far."""
    checked: int
    seconds: float
    goals: tuple[float, ...] = ()
    """What each goal has come to; nothing before all balls are placed."""


def verify(problem: Problem, alloc: list[int]) -> None:
    """Refuse an allocation that breaks a rule: the fault is that of the specification, or else ours."""
    wrong = faults(problem, alloc)
    if wrong and not problem.program.alloc_free:
        remedy = "Make two balls add the same whichever of them is placed first, and REJECT likewise."
        raise UserError(
            f"UTILFN depends on the order of the balls: {wrong[0]}", file=problem.source.file, remedy=remedy
        )
    assert not wrong, f"the search gave a wrong answer: {wrong[0]}"


def reached(problem: Problem, alloc: Sequence[int]) -> tuple[Reached, ...]:
    """Evaluate the goals, if all balls are placed."""
    if problem.objective is None or NULL in alloc:
        return ()
    values = zip(problem.objective.goals, goals_of(problem, alloc), strict=True)
    return tuple(Reached(goal.aim, goal.text, goal.number(raw), goal.number(goal.bound)) for goal, raw in values)


def left(problem: Problem, alloc: Sequence[int]) -> list[dict[str, Any]]:
    """Say for the first balls that are left out how many bins each rule keeps them out of, the most frequent first."""
    result = []
    for ball in np.flatnonzero(np.array(alloc) == NULL)[: min(LEFT, CALLS // problem.bins)].tolist():
        rules = (dict.fromkeys(each.rule for each in broken) for broken in obstacles(problem, alloc, ball))
        counts = Counter(rule for broken in rules for rule in broken)
        result.append({"ball": ball, "in_the_way": dict(counts.most_common())})
    return result


def obstacles(problem: Problem, alloc: Sequence[int], ball: int) -> Iterator[list[Violation]]:
    """Iterate over the bins: the rules that a ball would break in each while all others of a right allocation stay.

    Its certain friends come with it, as they are placed together. There is nothing in the way of it where it is.
    """
    if not 0 <= ball < problem.balls:
        remedy = f"They go from 0 to {problem.balls - 1}."
        raise UserError("there is no such ball", key="ball", value=ball, remedy=remedy)
    moving = problem.unit_of == problem.unit_of[ball]
    members, others = np.flatnonzero(moving).tolist(), np.where(moving, NULL, alloc)
    without, evaluate = np.array(utilisation(problem, others.tolist())[0], np.int64), evaluator(problem.program)
    where, seen = others.copy(), others.tolist()
    for place in range(problem.bins):
        where[members], used, bins = place, without.copy(), [place] * problem.balls
        for member in members:
            seen[member] = NULL
        rejected = next((member for member in members if put(evaluate, [member], bins, seen, used)), None)
        broken = list(violations(problem, where, used))
        if rejected is not None:
            by = rejection(problem.program, rejected, place, seen)
            assert by is not None
            rule = "UTILFN" if by.what == "REJECT" else f"{by.what} out of range (line {by.line})"
            broken.append(Violation(rule, f"UTILFN rejects {problem.ball(rejected)}: {by.what} in line {by.line}"))
        yield broken
