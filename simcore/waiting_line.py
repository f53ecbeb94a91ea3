"""Keeps the requests that wait in order: behind the more urgent, and apart while they are above their quotas."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf

from simcore.run_state import RunState
from simcore.types import Request


class WaitingLine:
    """Holds the requests of a run that wait."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self.requests: deque[Request] = deque()
        self.blocked = False
        """Whether the head was refused, and nothing has changed since."""

    @property
    def held(self) -> Sequence[Request]:
        """Those who wait apart from the line, above their quotas."""
        return self._run.quotas.held if self._run.quotas else ()

    @property
    def eager(self) -> bool:
        """Whether somebody waits for whatever ends."""
        return self.blocked or bool(self.held)

    def readmit(self) -> bool:
        """Put those into the line whose quotas have room again; tells whether there are any."""
        quotas = self._run.quotas
        admitted = quotas.readmitted() if quotas and quotas.held else ()
        for request in admitted:
            self._enter(request)
        return bool(admitted)

    def arrive(self, request: Request) -> float:
        """Put a request into the line, unless it is above its quota; returns its place, infinite if it is."""
        quotas = self._run.quotas
        place = self._enter(request) if quotas is None or quotas.admits(request) else inf
        self.readmit()
        return place

    def _enter(self, request: Request) -> int:
        """Put a request into the line, behind those that are as urgent where others give way; returns its place."""
        line, place = self.requests, len(self.requests)
        if self._run.overflow.preempt:
            place = next((n for n, one in enumerate(line) if one.priority < request.priority), place)
            self.blocked = self.blocked and place > 0
        line.insert(place, request)
        return place

    def take_back(self, requests: Sequence[Request]) -> None:
        """Put requests that were interrupted before the others that are as urgent, if their quotas have room."""
        quotas, preempt = self._run.quotas, self._run.overflow.preempt
        if quotas:
            requests = [one for one in requests if quotas.admits(one, again=True)]
        for request in reversed(requests):
            ahead = sum(one.priority > request.priority for one in self.requests) if preempt else 0
            self.requests.insert(ahead, request)
