"""Simulations whose agent is one compiled rule: the whole run in machine code, number for number the engine's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from fabric.compiled.numa_loop import (
    ALL,
    ANSWERED,
    ASK,
    BROKEN,
    CHANGE,
    COUNTERS,
    ENDS,
    EXPAND,
    GROW,
    HEAD,
    MODES,
    STOPPED,
    TAIL,
    Requests,
    State,
    given,
    go,
)
from fabric.ledger import Ledger
from simcore.asking import said
from simcore.engine import Simulation
from simcore.errors import InfeasiblePlacement
from simcore.jit import callback
from simcore.record import PENDING, PLACED
from simcore.rules import Overflow
from simcore.vocabulary import Agent, Compiled, Ints, Placement, Request, Workload


class CompiledSimulation(Simulation):
    """A `Simulation` on servers without failures that rules answer, by `play_compiled`; `advance` offers nothing.

    The rule may change from one call to the next, as may `overflow`. The placements are not in the ledger, only what
    they leave free.
    """

    def __init__(
        self,
        workload: Workload,
        ledger: Ledger,
        overflow: Overflow | None = None,
        *,
        expansion: Sequence[tuple[float, int]] = (),
    ) -> None:
        super().__init__(workload, ledger, overflow)
        self._decisions.close()
        self._servers = ledger
        self._planned = sorted(expansion, key=lambda added: added[0])[::-1]
        self._requests = requests(workload, self._spreads, self.record.outcome == PENDING)
        rows = len(self._requests.rows)
        record = self.record
        self._state = State(
            *ledger.arrays,
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.zeros(COUNTERS, np.int64),
            np.zeros(1),
            np.zeros(rows, np.int64),
            record.outcome,
            record.decided,
            record.server,
            record.node,
            record.reason,
        )

    @property
    def waiting(self) -> int:
        """Requests in the line."""
        at = self._state.at
        return int(at[TAIL] - at[HEAD])

    def prepare(self, rule: Compiled) -> None:
        """Have the loop and a rule compiled, or loaded, so that no decision takes the time for it."""
        decide = as_argument(rule.scan, self.workload.demand.shape[1], len(rule.weights))
        go(decide, rule.weights, self._requests, self._state, 0, inf, 0, False)

    def go(self, rule: Compiled, answers: int = -1) -> int:
        """Let a rule answer so many times, or to the end when negative; returns how many times it has.

        Raises `InfeasiblePlacement` as `answer` does.
        """
        decide = as_argument(rule.scan, self.workload.demand.shape[1], len(rule.weights))
        made = 0
        while made != answers and not self._state.at[STOPPED]:
            mode = MODES.index(self.overflow.mode if self._may_grow else self.overflow.then)
            change = self._planned[-1][0] if self._planned else inf
            more, status, code = go(
                decide, rule.weights, self._requests, self._state, mode, change, answers - made, False
            )
            made += more
            self._follow()
            if status == GROW:
                self._grow(min(self.overflow.by, self.overflow.limit - len(self.view.capacity)))
            elif status == CHANGE:
                self._grow(self._planned.pop()[1])
            elif status == BROKEN:
                self._complain(code)
            else:
                break
            capacity, free, left = self._servers.arrays
            self._state = self._state._replace(capacity=capacity, free=free, left=left)
        return made

    @property
    def _may_grow(self) -> bool:
        return self.overflow.mode != MODES[EXPAND] or len(self.view.capacity) < self.overflow.limit

    def _follow(self) -> None:
        """Say what the loop has come to where the engine says it."""
        self._servers.confirm()
        at = self._state.at
        self.clock.run_to(float(self._state.now[0]), False)
        self.view.now = self.clock.now
        last = int(self._requests.rows[at[TAIL] - 1]) if at[TAIL] else -1
        self.offered = len(self.workload) if at[ALL] else last + 1
        self.stopped = bool(at[STOPPED])
        told = self.record.sequence
        told += self._state.sequence[len(told) : at[ANSWERED]].tolist()

    def _complain(self, code: int) -> None:
        """The engine's own words about an answer that the ledger refuses."""
        row = int(self._requests.rows[self._state.at[HEAD]])
        workload, spread = self.workload, bool(self._spreads[row])
        times = float(workload.arrival[row]), float(workload.duration[row])
        request = Request(row, *times, tuple(workload.demand[row].tolist()), spread)
        try:
            self.ledger.apply(request, placement_of(code, request, self.view.free.shape[1]))
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{said(request, workload.resources)}: {error}") from None


def placement_of(code: int, request: Request, nodes: int) -> Placement:
    """The answer of a `Scan`, in words."""
    server = code // nodes
    return request.across(server, nodes) if request.spread else request.on(server, code - server * nodes)


def requests(workload: Workload, spread: Any, possible: Any) -> Requests:
    """As the compiled loop takes them; `spread` and `possible` bool [n]."""
    return Requests(
        np.flatnonzero(possible),
        np.require(workload.arrival, np.float64, ["C", "W"]),
        np.require(workload.duration, np.float64, ["C", "W"]),
        np.require(workload.demand, np.int64, ["C", "W"]),
        spread,
        (0,) * workload.demand.shape[1],
    )


@lru_cache(maxsize=256)
def as_argument(scan: Any, resources: int, weights: int) -> Any:
    """A rule as the loop takes it."""
    state = "int64[:,:,::1]"
    more = ["float64[::1]"] * weights
    return callback(scan, "int64", state, state, f"UniTuple(int64, {resources})", "boolean", *more)


def play_compiled(simulation: CompiledSimulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """As `simcore.engine.play`, for an agent that is compiled; the nanoseconds are those of the whole simulation."""
    rule = agent.compiled
    if rule is None:
        raise TypeError(f"{type(agent).__name__} is not compiled")
    simulation.prepare(rule)
    thought = 0
    left = watch()
    while left:
        before = perf_counter_ns()
        made = simulation.go(rule, left)
        thought += perf_counter_ns() - before
        if made != left:
            break
        left = watch()
    return thought


class Replay:
    """What is left of a compiled simulation, to be played by one rule after another: each finds it as it is now.

    For overflow `drop` and `stop` on a cluster that does not grow. One replay at a time belongs to one thread.
    """

    def __init__(self, simulation: CompiledSimulation) -> None:
        self._requests, self._state = simulation._requests, simulation._state
        self._mode = MODES.index(simulation.overflow.mode)
        self._start = self._copied()
        self._answered = int(self._state.at[ANSWERED])

    @property
    def capacity(self) -> Ints:
        """Of the cluster, int64 [servers, nodes, resources]."""
        return self._state.capacity

    @property
    def requests(self) -> int:
        """How many requests can be asked about."""
        return len(self._requests.rows)

    def _copied(self) -> tuple[tuple[Any, Any], ...]:
        """Everything that an answer looks at, and how it is now."""
        state = self._state
        ends = int(state.at[ENDS])
        changing = state.free, state.left, state.at, state.now, state.due[:ends], state.holder[:ends]
        return tuple((array, array.copy()) for array in changing)

    def _go(self, rule: Compiled, answers: int, ahead: bool = False) -> int:
        """As `fabric.compiled.numa_loop.go`; returns its status."""
        resources = self._state.free.shape[2]
        decide = as_argument(rule.scan, resources, len(rule.weights))
        status: int = go(decide, rule.weights, self._requests, self._state, self._mode, inf, answers, ahead)[1]
        return status

    def _placed(self) -> int:
        answered = self._state.sequence[self._answered : self._state.at[ANSWERED]]
        return int((self._state.outcome[answered] == PLACED).sum())

    def placed(self, rule: Compiled) -> int:
        """How many requests a rule places until the end."""
        _restore(self._start)
        self._go(rule, -1)
        return self._placed()

    def staying(self) -> Ints:
        """Of the answers of what was played last, the numbers of those whose requests are still there at its end."""
        state = self._state
        answered = state.sequence[self._answered : state.at[ANSWERED]]
        return np.flatnonzero(np.isin(answered, state.holder[: state.at[ENDS]]))

    def follow(self, rule: Compiled, answers: int) -> Offer | None:
        """What is on offer after so many answers of a rule; `None` when the run is over before."""
        _restore(self._start)
        return self._offered(self._go(rule, answers, True))

    def answer(self, code: int) -> Offer | None:
        """Answer what is on offer; what is on offer then."""
        return self._offered(self._go(Compiled(given, (np.array([float(code)]),)), 1, True))

    def _offered(self, status: int) -> Offer | None:
        if status != ASK:
            return None
        row = self._requests.rows[self._state.at[HEAD]]
        return Offer(self._state.free.copy(), self._requests.demand[row], bool(self._requests.spread[row]))

    def tried(self, codes: Sequence[int], rule: Compiled) -> Ints:
        """How many requests are placed in all when the request on offer gets each of these answers, and a rule answers
        the others, int64 [codes]. What is on offer stays so.
        """
        here = self._copied()
        found = np.zeros(len(codes), np.int64)
        for number, code in enumerate(codes):
            _restore(here)
            self._go(Compiled(given, (np.array([float(code)]),)), 1)
            self._go(rule, -1)
            found[number] = self._placed()
        _restore(here)
        return found


class Offer(NamedTuple):
    """What a decision is about: `free` int64 [servers, nodes, resources], `demand` int64 [resources]."""

    free: Ints
    demand: Ints
    spread: bool


def _restore(kept: tuple[tuple[Any, Any], ...]) -> None:
    for array, before in kept:
        array[:] = before
