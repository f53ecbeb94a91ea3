"""Remembers what an agent has started and what of it still runs, for agents that count on when jobs end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcore.vocabulary import Amounts, Ints, Request, View


class Job(NamedTuple):
    """Holds when a job ends, its server, and what it holds there."""

    end: float
    server: int
    demand: Amounts


class Running:
    """Remembers the jobs that an agent started, and finds those that still run, as far as the view tells.

    It must look at the view in every decision, before more jobs start.

    Nobody tells an agent of a failure. It shows where a server holds less than these jobs do, or, beside them, more
    than before: then all of its jobs were interrupted. (A full server that fails looks the same until it is repaired.)
    """

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._others: Ints = np.zeros((0, 0), np.int64)  # [servers, kinds]: what is held beside these jobs

    def start(self, request: Request, server: int, now: float) -> None:
        """Add a job that starts now."""
        self._jobs.append(Job(now + request.duration, server, request.demand))

    def look(self, view: View) -> list[Job]:
        """Return the jobs that run now."""
        taken = (view.capacity - view.everything_free).sum(axis=1)
        held, before = np.zeros_like(taken), np.zeros_like(taken)
        if len(self._others):  # the cluster may have grown
            before[: len(self._others)] = self._others
        jobs = [job for job in self._jobs if job.end > view.now]
        ending = [job for job in self._jobs if job.end == view.now]  # at this very instant they may still be there
        for amounts, some in ((held, jobs), (before, ending)):
            if some:
                np.add.at(amounts, [job.server for job in some], [job.demand for job in some])
        failed = ((held > taken) | (taken - held > before)).any(axis=1)
        held[failed] = 0
        gone = set(np.flatnonzero(failed).tolist())
        self._jobs, self._others = [job for job in jobs if job.server not in gone], taken - held
        return self._jobs
