"""Foresees what is free from now on, so that jobs can be promised a time at which they start."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from binwright.agents.running import Job
from binwright.fabric.availability import at_once, earliest, over, overdrawn, parts_from, take
from binwright.simcore.types import Floats, Ints, Placement, Request, View, part


class AvailabilityProfile:
    """Keeps how much is free in one place, from now on: `free` int64 [kinds], and how that changes."""

    def __init__(self, now: float, free: Ints) -> None:
        self._times, self._levels = np.empty(16), np.empty((16, len(free)), np.int64)
        self._times[0], self._levels[0], self._count = now, free, 1

    def _room(self) -> None:
        """Have room for two more changes."""
        if self._count + 2 > len(self._times):
            self._times, self._levels = np.tile(self._times, 2), np.tile(self._levels, (2, 1))

    def ends(self, time: float, demand: Sequence[int]) -> None:
        """Note that so much more is free from a time on."""
        if time < inf:
            self._room()
            need = np.array(demand, np.int64)
            self._count = take(self._times, self._levels, self._count, time, inf, need, -1)

    def take(self, start: float, duration: float, demand: Sequence[int], sign: int = 1) -> None:
        """Note that a job takes so much for so long; with sign -1, that it does not after all.

        A job of no time takes it for a moment, so that it needs room.
        """
        self._room()
        need, end = np.array(demand, np.int64), over(start, duration)
        self._count = take(self._times, self._levels, self._count, start, end, need, sign)

    def close(self, start: float, end: float) -> None:
        """Note that nothing is free for a time."""
        self.take(start, end - start, [0] * self._levels.shape[1])
        times, levels = self._times[: self._count], self._levels[: self._count]
        within = (times >= start) & (times < end)
        levels[within] = np.minimum(levels[within], 0)

    def earliest(self, duration: float, demand: Sequence[int]) -> float:
        """Return when that much is free for so long; infinity for never."""
        return earliest(self._times, self._levels, self._count, duration, np.array(demand, np.int64))

    def at_once(self, duration: float, demand: Sequence[int]) -> bool:
        """Tell whether that much is free for so long from now on."""
        return at_once(self._times, self._levels, self._count, duration, np.array(demand, np.int64))

    @property
    def times(self) -> list[float]:
        """When something changes."""
        found: list[float] = self._times[: self._count].tolist()
        return found

    def parts(self, start: float, duration: float, demand: Sequence[int]) -> int:
        """Count how many parts that ask for so much have room from a time on, together, for so long."""
        return parts_from(self._times, self._levels, self._count, start, duration, np.array(demand, np.int64))

    @property
    def overdrawn(self) -> bool:
        """Whether more is promised than will be there."""
        return overdrawn(self._levels, self._count)


class Reservation(NamedTuple):
    """Promises a job so much of a server, int per node and kind, from a time on."""

    start: float
    duration: float
    server: int
    demand: Sequence[int]


class ClusterAvailability:
    """Foresees what every server has free, from what runs there and what is reserved."""

    def __init__(self, view: View, jobs: Sequence[Job]) -> None:
        self.now, self._view = view.now, view
        self._nodes = view.free.shape[1]
        self._profiles = [AvailabilityProfile(view.now, free.ravel()) for free in view.free]
        self._promised: list[int] = [0] * len(self._profiles)
        for job in jobs:
            for server, node, amounts in job.shares:
                self._profiles[server].ends(job.end, self._on(node, amounts))
        for server, begins, until in view.closures:
            if server < len(self._profiles) and until > view.now:
                if begins <= view.now:
                    self._profiles[server].ends(until, view.capacity[server].ravel().tolist())
                self._profiles[server].close(max(begins, view.now), until)
                self._promised[server] += 1  # so that nobody is in the way

    def _on(self, node: int, amounts: Sequence[int]) -> list[int]:
        """Write amounts on a node as amounts of its whole server."""
        kinds = len(amounts)
        return [*[0] * (node * kinds), *amounts, *[0] * ((self._nodes - 1 - node) * kinds)]

    def _ways(self, request: Request) -> list[tuple[slice, list[int]]]:
        """List the nodes that the request may take of a server, and what it takes then, of all nodes."""
        nodes = range(self._nodes)
        if request.spread:
            every = [amount for node in nodes for amount in part(request.demand, node, self._nodes)]
            return [(slice(None), every)]
        return [(slice(node, node + 1), self._on(node, request.demand)) for node in nodes]

    def _stays(self, request: Request) -> Floats:
        """Return how long a request stays on each server, float64 [servers]; parts of a gang as on the slowest."""
        stays: Floats = np.broadcast_to(self._view.stays(request), len(self._profiles))
        return np.broadcast_to(stays.max(), len(stays)) if request.gang and len(stays) else stays

    def start(self, request: Request, placement: Placement, sign: int = 1) -> None:
        """Note that a request has just been placed, or, with sign -1, that it has not after all."""
        stays = self._stays(request)
        for server, node, amounts in placement.shares:
            self._change(Reservation(self.now, float(stays[server]), server, self._on(node, amounts)), sign)

    def earliest(self, request: Request) -> list[Reservation]:
        """Find the earliest start of a request, on the first server that has it, or where a gang's parts have room.

        None for never. Of the servers on which parts have room then, those come first that have less now.
        """
        if request.gang:
            return self._earliest_of_parts(request, request.gang.least)
        found = [
            Reservation(profile.earliest(stays, demand), stays, server, demand)
            for server, (profile, stays) in enumerate(zip(self._profiles, self._stays(request).tolist(), strict=True))
            for _, demand in self._ways(request)
        ]
        best = min(found, key=lambda one: one.start)
        return [best] if best.start < inf else []

    def _earliest_of_parts(self, request: Request, parts: int) -> list[Reservation]:
        ways = [(server, demand) for server in range(len(self._profiles)) for _, demand in self._ways(request)]
        lasts = float(self._stays(request)[0])
        for time in sorted({max(time, self.now) for profile in self._profiles for time in profile.times}):
            room = [self._profiles[server].parts(time, lasts, demand) for server, demand in ways]
            if sum(room) < parts:
                continue
            now = [self._profiles[server].parts(self.now, time - self.now + lasts, demand) for server, demand in ways]
            found = []
            for way in sorted(range(len(ways)), key=lambda way: now[way]):
                server, demand = ways[way]
                if taken := min(room[way], parts):
                    found.append(Reservation(time, lasts, server, [taken * amount for amount in demand]))
                    parts -= taken
            return found
        return []

    def reserve(self, one: Reservation) -> None:
        """Promise a job its place."""
        self._promised[one.server] += 1
        self._change(one, 1)

    def cancel(self, one: Reservation) -> None:
        """Take a promise back."""
        self._promised[one.server] -= 1
        self._change(one, -1)

    def _change(self, one: Reservation, sign: int) -> None:
        self._profiles[one.server].take(one.start, one.duration, one.demand, sign)

    @property
    def overdrawn(self) -> bool:
        """Whether some server has more promised than it will have."""
        return any(one.overdrawn for one, promised in zip(self._profiles, self._promised, strict=True) if promised)

    def harmless(self, view: View, request: Request) -> View:
        """Return what a request may see free now: nothing where it would be in the way of a reservation."""
        shown, stays = view.free, self._stays(request)
        for server, promised in enumerate(self._promised):
            for nodes, demand in self._ways(request) if promised else ():
                fits = (view.free[server].ravel() >= demand).all()
                if fits and not self._profiles[server].at_once(float(stays[server]), demand):
                    shown = view.free.copy() if shown is view.free else shown
                    shown[server, nodes] = 0
        return view if shown is view.free else view.showing(shown)
