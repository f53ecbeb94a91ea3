"""Describe what a solver answers, an allocation and what is known of it, and verify it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from binwright.agents.solver.model.problem import Fault, Problem, Wish
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults, goals_of, missed
from binwright.simcore.errors import UserError

Status = Literal["optimal", "solved", "partial", "unsolved"]


class Kept(NamedTuple):
    """What became of a declaration of FRIENDS or FOES WITH a chance."""

    wish: Wish
    broken: tuple[tuple[int, ...], ...]
    """The sets that do not hold."""

    @property
    def enough(self) -> bool:
        """Tell whether as many sets hold as should."""
        return len(self.wish.sets) - len(self.broken) >= self.wish.asked


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


class Allocated(NamedTuple):
    """An allocation that a search has found."""

    left: int
    """Units that are not placed."""
    problem: Problem
    """With the number of bins."""
    alloc: list[int]
    """[balls]: the bin, -1 for a ball that is left out."""
    search: str
    """What found it."""


@dataclass(frozen=True)
class Answer:
    """What `solve` gives back; it has passed the verifier."""

    problem: Problem = field(repr=False)
    """With the number of bins of the answer."""
    alloc: list[int]
    """[balls]: the bin, -1 for a ball that is left out."""
    bound: int
    """No allocation of all balls needs fewer bins; `bins` itself where the number is fixed."""
    status: Status
    """`optimal`: all balls placed, in `bound` bins, and nothing, no goal either, can be better. `solved`: all placed.
    `partial`: some, or all, but less is used than AT LEAST asks for. `unsolved`: none."""
    checked: int
    """Attempts, each a whole allocation that was built and checked."""
    seconds: float
    search: str
    """What found it: `published`, or of ours `first fit`, `whole tenants`, `CP-SAT`, `depth first`, `local search` or
    `ruin and recreate`."""
    interrupted: bool
    """Ctrl-C."""
    impossible: str
    """Why no allocation places all balls, where that is plain to see."""
    at_fault: tuple[Fault, ...]
    """Declarations that are impossible together, and of which none can be left out, where that is plain to see."""
    wishes: tuple[Kept, ...]
    """What is declared WITH a chance below one, and which sets hold."""
    goals: tuple[Reached, ...]
    """What became of each goal, if all balls are placed."""
    notes: tuple[str, ...]
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


def described(
    found: Allocated,
    bound: int,
    *,
    checked: int,
    seconds: float,
    interrupted: bool,
    impossible: str,
    at_fault: tuple[Fault, ...],
    notes: Sequence[str],
) -> Answer:
    """Make an answer of an allocation that is verified; no note is there twice.

    No allocation of all balls has fewer bins than `bound`. `notes` are those on the search.
    """
    left, problem, alloc, search = found
    wishes = tuple(Kept(wish, wish.broken(alloc)) for wish in problem.wishes)
    status: Status = "unsolved" if max(alloc) == NULL else "partial"
    bound, less, goals = min(bound, problem.bins), list[str](), tuple[Reached, ...]()
    if left == 0:
        less, goals = missed(problem, alloc), reached(problem, alloc)
        proven = problem.bins == bound and all(kept.enough for kept in wishes) and not any(goal.gap for goal in goals)
        status = "partial" if less else "optimal" if proven else "solved"
    notes = [*notes, *(f"AT LEAST: {text}" for text in less)]
    for wish, broken in wishes:
        if broken:
            which = "; ".join(", ".join(map(problem.ball, members)) for members in broken[:10])
            held = f"{len(wish.sets) - len(broken)} of {len(wish.sets)} sets hold, {wish.asked} asked for"
            which += "; ..." if len(broken) > 10 else ""
            notes.append(f"{wish.kind} WITH {wish.chance / MICRO:g}: {held}; not {which}")
    return Answer(
        problem, list(alloc), bound, status, checked, seconds, search, interrupted, impossible, at_fault, wishes,
        goals, tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def verify(problem: Problem, alloc: list[int]) -> None:
    """Refuse an allocation that breaks a rule: the fault is that of the specification, or else ours."""
    wrong = faults(problem, alloc)
    if wrong and not problem.program.alloc_free:
        remedy = "Make two balls add the same whichever of them is placed first, and REJECT likewise."
        raise UserError(
            f"UTILFN depends on the order of the balls: {wrong[0]}", file=problem.source.file, remedy=remedy
        )
    assert not wrong, f"the search gave a wrong answer: {wrong}"


def reached(problem: Problem, alloc: list[int]) -> tuple[Reached, ...]:
    """Evaluate the goals for an allocation of all balls."""
    goals = () if problem.objective is None else problem.objective.goals
    values = zip(goals, goals_of(problem, alloc), strict=True)
    return tuple(Reached(one.aim, one.text, one.number(one.signed(raw)), one.number(one.bound)) for one, raw in values)
