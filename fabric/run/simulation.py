"""Runs a simulation: the one definition of a run, for agents in Python and for compiled ones.

`advance()` runs to the next request that needs an answer, and `answer()` applies it; `loop.go()` lets a compiled rule
answer. Between two events of SimPy's clock a kernel plays arrivals, the waiting line and ends of holding periods on
arrays (`fabric.compiled.numa_loop`), and stops for whatever else there is to do.
"""

from collections.abc import Generator, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from binwright.fabric.book import usual_place
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.arrays import RunArrays
from binwright.fabric.run.cluster_events import ClusterEvents
from binwright.fabric.run.compiled_loop import CompiledLoop
from binwright.fabric.run.gang_placement import GangPlacement
from binwright.fabric.run.waiting_line import Offering, WaitingLine
from binwright.simcore.accounts import Accounts
from binwright.simcore.agent_calls import describe_request
from binwright.simcore.errors import AgentError, InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.record import IMPOSSIBLE, SPREAD
from binwright.simcore.rules import Overflow, Pacing
from binwright.simcore.types import Placement, Refusal, Request
from binwright.simcore.workload import Workload


class Simulation(RunArrays):
    """Simulates one run: a workload against a ledger. Its arguments and the answers it gets determine all of it.

    `expansion` lists (time, servers to add). The run is over when every request has its answer, or when overflow
    stops it. Requests that no empty server could hold are never offered to the agent. With `compiled`, `loop.go`
    may be called; the ledger is one of servers, with or without rules of placement.
    """

    def __init__(
        self,
        workload: Workload,
        ledger: Ledger,
        overflow: Overflow | None = None,
        *,
        expansion: Sequence[tuple[float, int]] = (),
        faults: Sequence[Faults] = (),
        pacing: Pacing | None = None,
        compiled: bool = False,
    ) -> None:
        super().__init__(workload, ledger, overflow, pacing, compiled)
        self.source = self.rows.source
        workload, record = self.workload, self.record
        self.gangs = gangs = GangPlacement(self)
        self.lead, self.with_parts, self._parts = gangs.lead, gangs.with_parts, gangs.placed
        record.outcome[~ledger.possible(workload.demand, self.rows.models, self.rows.roles)] = IMPOSSIBLE
        if workload.gangs is not None and self.overflow.mode != "expand" and not expansion:
            gangs.rule_out()
        self._make_arrays()
        self.line = WaitingLine(self)
        self.events = events = ClusterEvents(self, self.line, gangs, faults)
        self.changes, self.fail, self.evict = events.changes, events.fail, events.evict
        self.grow, self.repair, self.drain, self.reopen = events.grow, events.repair, ledger.drain, ledger.reopen
        for time, by in expansion:
            self.clock.at(time, events.grow, by)
        for time, change, number in ledger.rules.planned if ledger.rules else ():
            self.clock.at(time, change, number)
        self.view.accounts = partial(Accounts, self)
        self._show = ledger.rules and ledger.rules.offer
        self.offering, self.loop = Offering(self), CompiledLoop(self)
        self._offers: Generator[Request, None, None] | None = None
        self._head: Any = None
        """The request that is to be answered, where they are offered one by one."""
        self._paced_row, self.vain = -1, False

    # -- what has happened so far --------------------------------------------------------------------------------

    @property
    def offered(self) -> int:
        """Requests of the workload that have arrived so far."""
        at = self.at
        if at[loop.ALL]:
            return len(self.workload)
        if not at[loop.TAIL]:
            return 0
        last = int(self.requests.rows[at[loop.TAIL] - 1])
        return last + self.parts_of(last)

    @property
    def within_instant(self) -> bool:
        """Whether requests in the line are still to be offered at this instant, and none can wait."""
        return self.waiting > 0 and not self.at[loop.BLOCKED] and self.overflow.mode in ("drop", "stop")

    @property
    def due(self) -> int:
        """How many ends of holding periods and other things are still to happen."""
        return self.clock.due + self.at[loop.ENDS]

    def before(self, row: int) -> int:
        """Count the requests before a row that have not arrived yet."""
        leads = self.rows.leads
        return row - self.offered if leads is None else int(np.count_nonzero(leads[self.offered : row]))

    def as_workload(self) -> Workload:
        """List the rows of the record: the workload, and after it every request that was sent back."""
        return self.rows.as_workload()

    # -- the two calls that drive a run --------------------------------------------------------------------------

    def advance(self) -> Request | None:
        """Run the clock to the next request that needs an answer, or to the end: `None`."""
        if self._rules.together:
            self._offers = self._offers or self.offering.requests()
            request = next(self._offers, None)
        elif self._parts:  # nothing happens between the parts of a gang
            request = self.gangs.next_part(self.line[0])
        else:
            request = self._next()
        if request is None:
            if not self.at[loop.STOPPED]:
                self.finish()
        elif self._show:
            self._show(request)
        return request

    def _next(self) -> Request | None:
        """Run to the next request where they are offered one by one, at the head of the line."""
        at, clock, quotas = self.at, self.clock, self.quotas
        while not at[loop.STOPPED]:
            if quotas:
                self.note_held()
            run = self._run or self.bundle()
            status = self._advance(run, inf if self.vain else clock.next)
            clock.pass_to(now := self._time[0])
            self.view.now = now
            if status == loop.ASK:
                self._head = head = self.rows.request(self._waiting[at[loop.FIRST]])
                return head
            if status == loop.OVER:
                return None
            self.handle(status)
        return None

    def note_held(self) -> None:
        """Tell the loop how many requests wait apart from the line."""
        self.at[loop.HELD] = len(self.line.held)

    def answer(self, placement: Placement | Refusal | None, request: Request | None = None) -> None:
        """Apply the answer to the request that `advance` returned, or to another one of `offer`, all or nothing.

        Raises `InfeasiblePlacement`, and changes nothing, for a placement that does not fit. Whom a limit of its queue
        keeps waiting gets no place.
        """
        if request is None and self._head is not None and self._placed_at_once(placement):
            return
        offer, line = self.offer, self.line
        if request is None:
            head = offer[0] if offer else self._head
            if head is None:
                raise AgentError("answered though nothing was offered: call advance() first")
            request = self.gangs.next_part(head) if self._parts else head
        else:
            head = self.gangs.head_of(request)
        if self.queues and (reason := self.queues.lacks(head.index)):
            placement = Refusal(reason)
        gang = request.gang
        if placement is None or isinstance(placement, Refusal):
            if gang:
                self.gangs.refused(request, placement)
                placement = Refusal(self.gangs.lacked[head.index][1])
            if offer:
                offer.remove(head)
            else:
                self._head, self.at[loop.JUST_ANSWERED] = None, 1
                if self._overflow(head, placement):
                    self._run = None
            return
        try:
            if self.inside and not gang:
                server, node = self.ledger.hold(request, placement).shares[0][:2]
            else:
                server, node = self.ledger.apply(request, placement)
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{describe_request(request, self.view.resources)}: {error}") from None
        if gang:
            self._parts.append((request, server, node))
            if len(self._parts) < gang.parts:
                return
        if offer:
            offer.remove(head)
            line.remove(head)
        else:
            self.at[loop.FIRST] += 1
            self._head, self.at[loop.JUST_ANSWERED] = None, 1
        if self.queues:
            self.queues.started(head.index)
        placed = self.gangs.complete(head.index) if gang else ((request, server, node),)
        stays, run, held = -1.0, self._run or self.bundle(), loop.HOLDS if self.inside else loop.ELSEWHERE
        if self.speeds:
            rows, servers = [part.index for part, _, _ in placed], [server for _, server, _ in placed]
            stays = self.speeds.begin(rows, servers, self.rows.holding_time(rows[0]))
        for part, server, node in placed:
            self._begin(run, part.index, server, SPREAD if part.spread else node, held, stays)
            stays = inf  # the others end with the first
        for part, _, _ in placed if gang and self.inside else ():
            self._holdings.settle(part.index)

    def _placed_at_once(self, placement: Any) -> bool:
        """Place the head of the line on one node, where servers are all that there is; tells whether it was done."""
        head = self._head
        if head.gang or self.queues or self.speeds or not (self.inside and self.ledger.plain):
            return False
        usual = usual_place(head, placement)
        if usual is None or not self._place(self._run or self.bundle(), head.index, *usual):
            return False
        self._head = None
        return True

    def move_end(self, duration: float, row: int) -> None:
        """Have a request or a gang that runs, by its first row, end after this time from now on instead."""
        due, holder = self.state.due[: self.at[loop.ENDS]], self.state.holder[: self.at[loop.ENDS]]
        due[holder & loop.ROWS == row] = self.clock.now + duration
        order = np.lexsort((holder, due))  # what is in order is a heap
        due[:], holder[:] = due[order], holder[order]

    # -- what the kernel stops for -------------------------------------------------------------------------------

    def handle(self, status: int) -> None:
        """Do what the loop has stopped for."""
        at = self._at
        row = int(at[loop.ROW])
        if status == loop.EVENT:
            time = self.clock.next
            at[loop.STIRRED] = time <= self.now
            self.vain = self.offering.is_hopeless()  # then the loop goes on to its end
            at[loop.STIRRED] = False
            if not self.vain:
                self.state.clock[loop.NOW] = time
                at[loop.STIRRED] = self.clock.run_to(time, self.line.eager)
                self.view.now = time
            self._run = None
        elif status == loop.RELEASED:
            self.released(row)
        elif status == loop.ARRIVED:
            if not (self._pacing and self._postponed(row, self._pacing)):
                self.arrive_next()
        elif status == loop.CHANGED:
            self.line.readmit()
        else:
            gang = self.parts_of(row) > 1 and self.record.reason[row] >= 0
            refusal = Refusal(self.record.reasons[self.record.reason[row]]) if gang else None
            self.record.reason[row] = -1
            self._overflow(self.line[0], refusal)
            self._run = None

    def released(self, row: int) -> None:
        """Release what a request or the gang of a row holds, if it has not been evicted, and what it counts against."""
        running = self.ledger.running
        for part in range(row, row + self.parts_of(row)):
            if part in running:
                self.ledger.release(part)
        self.freed(row)

    def arrive_next(self) -> float:
        """Have the next request of the workload arrive; returns its place in line, infinite if it has none."""
        row = int(self.requests.rows[self.at[loop.TAIL]])
        self.at[loop.TAIL] += 1
        request = self.rows.request(row)
        self.view.now = self.clock.now
        return self.line.arrive(request)

    def _postponed(self, row: int, pacing: Pacing) -> bool:
        """Tell whether a request that may arrive now is to come later, by its pace; sets when it comes."""
        arrival, now, running = self.requests.arrival, self.clock.now, self.workload.running
        if row < running:
            return False
        if self._paced_row != row:
            self._paced_row, arrival[row] = row, now + pacing.step if row > running else 0.0
            if arrival[row] > now:
                return True
        if pacing.await_room and self.due and not self.ledger.has_room(self.request(row)):
            arrival[row] = self.next_change
            return True
        self.rows.arrival[[part.index for part in self.request(row).each()]] = now
        return False

    @property
    def next_change(self) -> float:
        """When the next holding period ends, or the clock has something to do; infinite if neither."""
        return min(float(self.state.due[0]) if self.at[loop.ENDS] else inf, self.clock.next)

    def _overflow(self, head: Request, refusal: Refusal | None) -> bool:
        """Do what the overflow says with the head of the line, which was refused; tells whether others changed."""
        overflow = self._rules
        mode = overflow.mode
        if self.routing and self.routing.spills(head):
            return True
        if self.moving and self.moving.makes_room(head):
            return True
        if overflow.preempt and self.preempting and (when := self.preempting.makes_room([head])):
            self.blocked = when == "later"
            return True
        if mode == "expand":
            room = overflow.limit - len(self.view.capacity)
            if room > 0:
                self.events.grow(min(overflow.by, room))
                return True
            mode = overflow.then
        if mode == "wait":
            self.at[loop.BLOCKED] = 1
        else:
            self.at[loop.FIRST] += 1
            self._refuse(head, refusal)
        if mode == "stop":
            self.at[loop.STOPPED] = 1
        return False

    def _refuse(self, request: Request, refusal: Refusal | None = None) -> None:
        ledger, queues = self.ledger, self.queues
        reason = refusal.reason if refusal else queues.lacks(request.index) if queues else ""
        self.refuse(request, reason or ledger.reasons[ledger.why_not(request)])

    def finish(self) -> None:
        """Refuse those who would wait for ever, as the run is over."""
        self.at[loop.ALL] = 1
        if self.quotas:
            self.quotas.refuse_held()
        while self.waiting:
            request, self.at[loop.FIRST] = self.line[0], self.at[loop.FIRST] + 1
            self._refuse(request)

    def moved(self, request: Request, server: int, node: int) -> None:
        """Note where a request lies that has been moved."""
        row = request.index
        if self._listed:  # who has not looked yet sees only where it lies then
            self.view.placed.fill()
        self.record.server[row], self.record.node[row] = server, node
        if self.loop.queue is not None:
            self.loop.queue.place[row] = server * self.view.capacity.shape[1] + max(node, 0)
        if self.inside:
            self._holdings.settle(row)
        if self.speeds:
            self.speeds.moved(row)
            request = self.speeds.as_seen(request)
        if self._lists and self._listed:
            self.view.placed.add(request, server, node, float(self.record.decided[row]))

    def follow(self) -> None:
        """Have the clock, the view and the rules of placement show how far the loop has come."""
        if self.ledger.rules:
            self.ledger.rules.changed()
        self.view.now = now = float(self.state.clock[loop.NOW])
        self.clock.pass_to(now)

    def let_go(self) -> None:
        """Give back the memory that only a run which goes on needs."""
        self.at[loop.ENDS], self._run = 0, None
        self.state = self.state._replace(due=np.zeros(0), holder=np.zeros(0, np.int64))
