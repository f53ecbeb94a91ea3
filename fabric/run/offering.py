"""Offers the requests that wait to the agent together: at the head of the line, or several at once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.queue_line import advance_line
from binwright.simcore.jit import prepared
from binwright.simcore.types import Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


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
            self._to_offer = self._to_offer or prepared(advance_line, arrays, 0, 0.0, 0.0)
            status = self._to_offer(arrays, overflow.together, float(overflow.window), clock.next)
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
            return run.clock.run_to(run.clock.next, False) or bool(waits and state.clock[loop.NEXT_OFFER] == inf)
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
        coming = run.next_arrival < inf or run.state.clock[loop.NEXT_OFFER] < inf or run.due > run.endless
        if coming or (stirred and run.overflow.window) or happened != self._before:
            self._patience, self._before = run.all_back, happened
        return not (coming or stirred) and run.next_change > self._patience
