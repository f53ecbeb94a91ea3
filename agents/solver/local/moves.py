"""Put a unit in by force, and what that puts out anywhere else.

A move may leave units out that were in; whoever makes it decides whether it stands. All functions write the state.
"""

from __future__ import annotations

from binwright.agents.solver.backends.attempt import Utilfn
from binwright.agents.solver.local.state import (
    COUNT,
    DIMS,
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
from binwright.agents.solver.model.program import NULL
from binwright.simcore.jit import lean


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
    return sound(state)
