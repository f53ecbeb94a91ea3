"""Runs a simulation up to each decision, and takes its answer: the definition of a run.

`advance()` runs to the next request that needs an answer, `answer()` applies it. The batch loop `play`, the learning
environments and a debugger all drive it this way.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, repeat
from math import ceil, inf, nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from simcore.agent_calls import describe_request
from simcore.clock import Clock
from simcore.errors import AgentError, InfeasiblePlacement, WorkloadError
from simcore.faults import FailingDomains, FaultProcess, Faults, Kind
from simcore.lifetime_info import LifetimeOracle
from simcore.model import KeepsQuotas, Moves, Preempts, ResourceModel
from simcore.past import past_of
from simcore.record import IMPOSSIBLE, PENDING, SPREAD, Record
from simcore.requeue import with_returned
from simcore.rules import Overflow
from simcore.types import Floats, HiddenLifetimeRequest, Ints, Placement, Placements, Refusal, Request, Workload

if TYPE_CHECKING:
    from simcore.run_options import Pacing

CHUNK = 4096
"""Rows of the workload turned into Python numbers at a time: fast to read one by one, bounded in memory."""


@dataclass(frozen=True, slots=True)
class Change:
    """Tells something that happened to the cluster: when, after how many decisions, what, and to which part.

    The subject of an expansion is how many servers were added.
    """

    time: float
    decisions: int
    what: Literal["failure", "repair", "expansion"]
    subject: int
    kind: Kind = "server"


class Simulation:
    """Simulates one run: a workload against a ledger. Its arguments and the answers it gets determine all of it.

    `expansion` lists (time, servers to add). The run is over when every request has its answer, or when overflow
    stops it. Requests that no empty server could hold are never offered to the agent.
    """

    _grows = False
    """Will servers be added, of which `expansion` says nothing?"""

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
        if workload.networks is not None and not ledger.tiers:
            remedy = "Take a cluster with a network."
            raise WorkloadError("virtual networks need a network, and the cluster has none", remedy=remedy)
        self.workload = workload = workload.in_parts
        self.ledger = ledger
        self.view = ledger.view
        self.view.origin = workload.origin
        self.view.virtual = workload.networks[0].form if workload.networks else None
        self.overflow = overflow or Overflow()
        self.clock = Clock()
        self.record = Record(len(workload), ledger.reasons)
        self.changes: list[Change] = []
        self.offered = 0
        """Requests of the workload that have arrived so far."""
        self.stopped = False
        """Did a request that fits nowhere end the run?"""
        self.offer: list[Request] = []
        """Those that are offered together and have no answer yet; empty where requests are offered one by one."""
        self.times: list[tuple[int, int]] | None = None
        """Of every decision its row and the agent's nanoseconds, where `play` is to note them: an empty list then."""
        self.passes: array[int] | None = None
        """How many answers the record had whenever there was one that left its request waiting, or several requests
        were offered together: an empty array where that is to be noted."""
        self.thought = 0
        """The nanoseconds that the agent has thought, as of when the watch of `play` was called last."""
        self.counted: int | None = None
        """How many answers there were as `play` counts those to requests offered together; None: it does so itself."""
        self.moving: Moves | None = None
        """What moves requests that run, where something does."""
        self.lacked: dict[int, tuple[int, str]] = {}
        """Of every gang that found no place: how many parts had found one the last time, and the reason."""
        self._gangs = workload.gangs
        self._parts: list[tuple[Request, int, int]] = []  # those of the first gang in line that have found a place
        self._members: dict[int, int] = {}  # of every gang that runs, by its first row, the parts that it has
        self._longer: dict[int, float] = {}  # how long the parts of a gang stay that does without some
        self.preempting: Preempts | None = None
        """What evicts requests that run, where something does."""
        self.quotas: KeepsQuotas | None = None
        """What keeps requests within quotas, where something does."""
        self._pacing = pacing
        self._arrival = workload.arrival.copy() if pacing else workload.arrival
        self._line: deque[Request] = deque()
        self._blocked = False  # the head of the line was refused, and nothing has changed since
        foresight = workload.foresight
        self._asking = self.view.asking = None if foresight is None else LifetimeOracle(foresight)
        self._durations = np.ascontiguousarray(workload.duration).data  # reads a number faster than the array does
        self._kind: type[Request] = HiddenLifetimeRequest if foresight and foresight.hidden else Request
        self._placed = self.view.placed = Placements(ledger.running)
        self._lists = self._kind is Request  # what is placed, where agents are told how long requests stay
        self._requests_known: dict[int, Request] = {}
        self._returned: list[Request] = []
        self._rests: list[float] = []  # of those that were sent back, how long they still stay
        self._down: set[tuple[Kind, int]] = set()  # links and switches
        self._causes: Counter[int] = Counter()  # of each server that is down: itself, and its domains
        self._spreads = ledger.spreads(workload.demand)
        self._models = ledger.expect(workload)
        self._roles = ledger.roles_of(workload)
        self._bandwidth = (
            np.broadcast_to(np.int64(0), len(workload)) if workload.bandwidth is None else workload.bandwidth
        )
        self.record.outcome[~ledger.possible(workload.demand, self._models, self._roles)] = IMPOSSIBLE
        if self._gangs is not None:
            self._leads = self._gangs.leads
            ledger.rule_parts(self._gangs)
            if self.overflow.mode != "expand" and not (expansion or self._grows):
                self._rule_out()
        self._faults: list[tuple[FailingDomains | None, FaultProcess]] = []
        for each in faults:
            together = FailingDomains(each.domains, self, len(self.view.capacity)) if each.domains else None
            process = FaultProcess(each, self.clock, together or self)
            process.watch(range(len(together.members) if together else ledger.parts(each.kind)))
            self._faults.append((together, process))
        for time, by in expansion:
            self.clock.at(time, self._grow, by)
        for time, change, number in ledger.planned:
            self.clock.at(time, change, number)
        self.view.past = partial(past_of, self)
        self._decisions = self._run() if ledger.offer is None else self._masked(ledger.offer)

    @property
    def now(self) -> float:
        """Seconds since the first request of the workload arrived."""
        return self.clock.now

    @property
    def waiting(self) -> int:
        """How many requests wait in the line."""
        return len(self._line)

    def before(self, row: int) -> int:
        """Count the requests before a row that have not arrived yet."""
        return row - self.offered if self._gangs is None else int(np.count_nonzero(self._leads[self.offered : row]))

    @property
    def partway(self) -> int:
        """How many parts of the gang that is being placed have a place so far."""
        return len(self._parts)

    @property
    def line(self) -> Sequence[Request]:
        """The requests that wait, in order."""
        return self._line

    def asked(self) -> Workload:
        """List the rows of the record: the workload, and after it every request that a failure sent back."""
        asked, back = replace(self.workload, arrival=self._arrival), self._returned
        if back:
            sources = [self.source(request.index) for request in back]
            asked = with_returned(asked, self._bandwidth, back, self._rests, sources)
        if self._longer:
            duration = asked.duration.copy()
            duration[[*self._longer]] = [*self._longer.values()]
            asked = replace(asked, duration=duration)
        return asked

    def source(self, row: int) -> int:
        """Find the row of the workload that a row continues, if it is that of a request that was sent back."""
        while row >= len(self.workload):
            row = int(self.record.origin[row])
        return row

    # -- the two calls that drive a run --------------------------------------------------------------------------

    def advance(self) -> Request | None:
        """Run the clock to the next request that needs an answer, or to the end: `None`."""
        return next(self._decisions, None)

    def answer(self, placement: Placement | Refusal | None, request: Request | None = None) -> None:
        """Apply the answer to the request that `advance` returned, or to another one of `offer`, all or nothing.

        Raises `InfeasiblePlacement`, and changes nothing, for a placement that does not fit.
        """
        line, offer = self._line, self.offer
        if request is None:
            head = offer[0] if offer else line[0]
            request = self._next_part(head)
        else:
            head = self._offered(request)
        if placement is None or isinstance(placement, Refusal):
            if request.gang and self._lacks(request, placement):
                placement = Refusal(self.lacked[head.index][1])
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
        if request.gang:
            self._begin_gang(head)
            return
        self._begin(request, server, node)
        index = request.index
        duration = request.duration if self._asking is None else self._stays(index)
        self._end_after(duration, self._released if self.quotas else self.ledger.release, index)

    def _released(self, row: int) -> None:
        """Release what a request holds, and its quota."""
        self.ledger.release(row)
        if self.quotas:
            self.quotas.freed(row)

    def _begin(self, request: Request, server: int, node: int) -> None:
        """Note that a request has its place, and what that is."""
        node = SPREAD if request.spread else node
        self.record.placed(request.index, self.clock.now, server, node)
        if self._lists:
            self._placed.add(request, server, node, self.clock.now)

    def _end_after(self, duration: float, release: Callable[[int], object], index: int) -> None:
        """Have a request of a row release what it holds after its holding period, if that ends."""
        if duration < inf and self.overflow.one_by_one:
            # By who was placed first; below all rows, by which the ends of a warm start go.
            place = len(self.record.sequence) - 2**62
            self.clock.release_at(self.clock.now + duration, lambda _: release(index), place)
        elif duration < inf:
            self.clock.release_at(self.clock.now + duration, release, index)

    def _stays(self, row: int) -> float:
        """Return how long the request of a row stays, whatever agents are told."""
        rows = len(self.workload)
        stays: float = self._durations[row] if row < rows else self._rests[row - rows]
        return self._longer.get(row, stays) if self._longer else stays

    def stays(self, rows: Ints) -> Floats:
        """Return how long the requests of these rows stay, whatever agents are told, float64 [n]."""
        return np.array([self._stays(row) for row in rows.tolist()], np.float64)

    # -- gangs ---------------------------------------------------------------------------------------------------

    def _next_part(self, head: Request) -> Request:
        """Return the part of a gang that is to be placed next, or a request of one part itself."""
        return head._replace(index=head.index + len(self._parts)) if self._parts else head

    def _offered(self, request: Request) -> Request:
        """Find which of `offer` an answer is for; refuses one for a part of a gang whose turn it is not."""
        gang, parts = request.gang, self._parts
        first = gang.first if gang else request.index
        if request.index == first + len(parts) and (not parts or parts[0][0].index == first):
            for one in self.offer:
                if one is request or (gang and one.gang == gang):
                    return one
        known = describe_request(request, self.view.resources)
        raise AgentError(f"answered {known}, which is not offered or has its answer")

    def _lacks(self, part: Request, refusal: Refusal | None) -> bool:
        """Note that a part found no place, and that its gang has none if the others are too few for it."""
        assert part.gang
        if len(self._parts) >= part.gang.least:
            return False
        reason = refusal.reason if refusal else self.ledger.reasons[self.ledger.why_not(part)]
        self.lacked[part.gang.first] = len(self._parts), reason
        self._leave_parts()
        return True

    def _leave_parts(self) -> None:
        """Release the parts of the gang that is being placed."""
        for part, _, _ in reversed(self._parts):
            self.ledger.release(part.index)
        self._parts.clear()

    def _begin_gang(self, head: Request) -> None:
        """Note that a gang has its places."""
        gang, parts, first = head.gang, list(self._parts), head.index
        assert gang
        self._parts.clear()
        self.lacked.pop(first, None)
        count, stays = len(parts), self._stays(first)
        if count < gang.parts:
            self.record.spared(first + count, first + gang.parts, self.clock.now)
            if gang.rules.work:
                stays *= gang.parts / count
                self._longer |= dict.fromkeys(range(first, first + count), stays)
        self._members[first] = count
        for part, server, node in parts:
            told = part._replace(duration=stays) if first in self._longer and not self._asking else part
            self._begin(told, server, node)
        self._end_after(stays, self._end_gang, first)

    def _end_gang(self, first: int) -> None:
        for row in range(first, first + self._members.pop(first)):
            self.ledger.release(row)
        if self.quotas:
            self.quotas.freed(first)

    def lead(self, row: int) -> int:
        """Return the row of the first part of the gang that a row is a part of, or the row itself."""
        rows = len(self.workload)
        if self._gangs is None or self._gangs.first is None:
            return row
        if row < rows:
            return int(self._gangs.first[row])
        gang = self._returned[row - rows].gang
        return gang.first if gang else row

    def _whole_gangs(self, interrupted: Sequence[int]) -> list[int]:
        """Interrupt all parts of the gangs that these rows are parts of; returns the rows of all."""
        rows = self.with_parts(interrupted)
        self.ledger.evict(sorted({*rows} - {*interrupted}))
        return rows

    def with_parts(self, rows: Sequence[int]) -> list[int]:
        """Return these rows that run, and the other parts of their gangs, in order."""
        return sorted({row for each in rows for row in self._rows_of_gang(self.lead(each))})

    def _rows_of_gang(self, first: int) -> range:
        return range(first, first + self._members.get(first, 1))

    def _rule_out(self) -> None:
        """Note which gangs have more parts than the empty cluster has room for."""
        outcome, known = self.record.outcome, dict[tuple[object, ...], bool]()
        for request in self._requests(np.flatnonzero(self._leads & (outcome[: len(self.workload)] == PENDING))):
            if gang := request.gang:
                kind = (*request[3:-1], *gang[1:])
                if kind not in known:
                    known[kind] = self.ledger.room_for_parts(request) >= gang.least
                if not known[kind]:
                    outcome[request.index : request.index + gang.parts] = IMPOSSIBLE

    # -- the run -------------------------------------------------------------------------------------------------

    def _masked(self, offer: Callable[[Request], None]) -> Generator[Request, None, None]:
        """Yield as `_run` does, and have the view show what rules of placement leave to each request."""
        for request in self._run():
            offer(request)
            yield request

    def _run(self) -> Generator[Request, None, None]:
        """Yield every request that needs an answer, the head of the line again for as long as it is not refused."""
        line, clock, view = self._line, self.clock, self.view
        arrivals = self._arrivals()
        for request in arrivals:
            if self.overflow.together:
                arrivals = chain([request], arrivals)
                break
            if self._pacing:
                request = yield from self._pace(request, self._pacing)
            while clock.run_to(request.arrival, self._eager):
                yield from self._serve()
            self.offered = request.index + (request.gang.parts if request.gang else 1)
            self._arrives(request)
            view.now = request.arrival
            while line and not self._blocked:
                yield self._next_part(line[0])
                if self._parts:  # nothing happens between the parts of a gang
                    continue
                if line:
                    clock.run_to(clock.now, False)  # a holding period of no time is over again
                self._readmit()
        if self.overflow.one_by_one:
            yield from self._one_by_one(arrivals)
        elif self.overflow.together:
            yield from self._together(arrivals)
        else:
            self.offered = len(self.workload)
            patience = self.all_back
            while line or self._held:
                # Random failures and repairs go on for ever: alone, they are waited for until all parts are back.
                if clock.due > self.endless:
                    patience = self.all_back
                elif clock.peek() > patience:
                    break
                if clock.run_to(clock.peek(), self._eager):
                    yield from self._serve()
        self.offered = len(self.workload)
        if self.quotas:
            self.quotas.refuse_held()
        while line:
            self._refuse(line.popleft())

    def _together(self, arrivals: Iterator[Request]) -> Iterator[Request]:
        """Go on where requests that wait are offered together, once for everything at an instant."""
        line, clock, together, window = self._line, self.clock, self.overflow.together, self.overflow.window
        coming, due, patience = next(arrivals, None), inf, -inf
        while coming or line or self._held:
            time = min(coming.arrival if coming else inf, due)
            if time < inf or clock.due > self.endless:
                patience = self.all_back
            elif clock.peek() > patience:
                return
            changed = clock.run_to(time if time < inf else clock.peek(), due == inf and bool(line or self._held))
            changed = self._readmit() or changed
            while coming and coming.arrival <= clock.now:
                changed = self._arrives(coming) < together or changed
                self.offered = coming.index + (coming.gang.parts if coming.gang else 1)
                coming = next(arrivals, None)
            if changed and line and due == inf:
                due = max(clock.now, ceil(clock.now / window) * window) if window else clock.now
            if due <= clock.now:
                due = inf
                yield from self._offer(together)

    def _one_by_one(self, arrivals: Iterator[Request]) -> Iterator[Request]:
        """Go on where requests that wait are offered together after every single event; arrivals come first."""
        line, clock = self._line, self.clock
        coming, patience = next(arrivals, None), -inf
        while coming or line or self._held:
            if coming or clock.due > self.endless:
                patience = self.all_back
            elif clock.peek() > patience:
                return
            if coming and coming.arrival <= clock.peek():
                clock.pass_to(coming.arrival)
                self._arrives(coming)
                self.offered = coming.index + (coming.gang.parts if coming.gang else 1)
                coming = next(arrivals, None)
            else:
                clock.step()
            yield from self._offer(self.overflow.together)

    def _offer(self, together: int) -> Iterator[Request]:
        """Offer the head of the line, again while somebody gets a place and others move up."""
        line, seen = self._line, 0
        self.view.now = self.clock.now
        self._readmit()
        while len(line) > seen:
            before, self.offer = len(line), list(islice(line, together))
            seen = len(self.offer) - before
            self._pass()
            while self.offer:
                yield self._next_part(self.offer[0])
            self._leave_parts()  # of a gang that the agent has left partway
            seen += len(line)
            if len(line) == before or len(line) <= seen:
                if not self._preempts(islice(line, together)):
                    return
                self._readmit()
                seen = 0

    def _pace(self, request: Request, pacing: Pacing) -> Generator[Request, None, Request]:
        """Let the clock go on until the request may be offered, and return it as arriving then."""
        clock, running = self.clock, self.workload.running
        if request.index < running:
            return request
        time = clock.now + pacing.step if request.index > running else 0.0
        while clock.run_to(time, self._eager):
            yield from self._serve()
        while pacing.await_room and clock.due and not self.ledger.has_room(request):
            clock.run_to(inf, True)
            yield from self._serve()
        self._arrival[[part.index for part in request.each()]] = clock.now
        return request._replace(arrival=clock.now)

    @property
    def endless(self) -> int:
        """How many things on the clock go on for ever: random failures and their repairs, and reschedulings."""
        return sum(process.endless for _, process in self._faults) + (self.moving.endless if self.moving else 0)

    @property
    def all_back(self) -> float:
        """When every part that has failed at random so far is back."""
        return max((process.all_back for _, process in self._faults), default=-inf)

    def _serve(self) -> Iterator[Request]:
        """Offer the line again from its head on, because something changed."""
        self._blocked = False
        self.view.now = self.clock.now
        self._readmit()
        while self._line and not self._blocked:
            yield self._next_part(self._line[0])
            if not self._parts:  # nothing happens between the parts of a gang
                self.clock.run_to(self.clock.now, False)  # a holding period of no time is over again
                self._readmit()

    @property
    def _held(self) -> Sequence[Request]:
        """Those who wait apart from the line, above their quotas."""
        return self.quotas.held if self.quotas else ()

    @property
    def _eager(self) -> bool:
        """Whether somebody waits for whatever ends."""
        return self._blocked or bool(self._held)

    def _readmit(self) -> bool:
        """Put those into the line whose quotas have room again; tells whether there are any."""
        admitted = self.quotas.readmitted() if self.quotas and self.quotas.held else ()
        for request in admitted:
            self._enters(request)
        return bool(admitted)

    def _arrives(self, request: Request) -> float:
        """Put a request into the line, unless it is above its quota; returns its place, infinite if it is."""
        place = self._enters(request) if self.quotas is None or self.quotas.admits(request) else inf
        self._readmit()
        return place

    def _enters(self, request: Request) -> int:
        """Put a request into the line, behind those that are as urgent where others give way; returns its place."""
        line, place = self._line, len(self._line)
        if self.overflow.preempt:
            place = next((n for n, one in enumerate(line) if one.priority < request.priority), place)
            self._blocked = self._blocked and place > 0
        line.insert(place, request)
        return place

    def _preempts(self, requests: Iterable[Request]) -> bool:
        """Have others give way to one of these requests, which were refused; tells whether that has made room."""
        return bool(self.overflow.preempt and self.preempting and self.preempting.makes_room(requests) == "now")

    def evict(self, rows: Sequence[int], requeue: bool, kept: Callable[[float], float]) -> None:
        """Interrupt requests that run; `kept` says how much of the time that one has run is not lost."""
        self.ledger.evict(rows)
        self._blocked = False
        self._interrupt(rows, requeue, kept)

    def running_request(self, row: int) -> Request:
        """Return the request of a row that runs, and keep it."""
        known = self._requests_known
        if row not in known:
            if len(known) > 2 * len(self.ledger.running) + 1024:
                self._requests_known = known = {one: known[one] for one in self.ledger.running if one in known}
            known[row] = self.request(row)
        return known[row]

    def request(self, row: int) -> Request:
        """Return the request of a row, also of one that no server could hold."""
        rows = len(self.workload)
        return next(self._requests(np.array([row]))) if row < rows else self._returned[row - rows]

    def _arrivals(self) -> Iterator[Request]:
        """Yield the workload's requests that an empty server could hold."""
        rows = len(self.workload)
        for first in range(0, rows, CHUNK):
            come = self.record.outcome[first : min(first + CHUNK, rows)] == PENDING
            if self._gangs is not None:
                come &= self._leads[first : first + CHUNK]
            yield from self._requests(first + np.flatnonzero(come))

    def _requests(self, rows: Ints) -> Iterator[Request]:
        """Return the requests of these rows of the workload, int64 [n], one after another."""
        workload, networks, expected = self.workload, self.workload.networks, self.workload.expected
        columns = zip(
            rows.tolist(),
            workload.arrival[rows].tolist(),
            expected[rows].tolist(),
            map(tuple, workload.demand[rows].tolist()),
            self._spreads[rows].tolist(),
            self._bandwidth[rows].tolist(),
            repeat(None) if networks is None else map(networks.__getitem__, rows.tolist()),
            repeat(0) if self._models is None else self._models[rows].tolist(),
            repeat(0) if self._roles is None else self._roles[rows].tolist(),
            repeat(0) if workload.priority is None else workload.priority[rows].tolist(),
            repeat(None) if self._gangs is None else map(self._gangs.at, rows.tolist()),
            strict=False,
        )
        # As Request(*row), in half the time.
        return map(tuple.__new__, repeat(self._kind), columns)

    def _overflow(self, refusal: Refusal | None) -> None:
        if self.moving and self.moving.makes_room(self._line[0]):
            return
        if self.overflow.preempt and self.preempting and (when := self.preempting.makes_room([self._line[0]])):
            self._pass()
            self._blocked = when == "later"
            return
        mode = self.overflow.mode
        if mode == "expand":
            room = self.overflow.limit - len(self.view.capacity)
            if room > 0:
                self._pass()
                self._grow(min(self.overflow.by, room))
                return
            mode = self.overflow.then
        if mode == "wait":
            self._pass()
            self._blocked = True
        else:
            self._refuse(self._line.popleft(), refusal)
        if mode == "stop":
            self.stopped = True
            self._decisions.close()

    @property
    def overflowing(self) -> str:
        """What becomes now of a request that fits nowhere: a mode of overflow."""
        full = self.overflow.mode == "expand" and len(self.view.capacity) >= self.overflow.limit
        return self.overflow.then if full else self.overflow.mode

    def _pass(self) -> None:
        if self.passes is not None:
            self.passes.append(len(self.record.sequence))

    def _refuse(self, request: Request, refusal: Refusal | None = None) -> None:
        ledger = self.ledger
        self.refuse(request, refusal.reason if refusal else ledger.reasons[ledger.why_not(request)])

    def refuse(self, request: Request, reason: str) -> None:
        """Note that a request gets no place."""
        if self.quotas:
            self.quotas.freed(request.index)
        self.record.rejected(request.index, self.now, reason, request.gang.parts if request.gang else 1)

    # -- events --------------------------------------------------------------------------------------------------

    def _changed(self, what: Literal["failure", "repair", "expansion"], subject: int, kind: Kind = "server") -> None:
        self.changes.append(Change(self.clock.now, len(self.record.sequence), what, subject, kind))

    def _grow(self, by: int) -> None:
        first = len(self.view.capacity)
        self.ledger.grow(by)
        self._changed("expansion", by)
        for together, process in self._faults:
            if together:
                before = len(together.members)
                together.grow(first + by)
                process.watch(range(before, len(together.members)))
            elif process.kind == "server":
                process.watch(range(first, first + by))

    def fail(self, part: int, kind: Kind = "server", requeue: bool = False) -> bool:
        """Take a part down now: what it holds is interrupted, and return to the line or is lost.

        False when it is down already: it stays so until the repair of the first failure.
        """
        if (kind, part) in self._down or part >= self.ledger.parts(kind) or (kind == "server" and self._causes[part]):
            return False
        if kind == "server":
            self.down([part], requeue)
        else:
            self._down.add((kind, part))
            self._changed("failure", part, kind)
            self._interrupt(self.ledger.fail(part, kind), requeue)
        return True

    def down(self, servers: Sequence[int], requeue: bool) -> None:
        """Take servers down together, for one more reason where they are down already."""
        interrupted: list[int] = []
        for server in servers:
            self._causes[server] += 1
            if self._causes[server] == 1:
                self._changed("failure", server)
                if self.moving:
                    self.moving.fails(server)
                interrupted += self.ledger.fail(server)
        self._interrupt(sorted(interrupted), requeue)

    def up(self, servers: Sequence[int]) -> None:
        """Bring servers back, empty, that are not down for another reason."""
        for server in servers:
            self._causes[server] -= 1
            if not self._causes[server]:
                self.ledger.repair(server)
                self._changed("repair", server)

    def _interrupt(
        self, interrupted: Sequence[int], requeue: bool, kept: Callable[[float], float] = lambda ran: ran
    ) -> None:
        now = self.clock.now
        if self._gangs is not None and interrupted:
            interrupted = self._whole_gangs(interrupted)
        if self.moving:
            self.moving.interrupted(interrupted)
        for index in interrupted:
            self.record.interrupted(index, now)
            if self.quotas:
                self.quotas.freed(index)
        if requeue and interrupted:
            back = [self._back(index, now, kept) for index in interrupted]
            if self._gangs is not None:
                back = self._back_in_gangs(interrupted, back)
            self._returned += back
            if self.quotas:
                again = [one for one in back if not one.gang or one.gang.first == one.index]
                back = [one for one in again if self.quotas.admits(one, again=True)]
            for request in (one for one in reversed(back) if not one.gang or one.gang.first == one.index):
                ahead = sum(one.priority > request.priority for one in self._line) if self.overflow.preempt else 0
                self._line.insert(ahead, request)

    def _back(self, row: int, now: float, kept: Callable[[float], float]) -> Request:
        """Make a new request for the rest of an interrupted one."""
        ran = kept(now - float(self.record.decided[row]))
        rest = expected = self._stays(row) - ran
        self._rests.append(rest)
        again = self.record.add(row)
        if self._asking:
            source, parts = self._asking.back.get(row, (row, ()))
            self._asking.back[again] = source, (*parts, ran)
            expected = nan if self._kind is HiddenLifetimeRequest else self._asking(again, 0.0)
        return self._kind(again, now, expected, *self.request(row)[3:])

    def _back_in_gangs(self, rows: Sequence[int], back: Sequence[Request]) -> list[Request]:
        """Make gangs of requests that are sent back, which were parts of some in these rows."""
        found: list[Request] = []
        for row, request in zip(rows, back, strict=True):
            if gang := request.gang:
                first = request.index - (row - gang.first)
                count = self._members[gang.first]
                least = min(gang.least, count)
                request = request._replace(gang=gang._replace(first=first, parts=count, least=least))
            found.append(request)
        return found

    def block(self) -> None:
        """Let the head of the line wait until something changes."""
        self._blocked = True

    @property
    def head(self) -> int:
        """The row of the first in the line, -1 where nobody waits."""
        return self._line[0].index if self._line else -1

    def moved(self, request: Request, server: int, node: int) -> None:
        """Note where a request lies that has been moved."""
        row = request.index
        self.record.server[row], self.record.node[row] = server, node
        if self._lists:
            self._placed.add(request, server, node, float(self.record.decided[row]))

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed part back, empty; a server, when all its domains are back."""
        if kind == "server":
            self.up([part])
            return
        self._down.remove((kind, part))
        self.ledger.repair(part, kind)
        self._changed("repair", part, kind)
