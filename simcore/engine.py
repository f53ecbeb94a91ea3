"""Runs a simulation up to each decision, and takes its answer: the definition of a run.

`advance()` runs to the next request that needs an answer, `answer()` applies it. The batch loop `play`, the learning
environments and a debugger all drive it this way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from binwright.simcore.accounts import Accounts
from binwright.simcore.agent_calls import describe_request
from binwright.simcore.cluster_events import ClusterEvents
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.gang_placement import GangPlacement
from binwright.simcore.meter import UseMeter
from binwright.simcore.model import ResourceModel
from binwright.simcore.offering import Offering
from binwright.simcore.record import IMPOSSIBLE
from binwright.simcore.rules import Overflow
from binwright.simcore.run_state import RunState
from binwright.simcore.types import Placement, Refusal, Request, Workload
from binwright.simcore.waiting_line import WaitingLine

if TYPE_CHECKING:
    from binwright.simcore.run_options import Pacing


class Simulation(RunState):
    """Simulates one run: a workload against a ledger. Its arguments and the answers it gets determine all of it.

    `expansion` lists (time, servers to add). The run is over when every request has its answer, or when overflow
    stops it. Requests that no empty server could hold are never offered to the agent.
    """

    def __init__(
        self,
        workload: Workload,
        ledger: ResourceModel,
        overflow: Overflow | None = None,
        *,
        expansion: Sequence[tuple[float, int]] = (),
        faults: Sequence[Faults] = (),
        pacing: Pacing | None = None,
    ) -> None:
        super().__init__(workload, ledger, overflow, paced=pacing is not None)
        workload, rows = self.workload, self.rows
        self.request, self.running_request, self.source = rows.request, rows.running_request, rows.source
        self.gangs = gangs = GangPlacement(self)
        self.lead, self.with_parts = gangs.lead, gangs.with_parts
        self.queue = WaitingLine(self)
        self._line, self._parts = self.queue.requests, gangs.placed
        self._pacing = pacing
        self.record.outcome[~ledger.possible(workload.demand, rows.models, rows.roles)] = IMPOSSIBLE
        if workload.gangs is not None:
            ledger.rule_parts(workload.gangs)
            if self.overflow.mode != "expand" and not expansion:
                gangs.rule_out()
        self.view.closures = [(server, at, at + lasts) for each in faults for at, server, lasts in each.announced]
        self.events = events = ClusterEvents(self, self.queue, gangs, faults)
        self.changes, self.fail, self.evict = self.events.changes, self.events.fail, self.events.evict
        self.grow, self.repair, self.drain, self.reopen = events.grow, events.repair, ledger.drain, ledger.reopen
        for time, by in expansion:
            self.clock.at(time, self.events.grow, by)
        for time, change, number in ledger.planned:
            self.clock.at(time, change, number)
        self.view.accounts = Accounts(self)
        self.view.meter = UseMeter(self, workload.use) if workload.use else None
        self._decisions = self._run() if ledger.offer is None else self._masked(ledger.offer)

    @property
    def waiting(self) -> int:
        """How many requests wait in the line."""
        return len(self._line)

    def before(self, row: int) -> int:
        """Count the requests before a row that have not arrived yet."""
        leads = self.rows.leads
        return row - self.offered if leads is None else int(np.count_nonzero(leads[self.offered : row]))

    @property
    def partway(self) -> int:
        """How many parts of the gang that is being placed have a place so far."""
        return len(self._parts)

    @property
    def line(self) -> Sequence[Request]:
        """The requests that wait, in order."""
        return self._line

    def asked(self) -> Workload:
        """List the rows of the record: the workload, and after it every request that was sent back."""
        return self.rows.asked()

    # -- the two calls that drive a run --------------------------------------------------------------------------

    def advance(self) -> Request | None:
        """Run the clock to the next request that needs an answer, or to the end: `None`."""
        return next(self._decisions, None)

    def answer(self, placement: Placement | Refusal | None, request: Request | None = None) -> None:
        """Apply the answer to the request that `advance` returned, or to another one of `offer`, all or nothing.

        Raises `InfeasiblePlacement`, and changes nothing, for a placement that does not fit. Whom a limit of its queue
        keeps waiting gets no place.
        """
        line, offer = self._line, self.offer
        if request is None:
            head = offer[0] if offer else line[0]
            request = self.gangs.next_part(head) if self._parts else head
        else:
            head = self.gangs.head_of(request)
        if self.queues and (reason := self.queues.limit_reached(head)):
            placement = Refusal(reason)
        if placement is None or isinstance(placement, Refusal):
            if request.gang and self.gangs.refused(request, placement):
                placement = Refusal(self.gangs.lacked[head.index][1])
            if not self._parts:
                if offer:
                    offer.remove(head)
                else:
                    self._overflow(placement)
                return
        else:
            try:
                server, node = self.ledger.apply(request, placement)
            except InfeasiblePlacement as error:
                raise InfeasiblePlacement(f"{describe_request(request, self.view.resources)}: {error}") from None
            if request.gang:
                self._parts.append((request, server, node))
                if len(self._parts) < request.gang.parts:
                    return
        if offer:
            offer.remove(head)
            line.remove(head)
        else:
            line.popleft()
        if self.queues:
            self.queues.started(head)
        if request.gang:
            self.gangs.begin(head)
            return
        index = request.index
        if self.speeds:
            self.speeds.begin([index], [server], self.rows.holding_time(index))
            request = self.speeds.told(request)
        self.begin(request, server, node)
        duration = request.duration if self.rows.oracle is None else self.rows.holding_time(index)
        counts = self.quotas or self.queues or self.speeds
        self.end_after(duration, self._released if counts else self.ledger.release, index)

    def _released(self, row: int) -> None:
        """Release what a request holds, and what it counts against, unless it has been moved to a slower server."""
        if self.speeds and not self.speeds.is_over(row):
            return
        self.ledger.release(row)
        self.freed(row)

    # -- the run -------------------------------------------------------------------------------------------------

    def _masked(self, offer: Callable[[Request], None]) -> Generator[Request, None, None]:
        """Yield as `_run` does, and have the view show what rules of placement leave to each request."""
        for request in self._run():
            offer(request)
            yield request

    def _run(self) -> Generator[Request, None, None]:
        """Yield every request that needs an answer, the head of the line again for as long as it is not refused."""
        line, queue, clock, view = self._line, self.queue, self.clock, self.view
        arrivals = self.rows.arrivals()
        for request in arrivals:
            if self.overflow.together:
                arrivals = chain([request], arrivals)
                break
            if self._pacing:
                request = yield from self._pace(request, self._pacing)
            while clock.run_to(request.arrival, queue.eager):
                yield from self._serve()
            self.offered = request.index + request.parts
            queue.arrive(request)
            view.now = request.arrival
            while line and not queue.blocked:
                yield self.gangs.next_part(line[0])
                if self._parts:  # nothing happens between the parts of a gang
                    continue
                if line:
                    clock.run_to(clock.now, False)  # a holding period of no time is over again
                queue.readmit()
        if self.overflow.together:
            offering = Offering(self, queue, self.gangs, self.events)
            one_by_one = self.overflow.one_by_one
            yield from (offering.after_events if one_by_one else offering.at_instants)(arrivals)
        else:
            self.offered = len(self.workload)
            patience = self.all_back
            while line or queue.held:
                # Random failures and repairs go on for ever: alone, they are waited for until all parts are back.
                if clock.due > self.endless:
                    patience = self.all_back
                elif clock.peek() > patience:
                    break
                if clock.run_to(clock.peek(), queue.eager):
                    yield from self._serve()
        self.offered = len(self.workload)
        if self.quotas:
            self.quotas.refuse_held()
        while line:
            self._refuse(line.popleft())

    def _pace(self, request: Request, pacing: Pacing) -> Generator[Request, None, Request]:
        """Let the clock go on until the request may be offered, and return it as arriving then."""
        clock, running = self.clock, self.workload.running
        if request.index < running:
            return request
        time = clock.now + pacing.step if request.index > running else 0.0
        while clock.run_to(time, self.queue.eager):
            yield from self._serve()
        while pacing.await_room and clock.due and not self.ledger.has_room(request):
            clock.run_to(inf, True)
            yield from self._serve()
        self.rows.arrival[[part.index for part in request.each()]] = clock.now
        return request._replace(arrival=clock.now)

    @property
    def all_back(self) -> float:
        """When every part that has failed at random so far is back."""
        return self.events.all_back

    @property
    def endless(self) -> int:
        """How many things on the clock go on for ever: random failures and their repairs, and reschedulings."""
        return self.events.endless

    def _serve(self) -> Iterator[Request]:
        """Offer the line again from its head on, because something changed."""
        self.queue.blocked = False
        self.view.now = self.clock.now
        self.queue.readmit()
        while self._line and not self.queue.blocked:
            yield self.gangs.next_part(self._line[0])
            if not self._parts:  # nothing happens between the parts of a gang
                self.clock.run_to(self.clock.now, False)  # a holding period of no time is over again
                self.queue.readmit()

    def _overflow(self, refusal: Refusal | None) -> None:
        if self.routing and self.routing.spills(self._line[0]):
            return
        if self.moving and self.moving.makes_room(self._line[0]):
            return
        if self.overflow.preempt and self.preempting and (when := self.preempting.makes_room([self._line[0]])):
            self.queue.blocked = when == "later"
            return
        mode = self.overflow.mode
        if mode == "expand":
            room = self.overflow.limit - len(self.view.capacity)
            if room > 0:
                self.events.grow(min(self.overflow.by, room))
                return
            mode = self.overflow.then
        if mode == "wait":
            self.queue.blocked = True
        else:
            self._refuse(self._line.popleft(), refusal)
        if mode == "stop":
            self.stopped = True
            self._decisions.close()

    @property
    def within_instant(self) -> bool:
        """Whether requests in the line are still to be offered at this instant, and none can wait."""
        return bool(self._line) and not self.queue.blocked and self.overflow.mode in ("drop", "stop")

    def _refuse(self, request: Request, refusal: Refusal | None = None) -> None:
        ledger, queues = self.ledger, self.queues
        reason = refusal.reason if refusal else queues.limit_reached(request) if queues else ""
        self.refuse(request, reason or ledger.reasons[ledger.why_not(request)])

    def block(self) -> None:
        """Let the head of the line wait until something changes."""
        self.queue.blocked = True

    @property
    def head(self) -> int:
        """The row of the first in the line, -1 where nobody waits."""
        return self._line[0].index if self._line else -1

    def moved(self, request: Request, server: int, node: int) -> None:
        """Note where a request lies that has been moved."""
        row = request.index
        self.record.server[row], self.record.node[row] = server, node
        if self.speeds:
            if (left := self.speeds.moved(row)) is not None:
                self.end_after(left, self.gangs.end if request.gang else self._released, self.lead(row))
            request = self.speeds.told(request)
        if self._lists:
            self._placed.add(request, server, node, float(self.record.decided[row]))
