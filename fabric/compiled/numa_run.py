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
    ALL_OF_THEM,
    ANSWERED,
    BLOCKED,
    BROKEN,
    COUNTERS,
    ENDS,
    EVENT,
    FIRST,
    GONE,
    INTERESTING,
    MODES,
    NONE,
    REFUSED,
    RELEASED,
    ROW,
    STIRRED,
    STOPPED,
    TAIL,
    NumaRequests,
    NumaState,
    as_argument,
    go,
    placement_of,
)
from binwright.fabric.compiled.shared_state import Holdings, LineOfRows, Whereabouts
from binwright.fabric.ledger import Ledger
from binwright.fabric.placement.role_views import Stage
from binwright.fabric.placement.ruled_ledger import ConstrainedLedger
from binwright.fabric.ranking import Standings, standings
from binwright.simcore.agent_calls import describe_request
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.jit import prepared
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.record import PENDING
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Compiled, Refusal, Request, Workload


class CompiledSimulation(Simulation):
    """Simulates servers, with rules that answer every request. `play_compiled` drives it.

    `advance` offers nothing here. The rule may change from one call of `go` to the next, as may `overflow`. Between two
    stops of the loop its arrays hold all that the engine's parts (failures, moves, preemption, quotas) look at.
    """

    def __init__(
        self,
        workload: Workload,
        ledger: Ledger,
        overflow: Overflow | None = None,
        *,
        expansion: Sequence[tuple[float, int]] = (),
        faults: Sequence[Faults] = (),
    ) -> None:
        self.holds = np.zeros(0, np.int8)
        """What each row holds: `EVICTED`, `HOLDS` or `ELSEWHERE`, int8 [rows]."""
        ledger.hold_in(holdings := Holdings(self))
        super().__init__(workload, ledger, overflow, expansion=expansion, faults=faults)
        self._decisions.close()
        self._servers = ledger
        workload, record = self.workload, self.record
        possible = record.outcome == PENDING
        rows = int(np.count_nonzero(possible))
        self.parts = np.zeros(0, np.int64) if workload.gangs is None else workload.gangs.parts
        """How many parts the gang of every row has, int64 [rows]; empty without gangs."""
        leads = self.rows.leads
        self.requests = requests(workload, self.rows.spreads, possible if leads is None else possible & leads)
        self.holds = zeros(len(record.outcome), np.int8)
        self.state = NumaState(
            *ledger.arrays,
            zeros(rows, np.int32),
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
            self.holds,
            log_of(len(ledger.view.free), ledger.log),
        )
        self.roles = np.zeros(0, np.int64) if self.rows.roles is None else self.rows.roles
        """The roles of all rows, for rules of placement, int64 [rows]."""
        if isinstance(ledger, ConstrainedLedger):
            ledger.hold_roles_in(Whereabouts(self, holdings))
        self.rules = ledger.ruling(self.roles)
        self.gangs.complete = True
        self.queue.requests = self._line = LineOfRows(self)  # type: ignore[assignment]
        self._interested = np.zeros(0, np.bool_)
        self._known: tuple[Compiled, Standings] | None = None
        self._ready: tuple[Any, Callable[..., tuple[int, int, int]]] | None = None
        self._patience, self._events_before = -inf, (0, 0)
        self.follows = False
        """Do rules that can look only at what changed do so with few servers, too?"""

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
            form = self.requests, self.state, self.rules, self.parts, self._interested
            loop = prepared(go, decide, weights, *form, 0, 0, inf, 0, False)
            self._ready = decide, loop
        return self._ready[1], decide, weights

    def go(self, rule: Compiled, answers: int = -1) -> int:
        """Let a rule answer `answers` times, or to the end of the run when negative; returns how often it answered.

        Raises `InfeasiblePlacement` as `answer` does.
        """
        made = 0
        while made != answers and not self.state.at[STOPPED]:
            stops, mode = self._stops()
            loop, *form = self._loop(rule)
            given = self.requests, self.state, self.rules, self.parts, self._interested
            more, status, code = loop(*form, *given, stops, mode, self.clock.peek(), answers - made, False)
            made += more
            self.follow()
            if status == BROKEN:
                self._complain(int(self.state.line[self.state.at[FIRST]]), code)
            if status not in (EVENT, RELEASED, REFUSED) or not self._handled(status):
                break
        return made

    def _stops(self) -> tuple[int, int]:
        """Return at which refusals the loop has to stop, and what becomes of what fits nowhere, as numbers."""
        overflow, stops = self.overflow, NONE
        if overflow.preempt and self.preempting:
            stops = INTERESTING
            if not len(self._interested):
                priority = self.workload.priority
                priority = np.zeros(len(self.holds), np.int64) if priority is None else priority
                self.requests = self.requests._replace(priority=np.require(priority, np.int64, ["C", "W"]))
                self._interested = priority > priority.min(initial=0)
        mode = overflow.mode
        if (self.moving and self.moving.room) or (mode == "expand" and len(self.view.capacity) < overflow.limit):
            stops = ALL_OF_THEM
        return stops, MODES.index(overflow.then if mode == "expand" else mode)

    def _handled(self, status: int) -> bool:
        """Do what the loop has stopped for; tells whether the run goes on."""
        state, queue = self.state, self.queue
        at, row = state.at, int(state.at[ROW])
        queue.blocked = bool(at[BLOCKED])
        before, goes_on = len(self.record.sequence), True
        if status == EVENT:
            goes_on = not self._in_vain()
            if goes_on:
                self.state.now[0] = time = self.clock.peek()
                at[STIRRED] = self.clock.run_to(time, queue.eager)
                self.view.now = time
        elif status == RELEASED:
            for part in range(row, row + (int(self.parts[row]) if len(self.parts) else 1)):
                if self.holds[part]:  # who was evicted has nothing to release
                    self.ledger.release(part)
        else:
            gang = len(self.parts) and self.parts[row] > 1 and self.record.reason[row] >= 0
            refusal = Refusal(self.record.reasons[self.record.reason[row]]) if gang else None
            self.record.reason[row] = -1
            self._overflow(refusal)
        while not goes_on and self._line:
            self._refuse(self._line.popleft())
        self._lay_out()
        at = self.state.at
        at[BLOCKED], at[STOPPED] = queue.blocked, self.stopped
        answers = self.record.sequence[before:]
        self._widen()
        self.state.sequence[at[ANSWERED] : at[ANSWERED] + len(answers)] = answers
        at[ANSWERED] += len(answers)
        return goes_on

    def _in_vain(self) -> bool:
        """Tell whether only random failures, repairs and what recurs are to come, after all that failed is back.

        Then nobody who waits will ever have room, as in the engine.
        """
        at = self.state.at
        happened = int(at[TAIL]), int(at[GONE])
        if not at[ALL] or self.clock.due > self.endless or happened != self._events_before:
            self._patience = self.all_back
        self._events_before = happened
        alone = at[ALL] and self.clock.due <= self.endless and self.now < self.clock.peek()
        return bool(alone) and self.clock.peek() > self._patience

    def make_room_for(self, request: Request) -> None:
        """Have a row of every part of a request in the arrays that the loop reads, if it was sent back."""
        self._widen()
        if request.index < len(self.workload):
            return
        asked = self.requests
        for each in request.each():
            row = each.index
            asked.arrival[row], asked.duration[row] = each.arrival, self.rows.holding_time(row)
            asked.demand[row], asked.spread[row] = each.demand, each.spread
            if len(self.parts):
                self.parts[row] = each.parts
            if len(self.roles):
                self.roles[row] = each.role
            if len(self._interested):
                asked.priority[row] = each.priority
                self._interested[row] = each.priority > self.requests.priority[: len(self.workload)].min()

    def _widen(self) -> None:
        """Make the loop's arrays longer where the record has more rows, since some were sent back."""
        if self.record.rows <= len(self.requests.arrival):
            return
        more = len(self.record.outcome) - len(self.requests.arrival)

        def longer(array: Any) -> Any:
            return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

        asked, state = self.requests, self.state
        columns = {name: longer(getattr(asked, name)) for name in ("arrival", "duration", "demand", "spread")}
        if len(asked.priority):
            columns["priority"], self._interested = longer(asked.priority), longer(self._interested)
        self.requests = asked._replace(**columns)
        self.roles = longer(self.roles) if len(self.roles) else self.roles
        self.parts = longer(self.parts) if len(self.parts) else self.parts
        names = ("line", "due", "holder", "sequence", "holds")
        self.state = state._replace(**{name: longer(getattr(state, name)) for name in names})
        self.holds = self.state.holds

    def stages(self) -> list[Stage]:
        """Return the rules of placement from now on, one after another; none where there are no rules."""
        return self._servers.stages()

    def _lay_out(self) -> None:
        """Take the arrays that the ledger and the record have after something else has changed them."""
        capacity, free, left = self._servers.arrays
        log = log_of(len(free), self.state.log if self._servers.log is None else self._servers.log)
        if log is not self.state.log:
            self._known = None
        elif self._servers.log is None:
            log[0] += len(log)  # any server may have changed
        record = self.record
        self.state = self.state._replace(
            capacity=capacity,
            free=free,
            left=left,
            log=log,
            outcome=record.outcome,
            decided=record.decided,
            server=record.server,
            node=record.node,
            reason=record.reason,
        )
        self.rules = self._servers.ruling(self.roles)

    def follow(self) -> None:
        """Write how far the loop has come to the places where the engine keeps it."""
        if self.rules is not None:
            self._servers.follow()
        at = self.state.at
        self.clock.pass_to(float(self.state.now[0]))
        self.clock.releases = int(at[ENDS])
        self.view.now = self.clock.now
        if at[ALL]:
            self.offered = len(self.workload)
        elif at[TAIL]:
            last = int(self.requests.rows[at[TAIL] - 1])
            self.offered = last + (int(self.parts[last]) if len(self.parts) else 1)
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
        np.zeros(0, np.int64),
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
