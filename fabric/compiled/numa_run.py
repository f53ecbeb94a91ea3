"""Plays a whole run in machine code, number for number as the engine does, for an agent that is one compiled rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter_ns
from typing import Any

import numpy as np

from binwright.fabric.changed_servers import log_of
from binwright.fabric.compiled.numa_loop import (
    ALL,
    ANSWERED,
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
    NumaRequests,
    NumaState,
    as_argument,
    go,
    placement_of,
)
from binwright.fabric.ledger import Ledger
from binwright.fabric.placement.role_views import Stage
from binwright.fabric.ranking import Standings, standings
from binwright.simcore.agent_calls import describe_request
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import prepared
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.record import PENDING, PLACED
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Compiled, Request, Workload


class CompiledSimulation(Simulation):
    """Simulates servers without failures, with rules that answer every request. `play_compiled` drives it.

    `advance` offers nothing here. The rule may change from one call of `go` to the next, as may `overflow`. The ledger
    shows what the placements leave free, but not the placements.
    """

    def __init__(
        self,
        workload: Workload,
        ledger: Ledger,
        overflow: Overflow | None = None,
        *,
        expansion: Sequence[tuple[float, int]] = (),
    ) -> None:
        self._grows = bool(expansion)
        super().__init__(workload, ledger, overflow)
        self._decisions.close()
        self._servers = ledger
        grown = [(time, self.events.grow, by) for time, by in expansion]
        self._planned = sorted([*grown, *ledger.planned], key=lambda one: one[0])[::-1]
        workload, record = self.workload, self.record
        possible = record.outcome == PENDING
        rows = int(np.count_nonzero(possible))
        self.parts = None if workload.gangs is None else workload.gangs.parts
        leads = self.rows.leads
        self.requests = requests(workload, self.rows.spreads, possible if leads is None else possible & leads)
        self.state = NumaState(
            *ledger.arrays,
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.zeros(COUNTERS, np.int64),
            np.zeros(1),
            zeros(rows, np.int32),
            record.outcome,
            record.decided,
            record.server,
            record.node,
            record.reason,
            log_of(len(ledger.view.free), ledger.log),
        )
        self.rules = ledger.ruling(self.rows.roles)
        self._known: tuple[Compiled, Standings] | None = None
        self._ready: tuple[Any, Callable[..., tuple[int, int, int]]] | None = None
        self.follows = False
        """Do rules that can look only at what changed do so with few servers, too?"""

    @property
    def waiting(self) -> int:
        """How many requests wait in the line."""
        at = self.state.at
        return int(at[TAIL] - at[HEAD])

    def prepare(self, rule: Compiled) -> None:
        """Compile the loop and a rule, or load them, so that no decision takes the time for it."""
        self._loop(rule)

    def _loop(self, rule: Compiled) -> tuple[Callable[..., tuple[int, int, int]], Any, tuple[Any, ...]]:
        """Return the loop, a rule and its arguments: in the form that looks only at what changed where that pays."""
        scan: Any = rule.scan
        weights: tuple[Any, ...] = rule.weights
        servers, _, resources = self.state.free.shape
        if self.rules is None and scan.incremental and (self.follows or servers >= scan.worth_it):
            if self._known is None or self._known[0] is not rule:
                self._known = rule, standings(self.state.free)
            scan, weights = scan.incremental, (*weights, self.state.log, *self._known[1])
        decide = as_argument(scan, resources, weights)
        if self._ready is None or self._ready[0] is not decide:
            loop = prepared(go, decide, weights, self.requests, self.state, self.rules, self.parts, 0, inf, 0, False)
            self._ready = decide, loop
        return self._ready[1], decide, weights

    def go(self, rule: Compiled, answers: int = -1) -> int:
        """Let a rule answer `answers` times, or to the end of the run when negative; returns how often it answered.

        Raises `InfeasiblePlacement` as `answer` does.
        """
        made = 0
        while made != answers and not self.state.at[STOPPED]:
            mode = MODES.index(self.overflow.mode if self._may_grow else self.overflow.then)
            change = self._planned[-1][0] if self._planned else inf
            loop, *form = self._loop(rule)
            given = self.requests, self.state, self.rules, self.parts
            more, status, code = loop(*form, *given, mode, change, answers - made, False)
            made += more
            self.follow()
            if status == GROW:
                self._change(self.events.grow, min(self.overflow.by, self.overflow.limit - len(self.view.capacity)))
            elif status == CHANGE:
                self._change(*self._planned.pop()[1:])
            elif status == BROKEN:
                self._complain(int(self.requests.rows[self.state.at[HEAD]]), code)
            else:
                break
            self._lay_out()
        return made

    def _change(self, call: Callable[[int], None], number: int) -> None:
        """Have the ledger change; its rules of placement have to know who lies where for it."""
        if self.rules is not None:
            state, record, roles = self.state, self.record, self.rules.roles
            for_ever = (record.outcome[: len(roles)] == PLACED) & (self.workload.duration == inf)
            rows = np.concatenate([state.holder[: state.at[ENDS]], np.flatnonzero(for_ever)])
            places = zip(record.server[rows].tolist(), roles[rows].tolist(), strict=True)
            self._servers.follow(dict(zip(rows.tolist(), places, strict=True)))
        call(number)
        self.rules = self._servers.ruling(self.rows.roles)

    def stages(self) -> list[Stage]:
        """Return the rules of placement from now on, one after another; none where there are no rules."""
        return self._servers.stages()

    def _lay_out(self) -> None:
        """Take the arrays that the ledger has after it has grown."""
        capacity, free, left = self._servers.arrays
        log = log_of(len(free), self.state.log if self._servers.log is None else self._servers.log)
        if log is not self.state.log:
            self._known = None
        self.state = self.state._replace(capacity=capacity, free=free, left=left, log=log)

    @property
    def _may_grow(self) -> bool:
        return self.overflow.mode != MODES[EXPAND] or len(self.view.capacity) < self.overflow.limit

    def follow(self) -> None:
        """Write how far the loop has come to the places where the engine keeps it."""
        if self.rules is not None:
            self._servers.follow()
        at = self.state.at
        self.clock.run_to(float(self.state.now[0]), False)
        self.view.now = self.clock.now
        if at[ALL]:
            self.offered = len(self.workload)
        elif at[TAIL]:
            last = int(self.requests.rows[at[TAIL] - 1])
            self.offered = last + (1 if self.parts is None else int(self.parts[last]))
        self.stopped = bool(at[STOPPED])
        sequence = self.record.sequence
        sequence.frombytes(self.state.sequence[len(sequence) : at[ANSWERED]].tobytes())

    def let_go(self) -> None:
        """Give back the memory that only a run which goes on needs."""
        none = np.zeros(0, np.int32)
        self.state.at[ENDS] = 0
        self.state = self.state._replace(due=np.zeros(0), holder=np.zeros(0, np.int64), sequence=none)
        self.requests = self.requests._replace(rows=none)

    def _complain(self, row: int, code: int) -> None:
        """Raise the engine's own error for an answer that the ledger refuses."""
        workload, spread = self.workload, bool(self.rows.spreads[row])
        times = float(workload.arrival[row]), float(workload.duration[row])
        role = 0 if self.rows.roles is None else int(self.rows.roles[row])
        request = Request(row, *times, tuple(workload.demand[row].tolist()), spread, role=role)
        try:
            self.ledger.apply(request, placement_of(code, request, self.view.free.shape[1]))
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{describe_request(request, workload.resources)}: {error}") from None


def requests(workload: Workload, spread: Any, possible: Any) -> NumaRequests:
    """Turn a workload into what the loop reads; `spread` and `possible` are bool [n]."""
    rows = zeros(int(np.count_nonzero(possible)), np.int32)
    filled = 0
    for some in blocks(len(possible)):
        found = np.flatnonzero(possible[some])
        rows[filled : filled + len(found)] = found + some.start
        filled += len(found)
    return NumaRequests(
        rows,
        np.require(workload.arrival, np.float64, ["C", "W"]),
        np.require(workload.duration, np.float64, ["C", "W"]),
        np.require(workload.demand, np.int64, ["C", "W"]),
        spread,
        (0,) * workload.demand.shape[1],
    )


def play_compiled(simulation: CompiledSimulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """Play a run as `simcore.play.play` does, for a compiled agent; returns the nanoseconds of the whole run."""
    rule = agent.compiled
    if rule is None:
        raise TypeError(f"{type(agent).__name__} is not compiled")
    simulation.prepare(rule)
    thought = 0
    while left := watch():
        before = perf_counter_ns()
        made = simulation.go(rule, left)
        thought += perf_counter_ns() - before
        if made != left:
            simulation.let_go()
            break
    simulation.ledger.confirm()
    return thought
