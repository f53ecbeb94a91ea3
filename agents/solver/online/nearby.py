"""Solve a specification again and again with other numbers, in groups of bins that are near one another.

This search is ours. Groups are nested: bins, then racks, pods, and everything, or whatever `levels` says. An answer in
a smaller group is better, and of the groups of one level that may hold all balls, the one with the least room is tried
first. Groups and bins that cannot hold enough are left out without a call of UTILFN, and an attempt clears up only what
it has touched, so that its cost depends on the balls and the group, and not on the size of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from binwright.agents.solver.backends.cpu import called
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream
from binwright.agents.solver.online.incremental import Varying
from binwright.agents.solver.online.nearby_attempt import (
    NO_LIMIT,
    Free,
    Near,
    Notes,
    attempt,
    differing,
    holds,
    next_group,
    owners,
    slots,
    touched_bins,
)
from binwright.simcore.jit import prepared
from binwright.simcore.types import Ints


class Nearby(Varying):
    """One specification for requests of different numbers of balls, up to as many as it declares.

    The balls of a request are the first ones; the others are not placed. `levels` int64 [any, bins] has the group of
    every bin, in smaller groups and then in larger ones around these. A specification that declares GROUPS has them
    instead. `largest` [kinds] is the most that a bin ever has of each kind that bounds are made of.
    """

    near: ClassVar[bool] = True

    def __init__(self, given: tuple[Any, ...], levels: Sequence[Ints], largest: Ints) -> None:
        super().__init__(*given)
        problem, flat = self.problem, self._flat
        if self.declared:
            [grouping] = problem.groupings
            levels = [np.empty(problem.bins, np.int64)]
            levels[0][grouping.members] = np.repeat(np.arange(len(grouping)), np.diff(grouping.offsets))
        self._near = near = nested(levels, problem.bins, problem.dims)
        self._place = np.empty(problem.bins, np.int64)
        self._place[near.order] = np.arange(problem.bins)
        self._leaders = problem.units.members[problem.units.offsets[:-1]]
        lengths = problem.dims, problem.dims, problem.balls, len(near.group), 3
        self._notes = Notes(*(np.zeros(length, np.int64) for length in lengths))
        self._trims = bool(flat.elastic.any())
        self._known = not self._trims
        self._largest, kinds = largest, len(largest)
        sums = np.zeros((len(near.begin) - problem.bins, kinds), np.int64)
        self._free = free = Free(np.zeros((problem.bins, kinds), np.int64), sums, largest)
        self._seen: dict[str, tuple[Ints, Ints, Ints]] = {}
        call, queue = called(self._source), np.zeros(len(self._leaders), np.int64)
        self._fixed = call, flat, *self._sets, self._room
        self._attempt = prepared(attempt, *self._fixed, near, free, self._notes, queue, True, queue, 1, 0, 0, 1, 0)
        self._next = prepared(next_group, near, free, 0, 1, 0, 0)
        self._holds = prepared(holds, near, free, 0, 1)
        self._differing = prepared(differing, queue, queue, queue, queue)

    def update(self, name: str, entries: Ints) -> tuple[Ints, Ints]:
        """Write a table as `write` does, which is then not for this table: only what has changed since the last time.

        Returns where in the flat table that is, and by how much the entries there are more.
        """
        flat = entries.reshape(-1)
        if name not in self._seen:
            blank = np.zeros(len(flat), np.int64)
            self._seen[name] = blank, blank.copy(), blank.copy()
            self.write(name, 0)
        _, where, more = self._seen[name]
        count = self._differing(flat, *self._seen[name])
        for target in self._targets[name]:
            target.reshape(-1)[where[:count]] = flat[where[:count]]
        return where[:count], more[:count]

    def write_free(self, name: str, free: Ints) -> None:
        """Write the table [bins, kinds] of what bins have free of some kinds; it gives bounds, too."""
        bins = len(free)
        where, more = self.update(name, free)
        place, kind = np.divmod(where, free.shape[1])
        for level in self._near.group[1:]:
            np.add.at(self._free.sums, (level[self._place[place]] - bins, kind), more)
        self._free = self._free._replace(bins=free)

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
        near, notes, flat, cost = self._near, self._notes, self._flat, self._cost
        bounds = self._free = self._free._replace(least=least)
        if not self._known:
            near = self._learn()
        if cost >= 0:
            flat.ceiling[cost] = self._most
        end = inf if seconds is None else perf_counter() + seconds
        top, orders = len(near.group) - 1, 0
        for number, (level, group) in enumerate(self._groups(attempts, balls)):
            if number and perf_counter() > end:
                return
            orders += level == top
            queue = self._order(seed, balls, orders)
            which = len(queue), level, group, seed, number
            if self._attempt(*self._fixed, near, bounds, notes, classes, self._trims, queue, *which):
                self._best[:] = self._room.alloc
                if cost >= 0:
                    flat.ceiling[cost] = self._room.used[cost] - 1
                yield self._best
                if cost >= 0 and flat.ceiling[cost] < 0:
                    return

    def _groups(self, attempts: int, balls: int) -> Iterator[tuple[int, int]]:
        """Yield (level, group) of the groups to be tried, in this order."""
        top = len(self._near.group) - 1
        for level in range(slots(self._largest, self._free.least, balls) < balls, top):  # in one bin, if one may do
            tried, room, group = 0, -1, -1
            while tried < attempts:
                room, group = self._next(self._near, self._free, level, balls, room, group)
                if group < 0:
                    break
                if level == 0 or self._holds(self._near, self._free, group, balls):
                    tried += 1
                    yield level, group
        everything = len(self._near.begin) - 1
        room = slots(self._free.sums[-1], self._free.least, balls)
        if room >= balls and self._holds(self._near, self._free, everything, balls):
            yield from ((top, everything) for _ in range(attempts if self.has_cost else 1))

    def _order(self, seed: int, balls: int, number: int) -> Ints:
        """Sort the units of the first balls: by number, or at random from order number 2 on."""
        (queue,) = np.nonzero(self._leaders < balls)
        if number > 1:
            start = stream(seed, len(self._near.group), number)
            for i in range(len(queue) - 1):
                chosen = i + below(start, i, len(queue) - i)
                queue[i], queue[chosen] = queue[chosen], queue[i]
        return queue

    def _learn(self) -> Near:
        """Find the group that every elastic dimension belongs to, from what ball 0 touches.

        It guides the search only: that no dimension is over in the end is made sure in any case.
        """
        near, flat, dims = self._near, self._flat, self.problem.dims
        first, last = np.full(dims, len(near.order), np.int64), np.full(dims, -1, np.int64)
        ceiling = np.full(dims, NO_LIMIT, np.int64)
        touched_bins(self._fixed[0], flat, self._room, near, ceiling, flat.elastic, first, last)
        owner = owners(near.group, first, last)
        own = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
        own_first = np.searchsorted(owner[own], np.arange(len(near.begin) + 1))
        self._near = near._replace(owner=owner, own_first=own_first, own=own)
        self._known = True
        return self._near


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
