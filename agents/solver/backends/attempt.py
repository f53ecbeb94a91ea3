"""Make one attempt of the published search, compiled for processors.

`agents.solver.backends.reference` defines what an attempt is. All functions write the room that they are given, unless
they only answer a question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.backends.reference import TURNS
from binwright.agents.solver.backends.soft_constraints import lift, members, pinned, wish
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

Utilfn: TypeAlias = Callable[[int, int, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int], int]
"""As `binwright.agents.solver.model.emit` says."""
Scan: TypeAlias = Callable[[int, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, int, int], int]
"""(ball, alloc, data, numbers, used, ceiling, dims, amounts, bins, low, high): the first entry of bins[low:high] that
UTILFN does not rule out for the ball, -1 if there is none."""


@lean
def joins(
    ball: int, place: int, friends: int, alloc: Ints, imposed: Ints, sets: Ints, balls: Ints, of: Ints, of_sets: Ints
) -> bool:
    """Tell whether imposed sets let the ball into this bin; the first `friends` sets are FRIENDS.

    Set n has `balls[sets[n] : sets[n + 1]]`, and ball b is in the sets `of_sets[of[b] : of[b + 1]]`.
    """
    for at in range(of[ball], of[ball + 1]):
        number = of_sets[at]
        if imposed[number] == 0:
            continue
        apart = False
        for k in range(sets[number], sets[number + 1]):
            other = balls[k]
            if other == ball:
                continue
            if number < friends and alloc[other] != NULL and alloc[other] != place:
                return False
            apart = apart or alloc[other] != place
        if number >= friends and not apart:
            return False
    return True


@lean
def allowed(flat: Flat, friends: int, room: Room, ball: int, place: int) -> bool:
    """Tell whether pins and imposed sets let the ball into this bin; the first `friends` sets are FRIENDS."""
    pin = flat.pins[ball]
    if pin != NULL and pin != place:
        return False
    return joins(ball, place, friends, room.alloc, room.imposed, flat.sets, flat.set_balls, flat.of, flat.of_sets)


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


@lean
def put(call: Utilfn, flat: Flat, friends: int, room: Room, unit: int, place: int) -> int:
    """Put all balls of a unit into a bin, or none; returns how many additions were made, -1 if it does not fit."""
    alloc, dims, amounts = room.alloc, room.dims, room.amounts
    n, leader = 0, unit
    at, end = flat.units[unit], flat.units[unit + 1]
    while True:
        if at == end:
            unit = room.after[unit]
            if unit == NULL:
                return n
            at, end = flat.units[unit], flat.units[unit + 1]
        ball = flat.unit_balls[at]
        fits = allowed(flat, friends, room, ball, place)
        if fits:
            last = call(ball, place, alloc, flat.data, flat.numbers, room.used, flat.ceiling, dims, amounts, n)
            fits = last >= 0
            if fits:
                for k in range(n, last):
                    change(flat, room, dims[k], amounts[k])
                fits = within(flat, room, n, last)
                n = last
        if not fits:
            for k in range(n):
                change(flat, room, dims[k], -amounts[k])
            while leader != unit:
                for other in range(flat.units[leader], flat.units[leader + 1]):
                    alloc[flat.unit_balls[other]] = NULL
                leader = room.after[leader]
            for other in range(flat.units[unit], at):
                alloc[flat.unit_balls[other]] = NULL
            return -1
        alloc[ball] = place
        at += 1


@lean
def take(call: Utilfn, flat: Flat, room: Room, unit: int, owner: Ints, group: int) -> int:
    """Take all balls of a unit out again, if that changes a dimension that is over and that a group owns.

    `owner` [dims] says which groups own which. Returns how many additions are taken away, the first ones in `dims`; 0
    if the unit stays, -1 if UTILFN rejects it.
    """
    alloc, dims, amounts = room.alloc, room.dims, room.amounts
    place = alloc[flat.unit_balls[flat.units[unit]]]
    n, one = 0, unit
    while one != NULL:
        for at in range(flat.units[one + 1] - 1, flat.units[one] - 1, -1):
            ball = flat.unit_balls[at]
            alloc[ball] = NULL
            n = call(ball, place, alloc, flat.data, flat.numbers, room.used, flat.ceiling, dims, amounts, n)
            if n < 0:
                return -1
        one = room.after[one]
    for k in range(n):
        if owner[dims[k]] == group and room.used[dims[k]] > flat.ceiling[dims[k]]:
            for other in range(n):
                change(flat, room, dims[other], -amounts[other])
            return n
    while unit != NULL:
        for at in range(flat.units[unit], flat.units[unit + 1]):
            alloc[flat.unit_balls[at]] = place
        unit = room.after[unit]
    return 0


@lean
def take_last(call: Utilfn, flat: Flat, room: Room, owner: Ints, group: int, mark: int, placed: int) -> tuple[int, int]:
    """Take out the last unit that `take` takes out, of those in `placed` from entry `mark` on.

    Returns what `take` returned, and the unit.
    """
    for at in range(placed - 1, mark - 1, -1):
        unit = room.placed[at]
        n = take(call, flat, room, unit, owner, group)
        if n != 0:
            for k in range(at, placed - 1):
                room.placed[k] = room.placed[k + 1]
            return n, unit
    return 0, NULL


@lean
def trim(call: Utilfn, flat: Flat, room: Room, placed: int, out: int) -> tuple[int, int]:
    """Take units out again until nothing is over; they go to `left`, from entry `out` on.

    Returns how many units are placed and left then; -1 for those left if that cannot be.
    """
    while room.over[len(room.over) - 1] > 0:
        n, unit = take_last(call, flat, room, flat.elastic, 1, 0, placed)
        if n <= 0:
            return placed, -1
        room.left[out] = unit
        placed, out = placed - 1, out + 1
    return placed, out


@lean
def attempt(
    call: Utilfn,
    scan: Scan,
    flat: Flat,
    friends: int,
    sets: int,
    room: Room,
    seed: int,
    way: int,
    number: int,
    reach: int,
    turning: bool,
) -> int:
    """Make one attempt; returns how many units are left.

    Each unit is drawn from the next `reach` ones only: from all of them if published. The bins of a group are tried
    from a random one on if `turning`, as published; else from the first.
    """
    start = stream_kernel(seed, way, number)
    left = room.left
    room.used[:] = 0
    room.alloc[:] = NULL
    room.over[:] = 0
    for one in range(sets):
        room.imposed[one] = 1 if flat.chance[one] == MICRO else 0
    count, placed, lost, draws = 0, 0, 0, 0
    for unit in range(len(left)):
        pin = pinned(flat, unit)
        if pin == NULL:
            left[count] = unit
            count += 1
        elif put(call, flat, friends, room, unit, pin) >= 0:
            room.placed[placed] = unit
            placed += 1
        else:
            lost += 1
    placed, out = trim(call, flat, room, placed, count)
    if out < 0:
        room.alloc[:] = NULL
        return len(left)
    lost += out - count
    if sets > 0:
        wish(flat, friends, sets, room, start)
        still = 0
        for i in range(count):
            if room.chain[left[i]] == left[i]:
                left[still] = left[i]
                still += 1
        count = still
    group, lifted = flat.ways[way], sets == 0
    while group < flat.ways[way + 1]:
        if room.stop[0]:
            break
        still = 0
        for i in range(count):
            chosen = i + below_kernel(start, draws, min(reach, count - i))
            unit = left[chosen]
            left[chosen] = left[i]
            low, end = flat.groups[group], flat.groups[group + 1]
            turn = 0
            if turning:
                turn = below_kernel(start, TURNS + (draws if number % 2 == 0 else group - flat.ways[way]), end - low)
            draws += 1
            at, last, around = low + turn, end, turn == 0
            while True:
                if room.stop[0]:
                    at = -1
                    break
                at = scan(
                    flat.unit_balls[flat.units[unit]],
                    room.alloc,
                    flat.data,
                    flat.numbers,
                    room.used,
                    flat.ceiling,
                    room.dims,
                    room.amounts,
                    flat.group_bins,
                    at,
                    last,
                )
                if at >= 0:
                    if put(call, flat, friends, room, unit, flat.group_bins[at]) >= 0:
                        break
                    at += 1
                elif around:
                    break
                else:
                    at, last, around = low, low + turn, True
            if at < 0:
                left[still] = unit
                still += 1
            else:
                room.placed[placed] = unit
                placed += 1
        placed, out = trim(call, flat, room, placed, still)
        if out < 0:
            room.alloc[:] = NULL
            return len(left)
        count = still
        for at in range(still, out):
            if pinned(flat, left[at]) == NULL:
                left[count] = left[at]
                count += 1
            else:
                lost += 1
        group += 1
        if group == flat.ways[way + 1] and not lifted:
            lifted = True
            more = lift(flat, sets, room, count)
            if more >= 0:
                count, group = more, flat.ways[way]
    return members(room, count) + lost
