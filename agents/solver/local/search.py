"""Search locally: place all units first, then make an allocation of all balls better by its goals.

It is for whatever the language can say: shared dimensions, REJECT, SOFT, FRIENDS and FOES. It begins with a first fit
in a biased order; then moves stand that do not leave more out than before. What is left out counts by its weight: at
first by how hard a unit is to place, then more the longer it stays out. So nothing is left out for ever because
something else is larger (Morris, "The breakout method for escaping from local minima", AAAI 1993).

For goals, moves keep all balls placed. One stands if it is not worse than what there is now, or than what there was
some moves ago (Burke and Bykov, "The late acceptance hill-climbing heuristic", European Journal of Operational Research
258, 2017). That needs nothing but comparisons, so that goals can come one after another.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.local.goals import (
    BEST,
    FROM_BIN,
    KIND,
    LATE,
    LEAST,
    MAX,
    NOW,
    PAST,
    TRIED,
    WAITING,
    Goals,
    GoalState,
    bin_of_largest,
    copy,
    evaluate,
    take_back,
    worse,
)
from binwright.agents.solver.local.moves import (
    FEW,
    MANY,
    MOST_OFFERED,
    empty_bins,
    force,
    offer_out,
    order,
    settle,
    take_some,
    trim,
)
from binwright.agents.solver.local.state import (
    BEFORE,
    BOUND,
    CEILING,
    COUNT,
    DRAWS,
    END,
    FIRST,
    FOLLOWING,
    HEAD,
    LEFT,
    MOVES,
    OFFERED,
    OVER,
    PIN,
    STREAM,
    TOTAL,
    UNITS,
    WEIGHT,
    WHERE,
    State,
    begin_move,
    begin_run,
    clear,
    drawn,
    insert,
    keep_best,
    remove,
    sound,
    undo,
)
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import below_kernel
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

PLACING, IMPROVING = -2, -3
"""The groups in the keys of their random numbers: no group of bins has them."""
SAMPLES = 4
"""Bins in which a unit's weight is measured."""
LIGHTEST = 256
"""What every unit weighs at least; one that takes all that there is of a resource weighs 1024 more."""
STUCK = 64
"""Moves without fewer left out, after which what is left out weighs more."""
NEAR = 4
"""Bins of other units that are tried for a unit, before all bins are."""
COMPARED, WALK = 32, 1000
"""Ways that are compared of taking from a bin, or units for going home, where there are many bins; units that are
looked at for one that is not at home."""
SOME = 8
"""How many of these where there are few bins; one of so many units is taken from any bin, where none is known that
makes the goals what they are."""
HOPELESS = 16
"""Large moves, none of which stood, after which there are fewer of them, by this factor at most: with few bins, where
they take no time, as many as before."""


@lean
def weigh(call: Utilfn, state: State) -> None:
    """Measure how hard each unit is to place: by its shares of what it uses, and by how often it is rejected."""
    unit, dim, dims, amounts = state.unit, state.dim, state.dims, state.amounts
    for one in range(len(unit)):
        total, taken = 0, 0
        ball = state.unit_balls[unit[one, FIRST]]
        if state.stop[0]:
            return
        for _ in range(SAMPLES):
            place = drawn(state.tally, len(state.bin))
            n = call(ball, place, state.alloc, state.data, state.numbers, state.used, state.lofty, dims, amounts, 0)
            taken += 1 if n >= 0 else 0
            for k in range(n):
                total += min(1024, int(max(amounts[k], 0) * 1024 // max(dim[dims[k], CEILING], 1)))
        size = LIGHTEST + (total // taken if taken > 0 else 0)
        unit[one, WEIGHT] = size * (unit[one, END] - unit[one, FIRST]) * (2 * SAMPLES - taken) // SAMPLES


@lean
def begin(call: Utilfn, scan: Scan, state: State, sets: int, now: Ints, seed: int, number: int) -> int:
    """Begin run `number` of a seed: put all units in by a first fit. Returns how many are left out.

    Units that may stay in the bin where they are `now` [units], or -1, do.
    """
    tally, unit = state.tally, state.unit
    begin_run(tally, seed, PLACING, number)
    start = np.uint64(tally[STREAM])
    unit[:, WEIGHT] = 0
    clear(state)
    for one in range(sets):
        chance = state.chance[one]
        state.imposed[one] = 1 if chance == MICRO or below_kernel(start, one, MICRO) < chance else 0
    tally[DRAWS] = sets
    weigh(call, state)
    draws = tally[DRAWS]
    clear(state)
    tally[DRAWS] = draws
    many = 0
    for one in range(len(unit)):
        if unit[one, PIN] != NULL:
            insert(call, state, one, unit[one, PIN], False)
    for one in range(len(unit)):
        if unit[one, PIN] == NULL and (now[one] == NULL or not insert(call, state, one, now[one], False)):
            unit[many, OFFERED] = one
            many += 1
    order(state, many)
    for i in range(many):
        if state.stop[0]:
            break
        settle(call, scan, state, unit[i, OFFERED])
    if not trim(call, state):
        undo(state)
    keep_best(state)
    return int(tally[COUNT])


@lean
def improve(call: Utilfn, scan: Scan, state: State, steps: int, fewest: int, gentle: bool) -> int:
    """Make so many more moves of a run, fewer if all units are placed; returns the fewest left out that were seen.

    `fewest` is that of before; the allocation is in `best`. If `gentle`, moves change only what is in the way of units
    that are left out.
    """
    tally, unit = state.tally, state.unit
    waited = 0
    for _ in range(steps):
        if tally[COUNT] == 0 or state.stop[0]:
            break
        begin_move(tally)
        most = tally[TOTAL]
        draw = 4 if gentle else drawn(tally, 8)
        if draw < 4:
            stands = empty_bins(call, scan, state)
        elif draw < 7:
            wide = gentle and drawn(tally, 2) == 0
            stands = force(call, scan, state, MANY if wide else FEW)
        else:
            stands = take_some(call, scan, state)
        if not (stands and trim(call, state) and tally[TOTAL] <= most):
            undo(state)
        waited += 1
        if tally[COUNT] < fewest:
            fewest, waited = tally[COUNT], 0
            keep_best(state)
        elif waited % STUCK == 0:
            for i in range(tally[COUNT]):
                unit[unit[i, LEFT], WEIGHT] += LIGHTEST
                tally[TOTAL] += LIGHTEST
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


@lean
def load(call: Utilfn, state: State, where: Ints) -> bool:
    """Put all units where they are [balls]; returns whether that is allowed."""
    unit = state.unit
    for one in range(len(unit)):
        unit[one, WEIGHT] = 1
    clear(state)
    for one in range(len(unit)):
        if not insert(call, state, one, where[state.unit_balls[unit[one, FIRST]]], True):
            return False
    keep_best(state)
    return sound(state)


@lean
def shift(call: Utilfn, state: State) -> bool:
    """Put a unit into the bin of another one, or into any."""
    tally, unit = state.tally, state.unit
    one = drawn(tally, len(unit))
    place = unit[drawn(tally, len(unit)), WHERE]
    if drawn(tally, 2) == 0:
        place = drawn(tally, len(state.bin))
    many = offer_out(call, state, one, 0)
    for i in range(many):
        if not insert(call, state, unit[i, OFFERED], place, False):
            return False
    return many > 0


@lean
def swap(call: Utilfn, state: State) -> bool:
    """Let two units change places."""
    tally, unit = state.tally, state.unit
    one, other = drawn(tally, len(unit)), drawn(tally, len(unit))
    here, there = unit[one, WHERE], unit[other, WHERE]
    if here == there or remove(call, state, one, False) < 0 or remove(call, state, other, False) < 0:
        return False
    return insert(call, state, one, there, False) and insert(call, state, other, here, False)


@lean
def close(call: Utilfn, scan: Scan, state: State) -> bool:
    """Empty a bin, and put what was in it into bins that have something, if they take it."""
    tally, unit = state.tally, state.unit
    place = unit[drawn(tally, len(unit)), WHERE]
    many = 0
    while state.bin[place, HEAD] != NULL and many < MOST_OFFERED:
        many = offer_out(call, state, state.bin[place, HEAD], many)
        if many < 0:
            return False
    order(state, many)
    for i in range(many):
        one, done = unit[i, OFFERED], False
        for _ in range(NEAR):
            there = unit[drawn(tally, len(unit)), WHERE]
            if there != NULL and there != place and insert(call, state, one, there, False):
                done = True
                break
        if not done and not settle(call, scan, state, one):
            return False
    return True


@lean
def any_in(state: State, place: int) -> int:
    """Return a unit that is in a bin, by chance, or NULL."""
    one, count = state.bin[place, HEAD], 0
    while one != NULL:
        count += 1
        one = state.unit[one, FOLLOWING]
    one = state.bin[place, HEAD]
    for _ in range(drawn(state.tally, count) if count > 1 else 0):
        one = state.unit[one, FOLLOWING]
    return int(one)


@lean
def any_away(state: State, home: Ints) -> int:
    """Return a unit that is not at home, by chance, or NULL if none is soon found."""
    units = len(home)
    turn = drawn(state.tally, units)
    for k in range(min(WALK, units)):
        one = turn + k if turn + k < units else turn + k - units
        if home[one] != NULL and home[one] != state.unit[one, WHERE]:
            return one
    return NULL


@lean
def moved(state: State) -> bool:
    """Tell whether the move has left any unit in another bin than before."""
    found = False
    for k in range(state.tally[UNITS]):
        found = found or state.unit[state.unit[k, MOVES], WHERE] != state.unit[k, BEFORE]
    return found


@lean
def find_hot(call: Utilfn, goals: Goals, state: State, score: GoalState, hot: Ints) -> int:
    """List the bins where it would be better by the goals if a unit used nothing; returns how many there are."""
    unit, count = state.unit, 0
    begin_move(state.tally)
    for place in range(len(state.bin)):
        one = any_in(state, place)
        if one == NULL:
            continue
        if remove(call, state, one, False) > 0 and state.tally[OVER] == 0:
            for at in range(unit[one, FIRST], unit[one, END]):  # goals are for allocations of all balls
                state.alloc[state.unit_balls[at]] = place
            for k in range(evaluate(goals, state, score)):
                score.term[score.term[k, WAITING], FROM_BIN] = place
            if worse(score.values, NOW, TRIED):
                hot[count] = place
                count += 1
        take_back(goals, state, score)
    return count


@lean
def transfer(call: Utilfn, state: State, one: int, place: int) -> bool:
    """Take a unit out and put it into a bin; returns whether that could be done."""
    return remove(call, state, one, False) > 0 and insert(call, state, one, place, False)


@lean
def choose(
    call: Utilfn, goals: Goals, state: State, score: GoalState, one: int, sent: int, home: Ints, sends: bool
) -> int:
    """Find where a unit, or any of its bin where bins are many, is best once unit `sent`, if it is not NULL, goes home.

    It looks at its home, and at some units and bins by chance. If one `sends` another unit home instead, it looks for
    the best one for that. Returns the number of the unit x all bins + that of its bin, or NULL if none fits.
    """
    best = NULL
    for k in range(min(COMPARED, SOME + len(state.bin) // COMPARED)):
        if sends:
            moved = any_away(state, home)
            if moved in (NULL, one):
                continue
            place = home[moved]
        else:
            moved, place = one, drawn(state.tally, len(state.bin))
            if k == 0 and sent == NULL and home[one] != NULL:
                place = home[one]
            elif k % 4 > 0 and len(state.bin) >= COMPARED:
                moved = any_in(state, state.unit[one, WHERE])
        if place == state.unit[moved, WHERE] or state.unit[moved, BOUND] or state.unit[moved, PIN] != NULL:
            continue
        done = sent == NULL or transfer(call, state, sent, home[sent])
        if done and transfer(call, state, moved, place) and state.tally[OVER] == 0:
            evaluate(goals, state, score)
            if best == NULL or worse(score.values, LEAST, TRIED):
                best = moved * len(state.bin) + place
                copy(score.values, TRIED, LEAST)
        take_back(goals, state, score)
    return best


@lean
def relieve(call: Utilfn, goals: Goals, state: State, score: GoalState, one: int, home: Ints) -> bool:
    """Put a unit, or another one of its bin, where it is best; if none fits anywhere, another one goes home first.

    That helps where so many have moved as may.
    """
    bins = len(state.bin)
    sent = NULL
    best = choose(call, goals, state, score, one, NULL, home, False)
    if best == NULL and home[one] == state.unit[one, WHERE]:
        back = choose(call, goals, state, score, one, NULL, home, True)
        if back != NULL:
            sent = back // bins
            best = choose(call, goals, state, score, one, sent, home, False)
    if best == NULL or (sent != NULL and not transfer(call, state, sent, home[sent])):
        return False
    return transfer(call, state, best // bins, best % bins)


@lean
def polish(
    call: Utilfn, scan: Scan, goals: Goals, state: State, score: GoalState, seed: int, number: int, steps: int,
    home: Ints, hot: Ints,
) -> int:  # fmt: skip
    """Make so many more moves of run `number` for goals; returns how many stood.

    `score` is that of now and of the best, whose allocation is in `best`. `home` [units] is where each unit is kept if
    it can be, or NULL; `hot` [bins] is room.
    """
    tally, values = state.tally, score.values
    begin_run(tally, seed, IMPROVING, number)
    stood = failed = count = 0
    looked, stale = -len(hot), True
    kept = False
    for one in range(len(home)):
        kept = kept or home[one] != NULL
    for step in range(steps):
        if state.stop[0]:
            break
        if stale and step - looked >= len(hot) // 4:
            count = find_hot(call, goals, state, score, hot)
            looked, stale = step if count > 0 else steps, False
        begin_move(tally)
        draw = drawn(tally, 16)
        if draw >= 11 and failed >= HOPELESS and drawn(tally, min(HOPELESS, 1 + len(hot) // NEAR)) > 0:
            draw = 0
        if draw < 5:
            one = any_away(state, home) if kept and drawn(tally, 4) == 0 else NULL
            which = drawn(tally, 2 * len(score.joined)) if len(score.joined) > 0 else 0
            if one == NULL and which < len(score.joined) and score.joined[which, KIND] == MAX:
                one = any_in(state, bin_of_largest(score, which))
            if one == NULL and count > 0:
                one = any_in(state, hot[drawn(tally, count)])
            if one == NULL and drawn(tally, SOME) == 0:
                one = drawn(tally, len(state.unit))
            done = shift(call, state) if one == NULL else relieve(call, goals, state, score, one, home)
        elif draw < 8:
            done = shift(call, state)
        elif draw < 11:
            done = swap(call, state)
        elif draw < 13:
            done = close(call, scan, state)
        elif draw < 15:
            done = empty_bins(call, scan, state)
        else:
            done = take_some(call, scan, state)
        late = PAST + step % LATE
        if done and tally[COUNT] == 0 and moved(state) and trim(call, state) and tally[COUNT] == 0:
            evaluate(goals, state, score)
            done = not worse(values, TRIED, NOW) or not worse(values, TRIED, late)
        else:
            done = False
        if draw >= 11:
            failed = 0 if done else failed + 1
        if not done:
            take_back(goals, state, score)
        else:
            stood += 1
            stale = True
            copy(values, TRIED, NOW)
            if worse(values, BEST, NOW):
                copy(values, NOW, BEST)
                keep_best(state)
        if worse(values, late, NOW):
            copy(values, NOW, late)
    return stood
