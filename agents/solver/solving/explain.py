"""Explain an allocation: what stands in the way of a ball."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import Evaluate, evaluator, rejection
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import utilisation
from binwright.simcore.errors import UserError


class Obstacle(NamedTuple):
    """What keeps a ball, with its friends, out of a bin."""

    rule: str
    """The resource, or PIN, DRAIN, FOES, DIFFERENT, UTILFN or SOFT."""
    text: str
    """In plain words."""


def summary(problem: Problem, alloc: Sequence[int], ball: int) -> dict[str, int]:
    """Count the bins that each rule keeps a ball out of, the most frequent rule first."""
    every = obstacles(problem, alloc, ball)
    return dict(Counter(rule for some in every for rule in dict.fromkeys(each.rule for each in some)).most_common())


def obstacles(problem: Problem, alloc: Sequence[int], ball: int) -> Iterator[list[Obstacle]]:
    """Iterate over the bins: what keeps a ball out of each while all others of a right allocation stay as they are.

    Its certain friends come with it, as they are placed together. There is nothing in the way of it where it is.
    """
    if not 0 <= ball < problem.balls:
        remedy = f"They go from 0 to {problem.balls - 1}."
        raise UserError("there is no such ball", key="ball", value=ball, remedy=remedy)
    members = np.flatnonzero(problem.unit_of == problem.unit_of[ball]).tolist()
    others = np.where(problem.unit_of == problem.unit_of[ball], NULL, alloc).tolist()
    used, evaluate = utilisation(problem, others)[0], evaluator(problem.base)
    # What it gives back where it is may be needed there: without it these are above their capacity.
    without = dict.fromkeys(np.flatnonzero(np.array(used) > problem.capacity).tolist(), 0)
    for place in range(problem.bins):
        yield list(_in(problem, evaluate, place, members, others.copy(), used, without.copy()))


def _in(
    problem: Problem,
    evaluate: Evaluate,
    place: int,
    members: list[int],
    alloc: list[int],
    used: list[int],
    added: dict[int, int],
) -> Iterator[Obstacle]:
    """Find what is wrong with some more balls in a bin; writes `alloc` and `added`, what they add to dimensions.

    `added` has a 0 for every dimension that is above its capacity without these balls.
    """
    if problem.drained[place]:
        yield Obstacle("DRAIN", "it is to be empty")
    for pin in sorted({int(pin) for pin in problem.pins[members]} - {NULL, place}):
        yield Obstacle("PIN", f"it is pinned to {problem.bin(pin)}")
    for ball in members:
        amounts = evaluate(ball, place, alloc)
        if amounts is None:
            by = rejection(problem.base, ball, place, alloc)
            assert by is not None
            rule = "UTILFN" if by.what == "REJECT" else f"{by.what} out of range (line {by.line})"
            yield Obstacle(rule, f"UTILFN rejects {problem.ball(ball)} there: {by.what} in line {by.line}")
            return
        alloc[ball] = place
        for dim, amount in amounts:
            added[dim] = added.get(dim, 0) + amount
    for foes, chance in problem.foes:
        if chance == MICRO and not set(members).isdisjoint(foes) and all(alloc[foe] == place for foe in foes):
            there = ", ".join(problem.ball(foe) for foe in foes if foe not in members)
            rule = "DIFFERENT" if any(set(foes) <= set(some) for some, _ in problem.different) else "FOES"
            yield Obstacle(rule, f"it would be with {there}" if there else "its friends are its foes")
    soft = set[int]()
    for dim, amount in added.items():
        after = used[dim] + amount
        if after > problem.ceiling[dim]:
            family = next(family for family in problem.families if dim in family)
            name, most = problem.name(dim), problem.ceiling[dim] / MICRO
            yield Obstacle(family.name, f"{name} would be used {after / MICRO:g} of {most:g}")
        elif after > problem.capacity[dim]:
            soft.add(int(problem.soft_group[dim]))
    for group in sorted(soft):
        dims = np.flatnonzero(problem.soft_group == group).tolist()
        over = sum(used[dim] + added.get(dim, 0) > problem.capacity[dim] for dim in dims)
        if over > problem.soft_allowed[group]:
            name, most = problem.name(dims[0]), problem.soft_allowed[group]
            yield Obstacle("SOFT", f"{over} dimensions of the soft group of {name} would be over, {most} may be")
