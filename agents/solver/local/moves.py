"""Change an allocation a little: empty some bins and fill them again, or put a unit in by force.

A move may leave units out that were in; whoever makes it decides whether it stands. All functions write the state.
"""

from __future__ import annotations

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.local.state import (
    COUNT,
    DIMS,
    FRIENDS,
    RING,
    SPREAD,
    TOTAL,
    UNITS,
    State,
    bad,
    drawn,
    insert,
    remove,
    settle,
    sound,
)
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.search.ruin import MOST_BINS, MOST_UNPLACED
from binwright.simcore.jit import lean

MOST_OFFERED = 256
"""Units from which on nothing more is taken out for a move."""


@lean
def offer_unplaced(state: State, many: int) -> int:
    """Offer some unplaced units, by chance; returns how many."""
    left, slot, count = state.room.left, state.slot, state.tally[COUNT]
    many = min(many, count)
    for i in range(many):
        last = count - 1 - i
        j = drawn(state, last + 1)
        unit, other = left[j], left[last]
        left[j], slot[other] = other, j
        left[last], slot[unit] = unit, last
        state.offered[i] = unit
    return many


@lean
def offer_out(call: Utilfn, state: State, unit: int, many: int) -> int:
    """Take a unit out, and those that a wish wants beside it, and offer them; returns how many are offered, -1 if not.

    A unit that has friends by chance could not go anywhere else without them.
    """
    flat, friends = state.flat, state.tally[FRIENDS]
    if remove(call, state, unit, False) < 0:
        return -1
    state.offered[many] = unit
    first, many = many, many + 1
    while first < many and state.bound[unit]:
        unit = state.offered[first]
        first += 1
        for at in range(flat.units[unit], flat.units[unit + 1]):
            ball = flat.unit_balls[at]
            for k in range(flat.of[ball], flat.of[ball + 1]):
                number = flat.of_sets[k]
                if number >= friends or state.room.imposed[number] == 0 or flat.chance[number] == MICRO:
                    continue
                for member in range(flat.sets[number], flat.sets[number + 1]):
                    other = flat.unit_of[flat.set_balls[member]]
                    if state.where[other] != NULL:
                        if remove(call, state, other, False) < 0:
                            return -1
                        state.offered[many] = other
                        many += 1
    return many


@lean
def offer_all_in(call: Utilfn, state: State, place: int, many: int) -> int:
    """Offer what is in a bin, as far as there may be more; returns how many are offered, -1 if that cannot be."""
    while many >= 0 and state.head[place] != NULL and many < MOST_OFFERED:
        many = offer_out(call, state, state.head[place], many)
    return many


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
def refill(call: Utilfn, scan: Scan, state: State, many: int, emptied: int, wide: bool, most: int) -> bool:
    """Put the offered units into the first `emptied` chosen bins, or if `wide` into any; False if too much stays out.

    `most` is the weight that may.
    """
    out = state.tally[TOTAL]
    for i in range(many):
        out -= state.weight[state.offered[i]]
    for i in range(many):
        if state.room.stop[0]:
            return False
        unit, done = state.offered[i], False
        for a in range(emptied):
            if insert(call, state, unit, state.chosen[a], False):
                done = True
                break
        if not done and not (wide and settle(call, scan, state, unit)):
            out += state.weight[unit]
            if out > most:
                return False
    return True


@lean
def empty_bins(call: Utilfn, scan: Scan, state: State) -> bool:
    """Empty a few bins, and fill them again; returns whether it may stand.

    It is two in half of all moves, and more in fewer: small moves are the cheap ones.
    """
    bins, most = len(state.head), state.tally[TOTAL]
    draw = drawn(state, 8)
    emptied = min(MOST_BINS, bins, 2 if draw < 4 else 3 if draw < 6 else 1 if draw < 7 else 4)
    many = offer_unplaced(state, MOST_UNPLACED)
    for a in range(emptied):
        again = True
        while again:
            state.chosen[a] = drawn(state, bins)
            again = False
            for b in range(a):
                again = again or state.chosen[b] == state.chosen[a]
    for a in range(emptied):
        many = offer_all_in(call, state, state.chosen[a], many)
        if many < 0:
            return False
    order(state, many)
    return refill(call, scan, state, many, emptied, drawn(state, 4) == 0, most)


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
def part(call: Utilfn, state: State, unit: int, place: int) -> bool:
    """Take out friends by chance of a unit that are in other bins, and one of its foes if all others are in this one.

    Returns whether that could be done.
    """
    flat, where, friends = state.flat, state.where, state.tally[FRIENDS]
    for at in range(flat.units[unit], flat.units[unit + 1]):
        ball = flat.unit_balls[at]
        for k in range(flat.of[ball], flat.of[ball + 1]):
            number = flat.of_sets[k]
            if state.room.imposed[number] == 0 or (number < friends and flat.chance[number] == MICRO):
                continue
            here, others = NULL, 0
            for member in range(flat.sets[number], flat.sets[number + 1]):
                other = flat.unit_of[flat.set_balls[member]]
                if other == unit:
                    continue
                if number < friends:
                    if where[other] != NULL and where[other] != place and remove(call, state, other, False) < 0:
                        return False
                elif where[other] != place:
                    others = -1
                elif others >= 0:
                    others += 1
                    if drawn(state, others) == 0:
                        here = other
            if number >= friends and others > 0 and remove(call, state, here, False) < 0:
                return False
    return True


@lean
def make_room(call: Utilfn, state: State, unit: int, place: int) -> bool:
    """Put a unit into a bin, and take out what is in its way; returns whether that could be done."""
    if state.bound[unit] and not part(call, state, unit, place):
        return False
    while not insert(call, state, unit, place, True):  # what makes UTILFN reject it may be in this bin
        other = state.head[place]
        if other == NULL or remove(call, state, other, False) < 0:
            return False
    while True:
        worst = NULL
        for k in range(state.tally[DIMS]):
            if bad(state, state.touched[k]):
                worst = state.touched[k]
                break
        if worst == NULL:
            return True
        if state.room.stop[0] or in_the_way(call, state, unit, worst) <= 0:
            return False


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
def force(call: Utilfn, scan: Scan, state: State, bins: int) -> bool:
    """Put an unplaced unit in by force, what that put out anywhere, and so on; returns whether it may stand.

    It goes into that of so many random bins that is least too small.
    """
    tally, where = state.tally, state.where
    most = tally[TOTAL]
    unit = state.room.left[drawn(state, tally[COUNT])]
    for _ in range(4):
        place, least = state.pin[unit], 0
        for tried in range(bins if place == NULL else 0):
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
        if refill(call, scan, state, many, 0, True, most):
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
    return sound(state)
