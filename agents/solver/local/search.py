"""Run one local search: a first fit in a biased order, then moves that do not leave more out than before.

It is for whatever the language can say: shared dimensions, REJECT, SOFT, FRIENDS and FOES. What is left out counts by
its weight: at first by how hard a unit is to place, then more the longer it stays out. So nothing is left out for ever
because something else is larger (Morris, "The breakout method for escaping from local minima", AAAI 1993).
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.local.moves import MORE, TRIED, empty_bins, force, order, settle, take_some, trim
from binwright.agents.solver.local.state import (
    CEILING,
    COUNT,
    DRAWS,
    END,
    FIRST,
    LEFT,
    OFFERED,
    PIN,
    TOTAL,
    WEIGHT,
    State,
    begin_move,
    clear,
    drawn,
    insert,
    keep_best,
    undo,
)
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

GROUP = -2
"""The group in the key of its random numbers: no group of bins has it."""
SPREADS = (2048, 4096, 512, 8192)
"""By how many 1024ths chance may raise a weight, run by run."""
SAMPLES = 4
"""Bins in which a unit's weight is measured."""
LEAST = 256
"""What every unit weighs at least; one that takes all that there is of a resource weighs 1024 more."""
STUCK = 64
"""Moves without fewer left out, after which what is left out weighs more."""


@lean
def weigh(call: Utilfn, state: State, start: np.uint64) -> None:
    """Measure how hard each unit is to place: by its shares of what it uses, and by how often it is rejected."""
    unit, dim, dims, amounts = state.unit, state.dim, state.dims, state.amounts
    for one in range(len(unit)):
        total, taken = 0, 0
        ball = state.unit_balls[unit[one, FIRST]]
        if state.stop[0]:
            return
        for _ in range(SAMPLES):
            place = drawn(state.tally, start, len(state.bin))
            n = call(ball, place, state.alloc, state.data, state.numbers, state.used, state.lofty, dims, amounts, 0)
            taken += 1 if n >= 0 else 0
            for k in range(n):
                total += min(1024, int(max(amounts[k], 0) * 1024 // max(dim[dims[k], CEILING], 1)))
        size = LEAST + (total // taken if taken > 0 else 0)
        unit[one, WEIGHT] = size * (unit[one, END] - unit[one, FIRST]) * (2 * SAMPLES - taken) // SAMPLES


@lean
def begin(call: Utilfn, scan: Scan, state: State, friends: int, sets: int, now: Ints, seed: int, number: int) -> int:
    """Begin run `number` of a seed: put all units in by a first fit. Returns how many are left out.

    Units that may stay in the bin where they are `now` [units], or -1, do.
    """
    start = stream_kernel(seed, GROUP, number)
    tally, unit = state.tally, state.unit
    unit[:, WEIGHT] = 0
    clear(state)
    for one in range(sets):
        chance = state.chance[one]
        state.imposed[one] = 1 if chance == MICRO or below_kernel(start, one, MICRO) < chance else 0
    tally[DRAWS] = sets
    weigh(call, state, start)
    draws = tally[DRAWS]
    clear(state)
    tally[DRAWS] = draws
    many = 0
    for one in range(len(unit)):
        if unit[one, PIN] != NULL:
            insert(call, state, friends, one, unit[one, PIN], False)
    for one in range(len(unit)):
        if unit[one, PIN] == NULL and (now[one] == NULL or not insert(call, state, friends, one, now[one], False)):
            unit[many, OFFERED] = one
            many += 1
    order(state, start, many, SPREADS[number % len(SPREADS)])
    for i in range(many):
        if state.stop[0]:
            break
        settle(call, scan, state, friends, start, unit[i, OFFERED])
    if not trim(call, state):
        undo(state)
    keep_best(state)
    return int(tally[COUNT])


@lean
def improve(
    call: Utilfn, scan: Scan, state: State, friends: int, seed: int, number: int, steps: int, fewest: int, gentle: bool
) -> int:
    """Make so many more moves of a run, fewer if all units are placed; returns the fewest left out that were seen.

    `fewest` is that of before; the allocation is in `best`. If `gentle`, moves change only what is in the way of units
    that are left out.
    """
    start = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    tally, unit = state.tally, state.unit
    waited = 0
    for _ in range(steps):
        if tally[COUNT] == 0 or state.stop[0]:
            break
        begin_move(tally)
        most = tally[TOTAL]
        draw = 4 if gentle else drawn(tally, start, 8)
        if draw < 4:
            stands = empty_bins(call, scan, state, friends, start, spread)
        elif draw < 7:
            wide = gentle and drawn(tally, start, 2) == 0
            stands = force(call, scan, state, friends, start, spread, MORE if wide else TRIED)
        else:
            stands = take_some(call, scan, state, friends, start, spread)
        if not (stands and trim(call, state) and tally[TOTAL] <= most):
            undo(state)
        waited += 1
        if tally[COUNT] < fewest:
            fewest, waited = tally[COUNT], 0
            keep_best(state)
        elif waited % STUCK == 0:
            for i in range(tally[COUNT]):
                unit[unit[i, LEFT], WEIGHT] += LEAST
                tally[TOTAL] += LEAST
    return int(fewest)


@lean
def relent(state: State) -> bool:
    """Impose no wish any more on what is left out; returns whether there was one."""
    found = False
    for i in range(state.tally[COUNT]):
        one = state.unit[i, LEFT]
        for at in range(state.unit[one, FIRST], state.unit[one, END]):
            ball = state.unit_balls[at]
            for k in range(state.of[ball], state.of[ball + 1]):
                number = state.of_sets[k]
                if state.chance[number] < MICRO and state.imposed[number]:
                    state.imposed[number] = 0
                    found = True
    return found
