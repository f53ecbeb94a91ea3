"""Change an allocation a little: empty some bins and fill them again, take some units out, or put one in by force.

A move may leave units out that were in; whoever makes it decides whether it stands. All functions write the state.
"""

from __future__ import annotations

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.local.state import (
    BOUND,
    CEILING,
    CHOSEN,
    COUNT,
    DIMS,
    END,
    FIRST,
    FOLLOWING,
    FRIENDS,
    HEAD,
    KEY,
    LEFT,
    LIST,
    MOVES,
    OFFERED,
    OVER,
    PIN,
    RING,
    SLOT,
    SPREAD,
    TOTAL,
    UNITS,
    WEIGHT,
    WHERE,
    State,
    bad,
    drawn,
    insert,
    remove,
    sound,
)
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.search.ruin import MOST_BINS, MOST_UNPLACED
from binwright.simcore.jit import lean

MOST_UNITS = 6
"""Single units taken out in one move."""
MOST_OFFERED = 256
"""Units from which on nothing more is taken out for a move."""
LOOKED, FEW, DEPTH = 64, 3, 4
"""Units that are looked at for one in the way, bins that are compared for a forced unit, and forced units of a move."""
MANY = 24
"""Bins that are compared in half of the gentle moves: one that is nearly large enough is found sooner. In all moves it
would be the same few bins again and again."""


@lean
def offer_unplaced(state: State, many: int) -> int:
    """Offer some unplaced units, by chance; returns how many."""
    tally, unit = state.tally, state.unit
    count = tally[COUNT]
    many = min(many, count)
    for i in range(many):
        last = count - 1 - i
        j = drawn(tally, last + 1)
        one, other = unit[j, LEFT], unit[last, LEFT]
        unit[j, LEFT], unit[other, SLOT] = other, j
        unit[last, LEFT], unit[one, SLOT] = one, last
        unit[i, OFFERED] = one
    return many


@lean
def offer_out(call: Utilfn, state: State, one: int, many: int) -> int:
    """Take a unit out, and those that a wish wants beside it, and offer them; returns how many are offered, -1 if not.

    A unit that has friends by chance could not go anywhere else without them.
    """
    unit = state.unit
    if remove(call, state, one, False) < 0:
        return -1
    unit[many, OFFERED] = one
    friends = state.tally[FRIENDS]
    if not unit[one, BOUND]:
        return many + 1
    first, many = many, many + 1
    while first < many:
        one = unit[first, OFFERED]
        first += 1
        for at in range(unit[one, FIRST], unit[one, END]):
            ball = state.unit_balls[at]
            for k in range(state.of[ball], state.of[ball + 1]):
                number = state.of_sets[k]
                if number >= friends or state.imposed[number] == 0 or state.chance[number] == MICRO:
                    continue
                for member in range(state.sets[number], state.sets[number + 1]):
                    other = state.unit_of[state.set_balls[member]]
                    if unit[other, WHERE] != NULL:
                        if remove(call, state, other, False) < 0:
                            return -1
                        unit[many, OFFERED] = other
                        many += 1
    return many


@lean
def order(state: State, many: int) -> None:
    """Sort the offered units: heavier ones first, each weight bent by chance."""
    tally, unit = state.tally, state.unit
    for i in range(many):
        one = unit[i, OFFERED]
        value = unit[one, WEIGHT] * (1024 + drawn(tally, tally[SPREAD]))
        j = i
        while j > 0 and unit[j - 1, KEY] < value:
            unit[j, KEY], unit[j, OFFERED] = unit[j - 1, KEY], unit[j - 1, OFFERED]
            j -= 1
        unit[j, KEY], unit[j, OFFERED] = value, one


@lean
def settle(call: Utilfn, scan: Scan, state: State, one: int) -> bool:
    """Put a unit into the first bin that takes it, from a random one on; returns whether there is one."""
    pin = state.unit[one, PIN]
    if pin != NULL:
        return insert(call, state, one, pin, False)
    alloc, used, dims, amounts, bins = state.alloc, state.used, state.dims, state.amounts, state.bins
    data, numbers, ceiling = state.data, state.numbers, state.ceiling
    ball = state.unit_balls[state.unit[one, FIRST]]
    turn = drawn(state.tally, len(bins))
    at, last, around = turn, len(bins), turn == 0
    while True:
        at = scan(ball, alloc, data, numbers, used, ceiling, dims, amounts, bins, at, last)
        if at >= 0:
            if insert(call, state, one, at, False):
                return True
            at += 1
        elif around:
            return False
        else:
            at, last, around = 0, turn, True


@lean
def refill(call: Utilfn, scan: Scan, state: State, many: int, emptied: int, wide: bool, most: int) -> bool:
    """Put the offered units into the first `emptied` chosen bins, or if `wide` into any; False if too much stays out.

    `most` is the weight that may.
    """
    unit, bins = state.unit, state.bin
    out = state.tally[TOTAL]
    for i in range(many):
        out -= unit[unit[i, OFFERED], WEIGHT]
    for i in range(many):
        if state.stop[0]:
            return False
        one = unit[i, OFFERED]
        done = False
        for a in range(emptied):
            if insert(call, state, one, bins[a, CHOSEN], False):
                done = True
                break
        if not done and wide:
            done = settle(call, scan, state, one)
        if not done:
            out += unit[one, WEIGHT]
            if out > most:
                return False
    return True


@lean
def empty_bins(call: Utilfn, scan: Scan, state: State) -> bool:
    """Empty a few bins, and fill them again; returns whether it may stand.

    It is two in half of all moves, and more in fewer: small moves are the cheap ones.
    """
    tally, bins = state.tally, state.bin
    most = tally[TOTAL]
    draw = drawn(tally, 8)
    emptied = min(MOST_BINS, len(bins), 2 if draw < 4 else 3 if draw < 6 else 1 if draw < 7 else 4)
    many = offer_unplaced(state, MOST_UNPLACED)
    for a in range(emptied):
        again = True
        while again:
            bins[a, CHOSEN] = drawn(tally, len(bins))
            again = False
            for b in range(a):
                again = again or bins[b, CHOSEN] == bins[a, CHOSEN]
    for a in range(emptied):
        place = bins[a, CHOSEN]
        while bins[place, HEAD] != NULL and many < MOST_OFFERED:
            many = offer_out(call, state, bins[place, HEAD], many)
            if many < 0:
                return False
    order(state, many)
    wide = drawn(tally, 4) == 0
    return refill(call, scan, state, many, emptied, wide, most)


@lean
def take_some(call: Utilfn, scan: Scan, state: State) -> bool:
    """Take a few units out, wherever they are, and put them into any bin; returns whether it may stand."""
    tally, unit = state.tally, state.unit
    most = tally[TOTAL]
    many = offer_unplaced(state, 2)
    for _ in range(2 + drawn(tally, MOST_UNITS - 1)):
        one = drawn(tally, len(unit))
        if unit[one, WHERE] != NULL:
            many = offer_out(call, state, one, many)
            if many < 0:
                return False
    order(state, many)
    return refill(call, scan, state, many, 0, True, most)


@lean
def in_the_way(call: Utilfn, state: State, one: int, d: int) -> int:
    """Take a unit out, not this one, whose removal lowers something that is `bad`.

    It looks at those that touched a dimension last, at a light one in the same bin, and at some others. Returns 1 if
    there was one, 0 if not, and -1 if one is rejected although it is there.
    """
    tally, unit, recent = state.tally, state.unit, state.recent
    turn = drawn(tally, RING)
    for k in range(RING):
        other = recent[d, (turn + k) % RING]
        if other != NULL and other != one and unit[other, WHERE] != NULL:
            out = remove(call, state, other, True)
            if out != 0:
                return out
    other = state.bin[unit[one, WHERE], HEAD]
    best, least = NULL, 0
    while other != NULL:
        if other != one:
            value = unit[other, WEIGHT] * (1024 + drawn(tally, 4096))
            if best == NULL or value < least:
                best, least = other, value
        other = unit[other, FOLLOWING]
    if best != NULL:
        out = remove(call, state, best, True)
        if out != 0:
            return out
    turn = drawn(tally, len(unit))
    for k in range(min(LOOKED, len(unit))):
        other = (turn + k) % len(unit)
        if other != one and unit[other, WHERE] != NULL:
            out = remove(call, state, other, True)
            if out != 0:
                return out
    return 0


@lean
def part(call: Utilfn, state: State, one: int, place: int) -> bool:
    """Take out friends by chance of a unit that are in other bins, and one of its foes if all others are in this one.

    Returns whether that could be done.
    """
    unit, friends = state.unit, state.tally[FRIENDS]
    for at in range(unit[one, FIRST], unit[one, END]):
        ball = state.unit_balls[at]
        for k in range(state.of[ball], state.of[ball + 1]):
            number = state.of_sets[k]
            if state.imposed[number] == 0 or (number < friends and state.chance[number] == MICRO):
                continue
            here, others = NULL, 0
            for member in range(state.sets[number], state.sets[number + 1]):
                other = state.unit_of[state.set_balls[member]]
                if other == one:
                    continue
                at_other = unit[other, WHERE]
                if number < friends:
                    if at_other != NULL and at_other != place and remove(call, state, other, False) < 0:
                        return False
                elif at_other != place:
                    others = -1
                elif others >= 0:
                    others += 1
                    if drawn(state.tally, others) == 0:
                        here = other
            if number >= friends and others > 0 and remove(call, state, here, False) < 0:
                return False
    return True


@lean
def make_room(call: Utilfn, state: State, one: int, place: int) -> bool:
    """Put a unit into a bin, and take out what is in its way; returns whether that could be done."""
    tally, dim, over, used = state.tally, state.dim, state.over, state.used
    if state.unit[one, BOUND] and not part(call, state, one, place):
        return False
    while not insert(call, state, one, place, True):  # what makes UTILFN reject it may be in this bin
        other = state.bin[place, HEAD]
        if other == NULL or remove(call, state, other, False) < 0:
            return False
    while True:
        worst = NULL
        for k in range(tally[DIMS]):
            if bad(dim, over, used, dim[k, LIST]):
                worst = dim[k, LIST]
                break
        if worst == NULL:
            return True
        if state.stop[0]:
            return False
        if in_the_way(call, state, one, worst) <= 0:
            return False


@lean
def excess(call: Utilfn, state: State, one: int, place: int) -> int:
    """Measure by how much a bin is too small for a unit's first ball, in 1024ths of what it is too small in."""
    dims, amounts, used, dim = state.dims, state.amounts, state.used, state.dim
    ball = state.unit_balls[state.unit[one, FIRST]]
    n = call(ball, place, state.alloc, state.data, state.numbers, used, state.lofty, dims, amounts, 0)
    if n < 0:
        return 1 << 40
    total = 0
    for k in range(n):
        most = dim[dims[k], CEILING]
        beyond = used[dims[k]] + amounts[k] - most
        if beyond > 0:
            total += 1 + int(min(beyond, 1 << 50) * 1024 // max(most, 1))
    return total


@lean
def force(call: Utilfn, scan: Scan, state: State, bins: int) -> bool:
    """Put an unplaced unit in by force, what that put out anywhere, and so on; returns whether it may stand.

    It goes into that of so many random bins that is least too small.
    """
    tally, unit = state.tally, state.unit
    most = tally[TOTAL]
    one = unit[drawn(tally, tally[COUNT]), LEFT]
    for _ in range(DEPTH):
        place, least = unit[one, PIN], 0
        for tried in range(bins if place == NULL else 0):
            other = drawn(tally, len(state.bin))
            beyond = excess(call, state, one, other)
            if tried == 0 or beyond < least:
                place, least = other, beyond
        if not make_room(call, state, one, place):
            return False
        many = 0
        for k in range(tally[UNITS]):
            if unit[unit[k, MOVES], WHERE] == NULL:
                unit[many, OFFERED] = unit[k, MOVES]
                many += 1
        order(state, many)
        if refill(call, scan, state, many, 0, True, most):
            break
        for k in range(many):
            one = unit[k, OFFERED]
            if unit[one, WHERE] == NULL:
                break
    return bool(tally[TOTAL] <= most)


@lean
def trim(call: Utilfn, state: State) -> bool:
    """Take units out that the move put in, the last first, until no elastic dimension is over.

    Returns whether that can be, and all limits are kept then.
    """
    tally, unit = state.tally, state.unit
    while tally[OVER] > 0:
        helped = False
        for k in range(tally[UNITS] - 1, -1, -1):
            one = unit[k, MOVES]
            if unit[one, WHERE] != NULL:
                out = remove(call, state, one, True)
                if out < 0:
                    return False
                if out > 0:
                    helped = True
                    break
        if not helped:
            return False
    return sound(state)
