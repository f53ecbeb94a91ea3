"""Check an answer, independently of how it was found: UTILFN is evaluated from its text, not from the program."""

from __future__ import annotations

from collections.abc import Sequence

from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO, NULL

MESSAGES = 20
"""No more than this are listed."""


def faults(problem: Problem, alloc: Sequence[int]) -> list[str]:
    """Say in plain words what is wrong with an allocation [balls], where NULL is a ball that is left out.

    For utilisation the placed balls are put in by index, and each sees those before it. Only constraints that must hold
    are looked at: FRIENDS and FOES with a chance below one need not.
    """
    if len(alloc) != problem.balls:
        return [f"{len(alloc)} places for {problem.balls} balls"]
    called, at = problem.ball, problem.bin
    wrong = [
        f"ball {called(b)} is in bin {p}, which does not exist"
        for b, p in enumerate(alloc)
        if not NULL <= p < problem.bins
    ]
    if wrong:
        return wrong[:MESSAGES]
    for ball, place in enumerate(problem.pins.tolist()):
        if place != NULL and alloc[ball] not in (place, NULL):
            wrong.append(f"ball {called(ball)} is pinned to bin {at(place)} and is in {at(alloc[ball])}")
    drained = [ball for ball, place in enumerate(alloc) if place != NULL and problem.drained[place]]
    wrong += [f"ball {called(ball)} is in bin {at(alloc[ball])}, which is to be empty" for ball in drained]
    for members, chance in problem.friends:
        if chance == MICRO and len({alloc[ball] for ball in members}) > 1:
            wrong.append(f"friends {', '.join(map(called, members))} are in different bins")
    for members, chance in problem.foes:
        if chance == MICRO and len({alloc[ball] for ball in members}) == 1 and alloc[members[0]] != NULL:
            wrong.append(f"foes {', '.join(map(called, members))} are all in bin {at(alloc[members[0]])}")
    used, rejected = utilisation(problem, alloc)
    wrong += [f"UTILFN rejects ball {called(ball)} in bin {at(alloc[ball])}" for ball in rejected]
    over: dict[int, int] = {}
    soft, ceiling, capacity = problem.soft_group.tolist(), problem.ceiling.tolist(), problem.capacity.tolist()
    for dim, amount in enumerate(used):
        if amount > ceiling[dim]:
            wrong.append(f"{problem.name(dim)} is used {amount / MICRO:g} of {ceiling[dim] / MICRO:g}")
        if soft[dim] >= 0 and amount > capacity[dim]:
            over[soft[dim]] = over.get(soft[dim], 0) + 1
    for group, count in over.items():
        if count > problem.soft_allowed[group]:
            names = problem.name(soft.index(group))
            wrong.append(
                f"{count} dimensions of the soft group of {names} are over, {problem.soft_allowed[group]} may be"
            )
    return wrong[:MESSAGES]


def utilisation(problem: Problem, alloc: Sequence[int]) -> tuple[list[int], list[int]]:
    """Evaluate UTILFN from its text: utilisation [dims] in millionths, and the balls that it rejects."""
    used, rejected = problem.source.utilisation(problem.bins, alloc)
    return used.tolist(), rejected.tolist()
