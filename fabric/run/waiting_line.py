"""Keeps the requests that wait in order, by queue and behind the more urgent, and offers several at once to agents."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.queue_line import advance_line
from binwright.simcore.jit import prepared
from binwright.simcore.types import Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class WaitingLine(Sequence[Request]):
    """Shows who waits, whose rows are in the arrays of a run, as requests, in order."""

    def __init__(self, run: Simulation) -> None:
        self._run = run

    def __len__(self) -> int:
        return self._run.waiting

    def __iter__(self) -> Iterator[Request]:
        return map(self._run.rows.request, self._run.waiting_rows.tolist())

    def __getitem__(self, place: Any) -> Any:
        rows = self._run.waiting_rows[place]
        if isinstance(place, slice):
            return [self._run.rows.request(row) for row in rows.tolist()]
        return self._run.rows.request(int(rows))

    def _insert(self, place: int, request: Request) -> None:
        """Put a request at a place of the line."""
        run, at = self._run, self._run.at
        if at[loop.LAST] == len(run.state.line):
            rows = run.waiting_rows.copy()
            at[loop.FIRST], at[loop.LAST] = 0, len(rows)
            run.waiting_rows[:] = rows
        at[loop.LAST] += 1
        rows = run.waiting_rows
        rows[place + 1 :] = rows[place:-1].copy()
        rows[place] = request.index

    def remove(self, request: Request) -> None:
        """Take a request out of the line."""
        rows = self._run.waiting_rows
        place = rows.tolist().index(request.index)
        rows[place:-1] = rows[place + 1 :].copy()
        self._run.at[loop.LAST] -= 1

    @property
    def held(self) -> Sequence[Request]:
        """Those who wait apart from the line, above their quotas."""
        return self._run.quotas.held if self._run.quotas else ()

    @property
    def startable(self) -> Sequence[Request]:
        """Those of the line that no limit of their queue keeps waiting."""
        return self._run.queues.within_limits(self) if self._run.queues else self

    @property
    def eager(self) -> bool:
        """Whether somebody waits for whatever ends."""
        return self._run.blocked or bool(self.held)

    def readmit(self) -> bool:
        """Put those into the line whose quotas have room again; tells whether there are any."""
        quotas = self._run.quotas
        admitted = quotas.readmitted() if quotas and quotas.held else ()
        for request in admitted:
            self._enter(request)
        return bool(admitted)

    def arrive(self, request: Request) -> float:
        """Put a request into the line, unless it is above its quota, or its queue takes none like it.

        Returns its place in the line, 0 where there are several queues; infinite if it has none.
        """
        quotas, queues, place = self._run.quotas, self._run.queues, inf
        if queues and (reason := queues.refusal(request.index)):
            self._run.refuse(request, reason)
        elif quotas is None or quotas.admits(request):
            place = self._enter(request) * (queues is None)
        self.readmit()
        return place

    def _place(self, request: Request, before: bool) -> int:
        """Return the place of a request in line, before or behind those that are as urgent."""
        run, rows = self._run, self._run.waiting_rows
        order = run.order()
        if not len(order):
            return 0 if before else len(rows)
        return int(np.searchsorted(-order[rows], -order[request.index], "left" if before else "right"))

    def _enter(self, request: Request) -> int:
        """Put a request into the line, behind those that are as urgent; returns its place."""
        place = self._place(request, False)
        if self._run.overflow.preempt:
            self._run.blocked = self._run.blocked and place > 0
        self._insert(place, request)
        return place

    def take_back(self, parts: Sequence[Request]) -> None:
        """Put requests that were interrupted before the others that are as urgent, if their quotas have room."""
        quotas = self._run.quotas
        requests = [part for part in parts if not part.gang or part.gang.first == part.index]
        self._run.make_room_for(np.array([part.index for part in parts]))
        self._run.loop.take_in(requests)
        if quotas:
            requests = [request for request in requests if quotas.admits(request, again=True)]
        for request in reversed(requests):
            self._insert(self._place(request, True), request)


class Offering:
    """Goes on with a run where requests that wait are offered together."""

    def __init__(self, run: Simulation) -> None:
        self._run = run
        self._patience = -inf
        """Until when those who wait are not given up, though only what recurs is left: all that failed is back then."""
        self._before = 0, 0
        self._to_offer: Any = None

    def requests(self) -> Generator[Request, None, None]:
        """Yield what needs an answer."""
        while self._advance():
            yield from self._offer()

    def _offer(self) -> Iterator[Request]:
        """Offer the head of the line, again while somebody gets a place and others move up."""
        run, waiting, gangs, together = self._run, self._run.line, self._run.gangs, self._run.overflow.together
        seen = 0
        run.view.now = run.clock.now
        waiting.readmit()
        while len(line := waiting.startable) > seen:
            before, run.offer = len(line), list(islice(line, together))
            seen = len(run.offer) - before
            while run.offer:
                yield gangs.next_part(run.offer[0])
            gangs.abandon()  # one that the agent has left partway
            line = waiting.startable
            seen += len(line)
            if len(line) == before or len(line) <= seen:
                preempting = run.preempting if run.overflow.preempt else None
                if not preempting or preempting.makes_room(islice(line, together)) != "now":
                    return
                waiting.readmit()
                seen = 0

    # -- from one offer to the next ------------------------------------------------------------------------------

    def _advance(self) -> bool:
        """Run to the next offer; false at the end of the run."""
        run, at, clock, overflow = self._run, self._run.at, self._run.clock, self._run.overflow
        while not self.is_hopeless():
            run.note_held()
            arrays = run.bundle()
            self._to_offer = self._to_offer or prepared(advance_line, arrays, 0, 0.0)
            status = self._to_offer(arrays, overflow.together, clock.next)
            run.view.now = now = float(run.state.clock[loop.NOW])
            clock.pass_to(now)
            if status in (loop.ASK, loop.OVER):
                return bool(status == loop.ASK)
            if status == loop.EVENT and self.is_hopeless():
                break
            stirred = self.handle(status)
            if overflow.one_by_one:
                return True
            at[loop.STIRRED] |= stirred
        return False

    def handle(self, status: int) -> bool:
        """Do what the loop has stopped for before the next offer; tells whether a change calls for one."""
        run, at, state = self._run, self._run.at, self._run.state
        if status == loop.EVENT:
            state.clock[loop.NOW] = run.clock.next
            run.unbind()
            if run.overflow.one_by_one:
                run.clock.step()
                return True
            waits = run.waiting > 0 or at[loop.HELD] > 0
            return run.clock.run_to(run.clock.next, False) or waits
        if status == loop.RELEASED:
            run.released(at[loop.ROW])
            return False
        if status == loop.CHANGED:
            return run.line.readmit()
        at[loop.BLOCKED] = 1  # and 0 afterwards, where others were evicted for who arrives
        return run.arrive_next() < run.overflow.together or not at[loop.BLOCKED]

    def is_hopeless(self) -> bool:
        """Tell whether nobody who waits will ever have room: all that failed is back, and only what recurs is left.

        Notes when all is back, as long as anything else is to come, an offer too, or has happened since the last look.
        """
        run, at = self._run, self._run.at
        happened, stirred = (at[loop.TAIL], at[loop.GONE]), at[loop.STIRRED] or at[loop.ARRIVING]
        coming = run.next_arrival < inf or run.due > run.events.endless
        if coming or happened != self._before:
            self._patience, self._before = run.events.all_back, happened
        return not (coming or stirred) and run.next_change > self._patience
