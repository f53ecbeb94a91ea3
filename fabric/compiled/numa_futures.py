"""Plays what might come next on servers with NUMA nodes, from where a run is, by one rule after another."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.changed_servers import log_of
from binwright.fabric.compiled.numa_loop import (
    ANSWERED,
    BROKEN,
    COUNTERS,
    ENDS,
    MODES,
    STOPPED,
    NumaRequests,
    NumaState,
    as_argument,
    go,
)
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.past import Past
from binwright.simcore.record import PLACED
from binwright.simcore.types import Compiled, Floats, Ints


class Future(NamedTuple):
    """Holds n requests that might come, and when each of the m that run ends.

    `arrival` float64 [n] ascending, `duration` float64 [n], `demand` int64 [n, resources] and `spread` bool [n];
    `rest` float64 [m]. All times are seconds from now on, inf for never.
    """

    arrival: Floats
    duration: Floats
    demand: Ints
    spread: npt.NDArray[np.bool_]
    rest: Floats


class Played(NamedTuple):
    """Says what a rule came to in a future: requests `placed`, seconds `waited` in all, and `decisions` made."""

    placed: int
    waited: float
    decisions: int


class Futures:
    """Plays futures of at most `length` requests, from what is free and from what runs by the `past` of a run.

    `capacity` and `free` int64 [servers, nodes, resources], of which no array changes. What becomes of requests that
    fit nowhere says `mode`: drop, wait or stop.
    """

    def __init__(self, capacity: Ints, free: Ints, past: Past, mode: str, length: int) -> None:
        rows, resources = length + len(past.held), past.held.shape[1]
        self._length, self._free, self._mode = length, free, MODES.index(mode)
        self._arrival, self._duration = np.zeros(rows), np.zeros(rows)
        self._demand, self._spread = np.zeros((rows, resources), np.int64), np.zeros(rows, np.bool_)
        self._demand[length:], self._spread[length:] = past.held, past.spread
        self._nothing = (0,) * resources
        kinds = np.float64, np.int64, np.int32, np.int8, np.float64, np.int32, np.int8, np.int32
        made: list[Any] = [np.zeros(rows, kind) for kind in kinds]
        due, holder, sequence, *columns = made
        left, at, now = free.copy(), np.zeros(COUNTERS, np.int64), np.zeros(1)
        columns.append(log_of(len(free)))
        self._state = NumaState(capacity.copy(), free.copy(), left, due, holder, at, now, sequence, *columns)
        self._state.server[length:], self._state.node[length:] = past.server, past.node
        self._asked: NumaRequests | None = None

    def take(self, future: Future) -> None:
        """Let a future be the one that is played."""
        n = len(future.arrival)
        self._arrival[:n], self._duration[:n] = future.arrival, future.duration
        self._demand[:n], self._spread[:n] = future.demand, future.spread
        rows = np.arange(n, dtype=np.int32)
        self._asked = NumaRequests(rows, self._arrival, self._duration, self._demand, self._spread, self._nothing)
        ending = np.flatnonzero(future.rest < inf)
        order = ending[np.argsort(future.rest[ending], kind="stable")]  # what ascends is a heap
        self._due, self._holder = future.rest[order], order + self._length

    def play(self, rule: Compiled) -> Played:
        """Play the future that was taken by a copy of a rule, from now to its end."""
        assert self._asked
        state, asked = self._state, self._asked
        state.free[:], state.left[:], state.at[:], state.now[:] = self._free, self._free, 0, 0.0
        ends = len(self._due)
        state.due[:ends], state.holder[:ends], state.at[ENDS] = self._due, self._holder, ends
        weights = tuple(part.copy() for part in rule.weights)
        decide = as_argument(rule.scan, len(self._nothing), weights)
        made, status, _ = go(decide, weights, asked, state, None, None, self._mode, inf, -1, False)
        if status == BROKEN:
            raise InfeasiblePlacement("a rule has taken a place that the request could not take")
        answered = state.sequence[: state.at[ANSWERED]]
        placed = len(answered) - 1 if state.at[STOPPED] else int((state.outcome[answered] == PLACED).sum())
        waited = state.decided[answered] - self._arrival[answered]
        return Played(placed, float(waited.sum()), made)
