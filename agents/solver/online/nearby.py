"""Solve a template again and again with other numbers, in groups of bins that are near one another.

This search is ours. Groups are nested: bins, then racks, pods, and everything, or whatever `levels` says. An answer in
a smaller group is better, and of the groups of one level that may hold all balls, the one with the least room is tried
first. Groups and bins that cannot hold enough are left out without a call of UTILFN.

Groups are runs of bins in one order, those of a level inside those of the next. Bins are filled one after another. In
problems where one ball more may need less (see `Problem.elastic`), a group's own dimensions may be over their capacity
until the group is left, whatever its level; then balls go out again, the last first, until they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, impose, put, take_last
from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.backends.flat import Flat, Room
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream, stream_kernel
from binwright.agents.solver.online.template import Template
from binwright.simcore.jit import kernel, prepared
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


class Nearby(Template):
    """One template for requests of different numbers of balls, up to as many as it declares.

    The balls of a request are the first ones; the others are not placed. `levels` int64 [any, bins] has the group of
    every bin, in smaller groups and then in larger ones around these.
    `largest` [kinds] is the most that a bin ever has of each kind that bounds are made of.
    """

    near: ClassVar[bool] = True

    def __init__(self, levels: Sequence[Ints], largest: Ints, *stated: Any) -> None:
        super().__init__(*stated)
        problem, flat = self.problem, self._flat
        self._near = near = nested(levels, problem.bins, problem.dims)
        self._leaders = problem.units.members[problem.units.offsets[:-1]]
        self._trims = bool(flat.elastic.any())
        self._learnt = not self._trims
        self._largest = largest
        self._free = np.zeros((len(near.begin), len(largest)), np.int64)
        self._fixed = compiled(self._source)[0], flat, *self._sets, self._room
        fitting, balls = np.zeros(len(near.begin), np.int64), np.zeros(problem.balls, np.int64)
        self._attempt = prepared(attempt, *self._fixed, near, fitting, balls, self._trims, balls, 1, 0, 1, 0)

    def write_free(self, name: str, free: Ints) -> None:
        """Write the table [bins, kinds] of what bins have free of some kinds; it gives bounds, too."""
        self.write(name, free)
        near, ordered = self._near, free[self._near.order]
        levels = np.split(near.begin, near.group[1:, 0])
        self._free = np.concatenate([np.add.reduceat(ordered, begin) for begin in levels])

    @property
    def has_cost(self) -> bool:
        """Tell whether some answers are better than others."""
        return self._cost >= 0

    def find(
        self, seed: int, attempts: int, seconds: float | None, balls: int, classes: Ints, least: Ints
    ) -> Iterator[Ints]:
        """Yield one answer after another: the bins [balls that are declared] of the first `balls`, NULL for the others.

        Each overwrites the one before; with a COST each costs less. `classes` [balls]: of balls of one class, none fits
        where another one does not. Every ball takes the `least` [kinds] of each kind, or more (see `write_free`). Of
        every level `attempts` groups are tried, with the balls in the order of their numbers; with a COST, all bins are
        tried with as many orders. `seconds` end the search, too: then the answer depends on the machine.
        """
        if not self._learnt:
            self._near, self._learnt = self._with_owners(), True
        near, flat, cost = self._near, self._flat, self._cost
        if cost >= 0:
            flat.ceiling[cost] = self._most
        end = inf if seconds is None else perf_counter() + seconds
        fitting = slots(self._free, least)
        top, orders = len(near.group) - 1, 0
        one_bin = int(slots(self._largest, least)) >= balls
        for number, (level, group) in enumerate(self._groups(fitting, attempts, balls, one_bin)):
            if number and perf_counter() > end:
                return
            orders += level == top
            queue = self._order(seed, balls, orders)
            if self._attempt(*self._fixed, near, fitting, classes, self._trims, queue, level, group, seed, number):
                self._best[:] = self._room.alloc
                if cost >= 0:
                    flat.ceiling[cost] = self._room.used[cost] - 1
                yield self._best
                if cost >= 0 and flat.ceiling[cost] < 0:
                    return

    def _groups(self, fitting: Ints, attempts: int, balls: int, one_bin: bool) -> Iterator[tuple[int, int]]:
        """Yield (level, group) of the groups to be tried, in this order; single bins only if `one_bin` may do.

        No more balls than are `fitting` [groups] go into each group.
        """
        near, bins = self._near, self.problem.bins
        before = np.concatenate([[0], np.cumsum(np.minimum(fitting[:bins], balls))])
        holds = np.minimum(fitting, before[near.end] - before[near.begin]) >= balls
        top = len(near.group) - 1
        for level in range(not one_bin, top):
            first, last = near.group[level, [0, -1]]
            groups = first + np.flatnonzero(holds[first : last + 1])
            chosen = groups[np.argsort(fitting[groups], kind="stable")[:attempts]]
            yield from ((level, group) for group in chosen.tolist())
        if holds[-1]:
            yield from ((top, len(fitting) - 1) for _ in range(attempts if self.has_cost else 1))

    def _order(self, seed: int, balls: int, number: int) -> Ints:
        """Sort the units of the first balls: by number, or at random from order number 2 on."""
        (queue,) = np.nonzero(self._leaders < balls)
        if number > 1:
            start = stream(seed, len(self._near.group), number)
            for i in range(len(queue) - 1):
                chosen = i + below(start, i, len(queue) - i)
                queue[i], queue[chosen] = queue[chosen], queue[i]
        return queue

    def _with_owners(self) -> Near:
        """Find the smallest group with all bins in which ball 0 touches an elastic dimension, for each of these.

        It guides the search only: that no dimension is over in the end is made sure in any case.
        """
        call, flat, _, _, room = self._fixed
        near, owner = self._near, np.full(self.problem.dims, -1, np.int64)
        first, last = touched(call, flat, room, near.order)
        known = np.flatnonzero((last >= first) & (flat.elastic > 0))
        for groups in near.group[::-1]:
            same = known[groups[first[known]] == groups[last[known]]]
            owner[same] = groups[first[same]]
        own = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
        own_first = np.searchsorted(owner[own], np.arange(len(near.begin) + 1))
        return near._replace(owner=owner, own_first=own_first, own=own)


def nested(levels: Sequence[Ints], bins: int, dims: int) -> Near:
    """Make groups [bins] for every level, and one with all bins, as runs.

    Which dimensions are a group's own is not known yet.
    """
    every = np.arange(bins)
    levels = [every, *levels, np.zeros(bins, np.int64)]
    order = np.lexsort(levels)
    group, begin, count = [], [], 0
    for level in levels:
        ordered = level[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        group.append(count + np.searchsorted(starts, every, side="right") - 1)
        begin.append(starts)
        count += len(starts)
    ends = [np.append(starts[1:], bins) for starts in begin]
    nobody = np.full(dims, NULL, np.int64)
    none = np.zeros(count + 1, np.int64)
    return Near(order, np.array(group), np.concatenate(begin), np.concatenate(ends), nobody, none, nobody[:0])


def slots(available: Ints, least: Ints) -> Ints:
    """Count how many balls of at least this size [kinds] fit what is available [..., kinds]."""
    some = least > 0
    found: Ints = (available[..., some] // least[some]).min(axis=-1, initial=NO_LIMIT)
    return found


@kernel
def touched(call: Utilfn, flat: Flat, room: Room, order: Ints) -> tuple[Ints, Ints]:
    """Find the first and the last place in `order` [bins] where ball 0 touches each dimension, alone; [dims] each."""
    first, last = np.full(len(room.used), len(order), np.int64), np.full(len(room.used), -1, np.int64)
    ceiling = np.full(len(room.used), NO_LIMIT, np.int64)
    room.alloc[:] = NULL
    for at in range(len(order)):
        n = call(0, order[at], room.alloc, flat.data, flat.numbers, room.used, ceiling, room.dims, room.amounts, 0)
        for k in range(n):
            first[room.dims[k]] = min(first[room.dims[k]], at)
            last[room.dims[k]] = at
    return first, last


@kernel
def leave(
    call: Utilfn, flat: Flat, near: Near, room: Room, group: int, mark: int, placed: int, count: int
) -> tuple[int, int]:
    """Take units of the group, those from `mark` on, out again until nothing of its own is over.

    Returns how many units are placed and left; -1 for those left if that cannot be.
    """
    at, last = near.own_first[group], near.own_first[group + 1]
    while at < last:
        if room.used[near.own[at]] <= flat.ceiling[near.own[at]]:
            at += 1
            continue
        if take_last(call, flat, room, near.owner, group, mark, placed) <= 0:
            return placed, -1
        placed -= 1
        for k in range(count, 0, -1):  # it comes first again
            room.left[k] = room.left[k - 1]
        room.left[0] = room.placed[placed]
        count += 1
        at = near.own_first[group]
    return placed, count


@kernel
def attempt(
    call: Utilfn,
    flat: Flat,
    friends: int,
    sets: int,
    room: Room,
    near: Near,
    slots: Ints,
    classes: Ints,
    trims: bool,
    queue: Ints,
    level: int,
    group: int,
    seed: int,
    number: int,
) -> bool:
    """Put the units of `queue`, in this order, into the group's bins; returns whether all got in.

    No group takes more balls than its `slots` [groups]. `classes` [balls]: of balls of one class, none fits where
    another one does not. The room has the allocation then.
    """
    room.used[:] = 0
    room.alloc[:] = NULL
    room.over[:] = 0
    impose(flat, room, sets, stream_kernel(seed, level, number))
    left, count, placed = room.left, len(queue), 0
    left[:count] = queue
    marks = np.zeros(len(near.group), np.int64)  # how many were placed when the group of each level began
    failed = np.full(len(classes), NULL, np.int64)  # the last bin in which a ball of each class did not fit
    at = near.begin[group]
    while at < near.end[group]:
        place, end, begun = near.order[at], at + 1, 0
        below = near.group[1, at]
        if level > 1 and at == near.begin[below] and slots[below] == 0:
            end, begun = near.end[below], 2  # nothing goes into this whole group of bins
        elif slots[at] > 0:
            most, still = slots[at], 0
            for i in range(count):
                unit = left[i]
                size, kind = flat.units[unit + 1] - flat.units[unit], classes[flat.unit_balls[flat.units[unit]]]
                fits = size <= most and failed[kind] != place
                if fits and put(call, flat, friends, room, unit, place, flat.ceiling, False) < 0:
                    failed[kind], fits = place, False
                if fits:
                    room.placed[placed] = unit
                    placed += 1
                    most -= size
                else:
                    left[still] = unit
                    still += 1
            count = still
        # What is left here: the bin, and groups that end, or all of them if nothing is missing.
        for above in range(begun, level + 1 if trims else 0):
            around = near.group[above, at]
            if above > 0 and count > 0 and end < near.end[around]:
                break
            placed, count = leave(call, flat, near, room, around, marks[above], placed, count)
            if count < 0:
                return False
            end = near.end[around]
            marks[: above + 1] = placed
        if count == 0:
            return bool(room.over[len(room.over) - 1] == 0)
        at = end
    return False
