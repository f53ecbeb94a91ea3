"""Keep an allocation that units are put into and taken out of, and take back what a move has changed.

`used` and `alloc` are those of all placed units, in whatever order they came: UTILFN must not depend on it. What taking
a unit out takes off is what UTILFN would add for it now, were it placed last. All functions write the state that they
are given, unless they only answer a question.
"""

from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, below, change, lift_out, put, put_around, put_back
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL, WIDE
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Ints

COUNT, TOTAL, DRAWS, CLOCK, DIMS, UNITS, STREAM, TERMS, TURN = range(9)
"""Entries of `tally`: unplaced units, their weight, random numbers drawn, the number of the move, how many dimensions
and units it has changed; where random numbers of the run start; how many terms of goals the move has changed, and how
often goals have been evaluated."""


class Score(NamedTuple):
    """What goals come to: arrays, all int64."""

    data: Ints
    numbers: Ints
    """What the compiled goals read."""
    values: Ints
    """[PAST + LATE, goals]: less is better"""
    totals: Ints
    """[sums]"""
    which: Ints
    at: Ints
    """[terms]: the sum, and the variable of its loop"""
    first: Ints
    readers: Ints
    """[dims + balls + 1]: where those terms begin in `readers` that read a dimension, or the bin of a ball"""
    term: Ints
    """[terms]: what it comes to where nothing has moved"""
    fresh: Ints
    """[terms]: what it comes to after the move"""
    seen: Ints
    """[terms]: the turn in which it was evaluated last"""
    changed: Ints
    """[terms]: those that the move has changed, as many as `tally` says"""


class State(NamedTuple):
    """A local search on a problem: its arrays, all int64."""

    flat: Flat
    """The problem; `group_bins` are all bins."""
    room: Room
    """The allocation; `left` lists the unplaced units."""
    score: Score
    """What goals come to, if there are any."""
    best: Ints
    """[balls]: the best allocation"""
    tally: Ints
    lofty: Ints
    """[dims]: ceilings that nothing reaches, so that UTILFN adds beyond its own"""
    base: Ints
    """[dims]: what was used when the move began"""
    seen: Ints
    """[dims]: the last move that changed it"""
    touched: Ints
    """[dims]: those that the move has changed, as many as `tally` says"""
    weight: Ints
    """[units]: what it is worth that it is placed"""
    where: Ints
    """[units]: its bin, or NULL"""
    slot: Ints
    """[units]: its entry in `room.left`"""
    following: Ints
    previous: Ints
    """[units]: its neighbours in the list of its bin, or NULL"""
    moved: Ints
    """[units]: the last move that moved it"""
    moves: Ints
    before: Ints
    """[units]: those that the move has moved, and where they were"""
    offered: Ints
    key: Ints
    """[units]: those that a move puts back, and by what they are sorted"""
    home: Ints
    """[units]: the bin that it is in now, or NULL"""
    head: Ints
    """[bins]: its first unit, or NULL"""
    hot: Ints
    """[bins]: those from which a move makes goals better"""


def new_state(problem: Problem, flat: Flat, stop: Ints, start: np.uint64, weight: Ints) -> State:
    """Begin a local search on a problem, laid out with its elastic dimensions: nothing is placed.

    Random numbers are those of the stream from `start` on; `weight` is [units].
    """
    dims, units, bins = len(flat.ceiling), len(problem.units), problem.bins
    of_dims, of_units = np.zeros((3, dims), np.int64), np.zeros((7, units), np.int64)
    arrays: list[Ints] = [
        np.full(dims, WIDE), *of_dims, weight.copy(), np.full(units, NULL), np.arange(units), *of_units,
        problem.unit_now, np.full(bins, NULL), np.zeros(bins, np.int64),
    ]  # fmt: skip
    every, best, place = flat._replace(group_bins=np.arange(bins)), np.zeros(problem.balls, np.int64), room(problem)
    place.left[:] = np.arange(units)
    place.imposed[:] = flat.chance == MICRO
    nothing, tally = np.zeros(0, np.int64), np.zeros(9, np.int64)
    tally[[COUNT, TOTAL, CLOCK, STREAM]] = units, weight.sum(), 1, np.uint64(start).astype(np.int64)
    score = Score(nothing, nothing, np.zeros((0, 0), np.int64), *[nothing] * 9)
    return State(every, place._replace(stop=stop), score, best, tally, *arrays)


@lean_inlined
def drawn(state: State, n: int) -> int:
    """Draw the next number below n."""
    state.tally[DRAWS] += 1
    return below(np.uint64(state.tally[STREAM]), state.tally[DRAWS] - 1, n)


@lean
def keep_best(state: State) -> None:
    """Write down what is there now as the best."""
    for ball in range(len(state.best)):
        state.best[ball] = state.room.alloc[ball]


@lean_inlined
def begin_move(state: State) -> None:
    """Let what is there now be what `undo` comes back to."""
    tally = state.tally
    for k in range(tally[DIMS]):
        state.base[state.touched[k]] = state.room.used[state.touched[k]]
    tally[CLOCK] += 1
    tally[DIMS] = tally[UNITS] = 0


@lean
def undo(state: State) -> None:
    """Take back what the move has changed, for the next one to begin."""
    room, flat = state.room, state.flat
    for k in range(state.tally[DIMS]):
        dim = state.touched[k]
        change(flat, room, dim, state.base[dim] - room.used[dim])
    for k in range(state.tally[UNITS]):
        unit, place = state.moves[k], state.before[k]
        if state.where[unit] != place:
            locate(state, unit, place)
        put_back(flat, room, unit, place)
    begin_move(state)


@lean_inlined
def locate(state: State, unit: int, place: int) -> None:
    """Write down that a unit is in a bin now, or nowhere if that is NULL; ALLOC and `used` are up to the caller."""
    tally, left, slot = state.tally, state.room.left, state.slot
    following, previous, head, before = state.following, state.previous, state.head, state.where[unit]
    if state.moved[unit] != tally[CLOCK]:
        state.moved[unit] = tally[CLOCK]
        state.moves[tally[UNITS]] = unit
        state.before[tally[UNITS]] = before
        tally[UNITS] += 1
    if before == NULL:
        tally[COUNT] -= 1
        last = left[tally[COUNT]]
        left[slot[unit]] = last
        slot[last] = slot[unit]
        tally[TOTAL] -= state.weight[unit]
    else:
        if previous[unit] == NULL:
            head[before] = following[unit]
        else:
            following[previous[unit]] = following[unit]
        if following[unit] != NULL:
            previous[following[unit]] = previous[unit]
    state.where[unit] = place
    if place == NULL:
        left[tally[COUNT]] = unit
        slot[unit] = tally[COUNT]
        tally[COUNT] += 1
        tally[TOTAL] += state.weight[unit]
    else:
        following[unit], previous[unit] = head[place], NULL
        if head[place] != NULL:
            previous[head[place]] = unit
        head[place] = unit


@lean_inlined
def touch(state: State, dim: int) -> None:
    """Write down that the move has changed a dimension."""
    tally = state.tally
    if state.seen[dim] != tally[CLOCK]:
        state.seen[dim] = tally[CLOCK]
        state.touched[tally[DIMS]] = dim
        tally[DIMS] += 1


@lean_inlined
def bad(state: State, dim: int) -> bool:
    """Tell whether a dimension is beyond what it may be, elastic or not, or is one too many of its soft group."""
    flat, used = state.flat, state.room.used
    if used[dim] > flat.ceiling[dim]:
        return True
    group = flat.soft_group[dim]
    return bool(group >= 0 and state.room.over[group] > flat.soft_allowed[group] and used[dim] > flat.capacity[dim])


@lean_inlined
def first_bad(state: State) -> int:
    """Return the first dimension that the move has changed and that is `bad`, or NULL."""
    for k in range(state.tally[DIMS]):
        if bad(state, state.touched[k]):
            return int(state.touched[k])
    return NULL


@lean_inlined
def noted(state: State, unit: int, n: int) -> bool:
    """Write down that a unit has been put in, with n additions; -1 says that it has not. Returns whether it has."""
    if n < 0:
        return False
    for k in range(n):
        touch(state, state.room.dims[k])
    locate(state, unit, state.room.alloc[state.flat.unit_balls[state.flat.units[unit]]])
    return True


@lean_inlined
def insert(call: Utilfn, state: State, unit: int, place: int, forced: bool) -> bool:
    """Put an unplaced unit into a bin, or none of its balls; returns whether that could be done.

    If `forced`, only REJECT, pins and sets of friends and foes can prevent it: dimensions may be over then.
    """
    flat = state.flat
    ceiling = state.lofty if forced else flat.ceiling
    return noted(state, unit, put(call, flat, state.room, unit, place, ceiling, forced))


@lean_inlined
def settle(call: Utilfn, state: State, unit: int, spread: bool) -> bool:
    """Put a unit into the first bin that takes it, from a random one on if they `spread`; tells whether one does."""
    if state.flat.unit_pin[unit] != NULL:
        return insert(call, state, unit, state.flat.unit_pin[unit], False)
    bins = len(state.head)
    turn = drawn(state, bins) if spread else 0
    return noted(state, unit, put_around(call, state.flat, state.room, unit, 0, bins, turn))


@lean_inlined
def remove(call: Utilfn, state: State, unit: int, needed: bool) -> int:
    """Take a placed unit out; if `needed`, only if that lowers a dimension that is `bad`.

    Returns 1 if it is out, 0 if not, and -1 if UTILFN rejects it although it is there.
    """
    flat, room, place = state.flat, state.room, state.where[unit]
    n = lift_out(call, flat, room, unit, place, state.lofty)
    helps = n >= 0 and not needed
    for k in range(n if needed else 0):
        helps = helps or (room.amounts[k] > 0 and bad(state, room.dims[k]))
    if not helps:
        put_back(flat, room, unit, place)
        return 0 if n >= 0 else -1
    for k in range(n):
        touch(state, room.dims[k])
        change(flat, room, room.dims[k], -room.amounts[k])
    locate(state, unit, NULL)
    return 1


@lean
def load(call: Utilfn, state: State, where: Ints) -> bool:
    """Put all units where they are [balls]; returns whether that is allowed."""
    flat = state.flat
    for unit in range(len(state.where)):
        if not insert(call, state, unit, where[flat.unit_balls[flat.units[unit]]], True):
            return False
    keep_best(state)
    return first_bad(state) == NULL
