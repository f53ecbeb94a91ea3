"""Check an answer, independently of how it was found: UTILFN is called for one ball after another."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.problem import Problem, Sets
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.source import Evaluate, evaluator, function_of, goals
from binwright.simcore.types import Flags, Ints


class Violation(NamedTuple):
    """A rule that an allocation breaks."""

    rule: str
    """The resource, or PIN, FRIENDS, FOES, DIFFERENT, UTILFN or SOFT."""
    text: str
    """In plain words."""


def faults(problem: Problem, alloc: Sequence[int]) -> list[str]:
    """Say in plain words what is wrong with an allocation [balls], where NULL is a ball that is left out.

    For utilisation the placed balls are put in by index, and each sees those before it. Only constraints that must hold
    are looked at: FRIENDS and FOES with a chance below one need not.
    """
    if len(alloc) != problem.balls:
        return [f"{len(alloc)} places for {problem.balls} balls"]
    where = np.array(alloc, np.int64)
    nowhere = np.flatnonzero((where < NULL) | (where >= problem.bins)).tolist()
    if nowhere:
        return [f"ball {problem.ball(ball)} is in bin {alloc[ball]}, which does not exist" for ball in nowhere]
    used, rejected = utilisation(problem, alloc)
    wrong = [f"UTILFN rejects ball {problem.ball(ball)} in bin {problem.bin(alloc[ball])}" for ball in rejected]
    broken = violations(problem, where, np.array(used, np.int64))
    return [*wrong, *(text for _, text in broken)]


def violations(problem: Problem, where: Ints, used: Ints) -> Iterator[Violation]:
    """Find the rules, leaving UTILFN aside, that the bins of balls [balls] and what is `used` [dims] break."""
    called, at, pins = problem.ball, problem.bin, problem.pins
    placed = where != NULL
    for ball in np.flatnonzero(placed & (pins != NULL) & (pins != where)).tolist():
        yield Violation("PIN", f"ball {called(ball)} in bin {at(where[ball])}: it is pinned to bin {at(pins[ball])}")
    for members in _certain(problem.friends, ~problem.friends.in_one_bin(where)):
        yield Violation("FRIENDS", f"friends {', '.join(map(called, members))} are in different bins")
    for members in _certain(problem.foes, problem.foes.in_one_bin(where)):
        if (place := where[members[0]]) != NULL:
            rule = "DIFFERENT" if any(set(members) <= set(some) for some, _ in problem.different) else "FOES"
            yield Violation(rule, f"foes {', '.join(map(called, members))} together in bin {at(place)}")
    soft = problem.soft_group
    for dim in np.flatnonzero(used > problem.ceiling).tolist():
        family = next(family for family in problem.families if dim in family)
        amounts = f"{used[dim] / MICRO:g} of {problem.ceiling[dim] / MICRO:g}"
        yield Violation(family.name, f"{problem.name(dim)}: {amounts}")
    groups, over = np.unique(soft[(soft >= 0) & (used > problem.capacity)], return_counts=True)
    for group, count in zip(groups.tolist(), over.tolist(), strict=True):
        if count > problem.soft_allowed[group]:
            name, most = problem.name(int(np.flatnonzero(soft == group)[0])), problem.soft_allowed[group]
            yield Violation("SOFT", f"{count} dimensions of the soft group of {name} are over, {most} may be")


def _certain(sets: Sets, which: Flags) -> list[list[int]]:
    """List those of some sets that must hold."""
    numbers = np.flatnonzero(which & (sets.chance == MICRO)).tolist()
    return [sets.members[sets.offsets[each] : sets.offsets[each + 1]].tolist() for each in numbers]


def utilisation(problem: Problem, alloc: Sequence[int]) -> tuple[list[int], list[int]]:
    """Replay an allocation [balls]: utilisation [dims] in millionths, and the balls that UTILFN rejects.

    The placed balls are put in by index; each sees those before it. One that is rejected adds nothing.
    """
    used, balls = [0] * problem.dims, (ball for ball, place in enumerate(alloc) if place != NULL)
    return used, put(evaluator(problem.program), balls, alloc, [NULL] * problem.balls, used)


def put(
    evaluate: Evaluate, balls: Iterable[int], alloc: Sequence[int], seen: list[int], used: list[int] | Ints
) -> list[int]:
    """Put balls into their bins [balls], one after another; returns those that are rejected.

    Changes `seen` [balls], the bins of those that are placed, and `used` [dims].
    """
    rejected = []
    for ball in balls:
        added = evaluate(ball, alloc[ball], seen)
        seen[ball] = alloc[ball]
        if added is None:
            rejected.append(ball)
        for dim, amount in added or ():
            used[dim] += amount
    return rejected


def goals_of(problem: Problem, alloc: Sequence[int]) -> tuple[int, ...]:
    """Replay an allocation of all balls [balls]: what each goal comes to, less being better."""
    if (objective := problem.objective) is None:
        return ()
    (source, numbers, _), values = goals(objective), [0] * len(objective.goals)
    used, _ = utilisation(problem, alloc)
    function_of(source, "goals")(alloc, objective.data.data, numbers, used, values, (), -1, 0)
    return tuple(values)
