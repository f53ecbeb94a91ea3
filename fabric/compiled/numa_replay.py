"""Plays the rest of a compiled run again and again, by different rules or answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_decisions import as_argument, fixed_answer, go
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.record import PLACED
from binwright.simcore.types import Compiled, Ints

DROP = loop.MODES.index("drop")
_Kept: TypeAlias = tuple[tuple[Any, Any], ...]
"""Where a run is: pairs of an array and a copy of it."""


class Replay:
    """Plays the rest of a compiled run with one rule after another, each time from where the run is now.

    It is for overflow `drop` and `stop`, on a cluster that does not grow and has no rules of placement. Only one thread
    may use a replay at a time.

    With `warm`, a resource and a share, every rule first fills the cluster itself, skipping what fits nowhere, until
    that share of the resource is in use; with a `filler` this rule does so, for all. What is placed until then does
    not count.
    """

    def __init__(
        self, simulation: Simulation, warm: tuple[int, float] | None = None, filler: Compiled | None = None
    ) -> None:
        if len(simulation.tables.parts) or simulation.moving or simulation.preempting or simulation.events.fails:
            raise ValueError("a replay plays no gangs, moves, evictions, or failures")
        if simulation.quotas or simulation.rules:
            raise ValueError("a replay keeps no quotas, and no rules of placement")
        self._requests, self._state = simulation.requests, simulation.state
        self._mode = loop.MODES.index(simulation.overflow.mode)
        self._warm = warm
        self._tables, self._interested = simulation.tables, np.zeros(0, np.bool_)
        self._largest = int(simulation.workload.demand[:, warm[0]].max(initial=1)) if warm else 1
        self._start = self._copied()
        self._answered = int(self._state.answers[0])
        if filler:
            self._begin(filler, filler)
            self._warm, self._start = None, self._copied()

    @property
    def capacity(self) -> Ints:
        """The capacity of the cluster, int64 [servers, nodes, resources]."""
        return self._state.capacity

    @property
    def requests(self) -> int:
        """How many requests a rule may be asked about."""
        return len(self._requests.rows)

    @property
    def first(self) -> int:
        """How many requests were answered before what was played last, its warm start included."""
        return self._answered

    def _copied(self) -> _Kept:
        """Pair every array that an answer depends on with a copy of it."""
        state = self._state
        ends = int(state.at[loop.ENDS])
        waiting = state.line[state.at[loop.FIRST] : state.at[loop.LAST]]
        changing: list[Any] = [state.free, state.left, state.at, state.clock, state.answers, waiting]
        changing += [state.due[:ends], state.holder[:ends]]
        return tuple((array, array.copy()) for array in changing)

    def _restore(self, copies: _Kept) -> None:
        for array, before in copies:
            array[:] = before
        self._state.holds[self._state.holder[: self._state.at[loop.ENDS]]] = loop.HOLDS
        self._state.log[0] += len(self._state.log)  # any server may have changed

    def _begin(self, rule: Compiled, by: Compiled | None) -> None:
        """Go back to the start, and fill the cluster where each rule does so itself: by a copy of it, or `by`."""
        self._restore(self._start)
        if self._warm is None:
            return
        resource, share = self._warm
        by = by or rule._replace(weights=tuple(part.copy() for part in rule.weights))
        installed, left = int(self.capacity[:, :, resource].sum()), self._state.left
        answers = self._state.answers
        wanted, before = share * installed, -1
        while answers[0] > before and (missing := wanted - installed + int(left[:, :, resource].sum())) > 0:
            before = int(answers[0])
            # No fewer requests than that can make up what is missing.
            self._go(by, max(1, int(missing // self._largest)), mode=DROP)
        self._answered = int(answers[0])

    def _go(self, rule: Compiled, answers: int, ahead: bool = False, mode: int | None = None) -> int:
        """Let a rule answer, and return why the loop stopped."""
        decide, weights = as_argument(rule.scan, self._state.free.shape[2], rule.weights)
        how = self._mode if mode is None else mode
        form = self._requests, self._state, None, self._tables, self._interested
        _, status, _ = go(decide, weights, *form, loop.NO_REFUSALS, how, ahead, inf, answers)
        if status == loop.BROKEN:
            raise InfeasiblePlacement("a rule has taken a place that the request could not take")
        stopped: int = status
        return stopped

    def _placed(self) -> int:
        answered = self._state.sequence[self._answered : self._state.answers[0]]
        return int((self._state.outcome[answered] == PLACED).sum())

    def placed(self, rule: Compiled, by: Compiled | None = None) -> int:
        """Count the requests that a rule places from the start of the replay to its end.

        Where rules fill the cluster themselves, `by` does so in place of a copy of the rule.
        """
        self._begin(rule, by)
        self._go(rule, -1)
        return self._placed()

    def staying(self) -> Ints:
        """Return which answers of what was played last are still in place at its end: their numbers, int64 [any]."""
        state = self._state
        answered = state.sequence[self._answered : state.answers[0]]
        never = (self._requests.duration[answered] == inf) & (state.outcome[answered] == PLACED)
        return np.flatnonzero(never | np.isin(answered, state.holder[: state.at[loop.ENDS]]))

    def follow(self, rule: Compiled, answers: int) -> Offer | None:
        """Return what is on offer after that many answers of a rule; `None` when the run is over before."""
        self._begin(rule, None)
        if self._go(rule, answers, True) != loop.ASK:
            return None
        row = self._state.line[self._state.at[loop.FIRST]]
        return Offer(self._state.free.copy(), self._requests.demand[row], bool(self._requests.spread[row]))

    def tried(self, codes: Sequence[int], rule: Compiled) -> Ints:
        """Count the requests placed in all, int64 [codes], when the request on offer gets each of these answers.

        A rule answers all later ones. The request stays on offer.
        """
        start = self._copied()
        placed = np.zeros(len(codes), np.int64)
        for number, code in enumerate(codes):
            self._restore(start)
            self._go(Compiled(fixed_answer, (np.array([float(code)]),)), 1)
            self._go(rule, -1)
            placed[number] = self._placed()
        self._restore(start)
        return placed


class Offer(NamedTuple):
    """Holds what one decision is about: `free` int64 [servers, nodes, resources] and `demand` int64 [resources]."""

    free: Ints
    demand: Ints
    spread: bool
