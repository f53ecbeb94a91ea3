"""Foresees what servers and links of a network have free, and promises jobs the places that an agent would choose."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.availability import AvailabilityProfile, ClusterAvailability, Job, Reservation, servers_of
from binwright.fabric.network import FAILED, NetworkView
from binwright.simcore.types import Agent, Embedding, Floats, Ints, Placement, Request, View


class NetworkAvailability(ClusterAvailability):
    """Foresees what every server and link has free, from what runs there and what is reserved: in one profile of all.

    An `agent` shows where a job could lie: it is promised the first time at which the agent places it. With more free
    the agent may find no place any more: then the job keeps the one that it was promised.
    """

    _view: NetworkView

    def __init__(self, view: NetworkView, jobs: Sequence[Job], agent: Agent) -> None:
        self.now, self._view, self._agent = view.now, view, agent
        self._jobs, self._reserved, self._shape = [*jobs], [], view.free.shape
        self._promised = [0] * len(view.free)
        self._failed = view.link_free == FAILED
        free = np.concatenate([view.everything_free.ravel(), np.maximum(view.link_free, 0)])
        self._profile = AvailabilityProfile(view.now, free)
        for job in jobs:
            held = view.holding(job.request.index)
            links, amounts = np.array(held.links, np.int64).reshape(-1, 2).T
            self._profile.ends(job.end, self._vector(held.shares, links, amounts))
        self._outages = [closure for closure in view.closures if closure[2] > view.now]
        for server, begins, until in self._outages:
            own = self._vector([(server, node, amounts) for node, amounts in enumerate(view.capacity[server])])
            self._profile.close(view.now, begins, until, own)

    def _vector(self, shares: Any, links: Any = (), amounts: Any = 0) -> Ints:
        """Write amounts of servers and links as one array, int64 [kinds]."""
        free, wires = np.zeros(self._shape, np.int64), np.zeros(len(self._failed), np.int64)
        for server, node, taken in shares:
            free[server, node] += taken
        np.add.at(wires, np.array(links, np.int64), amounts)  # one on its way may hold a link twice
        return np.concatenate([free.ravel(), wires])

    def _all_held(self, held: Reservation) -> Ints:
        """Return what a placement takes, int64 [kinds]."""
        placement = held.placement
        amounts = placement.amounts if isinstance(placement, Embedding) else held.request.bandwidth
        return self._vector(placement.shares, placement.links, amounts)

    def _take(self, held: Reservation, sign: int) -> None:
        self._profile.take(held.start, held.duration, self._all_held(held), sign)

    def _stays(self, request: Request) -> Floats:
        """Return how long a request stays, as on the slowest server, float64 [servers]."""
        return np.full(self._shape[0], np.max(self._view.stays(request)))

    def _showing(self, level: Ints, open_to: npt.NDArray[np.bool_]) -> NetworkView:
        """Return a view of so much free, int64 [kinds], on the servers `open_to` bool [servers]."""
        servers = int(np.prod(self._shape))
        free = np.where(open_to[:, None, None], level[:servers].reshape(self._shape), 0)
        links = np.where(self._failed, FAILED, level[servers:])
        return replace(self._view, free=np.maximum(free, 0), link_free=np.maximum(links, FAILED))

    def earliest(self, request: Request) -> list[Reservation]:
        """Find the earliest start of a request, or of all parts of a gang; none for never."""
        lasts, starts = float(self._stays(request)[0]), np.maximum(self._profile.times, self.now)
        for time, level in zip(starts.tolist(), self._profile.least(starts, lasts), strict=True):
            reservations, may = list[Reservation](), self._may(request, time)
            for part in request.each():
                view = self._showing(level, may)
                enough = (view.free.sum(axis=(0, 1)) >= request.demand).all()
                answer = self._agent.decide(view, part) if enough else None
                if not isinstance(answer, Placement):
                    break
                if any(self.breaks(request, server, time) for server in servers_of(answer)):
                    break
                reservations.append(Reservation(time, lasts, answer, part))
                level = level - self._all_held(reservations[-1])
                if len(reservations) == request.parts:
                    return reservations
        return []

    def keeps(self, promised: Sequence[Reservation]) -> bool:
        need = np.sum([self._all_held(held) for held in promised], axis=0)
        start, lasts = promised[0].start, promised[0].duration
        links = {link for held in promised for link in held.placement.links}
        free = (self._profile.least(np.array([start]), lasts)[0] >= need).all() and not self._failed[[*links]].any()
        return bool(free) and all(
            self._may(held.request, start)[[*servers_of(held.placement)]].all() for held in promised
        )

    @property
    def overdrawn(self) -> bool:
        return bool(self._reserved) and self._profile.overdrawn

    def harmless(self, view: View, request: Request, but: Collection[int] = ()) -> View:
        """Return what a request may see free now: on servers and links, what is free for as long as it stays."""
        if not (self._reserved or self._outages or but):
            return view
        [level] = self._profile.least(np.array([self.now]), float(self._stays(request)[0]))
        open_to = self._may(request, self.now)
        open_to[list(but)] = False
        return self._showing(level, open_to)
