"""Foresees what servers and links of a network have free, and promises jobs the places that an agent would choose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.availability import AvailabilityProfile, ClusterAvailability, Job, Reservation, servers_of
from binwright.fabric.network import FAILED, NetworkView
from binwright.simcore.types import Agent, Embedding, Ints, Placement, Request, View


class NetworkAvailability(ClusterAvailability):
    """Foresees what every server and link has free, from what runs there and what is reserved.

    An `agent` shows where a job could lie: it is promised the first time at which the agent places it. With more free
    the agent may find no place any more: then the job keeps the one that it was promised.
    """

    _view: NetworkView

    def __init__(self, view: NetworkView, jobs: Sequence[Job], agent: Agent) -> None:
        self.now, self._view, self._agent = view.now, view, agent
        self._jobs, self._reserved, self._shape = [*jobs], [], view.free.shape
        self._failed = view.link_free == FAILED
        self._profile = AvailabilityProfile(view.now, self._levels(view.everything_free, np.maximum(view.link_free, 0)))
        for job in jobs:
            self._profile.ends(job.end, self._vector(*view.holding(job.request.index)))
        self._outages = [closure for closure in view.closures if closure[2] > view.now]
        for server, begins, until in self._outages:
            own = self._vector([(server, node, amounts) for node, amounts in enumerate(view.capacity[server])])
            if begins <= view.now:
                self._profile.ends(until, own)
            self._profile.close(max(begins, view.now), until, own > 0)

    @staticmethod
    def _levels(free: Ints, links: Ints) -> Ints:
        return np.concatenate([free.ravel(), links])

    def _vector(self, shares: Any, links: Sequence[int] = (), amounts: Any = 0) -> Ints:
        """Write amounts of servers and links as one array, int64 [kinds]."""
        free, wires = np.zeros(self._shape, np.int64), np.zeros(len(self._failed), np.int64)
        for server, node, taken in shares:
            free[server, node] += taken
        np.add.at(wires, np.array(links, np.int64), amounts)  # one on its way may hold a link twice
        return self._levels(free, wires)

    def _of(self, request: Request, placement: Placement) -> Ints:
        """Return what a placement takes, int64 [kinds]."""
        amounts = placement.amounts if isinstance(placement, Embedding) else request.bandwidth
        return self._vector(placement.shares, placement.links, amounts)

    def _lasts(self, request: Request) -> float:
        return float(np.max(self._view.stays(request)))

    def _showing(self, level: Ints, open_to: npt.NDArray[np.bool_]) -> NetworkView:
        """Return a view of so much free, int64 [kinds], on the servers `open_to` bool [servers]."""
        servers = int(np.prod(self._shape))
        free = np.where(open_to[:, None, None], level[:servers].reshape(self._shape), 0)
        links = np.where(self._failed, FAILED, level[servers:])
        return replace(self._view, free=np.maximum(free, 0), link_free=np.maximum(links, FAILED))

    def start(self, request: Request, placement: Placement, sign: int = 1) -> None:
        lasts = self._lasts(request)
        self._profile.take(self.now, lasts, self._of(request, placement), sign)
        job = Job(self.now + lasts, placement.shares, request)
        (self._jobs.append if sign > 0 else self._jobs.remove)(job)

    def earliest(self, request: Request) -> list[Reservation]:
        """Find the earliest start of a request, or of all parts of a gang; none for never."""
        lasts, starts = self._lasts(request), np.maximum(self._profile.times, self.now)
        for time, level in zip(starts.tolist(), self._profile.least(starts, lasts), strict=True):
            reservations, may = list[Reservation](), self._may(request, time)
            for part in request.each():
                view = self._showing(level, may)
                enough = (view.free.sum(axis=(0, 1)) >= request.demand).all()
                answer = self._agent.decide(view, part) if enough else None
                if not isinstance(answer, Placement):
                    break
                own = self._of(part, answer)
                if any(self.breaks(request, server, time) for server in servers_of(answer)):
                    break
                level = level - own
                reservations.append(Reservation(time, lasts, servers_of(answer), own, request, answer))
                if len(reservations) == request.parts:
                    return reservations
        return []

    def keeps(self, promised: Sequence[Reservation]) -> bool:
        need = np.array([reservation.demand for reservation in promised]).sum(axis=0)
        start, lasts = promised[0].start, promised[0].duration
        links = {link for reservation in promised if reservation.placement for link in reservation.placement.links}
        free = (self._profile.least(np.array([start]), lasts)[0] >= need).all() and not self._failed[[*links]].any()
        return bool(free) and all(
            self._may(reservation.request, start)[[*reservation.servers]].all() for reservation in promised
        )

    def reserve(self, reservation: Reservation, sign: int = 1) -> None:
        (self._reserved.append if sign > 0 else self._reserved.remove)(reservation)
        self._profile.take(reservation.start, reservation.duration, reservation.demand, sign)

    @property
    def overdrawn(self) -> bool:
        return bool(self._reserved) and self._profile.overdrawn

    def harmless(self, view: View, request: Request, but: Collection[int] = ()) -> View:
        """Return what a request may see free now: on servers and links, what is free for as long as it stays."""
        if not (self._reserved or self._outages or but):
            return view
        [level] = self._profile.least(np.array([self.now]), self._lasts(request))
        open_to = self._may(request, self.now)
        open_to[list(but)] = False
        return self._showing(level, open_to)
