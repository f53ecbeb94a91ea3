"""Foresees what is free from now on, so that jobs can be promised a time at which they start.

What is promised is amounts of a server, its devices, in a network servers and links, and that the rules of placement
will let the job lie there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf, nextafter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.availability import MANY, earliest, least_from, over, overdrawn, take
from binwright.fabric.devices import DeviceView, in_python, on_devices
from binwright.fabric.network import Provisioned
from binwright.simcore.types import QUANTUM, Floats, Ints, OnDevices, Placed, Placement, Request, Share, View, part


class Job(NamedTuple):
    """Holds when a job ends, as far as is known, and what it holds where; and its request."""

    end: float
    shares: tuple[Share, ...]
    request: Request


class RunningJobs:
    """Keeps what runs, whoever placed or moved it, and when it is expected to end.

    When that time has come and a job still runs, it is asked again when it will end. Who has still not ended by then
    counts as ending just after now.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._due: list[tuple[float, int]] = []  # a heap of ends, and whose
        self.runs: dict[int, tuple[Placed, float]] = {}

    def follow(self, view: View) -> None:
        """Note what was placed and what should have ended since; what runs no more may be there still."""
        now, running = view.now, view.placed.running
        for placed in view.placed.since(self._seen):  # one that was moved is there again
            self.note(placed, placed.began + placed.request.duration)
        self._seen = view.placed.total
        while self._due and self._due[0][0] <= now:
            end, row = heappop(self._due)
            if row in running and self.runs[row][1] == end:
                placed, _ = self.runs[row]
                end = placed.began + view.expected(placed.request, now - placed.began)
                self.note(placed, max(end, nextafter(now, inf)))

    def note(self, placed: Placed, end: float) -> None:
        """Note when a job is expected to end."""
        self.runs[placed.request.index] = placed, end
        heappush(self._due, (end, placed.request.index))

    def look(self, view: View) -> list[Job]:
        """Return the jobs that run now."""
        self.follow(view)
        self.runs = {row: run for row, run in self.runs.items() if row in view.placed.running}
        nodes, jobs = view.free.shape[1], []
        for (_, request, server, node, _), end in self.runs.values():
            placement = request.across(server, nodes) if request.spread else request.on(server, node)
            jobs.append(Job(end, placement.shares, request))
        return jobs


class AvailabilityProfile:
    """Keeps how much is free in one place, from now on: `free` int64 [kinds], and how that changes."""

    def __init__(self, now: float, free: Ints) -> None:
        self._times, self._levels = np.empty(16), np.empty((16, len(free)), np.int64)
        self._times[0], self._levels[0], self._count = now, free, 1

    def ends(self, time: float, demand: Sequence[int] | Ints) -> None:
        """Note that so much more is free from a time on."""
        if time < inf:
            self.take(time, inf, demand, -1)

    def take(self, start: float, duration: float, demand: Sequence[int] | Ints, sign: int = 1) -> None:
        """Note that a job takes so much for so long; with sign -1, that it does not after all.

        A job of no time takes it for a moment, so that it needs room.
        """
        if self._count + 2 > len(self._times):  # there may be two more changes
            self._times, self._levels = np.tile(self._times, 2), np.tile(self._levels, (2, 1))
        need, end = np.array(demand, np.int64), over(start, duration)
        self._count = take(self._times, self._levels, self._count, start, end, need, sign)

    def close(self, now: float, begins: float, end: float, installed: Ints) -> None:
        """Note that nothing installed, int64 [kinds], is free for a time; all is from its end on, if it has begun."""
        if begins <= now:
            self.ends(end, installed)
        start, closed = max(begins, now), installed > 0
        self.take(start, end - start, np.zeros_like(installed))
        for at in np.flatnonzero((self.times >= start) & (self.times < end)).tolist():
            self._levels[at, closed] = np.minimum(self._levels[at, closed], 0)

    @property
    def times(self) -> Floats:
        """When something changes, float64 [changes]."""
        return self._times[: self._count]

    def earliest(self, duration: float, demand: Sequence[int]) -> float:
        """Return when that much is free for so long; infinity for never."""
        return earliest(self._times, self._levels, self._count, duration, np.array(demand, np.int64))

    def least(self, starts: Floats, duration: float) -> Ints:
        """Return what is free all the time from each start on, ascending, for so long: int64 [starts, kinds]."""
        result = np.empty((len(starts), self._levels.shape[1]), np.int64)
        least_from(self._times, self._levels, self._count, starts, duration, result)
        return result

    @property
    def overdrawn(self) -> bool:
        return overdrawn(self._levels, self._count)


def servers_of(placement: Placement) -> tuple[int, ...]:
    """Return the servers that count for rules of placement, also those that give only links."""
    chosen = placement.chosen if isinstance(placement, Provisioned) else ()
    return tuple(dict.fromkeys((*(share[0] for share in placement.shares), *chosen)))


class Reservation(NamedTuple):
    """Promises a job a placement from a time on."""

    start: float
    duration: float
    placement: Placement
    request: Request


class ClusterAvailability:
    """Foresees what every server has free, from what runs there and what is reserved."""

    def __init__(self, view: View, jobs: Sequence[Job]) -> None:
        self.now, self._view, self._jobs = view.now, view, [*jobs]
        self._devices = view if isinstance(view, DeviceView) else None
        free, capacity = view.everything_free, view.capacity
        self._nodes, self._amounts = free.shape[1], free.shape[1] * free.shape[2]
        levels, installed = free.reshape(len(free), -1), capacity.reshape(len(free), -1)
        if self._devices:
            devices = self._devices.devices
            whole = (np.arange(devices.free.shape[1]) < devices.there[:, None]) * QUANTUM
            levels, installed = np.hstack([levels, devices.free]), np.hstack([installed, whole])
        self._profiles = [AvailabilityProfile(view.now, level) for level in levels]
        self._reserved: list[Reservation] = []
        self._promised: list[int] = [0] * len(self._profiles)
        for job in jobs:
            for server, node, amounts in job.shares:
                bits = self._devices.taken.get(job.request.index, 0) if self._devices else 0
                self._profiles[server].ends(job.end, self._on(node, amounts, bits))
        for server, begins, until in view.closures:
            if server < len(self._profiles) and until > view.now:
                self._profiles[server].close(view.now, begins, until, installed[server])
                self._promised[server] += 1  # so that nobody is in the way

    def _on(self, node: int, amounts: Sequence[int], devices: int = 0) -> list[int]:
        """Write amounts on a node as amounts of its whole server, with the devices that are the bits of a number."""
        kinds = len(amounts)
        amounts_on_server = [*[0] * (node * kinds), *amounts, *[0] * ((self._nodes - 1 - node) * kinds)]
        if self._devices:
            _, each = in_python(amounts[self._devices.resource])
            amounts_on_server += [
                each * (devices >> device & 1) for device in range(self._devices.devices.free.shape[1])
            ]
        return amounts_on_server

    def _ways(self, request: Request) -> list[tuple[slice, list[int]]]:
        """List the nodes that the request may take of a server, and what it takes then, of all nodes but no devices."""
        nodes = range(self._nodes)
        if request.spread:
            every = [amount for node in nodes for amount in part(request.demand, node, self._nodes)]
            return [(slice(None), every)]
        return [(slice(node, node + 1), self._on(node, request.demand)) for node in nodes]

    def _stays(self, request: Request) -> Floats:
        """Return how long a request stays on each server, float64 [servers]; parts of a gang as on the slowest."""
        stays: Floats = np.broadcast_to(self._view.stays(request), len(self._view.capacity))
        return np.broadcast_to(stays.max(), len(stays)) if request.gang and len(stays) else stays

    def _held(self, placement: Placement) -> Iterator[tuple[int, list[int]]]:
        """Yield servers of a placement, one for each of its shares, and what that holds there of each kind."""
        bits = sum(1 << device for device in placement.devices) if isinstance(placement, OnDevices) else 0
        for server, node, amounts in placement.shares:
            yield server, self._on(node, amounts, bits)

    def _take(self, held: Reservation, sign: int) -> None:
        """Note in the profiles what is held, or, with sign -1, that it is not after all."""
        for server, amounts in self._held(held.placement):
            self._profiles[server].take(held.start, held.duration, amounts, sign)

    def start(self, request: Request, placement: Placement, sign: int = 1) -> None:
        """Note that a request has just been placed, or, with sign -1, that it has not after all."""
        stays = float(self._stays(request)[placement.shares[0][0]])
        self._take(Reservation(self.now, stays, placement, request), sign)
        (self._jobs.append if sign > 0 else self._jobs.remove)(Job(self.now + stays, placement.shares, request))

    def reserve(self, reservation: Reservation, sign: int = 1) -> None:
        """Promise a job its place; with sign -1, take the promise back."""
        self._take(reservation, sign)
        self._promised[reservation.placement.shares[0][0]] += sign
        (self._reserved.append if sign > 0 else self._reserved.remove)(reservation)

    def earliest(self, request: Request) -> list[Reservation]:
        """Find the earliest start of a request, on the first server that has it, or where a gang's parts have room.

        Empty for never. Of the places on which parts have room then, those come first that have less now, where there
        are neither devices nor rules.
        """
        if request.gang or self._devices or self._view.rules:
            return self._earliest_of_parts(request)
        ways, stays = self._ways(request), self._stays(request).tolist()
        start, server, node = min(
            (profile.earliest(stays[server], demand), server, node)
            for server, profile in enumerate(self._profiles)
            for node, (_, demand) in enumerate(ways)
        )
        placement = request.across(server, self._nodes) if request.spread else request.on(server, node)
        return [Reservation(start, stays[server], placement, request)] if start < inf else []

    @property
    def _changes(self) -> Floats:
        """When something changes on any server, from now on, float64 [changes]."""
        times = np.concatenate([profile.times for profile in self._profiles])
        return np.unique(np.maximum(times, self.now))

    def _earliest_of_parts(self, request: Request) -> list[Reservation]:
        """Find the earliest start of all parts, on places one by one: rules may forbid some, and devices are chosen."""
        starts, first, size = self._changes, 0, 16
        while first < len(starts):  # most find room soon
            if reservations := self._earliest_among(request, starts[first : first + size]):
                return reservations
            first, size = first + size, 2 * size
        return []

    def _earliest_among(self, request: Request, starts: Floats) -> list[Reservation]:
        """Do so for some starts, float64 [starts]; empty where there is no room at any."""
        stays, ways = self._stays(request), self._ways(request)
        levels = self._least(starts, stays)
        rooms = self._rooms(request, levels)
        for n in np.flatnonzero(rooms.sum(axis=(0, 2)) >= request.parts).tolist():
            time, level, reservations = float(starts[n]), levels[:, n].copy(), list[Reservation]()
            left = np.where(self._may(request, time)[:, None], rooms[:, n], 0)
            order = np.arange(left.size)
            if not (self._devices or self._view.rules):
                now = self._rooms(request, self._least(np.array([self.now]), time - self.now + stays))
                order = np.argsort(now, axis=None, kind="stable")
            while len(reservations) < request.parts:
                open_to = left > 0
                if request.gang and request.gang.rules.restricts:
                    so_far = [each.placement.shares[0][0] for each in reservations]
                    open_to &= self._view.rules.open_to_part(request, so_far, left.sum(axis=1))[:, None]
                if not open_to.any():
                    break
                server, way = divmod(int(order[open_to.ravel()[order].argmax()]), len(ways))
                if self.breaks(request, server, time):
                    left[server] = 0
                    continue
                placement = self._with_tightest(request, server, way, level[server, self._amounts :])
                for _, amounts in self._held(placement):
                    level[server] -= amounts
                left[server, way] -= 1
                reservations.append(Reservation(time, float(stays[server]), placement, request))
            if len(reservations) == request.parts:
                return reservations
        return []

    def _least(self, starts: Floats, stays: Floats) -> Ints:
        """Return what is free on servers from each start on, for so long on each: int64 [servers, starts, kinds]."""
        return np.stack([profile.least(starts, float(s)) for profile, s in zip(self._profiles, stays, strict=True)])

    def _rooms(self, request: Request, levels: Ints) -> Ints:
        """Count how many like this request fit, int64 [servers, times, ways], of `levels` [servers, times, kinds]."""
        each = np.array([demand[: self._amounts] for _, demand in self._ways(request)])  # by node, or all of a server
        fit = np.where(each > 0, levels[:, :, None, : self._amounts] // np.maximum(each, 1), MANY).min(axis=3)
        rooms: Ints = np.clip(fit, 0, MANY)
        count, each_device = in_python(request.demand[self._devices.resource]) if self._devices else (0, 0)
        if self._devices and count:
            devices = (levels[:, :, self._amounts :] // each_device).clip(0).sum(axis=2) // count
            model = self._devices.devices.model
            right = (model >= 0) & ((request.models == 0) | (request.models >> np.maximum(model, 0) & 1 == 1))
            rooms = np.where(right[:, None, None], np.minimum(rooms, devices[:, :, None]), 0)
        return rooms

    def _with_tightest(self, request: Request, server: int, node: int, free: Ints) -> Placement:
        """Place a request on a server, with the tightest devices of those that have so much free, int64 [devices]."""
        if not self._devices:
            return request.across(server, self._nodes) if request.spread else request.on(server, node)
        count, each = in_python(request.demand[self._devices.resource])
        enough = np.flatnonzero(free >= each)
        chosen = enough[np.argsort(free[enough], kind="stable")][:count]
        return on_devices(request, server, sum(1 << int(device) for device in chosen))

    def _may(self, request: Request, time: float, *more: tuple[tuple[int, ...], int]) -> npt.NDArray[np.bool_]:
        """Tell where rules will let a request lie, bool [servers]; `more` has the servers and the role of another."""
        rules, row = self._view.rules, request.index
        if not rules:
            return np.ones(len(self._view.capacity), np.bool_)
        gone = [job.request.index for job in self._jobs if job.end <= time]
        come = [
            (servers_of(held.placement), held.request.role)
            for held in self._reserved
            if held.request.index != row and held.start <= time < held.start + held.duration
        ]
        may: npt.NDArray[np.bool_] = rules.open_to(request, gone, [*come, *more])
        return may

    def breaks(self, request: Request, server: int, start: float) -> bool:
        """Tell whether rules would not let somebody lie where it was promised, if this one starts there then."""
        if not self._view.rules:
            return False
        end, more = start + float(self._stays(request)[server]), ((server,), request.role)
        return any(
            (self._may(held.request, held.start) & ~self._may(held.request, held.start, more))[
                [*servers_of(held.placement)]
            ].any()
            for held in self._reserved
            if start <= held.start < end and held.request.index != request.index
        )

    def keeps(self, promised: Sequence[Reservation]) -> bool:
        """Tell whether an earlier promise is better than one that is made anew, and can be kept: never on servers."""
        return False

    @property
    def overdrawn(self) -> bool:
        """Whether some server has more promised than it will have."""
        return any(
            profile.overdrawn for profile, promised in zip(self._profiles, self._promised, strict=True) if promised
        )

    def harmless(self, view: View, request: Request, but: Collection[int] = ()) -> View:
        """Return what a request may see free now: nothing where it would be in the way of a reservation.

        That holds for nodes, or for single devices, and for all servers in `but`.
        """
        guarded = [server for server, promised in enumerate(self._promised) if promised or server in but]
        if not (guarded or isinstance(view, DeviceView)):
            return view
        stays, free = self._stays(request), view.free.copy()
        devices: Ints | None = None
        each = 0
        if isinstance(view, DeviceView):
            devices = view.devices.free.copy()
            _, each = in_python(request.demand[view.resource])
        for server in guarded:
            [level] = self._profiles[server].least(np.array([self.now]), float(stays[server]))
            for nodes, demand in self._ways(request):
                fits = (view.free[server].ravel() >= demand[: self._amounts]).all()
                if server in but or (fits and (level[: len(demand)] < demand).any()):
                    free[server, nodes] = 0
            if devices is not None and each:
                devices[server, level[self._amounts :] < each] = 0
        if isinstance(view, DeviceView) and devices is not None:
            devices[~np.any(free, axis=(1, 2))] = 0
            free[:, 0, view.resource] = np.minimum(free[:, 0, view.resource], devices.sum(axis=1))
            return replace(view, free=free, devices=view.devices._replace(free=devices))
        return view if (free == view.free).all() else view.showing(free)
