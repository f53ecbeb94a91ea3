"""Holds the state of a run that the engine and its parts share."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from binwright.simcore.clock import Clock
from binwright.simcore.errors import WorkloadError
from binwright.simcore.model import KeepsQueues, KeepsQuotas, KeepsSpeeds, Moves, Preempts, ResourceModel, Routes
from binwright.simcore.record import SPREAD, Record
from binwright.simcore.request_rows import RequestRows
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Placements, Request, Workload


class RunState:
    """Holds what a run has come to: its clock, record and requests, and what moves, evicts or bounds these."""

    def __init__(self, workload: Workload, ledger: ResourceModel, overflow: Overflow | None, *, paced: bool) -> None:
        if workload.networks is not None and not ledger.tiers:
            remedy = "Take a cluster with a network."
            raise WorkloadError("virtual networks need a network, and the cluster has none", remedy=remedy)
        self.workload = workload = workload.in_parts
        self.ledger = ledger
        self.view = ledger.view
        self.view.origin = workload.origin
        self.view.virtual = workload.networks[0].form if workload.networks else None
        self.overflow = overflow or Overflow()
        self.clock = Clock()
        self.record = Record(len(workload), ledger.reasons)
        self.offered = 0
        """Requests of the workload that have arrived so far."""
        self.stopped = False
        """Did a request that fits nowhere end the run?"""
        self.offer: list[Request] = []
        """Those that are offered together and have no answer yet; empty where requests are offered one by one."""
        self.times: list[tuple[int, int]] | None = None
        """Of every decision its row and the agent's nanoseconds, where `play` is to note them: an empty list then."""
        self.counted: int | None = None
        """How many answers there were as `play` counts those to requests offered together; None: it does so itself."""
        self.recurring = 0
        """How many things on the clock happen at every step, for ever."""
        self.moving: Moves | None = None
        """What moves requests that run, where something does."""
        self.preempting: Preempts | None = None
        """What evicts requests that run, where something does."""
        self.quotas: KeepsQuotas | None = None
        """What keeps requests within quotas, where something does."""
        self.queues: KeepsQueues | None = None
        """What keeps requests in several queues, where something does."""
        self.routing: Routes | None = None
        """What sends requests to sites, where there are several."""
        self.features: dict[str, Any] = {}
        """What other features keep of the run, by their keys."""
        self.speeds: KeepsSpeeds | None = None
        """What has requests end sooner on faster servers, where there are some."""
        self.rows = rows = RequestRows(workload, ledger, self.record, paced)
        self.view.asking = rows.oracle
        self._placed = self.view.placed = Placements(ledger.running)
        self._lists = rows.kind is Request  # what is placed, where agents are told how long requests stay

    @property
    def env(self) -> Clock:
        """SimPy's environment, in which processes of one's own go on: the clock."""
        return self.clock

    @property
    def now(self) -> float:
        """Seconds since the first request of the workload arrived."""
        return self.clock.now

    def begin(self, request: Request, server: int, node: int) -> None:
        """Note that a request has its place, and what that is."""
        node = SPREAD if request.spread else node
        self.record.placed(request.index, self.clock.now, server, node)
        if self._lists:
            self._placed.add(request, server, node, self.clock.now)

    def end_after(self, duration: float, release: Callable[[int], object], index: int) -> None:
        """Have a request of a row release what it holds after its holding period, if that ends."""
        if duration < inf and self.overflow.one_by_one:
            # By who was placed first; below all rows, by which the ends of a warm start go.
            place = len(self.record.sequence) - 2**62
            self.clock.release_at(self.clock.now + duration, lambda _: release(index), place)
        elif duration < inf:
            self.clock.release_at(self.clock.now + duration, release, index)

    def freed(self, row: int) -> None:
        """Give back what a row counts against: its quota, and the limits of its queue."""
        if self.quotas:
            self.quotas.freed(row)
        if self.queues:
            self.queues.freed(row)

    def refuse(self, request: Request, reason: str) -> None:
        """Note that a request gets no place."""
        self.freed(request.index)
        self.record.rejected(request.index, self.now, reason, request.parts)
