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
    CLOCK,
    COUNT,
    FIRST,
    HEAD,
    OFFERED,
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
) -> int:
    """Make so many more moves of run `number`; returns how many stood.

    `values` [3, goals] are those of a move, of now and of the best, whose allocation is in `best`; `past` [LATE, goals]
    are those of some moves ago. All are those of now before the first moves of a run.
    """
    start = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    tally, alloc, used = state.tally, state.alloc, state.used
    tried, now, best = values[0], values[1], values[2]
    stood = 0
    for _ in range(steps):
        if state.stop[0]:
            break
        begin_move(tally)
        draw = drawn(tally, start, 16)
        if draw < 6:
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
        if not done:
            undo(state)
        else:
            stood += 1
            for k in range(len(now)):
                now[k] = tried[k]
            if worse(best, now):
                for k in range(len(now)):
                    best[k] = now[k]
                keep_best(state)
        if worse(late, now):
            for k in range(len(now)):
                late[k] = now[k]
    return stood
