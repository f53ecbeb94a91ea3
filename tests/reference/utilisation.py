"""The utilisation of an allocation, from the checked program: slow and plain, one ball after another."""

from collections.abc import Sequence

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from tests.reference.interpreter import call


def evaluate(problem: Problem, alloc: Sequence[int]) -> tuple[list[int], list[int]]:
    """Evaluate an allocation [balls]: utilisation [dims] in millionths, and the balls that are rejected.

    The placed balls are put in one after another by index. Each sees those before it in ALLOC, and the others as NULL.
    A ball that is rejected adds nothing.
    """
    used = [0] * problem.dims
    partial = [NULL] * problem.balls
    rejected = []
    for ball, place in enumerate(alloc):
        if place == NULL:
            continue
        added = call(problem.program, ball, place, partial)
        if added is None:
            rejected.append(ball)
        for dim, amount in added or ():
            used[dim] += amount
        partial[ball] = place
    return used, rejected
