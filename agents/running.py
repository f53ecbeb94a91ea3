"""Remembers what an agent has started and what of it still runs, for agents that count on when jobs end."""

from __future__ import annotations

from math import inf, nextafter
from typing import NamedTuple

from simcore.types import Placement, Request, Share, View


class Job(NamedTuple):
    """Holds when a job ends, as far as is known, and what it holds where."""

    end: float
    shares: tuple[Share, ...]


class Running:
    """Remembers the jobs that an agent started, and finds those that still run, when they are expected to end."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Request, float, Job]] = []

    def start(self, request: Request, placement: Placement, now: float) -> None:
        """Add a job that starts now."""
        self._jobs.append((request, now, Job(now + request.duration, placement.shares)))

    def look(self, view: View) -> list[Job]:
        """Return the jobs that run now. Of those that should have ended it is asked again when they will.

        Who has still not ended by then may end at any moment, and counts as ending just after now.
        """
        now, left = view.now, []
        for request, began, job in self._jobs:
            if request.index in view.placed.running:
                if job.end <= now and view.asking:
                    job = job._replace(end=began + view.expected(request, now - began))
                left.append((request, began, job))
        self._jobs = left
        soon = nextafter(now, inf)
        return [job._replace(end=max(job.end, soon)) for _, _, job in left]
