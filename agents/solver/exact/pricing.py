"""Find ways to fill one bin: the one worth most, or all that are worth enough.

A pattern says how many balls of each kind a bin holds. Values are whole numbers, so that what is found is exact. A tree
is searched, kind by kind, as many balls as fit first. What the kinds that are left can be worth is bounded by tables of
one dimension at a time, and of all dimensions added: the best value of a kind and those after it for what is left of
that dimension. With one dimension of few states that is no bound, but the best, and the first leaf is the answer.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.exact.kinds import Kinds
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints

STATES = 2_000
"""A table has no more: wider dimensions are rounded, so that patterns that fit still do."""
FINE = 256
"""How many times as fine shares are before they are added."""


class Pricing:
    """Finds patterns of the kinds of a packing, for one of its kinds of bins."""

    def __init__(self, kinds: Kinds, bin_kind: int = 0) -> None:
        self.kinds = kinds
        self.capacity = np.ascontiguousarray(kinds.fleet.capacity[bin_kind])
        columns = [_rounded(size, room) for size, room in zip(kinds.size.T, self.capacity.tolist(), strict=True)]
        if len(columns) > 1:
            shares = (kinds.size * (FINE * STATES) // np.maximum(self.capacity, 1)).sum(axis=1)
            columns.append((shares // (FINE * len(columns)), STATES))
        self.sizes = np.array([size for size, _ in columns])
        """[columns, kinds]"""
        self.rooms = np.array([room for _, room in columns])
        """[columns]"""
        self.tables = np.zeros((len(columns), len(kinds.count) + 1, int(self.rooms.max()) + 1), np.int64)

    def best(self, value: Ints, count: Ints, nodes: int) -> tuple[Ints, int]:
        """Find the pattern worth most by value [kinds] of at most so many balls [kinds], in a tree of so many nodes.

        Returns it, int64 [kinds], and a number that no pattern is worth more than: what it is worth, if the tree was
        searched to its end.
        """
        found, whole, most = self._search(value, count, 1, nodes, 1)
        return (found[0], int(value @ found[0]) if whole else most) if len(found) else (np.zeros_like(value), most)

    def every(self, value: Ints, count: Ints, least: int, nodes: int, most: int) -> tuple[Ints, bool]:
        """Find the patterns worth at least so much by value [kinds] that nothing can be added to, int64 [p, kinds].

        Returns `most` of them at most, found in a tree of so many nodes, and whether they are all.
        """
        found, whole, _ = self._search(value, count, max(least, 1), nodes, max(most, 2))
        return found, whole

    def _search(self, value: Ints, count: Ints, least: int, nodes: int, most: int) -> tuple[Ints, bool, int]:
        kinds = self.kinds
        order = np.argsort(-value / np.maximum(kinds.weight, 1), kind="stable")
        given = np.ascontiguousarray(kinds.size[order]), count[order], value[order]
        sizes = np.ascontiguousarray(self.sizes[:, order])
        _fill(sizes, self.rooms, given[1], given[2], self.tables)
        found = np.zeros((most, len(value)), np.int64)
        number, whole = _tree(*given, self.capacity, sizes, self.rooms, self.tables, least, nodes, found)
        patterns = np.zeros((number, len(value)), np.int64)
        patterns[:, order] = found[:number]
        ends = zip(self.tables[:, 0], self.rooms, strict=True)
        return patterns, bool(whole), min(int(table[room]) for table, room in ends)


def _rounded(size: Ints, room: int) -> tuple[Ints, int]:
    """Round sizes [kinds] down to parts of a bin, if it has more states than a table may have."""
    return (size, room) if room < STATES else (size * STATES // room, STATES)


@kernel
def _fill(sizes: Ints, rooms: Ints, count: Ints, value: Ints, tables: Ints) -> None:
    """Write the tables [columns, kinds + 1, states]: the most that the kinds from a row's on are worth in a state."""
    kinds = len(count)
    for column in range(len(rooms)):
        table, room = tables[column], rooms[column]
        for state in range(room + 1):
            table[kinds, state] = 0
        for kind in range(kinds - 1, -1, -1):
            size, worth, below, row = sizes[column, kind], value[kind], table[kind + 1], table[kind]
            for state in range(room + 1):
                row[state] = below[state]
            if worth <= 0:
                continue
            for number in range(1, count[kind] + 1):
                taken = number * size
                if taken > room:
                    break
                for state in range(taken, room + 1):
                    row[state] = max(row[state], below[state - taken] + number * worth)


@kernel
def _tree(
    size: Ints,
    count: Ints,
    value: Ints,
    capacity: Ints,
    sizes: Ints,
    rooms: Ints,
    tables: Ints,
    least: int,
    nodes: int,
    found: Ints,
) -> tuple[int, bool]:
    """Search for patterns worth at least so much, and write them to found [most, kinds], the full ones only.

    If there is room for one only, it is the best. Returns how many, and whether the tree was searched to its end.
    """
    kinds, dims = size.shape
    best_only = len(found) == 1
    taken = np.zeros(kinds, np.int64)
    free, left = capacity.copy(), rooms.copy()
    worth, number, kind = 0, 0, 0
    while True:
        nodes -= 1
        if nodes < 0:
            return number, False
        hopeful = True
        for column in range(len(rooms)):
            hopeful = hopeful and worth + tables[column, kind, left[column]] >= least
        if hopeful and kind < kinds:
            most = np.int64(0) if best_only and value[kind] <= 0 else count[kind]
            for d in range(dims):
                if size[kind, d] > 0:
                    most = min(most, free[d] // size[kind, d])
            taken[kind] = most
            worth += most * value[kind]
            for d in range(dims):
                free[d] -= most * size[kind, d]
            for column in range(len(rooms)):
                left[column] -= most * sizes[column, kind]
            kind += 1
            continue
        if hopeful:
            full = True
            for other in range(kinds):
                if not best_only and taken[other] < count[other]:
                    more = True
                    for d in range(dims):
                        more = more and size[other, d] <= free[d]
                    full = full and not more
            if full:
                if number == len(found) and not best_only:
                    return number, False
                if best_only:
                    number = 0
                for other in range(kinds):
                    found[number, other] = taken[other]
                number += 1
                least = worth + 1 if best_only else least
        kind -= 1
        while kind >= 0 and taken[kind] == 0:
            kind -= 1
        if kind < 0:
            return number, True
        taken[kind] -= 1
        worth -= value[kind]
        for d in range(dims):
            free[d] += size[kind, d]
        for column in range(len(rooms)):
            left[column] += sizes[column, kind]
        kind += 1
