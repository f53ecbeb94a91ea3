"""Check an answer, independently of how it was found: UTILFN is called for one ball after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binwright.agents.solver.model.evaluate import evaluator, goal_values
from binwright.agents.solver.model.problem import Problem, Sets
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints

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
    where = np.array(alloc, np.int64)
    nowhere = np.flatnonzero((where < NULL) | (where >= problem.bins)).tolist()
    wrong = [f"ball {called(ball)} is in bin {alloc[ball]}, which does not exist" for ball in nowhere]
    if wrong:
        return wrong[:MESSAGES]
    placed, pins = where != NULL, problem.pins
    pinned = np.flatnonzero(placed & (pins != NULL) & (pins != where)).tolist()
    wrong += [
        f"ball {called(ball)} is pinned to bin {at(int(pins[ball]))} and is in {at(alloc[ball])}" for ball in pinned
    ]
    drained = np.flatnonzero(placed & problem.drained[where]).tolist()
    wrong += [f"ball {called(ball)} is in bin {at(alloc[ball])}, which is to be empty" for ball in drained]
    parted = _in_one_bin(problem.friends, where, False)
    wrong += [f"friends {', '.join(map(called, members))} are in different bins" for members in parted]
    joined = [members for members in _in_one_bin(problem.foes, where, True) if alloc[members[0]] != NULL]
    wrong += [f"foes {', '.join(map(called, members))} are all in bin {at(alloc[members[0]])}" for members in joined]
    replayed, rejected = utilisation(problem, alloc)
    used = np.array(replayed, np.int64)
    wrong += [f"UTILFN rejects ball {called(ball)} in bin {at(alloc[ball])}" for ball in rejected]
    above = np.flatnonzero(used > problem.ceiling).tolist()
    wrong += [f"{problem.name(d)} is used {used[d] / MICRO:g} of {problem.ceiling[d] / MICRO:g}" for d in above]
    soft = problem.soft_group
    groups, over = np.unique(soft[(soft >= 0) & (used > problem.capacity)], return_counts=True)
    for group, count in zip(groups.tolist(), over.tolist(), strict=True):
        if count > problem.soft_allowed[group]:
            names, most = problem.name(int(np.flatnonzero(soft == group)[0])), problem.soft_allowed[group]
            wrong.append(f"{count} dimensions of the soft group of {names} are over, {most} may be")
    return wrong[:MESSAGES]


def missed(problem: Problem, utilisation: Sequence[int]) -> list[str]:
    """Say which AT LEAST an allocation of all balls misses by its utilisation [dims]."""
    return [
        f"{problem.name(dim)} is used {utilisation[dim] / MICRO:g} of at least {amount / MICRO:g}"
        for dim, amount, or_none in problem.least
        if utilisation[dim] < amount and not (or_none and utilisation[dim] <= 0)
    ][:MESSAGES]


def _in_one_bin(sets: Sets, where: Ints, together: bool) -> list[list[int]]:
    """List the sets that must hold whose balls are all in the same bin, or else those of which they are not."""
    some = np.flatnonzero(np.diff(sets.offsets))
    if not len(some):
        return []
    bins, begins = where[sets.members], sets.offsets[some]
    alike = np.minimum.reduceat(bins, begins) == np.maximum.reduceat(bins, begins)
    found = some[(alike == together) & (sets.chance[some] == MICRO)]
    return [sets.members[sets.offsets[one] : sets.offsets[one + 1]].tolist() for one in found.tolist()]


def utilisation(problem: Problem, alloc: Sequence[int]) -> tuple[list[int], list[int]]:
    """Replay an allocation [balls]: utilisation [dims] in millionths, and the balls that UTILFN rejects.

    The placed balls are put in by index; each sees those before it. One that is rejected adds nothing.
    """
    evaluate = evaluator(problem.base)
    used, seen, rejected = [0] * problem.dims, [NULL] * problem.balls, []
    for ball, place in enumerate(alloc):
        if place == NULL:
            continue
        added = evaluate(ball, place, seen)
        seen[ball] = place
        if added is None:
            rejected.append(ball)
            continue
        for dim, amount in added:
            used[dim] += amount
    return used, rejected


def goals_of(problem: Problem, alloc: Sequence[int]) -> tuple[int, ...]:
    """Replay an allocation of all balls [balls]: what each goal comes to, less being better."""
    if problem.objective is None:
        return ()
    return goal_values(problem.objective)(alloc, utilisation(problem, alloc)[0])
