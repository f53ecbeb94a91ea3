"""Describe a vector problem with a given number of bins, as the compiled searches read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Ints


@dataclass(frozen=True, eq=False)
class Packing:
    """Balls, and bins whose capacity no dimension may exceed. Nothing here is ever written."""

    demand: Ints
    """[balls, d], none below zero"""
    capacity: Ints
    """[bins, d], none below zero"""
    pins: Ints
    """[balls]: the bin that the ball must be in, or -1; together the pinned balls keep all the rules."""
    foes: tuple[tuple[int, ...], ...]
    """Sets of balls that must not all be in one bin."""
    now: Ints
    """[balls]: the bin that the ball is in now, or -1"""

    @classmethod
    def alike(cls, demand: Ints, capacity: Ints, bins: int) -> Packing:
        """Make identical bins of capacity [d], with nothing pinned."""
        nowhere = np.full(len(demand), NULL)
        given = np.ascontiguousarray(demand), np.tile(capacity, (bins, 1))
        return cls(*given, nowhere, (), nowhere)

    @classmethod
    def of(cls, problem: Problem) -> Packing | None:
        """Make the dense form of a problem of the language, with the problem's `units` for balls; None if it has none.

        It is None, too, where amounts are below zero, chance imposes friends or foes, or pins and friends contradict
        one another or the capacity: the general search answers those.
        """
        matrix = problem.matrix
        certain = all(((sets.chance == MICRO) | (sets.chance == 0)).all() for sets in (problem.friends, problem.foes))
        if matrix is None or not certain or not problem.balls:
            return None
        if (matrix.demand < 0).any() or (matrix.capacity < 0).any():
            return None
        units, unit_of = problem.units, problem.unit_of
        pins = np.full(len(units), NULL)
        np.maximum.at(pins, unit_of, problem.pins)
        foes = tuple(tuple({int(unit_of[ball]) for ball in members}) for members, chance in problem.foes if chance)
        demand = np.add.reduceat(matrix.demand[units.members], units.offsets[:-1], axis=0)
        capacity = matrix.capacity
        if problem.drained.any():  # nor may those that take nothing be there
            demand = np.append(demand, np.ones((len(demand), 1), np.int64), axis=1)
            capacity = np.append(capacity, np.where(problem.drained, 0, len(demand))[:, None], axis=1)
        given = demand, np.ascontiguousarray(capacity), pins, foes
        built = cls(*given, problem.unit_now)
        agree = (problem.pins == NULL) | (problem.pins == pins[unit_of])
        return built if agree.all() and built.keeps(pins, partial=True) else None

    def keeps(self, where: Ints, *, partial: bool = False) -> bool:
        """Tell whether a placement [balls] keeps every rule; balls may be at -1 only if `partial`.

        This is plain numpy and uses none of the kernels.
        """
        placed = where != NULL
        if (where < NULL).any() or (where >= len(self.capacity)).any() or not (partial or placed.all()):
            return False
        if ((self.pins != NULL) & placed & (where != self.pins)).any():
            return False
        used = np.zeros_like(self.capacity)
        np.add.at(used, where[placed], self.demand[placed])
        together = (len({int(where[ball]) for ball in foes}) == 1 and where[foes[0]] != NULL for foes in self.foes)
        return bool((used <= self.capacity).all()) and not any(together)

    @cached_property
    def foe_sets(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The sets' offsets and members; then each ball's offsets and sets."""
        if not self.foes:
            return (*_lists(()), np.zeros(len(self.demand) + 1, np.int64), np.empty(0, np.int64))
        return (*_lists(self.foes), *_lists(_inverse(self.foes, len(self.demand))))

    @cached_property
    def weight(self) -> Ints:
        """The weight of each ball, int64 [balls], from 1: its shares of a mean bin, the scarcer a resource the more."""
        mean = np.maximum(self.capacity.mean(axis=0), 1)
        share = self.demand / mean
        scarcity = share.sum(axis=0)
        scarcity /= max(scarcity.max(), 1e-9)
        weight: Ints = 1 + np.minimum(np.rint(rows_dot(share, scarcity) * 1e6), 1e9).astype(np.int64)
        return weight


def _lists(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Join lists: their offsets, and all entries one after another."""
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return offsets, np.array([entry for entries in lists for entry in entries], np.int64)


def _inverse(sets: tuple[tuple[int, ...], ...], count: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for number, members in enumerate(sets):
        for member in members:
            found[member].append(number)
    return found
