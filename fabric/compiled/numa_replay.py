"""Plays the rest of a compiled run again and again, by different rules or answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from fabric.compiled.numa_loop import ANSWERED, ASK, ENDS, HEAD, MODES, as_argument, given, go
from fabric.compiled.numa_run import CompiledSimulation
from simcore.record import PLACED
from simcore.vocabulary import Compiled, Ints


class Replay:
    """Plays the rest of a compiled run with one rule after another, each time from where the run is now.

    It is for overflow `drop` and `stop`, on a cluster that does not grow. Rules look at all servers. Only one thread
    may use a replay at a time.
    """

    def __init__(self, simulation: CompiledSimulation) -> None:
        self._requests, self._state = simulation.requests, simulation.state
        self._mode = MODES.index(simulation.overflow.mode)
        self._start = self._copied()
        self._answered = int(self._state.at[ANSWERED])

    @property
    def capacity(self) -> Ints:
        """The capacity of the cluster, int64 [servers, nodes, resources]."""
        return self._state.capacity

    @property
    def requests(self) -> int:
        """How many requests a rule may be asked about."""
        return len(self._requests.rows)

    def _copied(self) -> tuple[tuple[Any, Any], ...]:
        """Pair every array that an answer depends on with a copy of it."""
        state = self._state
        ends = int(state.at[ENDS])
        changing = state.free, state.left, state.at, state.now, state.due[:ends], state.holder[:ends]
        return tuple((array, array.copy()) for array in changing)

    def _restore(self, kept: tuple[tuple[Any, Any], ...]) -> None:
        for array, before in kept:
            array[:] = before
        self._state.log[0] += len(self._state.log)  # any server may have changed

    def _go(self, rule: Compiled, answers: int, ahead: bool = False) -> int:
        """Let a rule answer, and return why the loop stopped."""
        resources = self._state.free.shape[2]
        decide = as_argument(rule.scan, resources, rule.weights)
        status: int = go(decide, rule.weights, self._requests, self._state, None, self._mode, inf, answers, ahead)[1]
        return status

    def _placed(self) -> int:
        answered = self._state.sequence[self._answered : self._state.at[ANSWERED]]
        return int((self._state.outcome[answered] == PLACED).sum())

    def placed(self, rule: Compiled) -> int:
        """Count the requests that a rule places from the start of the replay to its end."""
        self._restore(self._start)
        self._go(rule, -1)
        return self._placed()

    def staying(self) -> Ints:
        """Return which answers of what was played last are still in place at its end: their numbers, int64 [any]."""
        state = self._state
        answered = state.sequence[self._answered : state.at[ANSWERED]]
        never = (self._requests.duration[answered] == inf) & (state.outcome[answered] == PLACED)
        return np.flatnonzero(never | np.isin(answered, state.holder[: state.at[ENDS]]))

    def follow(self, rule: Compiled, answers: int) -> Offer | None:
        """Return what is on offer after that many answers of a rule; `None` when the run is over before."""
        self._restore(self._start)
        return self._offered(self._go(rule, answers, True))

    def answer(self, code: int) -> Offer | None:
        """Answer what is on offer, and return what is on offer next; `None` when the run is over."""
        return self._offered(self._go(Compiled(given, (np.array([float(code)]),)), 1, True))

    def _offered(self, status: int) -> Offer | None:
        if status != ASK:
            return None
        row = self._requests.rows[self._state.at[HEAD]]
        return Offer(self._state.free.copy(), self._requests.demand[row], bool(self._requests.spread[row]))

    def tried(self, codes: Sequence[int], rule: Compiled) -> Ints:
        """Count the requests placed in all, int64 [codes], when the request on offer gets each of these answers.

        A rule answers all later ones. The request stays on offer.
        """
        here = self._copied()
        found = np.zeros(len(codes), np.int64)
        for number, code in enumerate(codes):
            self._restore(here)
            self._go(Compiled(given, (np.array([float(code)]),)), 1)
            self._go(rule, -1)
            found[number] = self._placed()
        self._restore(here)
        return found


class Offer(NamedTuple):
    """Holds what one decision is about: `free` int64 [servers, nodes, resources] and `demand` int64 [resources]."""

    free: Ints
    demand: Ints
    spread: bool
