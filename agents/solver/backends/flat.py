"""Lay out a problem as the arrays that compiled searches read, and the room that one search works in."""

from typing import NamedTuple, Self

import numpy as np

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints


class Flat(NamedTuple):
    """A problem as int64 arrays. Sets are numbered FRIENDS first; lists are their offsets and their members."""

    capacity: Ints
    ceiling: Ints
    elastic: Ints
    """[dims]: 1 where a group may be over while it is filled; all 0 in published attempts."""
    soft_group: Ints
    soft_allowed: Ints
    data: Ints
    numbers: Ints
    """Constants of the program's source."""
    pins: Ints
    units: Ints
    """[units + 1]"""
    unit_balls: Ints
    unit_of: Ints
    """[balls]"""
    unit_pin: Ints
    """[units]: the bin that it must be in, or NULL"""
    sets: Ints
    """[sets + 1]"""
    set_balls: Ints
    chance: Ints
    friends: Ints
    """[sets]: 1 of FRIENDS, 0 of FOES"""
    of: Ints
    """[balls + 1]"""
    of_sets: Ints
    """The sets that each ball is in."""
    ways: Ints
    """[groupings + 1]"""
    groups: Ints
    """[groups + 1]"""
    group_bins: Ints
    demand: Ints
    """[units, kinds] of a vector problem (`Problem.matrix`); otherwise it says nothing"""
    dims: Ints
    """[bins, kinds]: what the demand is added to"""
    kinds: Ints
    """[1]: how many kinds there are, 0 of other problems"""

    @classmethod
    def of_problem(cls, problem: Problem, numbers: list[int], elastic: bool = False) -> Self:
        """Lay out a problem and its source's constants; no array is empty, as on devices, and none is read-only."""
        friends, foes, units, groupings = problem.friends, problem.foes, problem.units, problem.groupings
        sets = np.append(friends.offsets, friends.offsets[-1] + foes.offsets[1:])
        set_balls = np.append(friends.members, foes.members)
        number = np.repeat(np.arange(len(sets) - 1), np.diff(sets))
        order = np.argsort(set_balls, kind="stable")
        of = np.searchsorted(set_balls[order], np.arange(problem.balls + 1))
        none = np.zeros((0, 0), np.int64)
        demand, dims = (none, none) if problem.matrix is None else (problem.matrix.demand, problem.matrix.dims)
        parts = cls(
            problem.capacity,
            problem.ceiling,
            problem.elastic if elastic else np.zeros(problem.dims, np.int64),
            problem.soft_group,
            problem.soft_allowed,
            problem.program.data,
            np.array(numbers, np.int64),
            problem.pins,
            units.offsets,
            units.members,
            problem.unit_of,
            problem.unit_pin,
            sets,
            set_balls,
            np.append(friends.chance, foes.chance),
            np.repeat([1, 0], [len(friends), len(foes)]),
            of,
            number[order],
            np.cumsum([0, *map(len, groupings)]),
            np.append(0, np.cumsum(np.concatenate([np.diff(grouping.offsets) for grouping in groupings]))),
            np.concatenate([grouping.members for grouping in groupings]),
            demand.ravel(),
            dims.ravel(),
            np.array(demand.shape[1:]),
        )
        return cls(*(np.array(part if len(part) else [0], np.int64) for part in parts))


class Room(NamedTuple):
    """What an attempt writes.

    That is utilisation [dims], ALLOC [balls], unplaced units and others, such as placed ones [units], additions, how
    many members of soft groups are over their capacity [soft groups] and behind them how many elastic dimensions are
    over their ceiling, and imposed sets [sets]. Units that wishes join are a chain: `chain` is its first one, `after`
    the next one, -1 at the end [units each]. `stop` [1] is set from outside: units that are left then stay unplaced.
    """

    used: Ints
    alloc: Ints
    left: Ints
    placed: Ints
    dims: Ints
    amounts: Ints
    over: Ints
    imposed: Ints
    chain: Ints
    after: Ints
    stop: Ints


def lengths(problem: Problem) -> dict[str, int]:
    """Return the length of each array of the room for a problem; none is 0."""
    dims, balls, units = max(1, problem.dims), problem.balls, len(problem.units)
    by_chance = (problem.friends.chance < MICRO).any()  # as many as there are may be placed together
    adds = max(1, problem.program.adds * (balls if by_chance else int(np.diff(problem.units.offsets).max())))
    sets = max(1, len(problem.friends) + len(problem.foes))
    over = max(1, len(problem.soft_allowed)) + 1
    sizes = dims, balls, units, units, adds, adds, over, sets, units, units, 1
    return dict(zip(Room._fields, sizes, strict=True))


def room(problem: Problem) -> Room:
    """Make the room for one search at a time."""
    made = Room(*(np.zeros(length, np.int64) for length in lengths(problem).values()))
    made.alloc[:] = made.after[:] = NULL
    return made
