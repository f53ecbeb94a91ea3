"""Keeps the requests that wait in order: by queue, behind the more urgent, and apart while above their quotas."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import MutableSequence, Sequence
from math import inf
from typing import TYPE_CHECKING

from binwright.simcore.types import Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class WaitingLine:
    """Holds the requests of a run that wait."""

    def __init__(self, run: Simulation, requests: MutableSequence[Request]) -> None:
        self._run, self.requests = run, requests

    @property
    def held(self) -> Sequence[Request]:
        """Those who wait apart from the line, above their quotas."""
        return self._run.quotas.held if self._run.quotas else ()

    @property
    def startable(self) -> Sequence[Request]:
        """Those of the line that no limit of their queue keeps waiting."""
        return self._run.queues.within_limits(self.requests) if self._run.queues else self.requests

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
        if queues and (reason := queues.refusal(request)):
            self._run.refuse(request, reason)
        elif quotas is None or quotas.admits(request):
            place = self._enter(request) * (queues is None)
        self.readmit()
        return place

    def _urgency(self, request: Request) -> tuple[int, int]:
        """Say how far ahead a request stands: by the priority of its queue, then by its own where others give way."""
        queues = self._run.queues
        return queues.priority(request) if queues else 0, request.priority if self._run.overflow.preempt else 0

    def _enter(self, request: Request) -> int:
        """Put a request into the line, behind those that are as urgent; returns its place."""
        line, place, preempt = self.requests, len(self.requests), self._run.overflow.preempt
        if preempt or self._run.queues:
            urgency = self._urgency(request)
            for one in reversed(line):
                if self._urgency(one) >= urgency:
                    break
                place -= 1
        if preempt:
            self._run.blocked = self._run.blocked and place > 0
        line.insert(self._run.loop.place(request, place), request)
        return place

    def take_back(self, requests: Sequence[Request]) -> None:
        """Put requests that were interrupted before the others that are as urgent, if their quotas have room."""
        quotas = self._run.quotas
        if quotas:
            for request in requests:
                self._run.make_room_for(request)
            requests = [one for one in requests if quotas.admits(one, again=True)]
        for request in reversed(requests):
            urgency, place = self._urgency(request), 0
            if self._run.queues or self._run.overflow.preempt:  # else all are as urgent
                place = bisect_left(self.requests, True, key=lambda one: self._urgency(one) <= urgency)
            self.requests.insert(self._run.loop.place(request, place), request)
