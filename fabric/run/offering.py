"""Offers the requests that wait to the agent together: at the head of the line, or several at once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from binwright.fabric.run.cluster_events import ClusterEvents
from binwright.fabric.run.gang_placement import GangPlacement
from binwright.fabric.run.waiting_line import WaitingLine
from binwright.simcore.types import Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class Offering:
    """Goes on with a run where requests that wait are offered together."""

    def __init__(self, run: Simulation, queue: WaitingLine, gangs: GangPlacement, events: ClusterEvents) -> None:
        self._run, self._queue, self._gangs, self._events = run, queue, gangs, events

    def at_instants(self) -> Generator[Request, None, None]:
        """Yield what needs an answer, offered once for everything at an instant."""
        run = self._run
        while run.next_offer():
            yield from self._offer(run.overflow.together)

    def after_events(self) -> Generator[Request, None, None]:
        """Yield what needs an answer, offered after every single event; arrivals come first."""
        run, queue, events, patience = self._run, self._queue, self._events, -inf
        while (coming := run.next_arrival) < inf or queue.requests or queue.held:
            if coming < inf or run.due > events.endless:
                patience = events.all_back
            elif run.next_change > patience:
                return
            if coming <= run.next_change:
                run.pass_to(coming)
                run.arrive_next()
            else:
                run.step()
            yield from self._offer(run.overflow.together)

    def _offer(self, together: int) -> Iterator[Request]:
        """Offer the head of the line, again while somebody gets a place and others move up."""
        run, queue, gangs, seen = self._run, self._queue, self._gangs, 0
        run.view.now = run.clock.now
        queue.readmit()
        while len(line := queue.startable) > seen:
            before, run.offer = len(line), list(islice(line, together))
            seen = len(run.offer) - before
            while run.offer:
                yield gangs.next_part(run.offer[0])
            gangs.abandon()  # one that the agent has left partway
            line = queue.startable
            seen += len(line)
            if len(line) == before or len(line) <= seen:
                preempting = run.preempting if run.overflow.preempt else None
                if not preempting or preempting.makes_room(islice(line, together)) != "now":
                    return
                queue.readmit()
                seen = 0
