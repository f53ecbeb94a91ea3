"""Says what runs where and until when, for agents that count on when jobs end."""

from __future__ import annotations

from math import inf, nextafter
from typing import NamedTuple

from binwright.simcore.types import Placed, Request, Share, View


class Job(NamedTuple):
    """Holds when a job ends, as far as is known, and what it holds where; and its request."""

    end: float
    shares: tuple[Share, ...]
    request: Request


class Running:
    """Finds the jobs that run, whoever placed or moved them, and when they are expected to end."""

    def __init__(self) -> None:
        self._seen = 0
        self._jobs: dict[int, tuple[Placed, float]] = {}

    def look(self, view: View) -> list[Job]:
        """Return the jobs that run now. Of those that should have ended it is asked again when they will.

        Who has still not ended by then may end at any moment, and counts as ending just after now.
        """
        now, nodes, placed = view.now, view.free.shape[1], view.placed
        for one in placed.since(self._seen):  # one that was moved is there again
            self._jobs[one.request.index] = one, one.began + one.request.duration
        self._seen = placed.total
        self._jobs = {row: job for row, job in self._jobs.items() if row in placed.running}
        soon, found = nextafter(now, inf), []
        for row, (one, end) in self._jobs.items():
            if end <= now and view.asking:
                end = one.began + view.expected(one.request, now - one.began)
                self._jobs[row] = one, end
            request, server = one.request, one.server
            placement = request.across(server, nodes) if request.spread else request.on(server, one.node)
            found.append(Job(max(end, soon), placement.shares, request))
        return found
