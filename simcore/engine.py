"""Runs a simulation up to each decision, and takes its answer: the definition of a run.

`advance()` runs to the next request that needs an answer, `answer()` applies it. The batch loop `play`, the learning
environments and a debugger all drive it this way.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from math import ceil, inf, nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from simcore.agent_calls import describe_request
from simcore.clock import Clock
from simcore.errors import AgentError, InfeasiblePlacement, WorkloadError
from simcore.faults import FailingDomains, FaultProcess, Faults, Kind
from simcore.lifetime_info import LifetimeOracle
from simcore.model import Moves, ResourceModel
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
        self.workload = workload
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
        self.moving: Moves | None = None
        """What moves requests that run, where something does."""
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
        self._returned: list[Request] = []
        self._rests: list[float] = []  # of those that were sent back, how long they still stay
        self._down: set[tuple[Kind, int]] = set()  # links and switches
        self._causes: Counter[int] = Counter()  # of each server that is down: itself, and its domains
        self._spreads = ledger.spreads(workload.demand)
        self._models = ledger.expect(workload)
        self._roles = ledger.roles_of(workload)
        self.record.outcome[~ledger.possible(workload.demand, self._models, self._roles)] = IMPOSSIBLE
        self._bandwidth = (
            np.broadcast_to(np.int64(0), len(workload)) if workload.bandwidth is None else workload.bandwidth
        )
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
        self._decisions = self._run() if ledger.offer is None else self._masked(ledger.offer)

    @property
    def now(self) -> float:
        """Seconds since the first request of the workload arrived."""
        return self.clock.now

    @property
    def waiting(self) -> int:
        """How many requests wait in the line."""
        return len(self._line)

    def asked(self) -> Workload:
        """List the rows of the record: the workload, and after it every request that a failure sent back."""
        asked, back = replace(self.workload, arrival=self._arrival), self._returned
        if not back:
            return asked
        sources = [self.source(request.index) for request in back]
        return with_returned(asked, self._bandwidth, back, self._rests, sources)

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
            request = offer[0] if offer else line[0]
        elif not any(request is one for one in offer):
            known = describe_request(request, self.view.resources)
            raise AgentError(f"answered {known}, which is not offered or has its answer")
        if placement is None or type(placement) is Refusal:
            if offer:
                offer.remove(request)
            else:
                self._overflow(placement)
            return
        try:
            server, node = self.ledger.apply(request, placement)
        except InfeasiblePlacement as error:
            raise InfeasiblePlacement(f"{describe_request(request, self.view.resources)}: {error}") from None
        if offer:
            offer.remove(request)
            line.remove(request)
        else:
            line.popleft()
        index, now = request.index, self.clock.now
        duration = request.duration if self._asking is None else self._stays(index)
        node = SPREAD if request.spread else node
        self.record.placed(index, now, server, node)
        if self._lists:
            self._placed.add(request, server, node, now)
        if duration < inf and self.overflow.one_by_one:
            # By who was placed first; below all rows, by which the ends of a warm start go.
            place = len(self.record.sequence) - 2**62
            self.clock.release_at(now + duration, lambda _: self.ledger.release(index), place)
        elif duration < inf:
            self.clock.release_at(now + duration, self.ledger.release, index)

    def _stays(self, row: int) -> float:
        """Return how long the request of a row stays, whatever agents are told."""
        rows = len(self.workload)
        stays: float = self._durations[row] if row < rows else self._rests[row - rows]
        return stays

    def stays(self, rows: Ints) -> Floats:
        """Return how long the requests of these rows stay, whatever agents are told, float64 [n]."""
        return np.array([self._stays(row) for row in rows.tolist()], np.float64)

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
            while clock.run_to(request.arrival, self._blocked):
                yield from self._serve()
            self.offered = request.index + 1
            line.append(request)
            view.now = request.arrival
            while line and not self._blocked:
                yield line[0]
        if self.overflow.one_by_one:
            yield from self._one_by_one(arrivals)
        elif self.overflow.together:
            yield from self._together(arrivals)
        else:
            self.offered = len(self.workload)
            patience = self.all_back
            while line:
                # Random failures and repairs go on for ever: alone, they are waited for until all parts are back.
                if clock.due > self.endless:
                    patience = self.all_back
                elif clock.peek() > patience:
                    break
                if clock.run_to(clock.peek(), self._blocked):
                    yield from self._serve()
        self.offered = len(self.workload)
        while line:
            self._refuse(line.popleft())

    def _together(self, arrivals: Iterator[Request]) -> Iterator[Request]:
        """Go on where requests that wait are offered together, once for everything at an instant."""
        line, clock, together, window = self._line, self.clock, self.overflow.together, self.overflow.window
        coming, due, patience = next(arrivals, None), inf, -inf
        while coming or line:
            time = min(coming.arrival if coming else inf, due)
            if time < inf or clock.due > self.endless:
                patience = self.all_back
            elif clock.peek() > patience:
                return
            changed = clock.run_to(time if time < inf else clock.peek(), due == inf and bool(line))
            while coming and coming.arrival <= clock.now:
                changed = changed or len(line) < together
                line.append(coming)
                self.offered = coming.index + 1
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
        while coming or line:
            if coming or clock.due > self.endless:
                patience = self.all_back
            elif clock.peek() > patience:
                return
            if coming and coming.arrival <= clock.peek():
                clock.pass_to(coming.arrival)
                line.append(coming)
                self.offered = coming.index + 1
                coming = next(arrivals, None)
            else:
                clock.step()
            yield from self._offer(self.overflow.together)

    def _offer(self, together: int) -> Iterator[Request]:
        """Offer the head of the line, again while somebody gets a place and others move up."""
        line, seen = self._line, 0
        self.view.now = self.clock.now
        while len(line) > seen:
            before, self.offer = len(line), list(islice(line, together))
            seen = len(self.offer) - before
            self._pass()
            while self.offer:
                yield self.offer[0]
            seen += len(line)
            if len(line) == before:
                return

    def _pace(self, request: Request, pacing: Pacing) -> Generator[Request, None, Request]:
        """Let the clock go on until the request may be offered, and return it as arriving then."""
        clock, running = self.clock, self.workload.running
        if request.index < running:
            return request
        time = clock.now + pacing.step if request.index > running else 0.0
        while clock.run_to(time, self._blocked):
            yield from self._serve()
        while pacing.await_room and clock.due and not self.ledger.has_room(request):
            clock.run_to(inf, True)
            yield from self._serve()
        self._arrival[request.index] = clock.now
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
        while self._line and not self._blocked:
            yield self._line[0]
            self.clock.run_to(self.clock.now, False)  # a holding period of no time is over again

    def request(self, row: int) -> Request:
        """Return the request of a row, also of one that no server could hold."""
        rows = len(self.workload)
        return next(self._requests(np.array([row]))) if row < rows else self._returned[row - rows]

    def _arrivals(self) -> Iterator[Request]:
        """Yield the workload's requests that an empty server could hold."""
        rows = len(self.workload)
        for first in range(0, rows, CHUNK):
            yield from self._requests(
                first + np.flatnonzero(self.record.outcome[first : min(first + CHUNK, rows)] == PENDING)
            )

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
            strict=False,
        )
        # As Request(*row), in half the time.
        return map(tuple.__new__, repeat(self._kind), columns)

    def _overflow(self, refusal: Refusal | None) -> None:
        if self.moving and self.moving.makes_room(self._line[0]):
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

    def _pass(self) -> None:
        if self.passes is not None:
            self.passes.append(len(self.record.sequence))

    def _refuse(self, request: Request, refusal: Refusal | None = None) -> None:
        ledger = self.ledger
        reason = refusal.reason if refusal else ledger.reasons[ledger.why_not(request)]
        self.record.rejected(request.index, self.now, reason)

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

    def _interrupt(self, interrupted: Sequence[int], requeue: bool) -> None:
        now = self.clock.now
        if self.moving:
            self.moving.interrupted(interrupted)
        for index in interrupted:
            self.record.interrupted(index, now)
        if requeue and interrupted:
            back = [self._back(index, now) for index in interrupted]
            self._returned += back
            self._line.extendleft(reversed(back))

    def _back(self, row: int, now: float) -> Request:
        """Make a new request for the rest of an interrupted one."""
        ran = now - float(self.record.decided[row])
        rest = expected = self._stays(row) - ran
        self._rests.append(rest)
        again = self.record.add(row)
        if self._asking:
            source, parts = self._asking.back.get(row, (row, ()))
            self._asking.back[again] = source, (*parts, ran)
            expected = nan if self._kind is HiddenLifetimeRequest else self._asking(again, 0.0)
        return self._kind(again, now, expected, *self.request(row)[3:])

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
