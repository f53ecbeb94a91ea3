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

from binwright.agents.solver.backends.attempt import Utilfn
from binwright.agents.solver.local.state import (
    BEST,
    COUNT,
    DRAWS,
    LATE,
    LEAST,
    NOW,
    PAST,
    RING,
    SPREAD,
    TOTAL,
    TRIED,
    UNITS,
    Goals,
    State,
    begin_move,
    begin_run,
    clear,
    copy,
    drawn,
    evaluate,
    first_bad,
    insert,
    keep_best,
    remove,
    settle,
    undo,
    worse,
)
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import IMPROVING, PLACING
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

SAMPLES = 4
"""Bins in which a unit's weight is measured."""
LIGHTEST = 256
"""What every unit weighs at least; one that takes all that there is of a resource weighs 1024 more."""
COMPARED = 32
"""Ways that are compared of taking from a bin, or units for going home, where there are many bins."""


@lean
def order(state: State, many: int) -> None:
    """Sort the offered units: heavier ones first, each weight bent by chance."""
    key, offered = state.key, state.offered
    for i in range(many):
        unit = offered[i]
        value = state.weight[unit] * (1024 + drawn(state, state.tally[SPREAD]))
        j = i
        while j > 0 and key[j - 1] < value:
            key[j], offered[j] = key[j - 1], offered[j - 1]
            j -= 1
        key[j], offered[j] = value, unit


@lean
def refill(call: Utilfn, state: State, many: int, most: int) -> bool:
    """Put the offered units into any bins; returns whether no more stays out than weighs `most`."""
    out = state.tally[TOTAL]
    for i in range(many):
        out -= state.weight[state.offered[i]]
    for i in range(many):
        if state.room.stop[0]:
            return False
        if not settle(call, state, state.offered[i]):
            out += state.weight[state.offered[i]]
            if out > most:
                return False
    return True


@lean
def in_the_way(call: Utilfn, state: State, unit: int, dim: int) -> int:
    """Take a unit out, not this one, whose removal lowers something that is `bad`.

    It looks at those that touched a dimension last, at a light one in the same bin, and at some others. Returns 1 if
    there was one, 0 if not, and -1 if one is rejected although it is there.
    """
    units, where = len(state.where), state.where
    lightest, least = NULL, 0
    other = state.head[where[unit]]
    while other != NULL:
        value = state.weight[other] * (1024 + drawn(state, 4096))
        if other != unit and (lightest == NULL or value < least):
            lightest, least = other, value
        other = state.following[other]
    near, far = drawn(state, RING), drawn(state, units)
    for k in range(RING + 1 + min(64, units)):
        other = lightest if k == RING else (far + k) % units
        if k < RING:
            other = state.recent[dim, (near + k) % RING]
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
        if state.room.stop[0] or in_the_way(call, state, unit, worst) <= 0:
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
        order(state, many)
        if refill(call, state, many, most):
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
def weigh(call: Utilfn, state: State) -> None:
    """Measure how hard each unit is to place: by its shares of what it uses, and by how often it is rejected."""
    flat, room = state.flat, state.room
    for unit in range(len(state.where)):
        total, taken = 0, 0
        ball = flat.unit_balls[flat.units[unit]]
        if room.stop[0]:
            return
        for _ in range(SAMPLES):
            place = drawn(state, len(state.head))
            n = call(
                ball, place, room.alloc, flat.data, flat.numbers, room.used, state.lofty, room.dims, room.amounts, 0
            )
            taken += 1 if n >= 0 else 0
            for k in range(n):
                total += min(1024, int(max(room.amounts[k], 0) * 1024 // max(flat.ceiling[room.dims[k]], 1)))
        size = LIGHTEST + (total // taken if taken > 0 else 0)
        state.weight[unit] = size * (flat.units[unit + 1] - flat.units[unit]) * (2 * SAMPLES - taken) // SAMPLES


@lean
def begin(call: Utilfn, state: State, seed: int, number: int) -> int:
    """Begin run `number` of a seed: put all units in by a first fit. Returns how many are left out.

    In runs of even numbers units that may stay in their bin do.
    """
    tally, pin, home, offered, imposed = state.tally, state.flat.unit_pin, state.home, state.offered, state.room.imposed
    begin_run(state, seed, PLACING, number)
    tally[DRAWS] = 0
    state.weight[:] = 0
    clear(state)
    for index in range(len(imposed)):
        imposed[index] = 1 if state.flat.chance[index] == MICRO else 0
    weigh(call, state)
    clear(state)
    many = 0
    for unit in range(len(pin)):
        if pin[unit] != NULL:
            insert(call, state, unit, pin[unit], False)
    for unit in range(len(pin)):
        stays = number % 2 == 0 and home[unit] != NULL
        if pin[unit] == NULL and not (stays and insert(call, state, unit, home[unit], False)):
            offered[many] = unit
            many += 1
    order(state, many)
    for i in range(many):
        if state.room.stop[0]:
            break
        settle(call, state, offered[i])
    if not trim(call, state):
        undo(state)
    keep_best(state)
    return int(tally[COUNT])


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


@lean
def load(call: Utilfn, state: State, where: Ints) -> bool:
    """Put all units where they are [balls]; returns whether that is allowed."""
    flat = state.flat
    state.weight[:] = 1
    state.tally[DRAWS] = 0
    clear(state)
    for unit in range(len(state.where)):
        if not insert(call, state, unit, where[flat.unit_balls[flat.units[unit]]], True):
            return False
    keep_best(state)
    return first_bad(state) == NULL


@lean
def shift(call: Utilfn, state: State) -> bool:
    """Put a unit into the bin of another one, or into any."""
    units = len(state.where)
    unit = drawn(state, units)
    place = state.where[drawn(state, units)]
    if drawn(state, 2) == 0:
        place = drawn(state, len(state.head))
    return transfer(call, state, unit, place)


@lean
def swap(call: Utilfn, state: State) -> bool:
    """Let two units change places."""
    unit, other = drawn(state, len(state.where)), drawn(state, len(state.where))
    own, target = state.where[unit], state.where[other]
    if own == target or remove(call, state, unit, False) < 0 or remove(call, state, other, False) < 0:
        return False
    return insert(call, state, unit, target, False) and insert(call, state, other, own, False)


@lean
def empty_bins(call: Utilfn, state: State, emptied: int) -> bool:
    """Empty so many bins, and put what was in them into these, or what was in one into bins that have something.

    What one does not take goes anywhere, and what several do not take in a quarter of the moves.
    """
    where, chosen, many = state.where, state.room.placed, 0
    wide = emptied == 1 or drawn(state, 4) == 0
    for k in range(emptied):
        chosen[k] = where[drawn(state, len(where))] if emptied == 1 else drawn(state, len(state.head))
        while state.head[chosen[k]] != NULL and many < 256:
            state.offered[many] = state.head[chosen[k]]
            if remove(call, state, state.offered[many], False) < 0:
                return False
            many += 1
    order(state, many)
    for i in range(many):
        done = False
        for k in range(SAMPLES if emptied == 1 else emptied):
            place = where[drawn(state, len(where))] if emptied == 1 else chosen[k]
            if place != NULL and (emptied > 1 or place != chosen[0]):
                done = insert(call, state, state.offered[i], place, False)
            if done:
                break
        if not done and not (wide and settle(call, state, state.offered[i])):
            return False
    return True


@lean
def any_in(state: State, place: int) -> int:
    """Return a unit that is in a bin, by chance, or NULL."""
    unit, count = state.head[place], 0
    while unit != NULL:
        count += 1
        unit = state.following[unit]
    unit = state.head[place]
    for _ in range(drawn(state, count) if count > 1 else 0):
        unit = state.following[unit]
    return int(unit)


@lean
def any_away(state: State) -> int:
    """Return a unit that is not at home, by chance, or NULL if none is soon found."""
    home, units = state.home, len(state.home)
    turn = drawn(state, units)
    for k in range(min(1000, units)):
        unit = (turn + k) % units
        if home[unit] != NULL and home[unit] != state.where[unit]:
            return unit
    return NULL


@lean
def moved(state: State) -> bool:
    """Tell whether the move has left any unit in another bin than before."""
    changed = False
    for k in range(state.tally[UNITS]):
        changed = changed or state.where[state.moves[k]] != state.before[k]
    return changed


@lean
def is_over(state: State) -> bool:
    """Tell whether an elastic dimension is over its ceiling."""
    return bool(state.room.over[len(state.room.over) - 1] > 0)


@lean
def find_hot(call: Utilfn, goals: Goals, state: State) -> int:
    """List the bins where it would be better by the goals if a unit used nothing; returns how many there are."""
    flat, count = state.flat, 0
    begin_move(state)
    for place in range(len(state.head)):
        unit = any_in(state, place)
        if unit == NULL:
            continue
        if remove(call, state, unit, False) > 0 and not is_over(state):
            for at in range(flat.units[unit], flat.units[unit + 1]):  # goals are for allocations of all balls
                state.room.alloc[flat.unit_balls[at]] = place
            evaluate(goals, state)
            if worse(state.values, NOW, TRIED):
                state.hot[count] = place
                count += 1
        undo(state)
    return count


@lean
def transfer(call: Utilfn, state: State, unit: int, place: int) -> bool:
    """Take a unit out and put it into a bin; returns whether that could be done."""
    return remove(call, state, unit, False) > 0 and insert(call, state, unit, place, False)


@lean
def best_move_from_bin(call: Utilfn, goals: Goals, state: State, unit: int, sent: int, sends: bool) -> int:
    """Find where a unit, or any of its bin where bins are many, is best once unit `sent`, if it is not NULL, goes home.

    It looks at its home, and at some units and bins by chance. If one `sends` another unit home instead, it looks for
    the best one for that. Returns the number of the unit x all bins + that of its bin, or NULL if none fits.
    """
    bins, where, home, best = len(state.head), state.where, state.home, NULL
    for k in range(min(COMPARED, 8 + bins // COMPARED)):
        if sends:
            goes = any_away(state)
            if goes in (NULL, unit):
                continue
            place = home[goes]
        else:
            goes, place = unit, drawn(state, bins)
            if k == 0 and sent == NULL and home[unit] != NULL:
                place = home[unit]
            elif k % 4 > 0 and bins >= COMPARED:
                goes = any_in(state, where[unit])
        if place == where[goes] or state.flat.unit_pin[goes] != NULL:
            continue
        done = sent == NULL or transfer(call, state, sent, home[sent])
        if done and transfer(call, state, goes, place) and not is_over(state):
            evaluate(goals, state)
            if best == NULL or worse(state.values, LEAST, TRIED):
                best = goes * bins + place
                copy(state.values, TRIED, LEAST)
        undo(state)
    return best


@lean
def relieve(call: Utilfn, goals: Goals, state: State, unit: int) -> bool:
    """Put a unit, or another one of its bin, where it is best; if none fits anywhere, another one goes home first.

    That helps where so many have moved as may.
    """
    bins, home, sent = len(state.head), state.home, NULL
    best = best_move_from_bin(call, goals, state, unit, NULL, False)
    if best == NULL and home[unit] == state.where[unit]:
        back = best_move_from_bin(call, goals, state, unit, NULL, True)
        if back != NULL:
            sent = back // bins
            best = best_move_from_bin(call, goals, state, unit, sent, False)
    if best == NULL or (sent != NULL and not transfer(call, state, sent, home[sent])):
        return False
    return transfer(call, state, best // bins, best % bins)


@lean
def polish(call: Utilfn, goals: Goals, state: State, seed: int, number: int, steps: int) -> None:
    """Make so many more moves of run `number` for goals: the best allocation is in `best` then."""
    tally, values, home, hot = state.tally, state.values, state.home, state.hot
    begin_run(state, seed, IMPROVING, number)
    failed = count = 0
    looked, stale = -len(hot), True
    has_homes = False
    for unit in range(len(home)):
        has_homes = has_homes or home[unit] != NULL
    for step in range(steps):
        if state.room.stop[0]:
            break
        if stale and step - looked >= len(hot) // 4:
            count = find_hot(call, goals, state)
            looked, stale = step if count > 0 else steps, False
        begin_move(state)
        draw = drawn(state, 16)
        if draw >= 11 and failed >= 16 and drawn(state, min(16, 1 + len(hot) // 4)) > 0:
            draw = 0  # no large move stood of late: where there are many bins, they take time
        if draw < 5:
            unit = any_away(state) if has_homes and drawn(state, 4) == 0 else NULL
            if unit == NULL and count > 0:
                unit = any_in(state, hot[drawn(state, count)])
            if unit == NULL and drawn(state, 8) == 0:
                unit = drawn(state, len(home))
            done = shift(call, state) if unit == NULL else relieve(call, goals, state, unit)
        elif draw < 8:
            done = shift(call, state)
        elif draw < 11:
            done = swap(call, state)
        else:
            done = empty_bins(call, state, 1 if draw < 13 else min(2 + drawn(state, 3), len(hot), len(home)))
        late = PAST + step % LATE
        if done and tally[COUNT] == 0 and moved(state) and trim(call, state) and tally[COUNT] == 0:
            evaluate(goals, state)
            done = not worse(values, TRIED, NOW) or not worse(values, TRIED, late)
        else:
            done = False
        if draw >= 11:
            failed = 0 if done else failed + 1
        if done:
            stale = True
            copy(values, TRIED, NOW)
            if worse(values, BEST, NOW):
                copy(values, NOW, BEST)
                keep_best(state)
        else:
            undo(state)
        if worse(values, late, NOW):
            copy(values, NOW, late)
