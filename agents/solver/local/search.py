"""Search locally on all cores: place all units.

It is for whatever the language can say: shared dimensions, REJECT, SOFT, FRIENDS and FOES. It begins with a first fit
in a biased order; then one is put in by force, again and again, which stands if it does not leave more out than before.
What is left out counts by its weight: at first by its size, then more the longer it stays out. So nothing is left out
for ever because something else is larger (Morris, "The breakout method for escaping from local minima", AAAI 1993).
"""

from collections.abc import Iterator

import numpy as np

from binwright.agents.solver.backends.attempt import PLACING, Utilfn, stream
from binwright.agents.solver.backends.cpu import Outcome, Over, best_of, compiled_problem, never
from binwright.agents.solver.backends.vectors import weights
from binwright.agents.solver.local.state import (
    COUNT,
    TOTAL,
    UNITS,
    State,
    begin_move,
    drawn,
    first_bad,
    insert,
    keep_best,
    new_state,
    remove,
    settle,
    undo,
)
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.simcore.jit import lean

SPREAD = 2048
"""By how many 1024ths chance may raise a weight."""
SLICE = 1000
"""Moves between two looks at the clock."""
LIGHTEST = 8
"""What every ball weighs at least; one of a vector problem that fills a bin weighs 1000 more."""


@lean
def order(state: State, many: int) -> None:
    """Sort the offered units by Shell's sort: heavier ones first, each weight bent by chance."""
    key, offered, gap = state.key, state.offered, many
    for i in range(many):
        key[i] = state.weight[offered[i]] * (1024 + drawn(state, SPREAD))
    while gap > 1:
        gap //= 2
        for i in range(gap, many):
            value, unit, j = key[i], offered[i], i
            while j >= gap and key[j - gap] < value:
                key[j], offered[j] = key[j - gap], offered[j - gap]
                j -= gap
            key[j], offered[j] = value, unit


@lean
def refill(call: Utilfn, state: State, many: int, most: int, bins: int, anywhere: bool) -> bool:
    """Put the offered units, heavier ones first, into so many bins of `placed`, or else `anywhere`.

    Returns whether no more stays out than weighs `most`.
    """
    order(state, many)
    out = state.tally[TOTAL]
    for i in range(many):
        out -= state.weight[state.offered[i]]
    for i in range(many):
        if state.room.stop[0]:
            return False
        unit, done = state.offered[i], False
        for k in range(bins):
            done = done or insert(call, state, unit, state.room.placed[k], False)
        if not (done or (anywhere and settle(call, state, unit, True))):
            out += state.weight[unit]
            if out > most:
                return False
    return True


@lean
def empty_bins(call: Utilfn, state: State, emptied: int) -> bool:
    """Empty so many bins, and put what was in them into these; what they do not take anywhere, in a quarter of moves.

    Returns whether all are placed again. That is ruin and recreate (Schrimpf, Schneider, Stamm-Wilbrandt and Dueck,
    Journal of Computational Physics 159, 2000).
    """
    chosen, many = state.room.placed, 0
    for k in range(emptied):
        chosen[k] = drawn(state, len(state.head))
        while state.head[chosen[k]] != NULL and many < 256:
            state.offered[many] = state.head[chosen[k]]
            if remove(call, state, state.offered[many], False) < 0:
                return False
            many += 1
    return refill(call, state, many, 0, emptied, drawn(state, 4) == 0)


@lean
def in_the_way(call: Utilfn, state: State, unit: int) -> int:
    """Take a unit out, not this one, whose removal lowers something that is `bad`.

    It looks at a light one in the same bin, and at some others. Returns 1 if there was one, 0 if not, and -1 if one is
    rejected although it is there.
    """
    units, where = len(state.where), state.where
    lightest, least = NULL, 0
    other = state.head[where[unit]]
    while other != NULL:
        value = state.weight[other] * (1024 + drawn(state, 4096))
        if other != unit and (lightest == NULL or value < least):
            lightest, least = other, value
        other = state.following[other]
    far = drawn(state, units)
    for k in range(1 + min(64, units)):
        other = lightest if k == 0 else (far + k) % units
        if other != NULL and other != unit and where[other] != NULL:
            out = remove(call, state, other, True)
            if out != 0:
                return out
    return 0


@lean
def make_room(call: Utilfn, state: State, unit: int, place: int) -> bool:
    """Put a unit into a bin, and take out what is in its way; returns whether that could be done."""
    while not insert(call, state, unit, place, True):  # its foes, or what makes UTILFN reject it, may be in this bin
        other = state.head[place]
        if other == NULL or remove(call, state, other, False) < 0:
            return False
    worst = first_bad(state)
    while worst != NULL:
        if state.room.stop[0] or in_the_way(call, state, unit) <= 0:
            return False
        worst = first_bad(state)
    return True


@lean
def excess(call: Utilfn, state: State, unit: int, place: int) -> int:
    """Measure by how much a bin is too small for a unit's first ball, in 1024ths of what it is too small in."""
    flat, room = state.flat, state.room
    ball = flat.unit_balls[flat.units[unit]]
    n = call(ball, place, room.alloc, flat.data, flat.numbers, room.used, state.lofty, room.dims, room.amounts, 0)
    if n < 0:
        return 1 << 40
    total = 0
    for k in range(n):
        most = flat.ceiling[room.dims[k]]
        beyond = room.used[room.dims[k]] + room.amounts[k] - most
        if beyond > 0:
            total += 1 + int(min(beyond, 1 << 50) * 1024 // max(most, 1))
    return total


@lean
def force(call: Utilfn, state: State) -> bool:
    """Put an unplaced unit in by force, what that put out anywhere, and so on; returns whether it may stand.

    It goes into that of three random bins that is least too small.
    """
    tally, where = state.tally, state.where
    most = tally[TOTAL]
    unit = state.room.left[drawn(state, tally[COUNT])]
    for _ in range(4):
        place, least = state.flat.unit_pin[unit], 0
        for tried in range(3 if place == NULL else 0):
            other = drawn(state, len(state.head))
            beyond = excess(call, state, unit, other)
            if tried == 0 or beyond < least:
                place, least = other, beyond
        if not make_room(call, state, unit, place):
            return False
        many = 0
        for k in range(tally[UNITS]):
            if where[state.moves[k]] == NULL:
                state.offered[many] = state.moves[k]
                many += 1
        if refill(call, state, many, most, 0, True):
            break
        for k in range(many):
            unit = state.offered[k]
            if where[unit] == NULL:
                break
    return bool(tally[TOTAL] <= most)


@lean
def trim(call: Utilfn, state: State) -> bool:
    """Take units out that the move put in, the last first, until no elastic dimension is over.

    Returns whether that can be, and all limits are kept then.
    """
    over = state.room.over
    while over[len(over) - 1] > 0:
        out = 0
        for k in range(state.tally[UNITS] - 1, -1, -1):
            if state.where[state.moves[k]] != NULL:
                out = remove(call, state, state.moves[k], True)
                if out != 0:
                    break
        if out <= 0:
            return False
    return first_bad(state) == NULL


@lean
def begin(call: Utilfn, state: State, staying: bool) -> int:
    """Put all units in by a first fit; those that may stay in their bin do if `staying`. Returns how many are left."""
    pin, home, offered, many = state.flat.unit_pin, state.home, state.offered, 0
    for unit in range(len(pin)):
        if pin[unit] != NULL:
            insert(call, state, unit, pin[unit], False)
    for unit in range(len(pin)):
        stays = staying and home[unit] != NULL
        if pin[unit] == NULL and not (stays and insert(call, state, unit, home[unit], False)):
            offered[many] = unit
            many += 1
    order(state, many)
    for i in range(many):
        if state.room.stop[0]:
            break
        settle(call, state, offered[i], False)
    if not trim(call, state):
        undo(state)
    keep_best(state)
    return int(state.tally[COUNT])


@lean
def improve(call: Utilfn, state: State, steps: int, fewest: int) -> int:
    """Make so many more moves of a run, fewer if all units are placed; returns the fewest left out that were seen.

    `fewest` is that of before; the allocation is in `best`.
    """
    tally = state.tally
    waited = 0
    for _ in range(steps):
        if tally[COUNT] == 0 or state.room.stop[0]:
            break
        begin_move(state)
        most = tally[TOTAL]
        if not (force(call, state) and trim(call, state) and tally[TOTAL] <= most):
            undo(state)
        waited += 1
        if tally[COUNT] < fewest:
            fewest, waited = tally[COUNT], 0
            keep_best(state)
        elif waited % 64 == 0:  # what is left out weighs more
            for i in range(tally[COUNT]):
                state.weight[state.room.left[i]] += LIGHTEST
                tally[TOTAL] += LIGHTEST
    return int(fewest)


def attempts(problem: Problem, seed: int, first: int, count: int, over: Over = never) -> Iterator[Outcome]:
    """Make runs that place balls, as `cpu.Attempts` says."""
    (call, flat), stop = compiled_problem(problem, elastic=True), np.zeros(1, np.int64)
    # Where the number of bins is searched, most runs are for too few bins.
    most = (128 if problem.searched else 256) * len(problem.units)
    size = LIGHTEST * np.diff(problem.units.offsets)
    if problem.matrix is not None:
        size += weights(problem.matrix) // 1000

    def run(number: int) -> Outcome:
        search = new_state(problem, flat, stop, stream(seed, PLACING, number), size)
        left, made = begin(call, search, number % 2 == 0), 0
        improve(call, search, 0, left)  # compiles it, even if time is over
        while left and made < most and not stop[0]:
            left = improve(call, search, min(SLICE, most - made), left)
            made += SLICE
        return Outcome(left, search.best, number, min(made, most) + 1)

    return best_of(run, range(first, first + count), over, stop)
