"""Make one attempt of the search by nearness: into the bins of one group, and no others.

Groups are runs of bins in one order, those of a level inside those of the next. Bins are filled one after another. In
problems where one ball more may need less (see `Problem.elastic`), a group's own dimensions may be over their capacity
until the group is left, whatever its level; then balls go out again, the last first, until they are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, impose, put, take_last
from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import stream_kernel
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

NO_LIMIT = 1 << 60


class Near(NamedTuple):
    """Groups, and which dimensions are a group's own: all bins that touch them are in it, and in no smaller one.

    Groups are numbered level by level; those of level 0 are the bins, in `order`, and the last one has them all.
    """

    order: Ints
    """[bins]"""
    group: Ints
    """[levels, bins]: the group, by place in `order`."""
    begin: Ints
    """[groups]: its first place in `order`."""
    end: Ints
    """[groups]"""
    owner: Ints
    """[dims]: the group, for elastic dimensions; -1 for others."""
    own_first: Ints
    """[groups + 1]"""
    own: Ints
    """The groups' own dimensions."""


class Free(NamedTuple):
    """What is known without UTILFN, so that bins and groups are left out: no bin takes more balls than `slots` says."""

    bins: Ints
    """[bins, kinds]: what is free."""
    sums: Ints
    """[groups from level 1 on, kinds]"""
    least: Ints
    """[kinds]: what every ball takes at least."""


class Notes(NamedTuple):
    """What attempts write beside the `Room`, to clear up after themselves.

    `touched` [dims] holds the first `counts[0]` dimensions that are not as they were; `stamp` [dims] is the attempt's
    number `counts[1]` where it has touched them. `failed` [classes] is `counts[2]`, the number of a bin, where no ball
    of a class fits. `marks` [levels].
    """

    touched: Ints
    stamp: Ints
    failed: Ints
    marks: Ints
    counts: Ints


@kernel
def slots(available: Ints, least: Ints, most: int) -> int:
    """Count how many balls of at least this size [kinds] fit what is available [kinds]; never more than `most`."""
    for kind in range(len(least)):
        if least[kind] > 0:
            most = min(most, available[kind] // least[kind])
    return most


@kernel
def differing(entries: Ints, seen: Ints, where: Ints, more: Ints) -> int:
    """Find the entries that differ from those `seen` before: `where`, and by how much they are `more`.

    All are [n]; `seen` becomes the same as `entries`. Returns how many differ.
    """
    count = 0
    for at in range(len(entries)):
        if entries[at] != seen[at]:
            where[count], more[count] = at, entries[at] - seen[at]
            seen[at] = entries[at]
            count += 1
    return count


@kernel
def holds(near: Near, free: Free, group: int, balls: int) -> bool:
    """Tell whether this group may hold so many balls, once `sums` has said yes."""
    count = 0
    for at in range(near.begin[group], near.end[group]):
        count += slots(free.bins[near.order[at]], free.least, balls - count)
        if count >= balls:
            return True
    return False


@kernel
def next_group(near: Near, free: Free, level: int, balls: int, room: int, last: int) -> tuple[int, int]:
    """Choose the group of a level that may hold so many balls and has the least room: (room, group).

    Equals go by number. It comes after the group `last` with that `room`. The group is -1 if there is none.
    """
    bins, best, least = len(near.order), -1, NO_LIMIT + 1
    for group in range(near.group[level, 0], near.group[level, bins - 1] + 1):
        there = free.bins[near.order[group]] if level == 0 else free.sums[group - bins]
        has = slots(there, free.least, NO_LIMIT)
        if has >= balls and has < least and (has > room or (has == room and group > last)):
            least, best = has, group
    return least, best


@kernel
def touch(notes: Notes, room: Room, first: int, last: int) -> None:
    """Note the dimensions of additions first, ..., last - 1."""
    for k in range(first, last):
        dim = room.dims[k]
        if notes.stamp[dim] != notes.counts[1]:
            notes.stamp[dim] = notes.counts[1]
            notes.touched[notes.counts[0]] = dim
            notes.counts[0] += 1


@kernel
def clear(room: Room, notes: Notes) -> None:
    """Restore everything to what it was before any attempt."""
    for k in range(notes.counts[0]):
        room.used[notes.touched[k]] = 0
    room.alloc[:] = NULL
    room.over[:] = 0
    notes.counts[0] = 0
    notes.counts[1] += 1


@kernel
def is_over(flat: Flat, near: Near, room: Room, group: int) -> bool:
    """Tell whether a dimension of the group's own is over."""
    for k in range(near.own_first[group], near.own_first[group + 1]):
        if room.used[near.own[k]] > flat.ceiling[near.own[k]]:
            return True
    return False


@kernel
def leave(
    call: Utilfn, flat: Flat, near: Near, room: Room, notes: Notes, group: int, mark: int, placed: int, count: int
) -> tuple[int, int]:
    """Take units of the group, those from `mark` on, out again until nothing of its own is over.

    Returns how many units are placed and left; -1 for those left if that cannot be.
    """
    while is_over(flat, near, room, group):
        n = take_last(call, flat, room, near.owner, group, mark, placed)
        if n <= 0:
            return placed, -1
        touch(notes, room, 0, n)
        for k in range(count, 0, -1):  # it comes first again
            room.left[k] = room.left[k - 1]
        room.left[0] = room.placed[placed - 1]
        placed, count = placed - 1, count + 1
    return placed, count


@kernel
def fill(
    call: Utilfn,
    flat: Flat,
    friends: int,
    room: Room,
    notes: Notes,
    classes: Ints,
    place: int,
    most: int,
    placed: int,
    count: int,
) -> tuple[int, int]:
    """Put units that are left into one bin, in order, at most so many balls; returns how many are placed and left."""
    left, still = room.left, 0
    notes.counts[2] += 1
    for i in range(count):
        unit = left[i]
        size, n = flat.units[unit + 1] - flat.units[unit], -1
        kind = classes[flat.unit_balls[flat.units[unit]]]
        if size <= most and notes.failed[kind] != notes.counts[2]:
            n = put(call, flat, friends, room, unit, place)
            if n < 0:
                notes.failed[kind] = notes.counts[2]
        if n < 0:
            left[still] = unit
            still += 1
        else:
            touch(notes, room, 0, n)
            room.placed[placed] = unit
            placed += 1
            most -= size
    return placed, still


@kernel
def attempt(
    call: Utilfn,
    flat: Flat,
    friends: int,
    sets: int,
    room: Room,
    near: Near,
    free: Free,
    notes: Notes,
    classes: Ints,
    trims: bool,
    queue: Ints,
    count: int,
    level: int,
    group: int,
    seed: int,
    number: int,
) -> bool:
    """Put the first `count` units of `queue`, in this order, into the group's bins; returns whether all got in.

    `classes` [balls]: of balls of one class, none fits where another one does not. The room has the allocation then.
    """
    clear(room, notes)
    impose(flat, room, sets, stream_kernel(seed, level, number))
    room.left[:count] = queue[:count]
    notes.marks[:] = 0
    bins, placed, at = len(near.order), 0, near.begin[group]
    while at < near.end[group]:
        place, end, begun = near.order[at], at + 1, 1
        below = near.group[1, at]
        if level > 1 and at == near.begin[below] and slots(free.sums[below - bins], free.least, 1) == 0:
            end, begun = near.end[below], 2  # nothing goes into this whole group of bins
        else:
            most = slots(free.bins[place], free.least, len(classes))
            if most > 0:
                placed, count = fill(call, flat, friends, room, notes, classes, place, most, placed, count)
            if trims:
                placed, count = leave(call, flat, near, room, notes, at, notes.marks[0], placed, count)
                if count < 0:
                    return False
        if trims:
            notes.marks[0] = placed
            # What else is left here: groups that end, or all of them if nothing is missing.
            for above in range(begun, level + 1):
                left = near.group[above, at]
                if count > 0 and end < near.end[left]:
                    break
                placed, count = leave(call, flat, near, room, notes, left, notes.marks[above], placed, count)
                if count < 0:
                    return False
                end = near.end[left]
                notes.marks[: above + 1] = placed
        if count == 0:
            return bool(room.over[len(room.over) - 1] == 0)
        at = end
    return False


@kernel
def touched_bins(
    call: Utilfn, flat: Flat, room: Room, near: Near, ceiling: Ints, elastic: Ints, first: Ints, last: Ints
) -> None:
    """Write between which places in `near.order` the bins lie in which ball 0 touches an elastic dimension, alone.

    They are `first` and `last` [dims]. `ceiling` [dims] is high enough for anything.
    """
    room.alloc[:] = NULL
    for at in range(len(near.order)):
        n = call(0, near.order[at], room.alloc, flat.data, flat.numbers, room.used, ceiling, room.dims, room.amounts, 0)
        for k in range(n):
            dim = room.dims[k]
            if elastic[dim]:
                first[dim] = min(first[dim], at)
                last[dim] = at


def owners(near_group: Ints, first: Ints, last: Ints) -> Ints:
    """Find the smallest group with both places, for every dimension [dims] with last >= first; -1 for the others."""
    owner = np.full(len(first), -1, np.int64)
    (known,) = np.nonzero(last >= first)
    for level in range(len(near_group) - 1, -1, -1):
        same = near_group[level, first[known]] == near_group[level, last[known]]
        owner[known[same]] = near_group[level, first[known[same]]]
    return owner
