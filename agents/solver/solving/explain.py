"""Explain an allocation: what stands in the way of a ball."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from binwright.agents.solver.model.evaluate import evaluator, rejection
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import Violation, put, utilisation, violations
from binwright.simcore.errors import UserError


def summary(problem: Problem, alloc: Sequence[int], ball: int) -> dict[str, int]:
    """Count the bins that each rule keeps a ball out of, the most frequent rule first."""
    rules = (dict.fromkeys(violation.rule for violation in broken) for broken in obstacles(problem, alloc, ball))
    return dict(Counter(rule for broken in rules for rule in broken).most_common())


def obstacles(problem: Problem, alloc: Sequence[int], ball: int) -> Iterator[list[Violation]]:
    """Iterate over the bins: the rules that a ball would break in each while all others of a right allocation stay.

    Its certain friends come with it, as they are placed together. There is nothing in the way of it where it is.
    """
    if not 0 <= ball < problem.balls:
        remedy = f"They go from 0 to {problem.balls - 1}."
        raise UserError("there is no such ball", key="ball", value=ball, remedy=remedy)
    moving = problem.unit_of == problem.unit_of[ball]
    members, others = np.flatnonzero(moving).tolist(), np.where(moving, NULL, alloc)
    without, evaluate = np.array(utilisation(problem, others.tolist())[0], np.int64), evaluator(problem.base)
    where, seen = others.copy(), others.tolist()
    for place in range(problem.bins):
        where[members], used, bins = place, without.copy(), [place] * problem.balls
        for member in members:
            seen[member] = NULL
        rejected = next((member for member in members if put(evaluate, [member], bins, seen, used)), None)
        broken = list(violations(problem, where, used))
        if rejected is not None:
            by = rejection(problem.base, rejected, place, seen)
            assert by is not None
            rule = "UTILFN" if by.what == "REJECT" else f"{by.what} out of range (line {by.line})"
            broken.append(Violation(rule, f"UTILFN rejects {problem.ball(rejected)}: {by.what} in line {by.line}"))
        yield broken
