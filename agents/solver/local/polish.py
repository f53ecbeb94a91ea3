"""Make an allocation of all balls better by its goals: moves that keep all balls placed, by late acceptance.

A move stands if it is not worse than what there is now, or than what there was some moves ago (Burke and Bykov, "The
late acceptance hill-climbing heuristic", European Journal of Operational Research 258, 2017). That needs nothing but
comparisons, so that goals can come one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from agents.solver.backends.attempt import Scan, Utilfn
from agents.solver.local.moves import MOST_OFFERED, empty_bins, offer_out, order, settle, take_some, trim
from agents.solver.local.search import SPREADS
from agents.solver.local.state import (
    BOUND,
    CLOCK,
    COUNT,
    END,
    FIRST,
    FOLLOWING,
    HEAD,
    OFFERED,
    OVER,
    PIN,
    WEIGHT,
    WHERE,
    State,
    begin_move,
    clear,
    drawn,
    insert,
    keep_best,
    remove,
    sound,
    undo,
)
from agents.solver.model.program import NULL
from agents.solver.model.random import stream_kernel
from simcore.jit import lean
from simcore.types import Ints

GROUP = -3
"""The group in the key of its random numbers."""
LATE = 100
"""How many moves ago is some moves ago."""
NEAR = 4
"""Bins of other units that are tried for a unit, before all bins are."""
COMPARED, WALK = 8, 1000
"""Bins that are compared for a unit, or units for going home; units that are looked at for one that is not at home."""
HOPELESS = 16
"""Large moves, none of which stood, after which there are fewer of them."""
Goals: TypeAlias = Callable[[Ints, Ints, Ints, Ints, Ints], int]
"""(alloc, data, numbers, used, values), as `agents.solver.model.emit.goals` says."""


@lean
def worse(one: Ints, other: Ints) -> bool:
    """Tell whether values [goals] are worse than others, the first goal first."""
    for k in range(len(one)):
        if one[k] != other[k]:
            return bool(one[k] > other[k])
    return False


@lean
def copy(values: Ints, to: Ints) -> None:
    """Write values [goals] over others."""
    for k in range(len(values)):
        to[k] = values[k]


@lean
def load(call: Utilfn, state: State, friends: int, where: Ints) -> bool:
    """Put all units where they are [balls]; returns whether that is allowed."""
    unit = state.unit
    for one in range(len(unit)):
        unit[one, WEIGHT] = 1
    clear(state)
    for one in range(len(unit)):
        if not insert(call, state, friends, one, where[state.unit_balls[unit[one, FIRST]]], True):
            return False
    keep_best(state)
    return sound(state)


@lean
def shift(call: Utilfn, state: State, friends: int, start: np.uint64) -> bool:
    """Put a unit into the bin of another one, or into any."""
    tally, unit = state.tally, state.unit
    one = drawn(tally, start, len(unit))
    place = unit[drawn(tally, start, len(unit)), WHERE]
    if drawn(tally, start, 2) == 0:
        place = drawn(tally, start, len(state.bin))
    many = offer_out(call, state, friends, one, 0)
    for i in range(many):
        if not insert(call, state, friends, unit[i, OFFERED], place, False):
            return False
    return many > 0


@lean
def swap(call: Utilfn, state: State, friends: int, start: np.uint64) -> bool:
    """Let two units change places."""
    tally, unit = state.tally, state.unit
    one, other = drawn(tally, start, len(unit)), drawn(tally, start, len(unit))
    here, there = unit[one, WHERE], unit[other, WHERE]
    if here == there or remove(call, state, one, False) < 0 or remove(call, state, other, False) < 0:
        return False
    return insert(call, state, friends, one, there, False) and insert(call, state, friends, other, here, False)


@lean
def close(call: Utilfn, scan: Scan, state: State, friends: int, start: np.uint64, spread: int) -> bool:
    """Empty a bin, and put what was in it into bins that have something, if they take it."""
    tally, unit = state.tally, state.unit
    place = unit[drawn(tally, start, len(unit)), WHERE]
    many = 0
    while state.bin[place, HEAD] != NULL and many < MOST_OFFERED:
        many = offer_out(call, state, friends, state.bin[place, HEAD], many)
        if many < 0:
            return False
    order(state, start, many, spread)
    for i in range(many):
        one, done = unit[i, OFFERED], False
        for _ in range(NEAR):
            there = unit[drawn(tally, start, len(unit)), WHERE]
            if there != NULL and there != place and insert(call, state, friends, one, there, False):
                done = True
                break
        if not done and not settle(call, scan, state, friends, start, one):
            return False
    return True


@lean
def any_in(state: State, start: np.uint64, place: int) -> int:
    """Return a unit that is in a bin, by chance, or NULL."""
    other, found, seen = state.bin[place, HEAD], NULL, 0
    while other != NULL:
        seen += 1
        if drawn(state.tally, start, seen) == 0:
            found = other
        other = state.unit[other, FOLLOWING]
    return found


@lean
def any_away(state: State, start: np.uint64, home: Ints) -> int:
    """Return a unit that is not at home, by chance, or NULL if none is soon found."""
    units = len(home)
    turn = drawn(state.tally, start, units)
    for k in range(min(WALK, units)):
        one = turn + k if turn + k < units else turn + k - units
        if home[one] != NULL and home[one] != state.unit[one, WHERE]:
            return one
    return NULL


@lean
def find_hot(
    call: Utilfn, goals: Goals, data: Ints, numbers: Ints, state: State, start: np.uint64, values: Ints, hot: Ints
) -> int:
    """List the bins where it would be better by the goals if a unit used nothing; returns how many there are."""
    tried, now = values[0], values[1]
    unit, count = state.unit, 0
    for place in range(len(state.bin)):
        one = any_in(state, start, place)
        if one == NULL:
            continue
        begin_move(state.tally)
        if remove(call, state, one, False) > 0 and state.tally[OVER] == 0:
            for at in range(unit[one, FIRST], unit[one, END]):  # goals are for allocations of all balls
                state.alloc[state.unit_balls[at]] = place
            goals(state.alloc, data, numbers, state.used, tried)
            if worse(now, tried):
                hot[count] = place
                count += 1
        undo(state)
    return count


@lean
def put_best(
    call: Utilfn,
    goals: Goals,
    data: Ints,
    numbers: Ints,
    state: State,
    friends: int,
    start: np.uint64,
    one: int,
    home: int,
    values: Ints,
) -> bool:
    """Put a unit into another bin: its home, or that of some by chance in which it is best; returns whether one is."""
    tried, least = values[0], values[3]
    before = state.unit[one, WHERE]
    if remove(call, state, one, False) < 0:
        return False
    best = NULL
    for k in range(COMPARED):
        place = home if k == 0 and home != NULL else drawn(state.tally, start, len(state.bin))
        if place == before or not insert(call, state, friends, one, place, False):
            continue
        if state.tally[OVER] == 0:
            goals(state.alloc, data, numbers, state.used, tried)
            if best == NULL or worse(least, tried):
                best = place
                copy(tried, least)
        if remove(call, state, one, False) < 0:
            return False
    if best == NULL:
        return False
    return insert(call, state, friends, one, best, False)


@lean
def send_home(
    call: Utilfn,
    goals: Goals,
    data: Ints,
    numbers: Ints,
    state: State,
    friends: int,
    start: np.uint64,
    stays: int,
    home: Ints,
    values: Ints,
) -> bool:
    """Put one of some units that are away where it is now, that where it is best, not this one; returns whether."""
    tried, least = values[0], values[3]
    best = NULL
    for _ in range(COMPARED):
        one = any_away(state, start, home)
        if one in (NULL, stays) or state.unit[one, BOUND]:
            continue
        before = state.unit[one, WHERE]
        if remove(call, state, one, False) < 0:
            return False
        if insert(call, state, friends, one, home[one], False):
            if state.tally[OVER] == 0:
                goals(state.alloc, data, numbers, state.used, tried)
                if best == NULL or worse(least, tried):
                    best = one
                    copy(tried, least)
            if remove(call, state, one, False) < 0:
                return False
        if not insert(call, state, friends, one, before, False):
            return False
    if best == NULL or remove(call, state, best, False) < 0:
        return False
    return insert(call, state, friends, best, home[best], False)


@lean
def relieve(
    call: Utilfn,
    goals: Goals,
    data: Ints,
    numbers: Ints,
    state: State,
    friends: int,
    start: np.uint64,
    one: int,
    home: Ints,
    values: Ints,
) -> bool:
    """Put a unit where it is best; if it fits nowhere, another one goes home first.

    That helps where so many have moved as may.
    """
    if state.unit[one, BOUND] or state.unit[one, PIN] != NULL:
        return False
    before = state.unit[one, WHERE]
    if put_best(call, goals, data, numbers, state, friends, start, one, home[one], values):
        return True
    undo(state)
    if home[one] != before or not send_home(call, goals, data, numbers, state, friends, start, one, home, values):
        return False
    return put_best(call, goals, data, numbers, state, friends, start, one, NULL, values)


@lean
def polish(
    call: Utilfn,
    scan: Scan,
    goals: Goals,
    data: Ints,
    numbers: Ints,
    state: State,
    friends: int,
    seed: int,
    number: int,
    steps: int,
    past: Ints,
    values: Ints,
    home: Ints,
    hot: Ints,
) -> int:
    """Make so many more moves of run `number`; returns how many stood.

    `values` [4, goals] are those of a move, of now and of the best, whose allocation is in `best`, and of what a move
    compares; `past` [LATE, goals] are those of some moves ago. All are those of now before the first moves of a run.
    `home` [units] is where each unit is kept if it can be, or NULL; `hot` [bins] is room.
    """
    start = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    tally, alloc, used = state.tally, state.alloc, state.used
    tried, now, best = values[0], values[1], values[2]
    stood = failed = count = 0
    looked, stale = -len(hot), True
    kept = False
    for one in range(len(home)):
        kept = kept or home[one] != NULL
    for step in range(steps):
        if state.stop[0]:
            break
        if stale and step - looked >= len(hot) // 4:
            count = find_hot(call, goals, data, numbers, state, start, values, hot)
            looked, stale = step if count > 0 else steps, False
        begin_move(tally)
        draw = drawn(tally, start, 16)
        if draw >= 11 and failed >= HOPELESS and drawn(tally, start, 16) > 0:
            draw = 0
        if draw < 5:
            one = any_away(state, start, home) if kept and drawn(tally, start, 4) == 0 else NULL
            if one == NULL and count > 0:
                one = any_in(state, start, hot[drawn(tally, start, count)])
            if one == NULL and drawn(tally, start, COMPARED) == 0:
                one = drawn(tally, start, len(state.unit))
            if one == NULL:
                done = shift(call, state, friends, start)
            else:
                done = relieve(call, goals, data, numbers, state, friends, start, one, home, values)
        elif draw < 8:
            done = shift(call, state, friends, start)
        elif draw < 11:
            done = swap(call, state, friends, start)
        elif draw < 13:
            done = close(call, scan, state, friends, start, spread)
        elif draw < 15:
            done = empty_bins(call, scan, state, friends, start, spread)
        else:
            done = take_some(call, scan, state, friends, start, spread)
        late = past[tally[CLOCK] % LATE]
        if done and tally[COUNT] == 0 and trim(call, state) and tally[COUNT] == 0:
            goals(alloc, data, numbers, used, tried)
            done = not worse(tried, now) or not worse(tried, late)
        else:
            done = False
        if draw >= 11:
            failed = 0 if done else failed + 1
        if not done:
            undo(state)
        else:
            stood += 1
            stale = True
            copy(tried, now)
            if worse(best, now):
                copy(now, best)
                keep_best(state)
        if worse(late, now):
            copy(now, late)
    return stood
