"""Verify an allocation that a search has found, and conclude what is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import NamedTuple

from agents.solver.model.problem import Fault, Problem
from agents.solver.model.program import NULL
from agents.solver.model.verify import faults, missed
from agents.solver.solving.answer import Answer, Kept, Reached, Status
from simcore.errors import UserError

COST = "COST"
"""The resource of which the agent `solver` uses as little as it can."""


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


def conclude(
    found: Allocated,
    bound: int,
    *,
    checked: int,
    since: float,
    interrupted: bool,
    impossible: str,
    at_fault: tuple[Fault, ...],
    notes: Sequence[str],
) -> Answer:
    """Verify an allocation, and make an answer of it, to a question of when `monotonic()` was `since`.

    No allocation of all balls has fewer bins than `bound`. `notes` are those on the search.
    """
    _verify(found.problem, found.alloc)
    seconds = monotonic() - since
    return described(
        found, bound, checked=checked, seconds=seconds, interrupted=interrupted, impossible=impossible,
        at_fault=at_fault, notes=notes,
    )  # fmt: skip


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
    """Make an answer of an allocation that is verified, as `conclude` does; no note is there twice."""
    left, problem, alloc, search = found
    costs = any(family.name == COST and not family.sizes for family in problem.families)
    wishes = tuple(Kept.of(one, alloc) for one in problem.wishes)
    status: Status = "unsolved" if max(alloc) == NULL else "partial"
    bound = min(bound, problem.bins)
    goals: tuple[Reached, ...] = ()
    less = missed(problem, alloc) if left == 0 else []
    if left == 0:
        goals = reached(problem, alloc)
        proven = problem.bins == bound and not costs and all(one.enough for one in wishes)
        proven = proven and all(one.value == one.bound for one in goals)
        status = "partial" if less else "optimal" if proven else "solved"
    notes = tuple(dict.fromkeys((*notes, *_notes(problem, costs, wishes), *(f"AT LEAST: {one}" for one in less))))
    return Answer(
        problem, list(alloc), problem.bins, bound, status, checked, seconds, search, interrupted, impossible,
        at_fault, wishes, goals, notes,
    )  # fmt: skip


def _verify(problem: Problem, alloc: list[int]) -> None:
    """Refuse an allocation that breaks a rule: the fault is that of the specification, or else ours."""
    wrong = faults(problem, alloc)
    if wrong and not problem.program.alloc_free:
        remedy = "Make two balls add the same whichever of them is placed first, and REJECT likewise."
        raise UserError(
            f"UTILFN depends on the order of the balls: {wrong[0]}", file=problem.source.file, remedy=remedy
        )
    assert not wrong, f"the search gave a wrong answer: {wrong}"


def reached(problem: Problem, alloc: list[int]) -> tuple[Reached, ...]:
    """Evaluate the goals for an allocation of all balls, from their text."""
    if problem.objective is None:
        return ()
    goals = zip(problem.objective.goals, problem.source.goals(problem.bins, alloc), strict=True)
    return tuple(
        Reached(one.aim, one.text, one.number(found.raw), one.number(one.bound), found.terms) for one, found in goals
    )


def _notes(problem: Problem, costs: bool, wishes: Sequence[Kept]) -> Iterator[str]:
    """List what a user would not expect of the allocation."""
    yield from problem.program.notes
    if costs:
        yield f"{COST} is a capacity here, and not made small: the agent `solver` does that"
    yield from (one.told(problem.ball) for one in wishes if one.broken)
