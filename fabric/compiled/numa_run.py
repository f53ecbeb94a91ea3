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
    ALL_REFUSALS,
    ANSWERED,
    BLOCKED,
    BROKEN,
    COUNTERS,
    ENDS,
    EVENT,
    FIRST,
    GONE,
    MODES,
    NO_REFUSALS,
    REFUSED,
    RELEASED,
    ROW,
    SOME_REFUSALS,
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
    stops of the loop its arrays hold all that the engine's parts (failures, moves, preemption) look at.
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
        self._holdings = holdings = Holdings(self)
        ledger.hold_in(holdings)
        self._listed = 0
        """How many answers there were when those placed were listed last."""
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
        self._unordered = np.zeros(0, np.int64)
        self._priority = self._unordered
        """The priority of every row, int64 [rows]; empty where all are equal."""
        if workload.priority is not None:
            self._priority = np.require(workload.priority, np.int64, ["C", "W"])
        self._least = int(self._priority.min(initial=0))
        self._interested = self._priority > self._least
        """Which rows others may give way to, bool [rows]; empty where all are equal."""
        self._known: tuple[Compiled, Standings] | None = None
        self._ready: tuple[Any, Callable[..., tuple[int, int, int]]] | None = None
        self._patience, self._events_before, self._vain = -inf, (0, 0), False
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
            orders = stops == SOME_REFUSALS or (stops == ALL_REFUSALS and self.overflow.preempt)
            asked = self.requests._replace(priority=self._priority if orders else self._unordered)
            until = inf if self._vain else self.clock.peek()
            given = asked, self.state, self.rules, self.parts, self._interested
            more, status, code = loop(*form, *given, stops, mode, until, answers - made, False)
            made += more
            self.follow()
            if status == BROKEN:
                self._complain(int(self.state.line[self.state.at[FIRST]]), code)
            if status not in (EVENT, RELEASED, REFUSED):
                break
            self._handle(status)
        return made

    def _stops(self) -> tuple[int, int]:
        """Return at which refusals the loop has to stop, and what becomes of what fits nowhere, as numbers."""
        overflow, stops = self.overflow, NO_REFUSALS
        if overflow.preempt and len(self._priority):  # where all are equal, nobody gives way
            stops = SOME_REFUSALS
        mode = overflow.mode
        if (self.moving and self.moving.room) or (mode == "expand" and len(self.view.capacity) < overflow.limit):
            stops = ALL_REFUSALS
        return stops, MODES.index(overflow.then if mode == "expand" else mode)

    def _handle(self, status: int) -> None:
        """Do what the loop has stopped for."""
        state, queue = self.state, self.queue
        at, row, before = state.at, int(state.at[ROW]), len(self.record.sequence)
        if self.moving or self.preempting:
            self._list_placed()
        if status == EVENT:
            self._vain = self._in_vain()  # then the loop goes on to its end
            at[STIRRED] = False
            if not self._vain:
                state.now[0] = time = self.clock.peek()
                at[STIRRED] = self.clock.run_to(time, queue.eager)
                self.view.now = time
        elif status == RELEASED:
            for part in range(row, row + self.request(row).parts):
                if self.holds[part]:  # who was evicted has nothing to release
                    self.ledger.release(part)
        else:
            gang = len(self.parts) and self.parts[row] > 1 and self.record.reason[row] >= 0
            refusal = Refusal(self.record.reasons[self.record.reason[row]]) if gang else None
            self.record.reason[row] = -1
            self._overflow(refusal)
        self._lay_out()
        at[BLOCKED], at[STOPPED] = queue.blocked, self.stopped
        answers = self.record.sequence[before:]
        self.state.sequence[at[ANSWERED] : at[ANSWERED] + len(answers)] = answers
        at[ANSWERED] += len(answers)

    def _list_placed(self) -> None:
        """List in the view what was placed since the last stop and still runs, where agents know lifetimes."""
        sequence, record = self.record.sequence, self.record
        for row in sequence[self._listed :] if self._lists else ():
            if self.holds[row]:
                place = int(record.server[row]), int(record.node[row])
                self._placed.add(self.request(row), *place, float(record.decided[row]))
        self._listed = len(sequence)

    def moved(self, request: Request, server: int, node: int) -> None:
        super().moved(request, server, node)
        self._holdings.settle(request.index)

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
            if len(self._priority):
                self._priority[row], self._interested[row] = each.priority, each.priority > self._least

    def _widen(self) -> None:
        """Make the loop's arrays longer where the record has more rows, since some were sent back."""
        if self.record.rows <= len(self.requests.arrival):
            return
        more = len(self.record.outcome) - len(self.requests.arrival)

        def longer(array: Any, filled: int | None = None) -> Any:
            made = zeros((len(array) + more, *array.shape[1:]), array.dtype)  # of the type that the loop knows
            made[: len(array) if filled is None else filled] = array[:filled]
            return made

        asked, state, ends = self.requests, self.state, int(self.state.at[ENDS])
        columns = {name: longer(getattr(asked, name)) for name in ("arrival", "duration", "demand", "spread")}
        self.requests = asked._replace(**columns)
        if len(self._priority):
            self._priority, self._interested = longer(self._priority), longer(self._interested)
        self.roles = longer(self.roles) if len(self.roles) else self.roles
        self.parts = longer(self.parts) if len(self.parts) else self.parts
        columns = {name: longer(getattr(state, name)) for name in ("line", "sequence", "holds")}
        heap = {name: longer(getattr(state, name), ends) for name in ("due", "holder")}
        self.state = state._replace(**columns, **heap)
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
        self.stopped, self.queue.blocked = bool(at[STOPPED]), bool(at[BLOCKED])
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
        request = self.request(row)
        placed = int(np.count_nonzero(self.record.server[row : row + request.parts] >= 0))
        part = request._replace(index=row + placed) if request.gang else request
        try:
            self.ledger.apply(part, placement_of(code, part, self.view.free.shape[1]))
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{describe_request(part, self.view.resources)}: {error}") from None


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
