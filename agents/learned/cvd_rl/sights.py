"""Numbers what CVD-RL's network sees in the decisions that it learns from, so that it values each sight once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.cvd_rl.rule import NODES, inputs, look, look_around
from binwright.agents.learned.numa.trajectory import Decisions
from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats, Ints

Numbers = npt.NDArray[np.int32]
PIECE = 1000
"""Decisions that are looked at together."""


class Sights:
    """Holds every different sight of a server once, float32 [any, inputs]: the first `count` rows of `seen`.

    Servers are often alike: docs/experiments/numa-learning.md says how many differ.
    """

    def __init__(self, ahead: bool, units: Floats) -> None:
        self.ahead, self.units, self.count = ahead, units, 0
        self.seen = np.empty((1, inputs(ahead, len(units) > 0)), np.float32)
        self._table = np.full(2, -1, np.int32)

    def number(self, decisions: Decisions, capacity: Ints) -> Numbers:
        """Return the numbers of what is seen: of all servers as they are, and of the candidates; [n, both]."""
        places = np.empty((len(decisions.code), len(capacity) + decisions.candidates.shape[1]), np.int32)
        for start in range(0, len(places), PIECE):
            part = slice(start, start + PIECE)
            self._make_room(places[part].size)
            of = decisions.free[part], decisions.demand[part], decisions.spread[part], decisions.candidates[part]
            how = capacity, self.ahead, self.units
            self.count = look_all(*of, *how, self.seen, self.count, self._table, places[part])
        return places

    def _make_room(self, more: int) -> None:
        """Let there be room for so many more."""
        if self.count + more > len(self.seen):
            self.seen = np.resize(self.seen, (2 * (self.count + more), self.seen.shape[1]))
            self._table = np.full(2 ** int(np.ceil(np.log2(2 * len(self.seen)))), -1, np.int32)
            rehash(self.seen.view(np.uint32), self.count, self._table)


@kernel
def look_all(
    free: npt.NDArray[np.float32],
    demands: npt.NDArray[np.float32],
    spread: npt.NDArray[np.bool_],
    candidates: Any,
    capacity: Ints,
    ahead: bool,
    units: Floats,
    seen: npt.NDArray[np.float32],
    count: int,
    table: Numbers,
    places: Numbers,
) -> int:
    """Look at all servers and at all candidates; returns how many sights there are then.

    Writes to `seen` from row `count` on, to its hash `table`, and to `places` which row each is. Where there are fewer
    candidates, a sight of the first server fills up.
    """
    bits = seen.view(np.uint32)
    for b in range(len(free)):
        here, demand = free[b], (int(demands[b, 0]), int(demands[b, 1]))
        for row in range(places.shape[1]):
            server, node = row, -1
            if row >= len(capacity):
                code = max(candidates[b, row - len(capacity)], 0)
                server, node = code // NODES, code % NODES
            look(here, capacity, server, node, demand, spread[b], ahead, units, seen[count], 0)
            places[b, row] = find(bits, count, table)
            count += places[b, row] == count
    return count


@kernel
def find(rows: npt.NDArray[np.uint32], count: int, table: Numbers) -> int:
    """Return which of rows[:count] is the same as rows[count], or `count`, which goes into the hash `table` then."""
    mixed = np.uint64(14695981039346656037)
    for value in rows[count]:
        mixed = (mixed ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    last = np.uint64(len(table) - 1)
    at = mixed & last
    while table[at] >= 0:
        other, same = table[at], True
        for i in range(rows.shape[1]):
            same &= rows[other, i] == rows[count, i]
        if same:
            return int(other)
        at = (at + np.uint64(1)) & last
    table[at] = count
    return count


@kernel
def rehash(rows: npt.NDArray[np.uint32], count: int, table: Numbers) -> None:
    """Put rows[:count], which all differ, into an empty hash table."""
    for row in range(count):
        find(rows, row, table)


@kernel
def distinct(numbers: Numbers, count: int) -> tuple[Ints, Ints]:
    """Return which of `count` numbers there are, int64 [any], and where each of `numbers` is among these."""
    known, found = np.full(count, -1, np.int64), np.empty(numbers.size, np.int64)
    among = np.empty(numbers.shape, np.int64)
    different = 0
    for b in range(numbers.shape[0]):
        for row in range(numbers.shape[1]):
            number = numbers[b, row]
            if known[number] < 0:
                known[number] = different
                found[different] = number
                different += 1
            among[b, row] = known[number]
    return found[:different], among


@kernel
def look_around_all(
    free: npt.NDArray[np.float32],
    demands: npt.NDArray[np.float32],
    spread: npt.NDArray[np.bool_],
    codes: Ints,
    capacity: Ints,
    ahead: bool,
    units: Floats,
    seen: npt.NDArray[np.float32],
) -> None:
    """Write to seen[b, i] what is seen of the whole cluster after choice codes[b, i]."""
    for b in range(len(codes)):
        demand = int(demands[b, 0]), int(demands[b, 1])
        for i in range(codes.shape[1]):
            look_around(free[b], capacity, codes[b, i], demand, spread[b], ahead, units, True, seen[b, i])
