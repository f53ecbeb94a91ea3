"""Make one attempt of the published search: the source of all devices, which numba compiles and `kernel_c` prints as C.

An **attempt** is named by (seed, group, attempt): `group` is the grouping of the bins (`Problem.groupings`). Draw
number i is `below(i, ...)` of the stream with this key, so that the attempt gives the same answer wherever and whenever
it runs, on however many lanes. It places units (`Problem.units`: single balls, and balls joined by certain
friendship):

1. Units with a pinned ball are tried by index, each in its bin only.
2. Each set of FRIENDS, then of FOES, in order, whose chance is below one is imposed if draw `CHANCES` + its number is
   below its chance, and the balls of step 1 do not break it already. The others are imposed always. What FRIENDS of
   the former kind join of the units that are not pinned is one unit until step 4: by its first ball, the units by the
   set in which they come, each with all that it is joined to already.
3. Then group by group of the grouping: while m of the units that were left before this group are not tried yet, one of
   them is chosen by the next draw, below m, and tried in the bins of the group, from a random one on and around; the
   first that takes it gets it. In attempts of even numbers every unit begins at another bin: so does the publication,
   which spreads them, and no answer is out of reach. In the others all begin at the same one, which leaves fewer holes.
   Precisely: the units left are an array, before the first group by index. For i = 0, 1, ... the entry i + draw is
   tried, and entry i takes its place; those that found no bin are the array of the next group, in the order in which
   they were tried. The first bin is draw `TURNS` + n, below their number, n being the number of the draw that chose the
   unit, or in attempts of odd numbers of the group.
4. If units are left, those of the sets with a chance below one that have a ball of them are not imposed any more, and
   if there are such sets, the units of step 2 fall apart again, and those that are left are tried once more, as in step
   3, its draws going on.
5. The attempt has succeeded if no unit is left.

A bin **takes** a unit if, ball after ball, no pin speaks against it, UTILFN does not reject, every touched dimension
stays within its ceiling, no touched soft group has more members above their capacity than allowed, no other member of
an imposed FRIENDS set is in another bin, and no imposed FOES set would lie in this bin whole. Otherwise nothing of the
unit counts.

Of several attempts the answer is that which leaves fewest units, then that with the lowest attempt, then the lowest
group. `tests/reference` has these rules in plain Python.

All functions write the room that they are given, unless they only answer a question.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.jit import kernel, lean, lean_inlined
from binwright.simcore.splitmix import GAMMA, mixed
from binwright.simcore.types import Ints

CHANCES = 1 << 32
"""The draws from here on say which sets an attempt imposes."""
TURNS = 1 << 33
"""The draws from here on say at which bins of their groups units begin."""
Utilfn: TypeAlias = Callable[[int, int, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int], int]
"""As `binwright.agents.solver.model.source` says."""
PLACING, IMPROVING = -2, -3
"""The groups in the keys of local searches: no group of bins has them."""


@kernel
def stream(seed: int, group: int, attempt: int) -> np.uint64:
    """Return where a stream starts; numbers have 64 bits, with or without a sign."""
    z = mixed(np.uint64(seed) + GAMMA)
    z = mixed(z + np.uint64(group) + GAMMA)
    return mixed(z + np.uint64(attempt) + GAMMA)


@kernel
def bits(start: np.uint64, counter: int) -> np.uint64:
    """Return number `counter` of a stream: 64 bits."""
    return mixed(start + np.uint64(counter + 1) * GAMMA)


@kernel
def below(start: np.uint64, counter: int, n: int) -> int:
    """Return number `counter` of a stream in 0, ..., n - 1, an int64, with n up to 2^32.

    Some numbers are more frequent than others by n / 2^32 at most.
    """
    return int(np.int64(((bits(start, counter) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))


@lean_inlined
def allowed(flat: Flat, room: Room, ball: int, place: int) -> bool:
    """Tell whether pins and imposed sets let the ball into this bin."""
    pin = flat.pins[ball]
    if pin != NULL and pin != place:
        return False
    for at in range(flat.of[ball], flat.of[ball + 1]):
        number = flat.of_sets[at]
        if room.imposed[number] == 0:
            continue
        apart = False
        for k in range(flat.sets[number], flat.sets[number + 1]):
            other = flat.set_balls[k]
            if other == ball:
                continue
            if flat.friends[number] and room.alloc[other] != NULL and room.alloc[other] != place:
                return False
            apart = apart or room.alloc[other] != place
        if not flat.friends[number] and not apart:
            return False
    return True


@lean
def change(flat: Flat, room: Room, dim: int, amount: int) -> None:
    """Add to a dimension, and update how many members of its soft group, and elastic dimensions, are over."""
    before = room.used[dim]
    room.used[dim] = before + amount
    if flat.elastic[dim]:
        most = flat.ceiling[dim]
        room.over[len(room.over) - 1] += (1 if before + amount > most else 0) - (1 if before > most else 0)
    group = flat.soft_group[dim]
    if group >= 0:
        limit = flat.capacity[dim]
        room.over[group] += (1 if before + amount > limit else 0) - (1 if before > limit else 0)


@lean
def within(flat: Flat, room: Room, first: int, last: int) -> bool:
    """Tell whether the dimensions of additions first, ..., last - 1, and their soft groups, keep their limits."""
    for k in range(first, last):
        dim = room.dims[k]
        if room.used[dim] > flat.ceiling[dim] and not flat.elastic[dim]:
            return False
        group = flat.soft_group[dim]
        if group >= 0 and room.over[group] > flat.soft_allowed[group]:
            return False
    return True


@lean_inlined
def put(call: Utilfn, flat: Flat, room: Room, unit: int, place: int, ceiling: Ints, forced: bool) -> int:
    """Put all balls of a unit into a bin, or none; returns how many additions were made, -1 if it does not fit.

    UTILFN compares with `ceiling` [dims], that of `flat` unless this is `forced`: then dimensions may be over.
    """
    n = 0
    leader = unit
    at = flat.units[unit]
    while True:
        if at == flat.units[unit + 1]:
            unit = room.after[unit]
            if unit == NULL:
                return n
            at = flat.units[unit]
        ball = flat.unit_balls[at]
        fits = allowed(flat, room, ball, place)
        if fits:
            last = call(
                ball, place, room.alloc, flat.data, flat.numbers, room.used, ceiling, room.dims, room.amounts, n
            )
            fits = last >= 0
            if fits:
                for k in range(n, last):
                    change(flat, room, room.dims[k], room.amounts[k])
                fits = forced or within(flat, room, n, last)
                n = last
        if not fits:
            for k in range(n):
                change(flat, room, room.dims[k], -room.amounts[k])
            while leader != unit:
                put_back(flat, room, leader, NULL)
                leader = room.after[leader]
            put_back(flat, room, unit, NULL)
            return -1
        room.alloc[ball] = place
        at += 1


@lean_inlined
def has_room(flat: Flat, room: Room, unit: int, place: int) -> bool:
    """Tell whether a bin has room for a unit of a vector problem, without a call of UTILFN; of others it may have."""
    kinds = flat.kinds[0]
    for k in range(kinds):
        dim = flat.dims[place * kinds + k]
        if room.used[dim] + flat.demand[unit * kinds + k] > flat.ceiling[dim]:
            return False
    return True


@lean_inlined
def put_around(call: Utilfn, flat: Flat, room: Room, unit: int, low: int, end: int, turn: int) -> int:
    """Put a unit into the first bin of group_bins[low:end] that takes it, from low + turn on and around.

    Returns how many additions were made, -1 if none takes it, or time is over.
    """
    at = low + turn
    for _ in range(end - low):
        if room.stop[0]:
            return -1
        if has_room(flat, room, unit, flat.group_bins[at]):
            n = put(call, flat, room, unit, flat.group_bins[at], flat.ceiling, False)
            if n >= 0:
                return n
        at = at + 1 if at + 1 < end else low
    return -1


@lean
def lift_out(call: Utilfn, flat: Flat, room: Room, unit: int, place: int, ceiling: Ints) -> int:
    """Note that a unit is in no bin any more; `used` is up to the caller.

    Returns how many additions are to be taken away, the first ones in `dims`; -1 if UTILFN rejects it where it is.
    """
    n = 0
    for at in range(flat.units[unit + 1] - 1, flat.units[unit] - 1, -1):
        ball = flat.unit_balls[at]
        room.alloc[ball] = NULL
        n = call(ball, place, room.alloc, flat.data, flat.numbers, room.used, ceiling, room.dims, room.amounts, n)
        if n < 0:
            return -1
    return n


@lean
def put_back(flat: Flat, room: Room, unit: int, place: int) -> None:
    """Note that a unit is in a bin, or nowhere if that is NULL; `used` is up to the caller."""
    for at in range(flat.units[unit], flat.units[unit + 1]):
        room.alloc[flat.unit_balls[at]] = place


@lean
def wish(flat: Flat, room: Room, start: np.uint64) -> None:
    """Impose sets with a chance below one that pinned balls do not break, and chain units that friends join."""
    for number in range(len(flat.sets) - 1):
        if flat.chance[number] == MICRO or below(start, CHANCES + number, MICRO) >= flat.chance[number]:
            continue
        place = NULL
        free = False
        apart = False
        for k in range(flat.sets[number], flat.sets[number + 1]):
            bin_of = room.alloc[flat.set_balls[k]]
            free = free or bin_of == NULL
            apart = apart or (place != NULL and bin_of != NULL and bin_of != place)
            place = max(place, bin_of)
        if apart if flat.friends[number] else not (free or apart):
            continue
        room.imposed[number] = 1
        before = NULL
        for k in range(flat.sets[number], flat.sets[number + 1] if flat.friends[number] else 0):
            unit = flat.unit_of[flat.set_balls[k]]
            if flat.unit_pin[unit] != NULL:
                continue
            if before != NULL and room.chain[before] != room.chain[unit]:
                first = min(room.chain[before], room.chain[unit])
                second = max(room.chain[before], room.chain[unit])
                last = first
                while room.after[last] != NULL:
                    last = room.after[last]
                room.after[last] = second
                while second != NULL:
                    room.chain[second] = first
                    second = room.after[second]
            before = unit


@lean
def lift(flat: Flat, room: Room, count: int) -> int:
    """Split the first `count` units of `left` into single ones again, and impose no wish on them.

    Returns how many units are left then; -1 if there was no wish.
    """
    total = 0
    for i in range(count):
        unit = room.left[i]
        while unit != NULL:
            room.placed[total] = unit
            total += 1
            unit = room.after[unit]
    lifted = False
    for i in range(total):
        for at in range(flat.units[room.placed[i]], flat.units[room.placed[i] + 1]):
            ball = flat.unit_balls[at]
            for k in range(flat.of[ball], flat.of[ball + 1]):
                number = flat.of_sets[k]
                if flat.chance[number] < MICRO and room.imposed[number]:
                    room.imposed[number] = 0
                    lifted = True
    if not lifted:
        return -1
    for i in range(total):
        room.left[i] = room.placed[i]
        room.after[room.left[i]] = NULL
    return total


@lean
def attempt(call: Utilfn, flat: Flat, room: Room, seed: int, way: int, number: int, reach: int, turning: bool) -> int:
    """Make one attempt; returns how many units are left.

    Each unit is drawn from the next `reach` ones only: from all of them if published. The bins of a group are tried
    from a random one on if `turning`, as published; else from the first.
    """
    start = stream(seed, way, number)
    for dim in range(len(room.used)):
        room.used[dim] = 0
    for at in range(len(room.over)):
        room.over[at] = 0
    for ball in range(len(room.alloc)):
        room.alloc[ball] = NULL
    sets = len(flat.sets) - 1
    for index in range(sets):
        room.imposed[index] = 1 if flat.chance[index] == MICRO else 0
    count = 0
    for unit in range(len(room.left)):
        room.chain[unit] = unit
        room.after[unit] = NULL
        pin = flat.unit_pin[unit]
        if pin == NULL:
            room.left[count] = unit
            count += 1
        else:
            put(call, flat, room, unit, pin, flat.ceiling, False)
    still = 0
    if sets > 0:
        wish(flat, room, start)
        for k in range(count):
            if room.chain[room.left[k]] == room.left[k]:
                room.left[still] = room.left[k]
                still += 1
        count = still
    lifted = sets == 0
    draw = 0
    group = flat.ways[way]
    while group < flat.ways[way + 1] and not room.stop[0]:
        low = flat.groups[group]
        size = flat.groups[group + 1] - low
        still = 0
        for i in range(count):
            chosen = i + below(start, draw, min(reach, count - i))
            drawn = room.left[chosen]
            room.left[chosen] = room.left[i]
            turn = 0
            if turning:
                turn = below(start, TURNS + (draw if number % 2 == 0 else group - flat.ways[way]), size)
            if put_around(call, flat, room, drawn, low, low + size, turn) < 0:
                room.left[still] = drawn
                still += 1
            draw += 1
        count = still
        group += 1
        if group == flat.ways[way + 1] and not lifted:
            lifted = True
            more = lift(flat, room, count)
            if more >= 0:
                count = more
                group = flat.ways[way]
    unplaced = 0
    for unit in range(len(room.left)):
        unplaced += 1 if room.alloc[flat.unit_balls[flat.units[unit]]] == NULL else 0
    return unplaced
