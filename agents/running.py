"""Remembers what an agent has started and what of it still runs, for agents that count on when jobs end."""

from __future__ import annotations

from typing import NamedTuple

from simcore.types import Amounts, Request, View


class Job(NamedTuple):
    """Holds when a job ends, as far as is known, its server, and what it holds there."""

    end: float
    server: int
    demand: Amounts


class Running:
    """Remembers the jobs that an agent started, and finds those that still run, when they are expected to end."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Request, float, Job]] = []

    def start(self, request: Request, server: int, now: float) -> None:
        """Add a job that starts now."""
        self._jobs.append((request, now, Job(now + request.duration, server, request.demand)))

    def look(self, view: View) -> list[Job]:
        """Return the jobs that run now. Of those that should have ended it is asked again when they will."""
        now, left = view.now, []
        for request, began, job in self._jobs:
            if request.index in view.placed.running:
                if job.end <= now and view.asking:
                    job = job._replace(end=began + view.expected(request, now - began))
                left.append((request, began, job))
        self._jobs = left
        return [job for _, _, job in left if job.end > now]  # at this very instant some may still be there
