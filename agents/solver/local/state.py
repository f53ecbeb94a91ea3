"""Keep an allocation that units are put into and taken out of, and take back what a move has changed.

`used` and `alloc` are those of all placed units, in whatever order they came: UTILFN must not depend on it. What taking
a unit out takes off is what UTILFN would add for it now, were it placed last. All functions write the state that they
are given, unless they only answer a question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, joins
from binwright.agents.solver.backends.flat import Flat, Sizes
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.agents.solver.search.ruin import SPREADS
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

RING = 4
"""How many units are remembered for each dimension: those that touched it last."""
LOFTY = 1 << 61
"""A ceiling that nothing reaches."""
COUNT, TOTAL, DRAWS, CLOCK, DIMS, UNITS, OVER, FRIENDS, STREAM, SPREAD, TALLY = range(11)
"""Entries of `tally`: unplaced units, their weight, random numbers drawn, the number of the move, how many dimensions
and units it has changed, how many elastic dimensions are over their ceiling; how many sets are FRIENDS, where random
numbers of the run start, and by how many 1024ths chance may raise a weight; its length."""
CEILING, CAPACITY, ELASTIC, GROUP, SEEN, LIST, OLD, DIM = range(8)
"""Columns of `dim`: its limits, whether it is elastic, its soft group, and the last move that changed it. Entry n of
LIST is the dimension that a move changed as number n, and of OLD what was used of it before. Then, their number."""
(WEIGHT, WHERE, SLOT, LEFT, FOLLOWING, PREVIOUS, MOVED, MOVES, BEFORE, OFFERED, KEY, FIRST, END, PIN, BOUND, UNIT) = (
    range(16)
)
"""Columns of `unit`: what it is worth that it is placed; its bin or NULL; its entry in LEFT, the list of those
unplaced; its neighbours in the list of its bin, or NULL; the last move that moved it. MOVES lists the units that a move
has moved, BEFORE where they were, OFFERED those that it puts back, KEY by what they are sorted. Then its balls in
`unit_balls`, the bin that it must be in or NULL, whether it is in a set of friends or foes, and how many columns there
are."""
HEAD, CHOSEN = range(2)
"""Columns of `bin`: its first unit or NULL. CHOSEN lists the bins that a move empties."""


class State(NamedTuple):
    """A local search on a problem: its arrays, all int64."""

    alloc: Ints
    used: Ints
    ceiling: Ints
    lofty: Ints
    """[dims]: ceilings that nothing reaches, so that UTILFN adds beyond its own"""
    dims: Ints
    amounts: Ints
    data: Ints
    numbers: Ints
    """[...]: so far what UTILFN takes"""
    tally: Ints
    dim: Ints
    """[dims, DIM]"""
    unit: Ints
    """[units, UNIT]"""
    bin: Ints
    """[bins, 2]"""
    recent: Ints
    """[dims, RING + 1]: units that touched a dimension last, or NULL, and how often it was touched"""
    over: Ints
    """[soft groups, 2]: how many members are above their capacity, and how many may be"""
    bins: Ints
    """[bins]: all of them"""
    unit_balls: Ints
    unit_of: Ints
    pins: Ints
    sets: Ints
    set_balls: Ints
    chance: Ints
    of: Ints
    of_sets: Ints
    """As in `Flat`"""
    imposed: Ints
    """[sets]"""
    best: Ints
    """[balls]: the best allocation"""
    stop: Ints
    """[1]: set from outside, to end the search"""


def state(problem: Problem, flat: Flat, stop: Ints) -> State:
    """Make the room for one local search at a time on a problem, laid out with its elastic dimensions."""
    sizes = Sizes.of_problem(problem)
    dim = np.zeros((sizes.dims, DIM), np.int64)
    dim[:, CEILING], dim[:, CAPACITY] = flat.ceiling, flat.capacity
    dim[:, ELASTIC], dim[:, GROUP] = flat.elastic, flat.soft_group
    unit = np.zeros((sizes.units, UNIT), np.int64)
    unit[:, FIRST], unit[:, END] = flat.units[:-1], flat.units[1:]
    unit[:, PIN] = NULL
    np.maximum.at(unit[:, PIN], flat.unit_of, flat.pins)
    np.maximum.at(unit[:, BOUND], flat.unit_of, np.diff(flat.of) > 0)
    over = np.zeros((sizes.soft, 2), np.int64)
    over[:, 1] = flat.soft_allowed
    balls = np.full((2, problem.balls), NULL)
    tally = np.zeros(TALLY, np.int64)
    tally[FRIENDS] = len(problem.friends)
    return State(
        balls[0], np.zeros(sizes.dims, np.int64), flat.ceiling, np.full(sizes.dims, LOFTY),
        np.zeros(sizes.adds, np.int64), np.zeros(sizes.adds, np.int64), flat.data, flat.numbers,
        tally, dim, unit, np.full((problem.bins, 2), NULL),
        np.full((sizes.dims, RING + 1), NULL), over, np.arange(problem.bins),
        flat.unit_balls, flat.unit_of, flat.pins, flat.sets, flat.set_balls, flat.chance, flat.of, flat.of_sets,
        np.zeros(sizes.sets, np.int64), balls[1], stop,
    )  # fmt: skip


@lean
def begin_run(tally: Ints, seed: int, group: int, number: int) -> None:
    """Let random numbers be those of run `number` of a seed."""
    tally[STREAM] = np.int64(stream_kernel(seed, group, number))
    tally[SPREAD] = SPREADS[number % len(SPREADS)]


@lean
def drawn(tally: Ints, n: int) -> int:
    """Draw the next number below n."""
    tally[DRAWS] += 1
    return below_kernel(np.uint64(tally[STREAM]), tally[DRAWS] - 1, n)


@lean
def clear(state: State) -> None:
    """Take everything out, and forget."""
    tally, unit = state.tally, state.unit
    tally[: OVER + 1] = 0
    state.used[:] = 0
    state.alloc[:] = NULL
    state.over[:, 0] = 0
    state.bin[:, HEAD] = NULL
    state.dim[:, SEEN] = 0
    state.recent[:, :] = NULL
    for one in range(len(unit)):
        unit[one, WHERE] = NULL
        unit[one, MOVED] = 0
        unit[one, LEFT] = unit[one, SLOT] = one
        tally[TOTAL] += unit[one, WEIGHT]
    tally[COUNT] = len(unit)
    begin_move(tally)


@lean
def keep_best(state: State) -> None:
    """Write down what is there now as the best."""
    for ball in range(len(state.best)):
        state.best[ball] = state.alloc[ball]


@lean
def begin_move(tally: Ints) -> None:
    """Let what is there now be what `undo` comes back to."""
    tally[CLOCK] += 1
    tally[DIMS] = tally[UNITS] = 0


@lean
def locate(tally: Ints, unit: Ints, bins: Ints, one: int, place: int) -> None:
    """Write down that a unit is in a bin now, or nowhere if that is NULL; ALLOC and `used` are up to the caller."""
    before = unit[one, WHERE]
    if unit[one, MOVED] != tally[CLOCK]:
        unit[one, MOVED] = tally[CLOCK]
        unit[tally[UNITS], MOVES] = one
        unit[tally[UNITS], BEFORE] = before
        tally[UNITS] += 1
    if before == NULL:
        tally[COUNT] -= 1
        last = unit[tally[COUNT], LEFT]
        unit[unit[one, SLOT], LEFT] = last
        unit[last, SLOT] = unit[one, SLOT]
        tally[TOTAL] -= unit[one, WEIGHT]
    else:
        follower, leader = unit[one, FOLLOWING], unit[one, PREVIOUS]
        if leader == NULL:
            bins[before, HEAD] = follower
        else:
            unit[leader, FOLLOWING] = follower
        if follower != NULL:
            unit[follower, PREVIOUS] = leader
    unit[one, WHERE] = place
    if place == NULL:
        unit[tally[COUNT], LEFT] = one
        unit[one, SLOT] = tally[COUNT]
        tally[COUNT] += 1
        tally[TOTAL] += unit[one, WEIGHT]
    else:
        follower = bins[place, HEAD]
        unit[one, FOLLOWING], unit[one, PREVIOUS] = follower, NULL
        if follower != NULL:
            unit[follower, PREVIOUS] = one
        bins[place, HEAD] = one


@lean
def change(tally: Ints, dim: Ints, over: Ints, used: Ints, d: int, amount: int) -> None:
    """Add to a dimension, and update how many elastic dimensions, and members of its soft group, are over."""
    before = used[d]
    after = before + amount
    used[d] = after
    if dim[d, ELASTIC]:
        most = dim[d, CEILING]
        tally[OVER] += (1 if after > most else 0) - (1 if before > most else 0)
    group = dim[d, GROUP]
    if group >= 0:
        limit = dim[d, CAPACITY]
        over[group, 0] += (1 if after > limit else 0) - (1 if before > limit else 0)


@lean
def alter(tally: Ints, dim: Ints, over: Ints, used: Ints, d: int, amount: int) -> None:
    """Add to a dimension in a move that may be taken back."""
    if dim[d, SEEN] != tally[CLOCK]:
        dim[d, SEEN] = tally[CLOCK]
        dim[tally[DIMS], LIST] = d
        dim[tally[DIMS], OLD] = used[d]
        tally[DIMS] += 1
    change(tally, dim, over, used, d, amount)


@lean
def undo(state: State) -> None:
    """Take back what the move has changed."""
    tally, dim, unit, over, used, alloc = state.tally, state.dim, state.unit, state.over, state.used, state.alloc
    bins, unit_balls = state.bin, state.unit_balls
    for k in range(tally[DIMS]):
        d = dim[k, LIST]
        change(tally, dim, over, used, d, dim[k, OLD] - used[d])
    for k in range(tally[UNITS]):
        one, place = unit[k, MOVES], unit[k, BEFORE]
        if unit[one, WHERE] != place:
            locate(tally, unit, bins, one, place)
        for at in range(unit[one, FIRST], unit[one, END]):
            alloc[unit_balls[at]] = place


@lean
def bad(dim: Ints, over: Ints, used: Ints, d: int) -> bool:
    """Tell whether a dimension is beyond what it may be, elastic or not, or is one too many of its soft group."""
    if used[d] > dim[d, CEILING]:
        return True
    group = dim[d, GROUP]
    return bool(group >= 0 and over[group, 0] > over[group, 1] and used[d] > dim[d, CAPACITY])


@lean
def sound(state: State) -> bool:
    """Tell whether all dimensions that the move has changed keep their limits."""
    tally, dim, over, used = state.tally, state.dim, state.over, state.used
    for k in range(tally[DIMS]):
        d = dim[k, LIST]
        group = dim[d, GROUP]
        if used[d] > dim[d, CEILING] or (group >= 0 and over[group, 0] > over[group, 1]):
            return False
    return True


@lean
def allowed(state: State, ball: int, place: int) -> bool:
    """Tell whether pins and imposed sets let the ball into this bin; the first `friends` sets are FRIENDS."""
    pin = state.pins[ball]
    if pin != NULL and pin != place:
        return False
    sets = state.sets, state.set_balls, state.of, state.of_sets
    return joins(ball, place, state.tally[FRIENDS], state.alloc, state.imposed, *sets)


@lean
def within(dim: Ints, over: Ints, used: Ints, dims: Ints, first: int, last: int) -> bool:
    """Tell whether the dimensions of additions first, ..., last - 1, and their soft groups, keep their limits."""
    for k in range(first, last):
        d = dims[k]
        if used[d] > dim[d, CEILING] and not dim[d, ELASTIC]:
            return False
        group = dim[d, GROUP]
        if group >= 0 and over[group, 0] > over[group, 1]:
            return False
    return True


@lean
def insert(call: Utilfn, state: State, one: int, place: int, forced: bool) -> bool:
    """Put an unplaced unit into a bin, or none of its balls; returns whether that could be done.

    If `forced`, only REJECT, pins and sets of friends and foes can prevent it: dimensions may be over then.
    """
    alloc, used, dims, amounts, tally = state.alloc, state.used, state.dims, state.amounts, state.tally
    dim, unit, over, data, numbers = state.dim, state.unit, state.over, state.data, state.numbers
    unit_balls, recent = state.unit_balls, state.recent
    ceiling = state.lofty if forced else state.ceiling
    careful = unit[one, BOUND] != 0 or unit[one, PIN] != NULL
    first, end = unit[one, FIRST], unit[one, END]
    n = 0
    for at in range(first, end):
        ball = unit_balls[at]
        fits = not careful or allowed(state, ball, place)
        if fits:
            last = call(ball, place, alloc, data, numbers, used, ceiling, dims, amounts, n)
            fits = last >= 0
            if fits:
                for k in range(n, last):
                    alter(tally, dim, over, used, dims[k], amounts[k])
                fits = forced or within(dim, over, used, dims, n, last)
                n = last
        if not fits:
            for k in range(n):
                change(tally, dim, over, used, dims[k], -amounts[k])
            for other in range(first, at):
                alloc[unit_balls[other]] = NULL
            return False
        alloc[ball] = place
    locate(tally, unit, state.bin, one, place)
    for k in range(n):
        d = dims[k]
        recent[d, RING] += 1
        recent[d, recent[d, RING] % RING] = one
    return True


@lean
def remove(call: Utilfn, state: State, one: int, needed: bool) -> int:
    """Take a placed unit out; if `needed`, only if that lowers a dimension that is `bad`.

    Returns 1 if it is out, 0 if not, and -1 if UTILFN rejects it although it is there.
    """
    alloc, used, dims, amounts, tally = state.alloc, state.used, state.dims, state.amounts, state.tally
    dim, unit, over, data, numbers = state.dim, state.unit, state.over, state.data, state.numbers
    unit_balls, lofty = state.unit_balls, state.lofty
    place = unit[one, WHERE]
    first, end = unit[one, FIRST], unit[one, END]
    n = 0
    for at in range(end - 1, first - 1, -1):
        ball = unit_balls[at]
        alloc[ball] = NULL
        n = call(ball, place, alloc, data, numbers, used, lofty, dims, amounts, n)
        if n < 0:
            break
    helps = n >= 0 and not needed
    for k in range(n if needed else 0):
        helps = helps or (amounts[k] > 0 and bad(dim, over, used, dims[k]))
    if not helps:
        for at in range(first, end):
            alloc[unit_balls[at]] = place
        return 0 if n >= 0 else -1
    for k in range(n):
        alter(tally, dim, over, used, dims[k], -amounts[k])
    locate(tally, unit, state.bin, one, NULL)
    return 1
