"""Find what each ball takes of the bin that it is in at least, whatever the other balls do.

This makes a vector problem that every allocation of the problem's own solves, too, so that its bounds hold. It has the
families of dimensions that belong to a bin and that nothing is taken from. What depends on ALLOC is left out of UTILFN:
what it adds to these families is not below zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from binwright.agents.solver.model.dense import by_bin
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints

STEPS = 2_000_000
"""Nodes of UTILFN that may be evaluated: a second."""


@dataclass(frozen=True)
class Floor:
    """A vector problem that is no harder than the problem's own."""

    demand: Ints
    """[units, d], millionths: what a unit (see `Problem.units`) takes of its bin at least"""
    capacity: Ints
    """[bins, d], millionths, as far as SOFT allows; none of bins that are to be empty"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""
    foes: tuple[tuple[int, int], ...]
    """Pairs of units that cannot share a bin."""


def floor(problem: Problem) -> Floor | None:
    """Find the floor of a problem; None if there is none, or it takes too long."""
    families = [
        (family, family.bin_axis) for family in problem.families if family.bin_axis is not None and not family.falls
    ]
    families = [(family, axis) for family, axis in families if family.sizes[axis] == problem.bins]
    if not families or not problem.balls:
        return None
    of_families = [by_bin(family, axis) for family, axis in families]
    dims = np.concatenate(of_families, axis=1)  # [bins, d]
    matrix = problem.matrix
    if matrix is not None and not (matrix.demand < 0).any() and matrix.demand.shape[1] == dims.shape[1]:
        demand: Ints | None = matrix.demand
    else:
        demand = _by_calls(problem, dims)
    if demand is None:
        return None
    of_units = np.add.reduceat(demand[problem.units.members], problem.units.offsets[:-1], axis=0)
    names = (
        family.name_of(dim, axis) for (family, axis), one in zip(families, of_families, strict=True) for dim in one[0]
    )
    capacity = np.where(problem.drained[:, None], 0, problem.ceiling[dims])
    return Floor(of_units, capacity, tuple(names), tuple(pairs(problem)))


def pairs(problem: Problem) -> Iterator[tuple[int, int]]:
    """Find the pairs of units that FOES, and PIN, keep apart."""
    unit_of = problem.unit_of.tolist()
    for members, chance in problem.foes:
        units = {unit_of[ball] for ball in members}
        if chance == MICRO and len(units) == 2:
            one, other = units
            yield one, other
    pinned = np.flatnonzero(problem.pins != NULL)
    first: dict[int, int] = {}  # of each bin, a unit that is pinned to it: more say no more
    for ball in pinned.tolist():
        first.setdefault(int(problem.pins[ball]), unit_of[ball])
    yield from combinations(sorted(set(first.values())), 2)


def _by_calls(problem: Problem, dims: Ints) -> Ints | None:
    """Evaluate what is left of UTILFN for all balls and bins, int64 [balls, d]; None if that takes too long."""
    program = problem.without_alloc
    bins = 1 if program.bin_blind else problem.bins
    if problem.balls * bins * max(1, program.steps) > STEPS:
        return None
    evaluate = evaluator(program)
    column = {dim: at for own in dims.tolist() for at, dim in enumerate(own)}
    least = np.full((problem.balls, dims.shape[1]), np.iinfo(np.int64).max)
    for ball, pin in enumerate(problem.pins.tolist()):
        for place in range(bins) if pin == NULL or program.bin_blind else (pin,):
            added = evaluate(ball, place, ())
            if added is None or problem.drained[place]:
                continue
            amounts = np.zeros(dims.shape[1], np.int64)
            for dim, amount in added:
                if dim in column:
                    amounts[column[dim]] += amount
            np.minimum(least[ball], amounts, out=least[ball])
    # A ball that is rejected everywhere is somebody else's to report.
    return np.where(least == np.iinfo(np.int64).max, 0, least)
