"""State waiting jobs as a problem: in which slot each of them starts, and on which server, chosen together.

The plan is carried out as time goes: jobs that start now are answered, the others wait. At every decision the plan is
moved up, each job as early as its server has room, in the order of the plan. A new one is looked for if there are new
jobs, or if it may be shorter.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import ceil, inf
from typing import TypeAlias

import numpy as np

from binwright.agents.availability import RunningJobs
from binwright.agents.solver.online.template import Formulation, Online, Setup, in_units, power
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints, Placement, Request, View

NEARLY = 1e-9
"""Of a slot: what ends so little after it has ended in it."""
Plan: TypeAlias = list[tuple[int, Request, int]]
"""The slot in which each job starts, the job, and its server, in this order."""


class Jobs(Formulation):
    """Plans jobs. A job is a ball, and slot * servers + server is its bin."""

    def __init__(self, setup: Setup, view: View, slot: float, slots: int) -> None:
        super().__init__(setup, view)
        if self.nodes > 1 or isinstance(view, NetworkView):
            remedy = "Leave `slot` out, or give the servers one node each and no network."
            raise UserError("plans are for servers of one node", key="slot", remedy=remedy)
        self.slot, self.slots = slot, slots
        self.capacity = view.capacity[:, 0].copy()
        self.running = RunningJobs()
        self.plan: Plan = []
        self.online = cache(self._online)
        self.online(1)  # what a single request needs is compiled at once

    def _online(self, jobs: int) -> Online:
        varying = {
            "LAST": np.array([self.slots]),
            "LENGTH": np.full(jobs, self.slots),
            "DEMAND": np.full((jobs, self.kinds), in_units(self.capacity.max())),
            "FREE": np.full((self.servers, self.slots, self.kinds), in_units(self.capacity.sum(axis=0).max())),
        }
        sizes = self.sizes | {"SLOTS": self.slots}
        return Online(self.setup, "jobs", sizes, {}, varying, jobs, self.slots * self.servers)

    def answers(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Yield the jobs that start now."""
        free, waiting = self._free(view), set(requests)
        before, end = self._timed([(job, server) for _, job, server in self.plan if job in waiting], free)
        self.plan = self._better(requests, free, before, end)
        for start, job, server in self.plan:
            if start == 0:
                yield job, job.on(server, 0)

    def _free(self, view: View) -> Ints:
        """Compute what running jobs leave, int64 [servers, slots, kinds]."""
        free = np.repeat(view.free, self.slots, axis=1)
        for end, [(server, _, demand)], _ in self.running.look(view):
            if end < inf:
                free[server, max(1, ceil((end - view.now) / self.slot - NEARLY)) :] += demand
        return free

    def _length(self, job: Request) -> int:
        """Count the slots that a job takes, at most all that are planned."""
        return self.slots if job.duration == inf else min(self.slots, max(1, ceil(job.duration / self.slot - NEARLY)))

    def _timed(self, jobs: Iterable[tuple[Request, int]], free: Ints) -> tuple[Plan, int]:
        """Start each job as early as its server has room, in this order; jobs for which it has none are left out.

        Returns the slot in which all have ended, too.
        """
        free, plan, end = free.copy(), list[tuple[int, Request, int]](), 0
        for job, server in jobs:
            length = self._length(job)
            fits = (free[server] >= job.demand).all(axis=1)
            blocked = np.concatenate([[0], np.cumsum(~fits)])
            room = np.flatnonzero(blocked[length:] == blocked[: self.slots + 1 - length])
            if len(room):
                start = int(room[0])
                free[server, start : start + length] -= job.demand
                plan.append((start, job, server))
                end = max(end, start + length)
        return sorted(plan, key=lambda started: started[0]), end

    def _better(self, jobs: Sequence[Request], free: Ints, plan: Plan, end: int) -> Plan:
        """Look for a plan for more jobs than this one has, or for as many in fewer slots; returns the best one."""
        online, count = self.online(power(len(jobs))), len(jobs)
        jobs = sorted(jobs, key=lambda job: (-self._length(job), job.index))
        lengths = np.array([self._length(job) for job in jobs])
        demand = np.array([job.demand for job in jobs], np.int64)
        enough = (free.sum(axis=0).cumsum(axis=0) >= (demand * lengths[:, None]).sum(axis=0)).all(axis=1)
        bound = max(int(lengths.max()), int(enough.argmax()) + 1 if enough.any() else self.slots)  # of every plan
        online.write("LENGTH", lengths, slice(count))
        online.write("DEMAND", demand, slice(count))
        online.write("FREE", free)
        while len(plan) < count or end > bound:
            online.write("LAST", end - 1 if len(plan) == count else self.slots)
            bins = online.find(count)[:count].tolist()
            placed = sorted((place // self.servers, at) for at, place in enumerate(bins) if place >= 0)
            other, ends = self._timed([(jobs[at], bins[at] % self.servers) for _, at in placed], free)
            if (-len(other), ends) >= (-len(plan), end):
                break
            plan, end = other, ends
        return plan
