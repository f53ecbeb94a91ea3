"""Make an allocation of all balls better by its goals: moves that keep all balls placed, by late acceptance.

A move stands if it is not worse than what there is now, or than what there was some moves ago (Burke and Bykov, "The
late acceptance hill-climbing heuristic", European Journal of Operational Research 258, 2017). That needs nothing but
comparisons, so that goals can come one after another.
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
from binwright.agents.solver.local.moves import MOST_OFFERED, empty_bins, offer_out, order, settle, take_some, trim
from binwright.agents.solver.local.search import SPREADS
from binwright.agents.solver.local.state import (
    BEFORE,
    BOUND,
    COUNT,
    END,
    FIRST,
    FOLLOWING,
    HEAD,
    MOVES,
    OFFERED,
    OVER,
    PIN,
    UNITS,
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
)
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import stream_kernel
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

GROUP = -3
"""The group in the key of its random numbers."""
NEAR = 4
"""Bins of other units that are tried for a unit, before all bins are."""
COMPARED, WALK = 32, 1000
"""Ways that are compared of taking from a bin, or units for going home, where there are many bins; units that are
looked at for one that is not at home."""
FEW = 8
"""How many of these where there are few bins; one of so many units is taken from any bin, where none is known that
makes the goals what they are."""
LAGS, LAGGING = range(2)
"""Columns of `behind`: whether a unit has moved since `best` was written. The second one lists those that have."""
HOPELESS = 16
"""Large moves, none of which stood, after which there are fewer of them, by this factor at most: with few bins, where
they take no time, as many as before."""


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
    one, count = state.bin[place, HEAD], 0
    while one != NULL:
        count += 1
        one = state.unit[one, FOLLOWING]
    one = state.bin[place, HEAD]
    for _ in range(drawn(state.tally, start, count) if count > 1 else 0):
        one = state.unit[one, FOLLOWING]
    return int(one)


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
def moved(state: State) -> bool:
    """Tell whether the move has left any unit in another bin than before."""
    found = False
    for k in range(state.tally[UNITS]):
        found = found or state.unit[state.unit[k, MOVES], WHERE] != state.unit[k, BEFORE]
    return found


@lean
def lag(state: State, behind: Ints, many: int) -> int:
    """Note which units a move has moved, since `best` was written, in `behind`; returns how many those are now."""
    for k in range(state.tally[UNITS]):
        one = state.unit[k, MOVES]
        if not behind[one, LAGS]:
            behind[one, LAGS] = 1
            behind[many, LAGGING] = one
            many += 1
    return many


@lean
def catch_up(state: State, behind: Ints, many: int) -> None:
    """Write what is there now into `best`, where so many units have moved since that was done."""
    for k in range(many):
        one = behind[k, LAGGING]
        behind[one, LAGS] = 0
        for at in range(state.unit[one, FIRST], state.unit[one, END]):
            ball = state.unit_balls[at]
            state.best[ball] = state.alloc[ball]


@lean
def find_hot(call: Utilfn, goals: Goals, state: State, score: GoalState, start: np.uint64, hot: Ints) -> int:
    """List the bins where it would be better by the goals if a unit used nothing; returns how many there are."""
    unit, count = state.unit, 0
    begin_move(state.tally)
    for place in range(len(state.bin)):
        one = any_in(state, start, place)
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
def transfer(call: Utilfn, state: State, friends: int, one: int, place: int) -> bool:
    """Take a unit out and put it into a bin; returns whether that could be done."""
    return remove(call, state, one, False) > 0 and insert(call, state, friends, one, place, False)


@lean
def choose(
    call: Utilfn,
    goals: Goals,
    state: State,
    score: GoalState,
    friends: int,
    start: np.uint64,
    one: int,
    sent: int,
    home: Ints,
    sends: bool,
) -> int:
    """Find where a unit, or any of its bin where bins are many, is best once unit `sent`, if it is not NULL, goes home.

    It looks at its home, and at some units and bins by chance. If one `sends` another unit home instead, it looks for
    the best one for that. Returns the number of the unit x all bins + that of its bin, or NULL if none fits.
    """
    best = NULL
    for k in range(min(COMPARED, FEW + len(state.bin) // COMPARED)):
        if sends:
            moved = any_away(state, start, home)
            if moved in (NULL, one):
                continue
            place = home[moved]
        else:
            moved, place = one, drawn(state.tally, start, len(state.bin))
            if k == 0 and sent == NULL and home[one] != NULL:
                place = home[one]
            elif k % 4 > 0 and len(state.bin) >= COMPARED:
                moved = any_in(state, start, state.unit[one, WHERE])
        if place == state.unit[moved, WHERE] or state.unit[moved, BOUND] or state.unit[moved, PIN] != NULL:
            continue
        done = sent == NULL or transfer(call, state, friends, sent, home[sent])
        if done and transfer(call, state, friends, moved, place) and state.tally[OVER] == 0:
            evaluate(goals, state, score)
            if best == NULL or worse(score.values, LEAST, TRIED):
                best = moved * len(state.bin) + place
                copy(score.values, TRIED, LEAST)
        take_back(goals, state, score)
    return best


@lean
def relieve(
    call: Utilfn,
    goals: Goals,
    state: State,
    score: GoalState,
    friends: int,
    start: np.uint64,
    one: int,
    home: Ints,
) -> bool:
    """Put a unit, or another one of its bin, where it is best; if none fits anywhere, another one goes home first.

    That helps where so many have moved as may.
    """
    bins = len(state.bin)
    sent = NULL
    best = choose(call, goals, state, score, friends, start, one, NULL, home, False)
    if best == NULL and home[one] == state.unit[one, WHERE]:
        back = choose(call, goals, state, score, friends, start, one, NULL, home, True)
        if back != NULL:
            sent = back // bins
            best = choose(call, goals, state, score, friends, start, one, sent, home, False)
    if best == NULL or (sent != NULL and not transfer(call, state, friends, sent, home[sent])):
        return False
    return transfer(call, state, friends, best // bins, best % bins)


@lean
def polish(
    call: Utilfn,
    scan: Scan,
    goals: Goals,
    state: State,
    score: GoalState,
    friends: int,
    seed: int,
    number: int,
    steps: int,
    home: Ints,
    hot: Ints,
    behind: Ints,
) -> int:
    """Make so many more moves of run `number`; returns how many stood.

    `score` is that of now and of the best, whose allocation is in `best`. `home` [units] is where each unit is kept if
    it can be, or NULL; `hot` [bins] and `behind` [units, 2] are room.
    """
    start = stream_kernel(seed, GROUP, number)
    spread = SPREADS[number % len(SPREADS)]
    tally, values = state.tally, score.values
    stood = failed = count = 0
    looked, stale = -len(hot), True
    kept = False
    many = 0
    for one in range(len(home)):
        kept = kept or home[one] != NULL
        ball = state.unit_balls[state.unit[one, FIRST]]
        behind[one, LAGS] = state.alloc[ball] != state.best[ball]
        if behind[one, LAGS]:
            behind[many, LAGGING] = one
            many += 1
    for step in range(steps):
        if state.stop[0]:
            break
        if stale and step - looked >= len(hot) // 4:
            count = find_hot(call, goals, state, score, start, hot)
            looked, stale = step if count > 0 else steps, False
        begin_move(tally)
        draw = drawn(tally, start, 16)
        if draw >= 11 and failed >= HOPELESS and drawn(tally, start, min(HOPELESS, 1 + len(hot) // NEAR)) > 0:
            draw = 0
        if draw < 5:
            one = any_away(state, start, home) if kept and drawn(tally, start, 4) == 0 else NULL
            which = drawn(tally, start, 2 * len(score.joined)) if len(score.joined) > 0 else 0
            if one == NULL and which < len(score.joined) and score.joined[which, KIND] == MAX:
                one = any_in(state, start, bin_of_largest(score, which))
            if one == NULL and count > 0:
                one = any_in(state, start, hot[drawn(tally, start, count)])
            if one == NULL and drawn(tally, start, FEW) == 0:
                one = drawn(tally, start, len(state.unit))
            if one == NULL:
                done = shift(call, state, friends, start)
            else:
                done = relieve(call, goals, state, score, friends, start, one, home)
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
            many = lag(state, behind, many)
            if worse(values, BEST, NOW):
                copy(values, NOW, BEST)
                catch_up(state, behind, many)
                many = 0
        if worse(values, late, NOW):
            copy(values, NOW, late)
    return stood
