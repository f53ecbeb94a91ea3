"""Impose FRIENDS and FOES WITH a chance in an attempt on processors.

`binwright.agents.solver.backends.reference` defines what that means.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.backends.reference import CHANCES
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import below_kernel
from binwright.simcore.jit import lean


@lean
def impose(flat: Flat, room: Room, sets: int, start: np.uint64) -> None:
    """Choose by chance the sets that this attempt keeps to; writes `room.imposed`."""
    for number in range(sets):
        chance = flat.chance[number]
        room.imposed[number] = 1 if chance == MICRO or below_kernel(start, CHANCES + number, MICRO) < chance else 0


@lean
def pinned(flat: Flat, unit: int) -> int:
    """Return the bin that a unit must be in, or NULL."""
    pin = NULL
    for at in range(flat.units[unit], flat.units[unit + 1]):
        pin = max(pin, flat.pins[flat.unit_balls[at]])
    return pin


@lean
def wish(flat: Flat, friends: int, sets: int, room: Room, start: np.uint64) -> None:
    """Impose sets with a chance below one that pinned balls do not break, and chain units that friends join."""
    for unit in range(len(room.left)):
        room.chain[unit], room.after[unit] = unit, NULL
    for number in range(sets):
        if flat.chance[number] == MICRO or below_kernel(start, CHANCES + number, MICRO) >= flat.chance[number]:
            continue
        place, free, apart = NULL, False, False
        for k in range(flat.sets[number], flat.sets[number + 1]):
            here = room.alloc[flat.set_balls[k]]
            free = free or here == NULL
            apart = apart or (place != NULL and here != NULL and here != place)
            place = max(place, here)
        if apart if number < friends else not (free or apart):
            continue
        room.imposed[number] = 1
        before = NULL
        for k in range(flat.sets[number], flat.sets[number + 1] if number < friends else 0):
            unit = flat.unit_of[flat.set_balls[k]]
            if pinned(flat, unit) != NULL:
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
def lift(flat: Flat, sets: int, room: Room, count: int) -> int:
    """Split the first `count` units of `left` into single ones again, and impose no wish on them.

    Returns how many units are left then; -1 if there was no wish.
    """
    lifted = False
    for i in range(count):
        unit = room.left[i]
        while unit != NULL:
            for at in range(flat.units[unit], flat.units[unit + 1]):
                ball = flat.unit_balls[at]
                for k in range(flat.of[ball], flat.of[ball + 1]):
                    number = flat.of_sets[k]
                    if flat.chance[number] < MICRO and room.imposed[number]:
                        room.imposed[number] = 0
                        lifted = True
            unit = room.after[unit]
    if not lifted:
        return -1
    total = members(room, count)
    at = total
    for i in range(count - 1, -1, -1):
        unit = room.left[i]
        at -= members_of(room, unit)
        place = at
        while unit != NULL:
            following = room.after[unit]
            room.left[place] = unit
            room.after[unit] = NULL
            place += 1
            unit = following
    return total


@lean
def members_of(room: Room, unit: int) -> int:
    """Count the units of a chain."""
    count = 0
    while unit != NULL:
        count += 1
        unit = room.after[unit]
    return count


@lean
def members(room: Room, count: int) -> int:
    """Count the units of the first `count` chains of `left`."""
    total = 0
    for i in range(count):
        total += members_of(room, room.left[i])
    return total
