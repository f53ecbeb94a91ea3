"""SimPy's environment with plain calls at exact times.

`Timeout(delay)` reaches now + delay, which in floats is not always the time that was meant; `run(until=t)` leaves the
events at t itself to the next call. So the queue also takes calls: entries (time, priority, number, call) with a
priority below those of SimPy's events, which run beside them.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any

import simpy
from simpy.events import NORMAL, Event

__all__ = ["Clock", "Event"]
CHANGE = -1
"""The priority of calls at one instant: failures, repairs and expansion come before SimPy's events."""


class Clock(simpy.Environment):
    """The event queue, and the time; ends of holding periods, which come first at an instant, are not in it."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[Any] = self._queue
        self.pending = self.steps = 0
        """How many of SimPy's own events are to happen, and how many have happened."""

    @property
    def next(self) -> float:
        """When something is to happen, infinite if nothing is."""
        return self._calls[0][0] if self._calls else inf

    def pass_to(self, time: float) -> None:
        """Let time go on to before what happens then; nothing may be due earlier."""
        self._now = time

    def schedule(self, event: Event, priority: simpy.events.EventPriority = NORMAL, delay: float = 0) -> None:
        """Put an event of SimPy into the queue, such as a timeout."""
        super().schedule(event, priority, delay)
        self.pending += 1

    def at(self, time: float, call: Callable[[int], object], number: int) -> None:
        """Call `call(number)` at a time, in the order of asking; False says: nothing changed."""
        heappush(self._calls, (time, CHANGE, next(self._eid), lambda _: call(number)))

    def step(self) -> None:
        """Let the next thing happen."""
        if self._calls and self._calls[0][1] < 0:
            self._now, _, number, call = heappop(self._calls)
            call(number)
        else:
            self.pending, self.steps = self.pending - 1, self.steps + 1
            super().step()

    def run_to(self, time: float, eager: bool) -> bool:
        """Let everything up to and including a time happen.

        Stops before that, and returns true, at the end of an instant that changed the cluster, or `eager`, at any.
        """
        queue = self._calls
        stop = eager
        while queue and queue[0][0] <= time:
            if queue[0][1] == CHANGE:
                self._now, _, number, call = heappop(queue)
                stop = call(number) is not False or stop
            else:
                self.step()
                stop = True
            if stop and (not queue or queue[0][0] > self._now):
                return True
        if time < inf:
            self._now = time
        return False

    @property
    def due(self) -> int:
        """How many things are still to happen."""
        return len(self._calls)
