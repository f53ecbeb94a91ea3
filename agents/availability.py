"""Foresees what is free from now on, so that jobs can be promised a time at which they start.

What is promised is amounts of a server, its devices, in a network servers and links, and that the rules of placement
will let the job lie there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import chain, repeat
from math import inf, nextafter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from binwright.fabric.book import HeldDevices, Holding
from binwright.fabric.devices import DeviceView, in_python
from binwright.fabric.inventory import rooms_on
from binwright.fabric.network import FAILED, NetworkView, Provisioned
from binwright.simcore.types import (
    Agent,
    Embedding,
    Flags,
    Floats,
    Ints,
    OnDevices,
    Placed,
    Placement,
    Refusal,
    Request,
    Share,
    View,
)


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


Amount: TypeAlias = tuple[tuple[Any, ...], Any]
"""Places and kinds, as an index of what is free, and what is taken there."""


class AvailabilityProfile:
    """Keeps how much is free from now on: `free` int64 [places, any], and what is given back at `ends`, times first.

    `times` float64 [changes] is when something changes, the first of them now, and `levels` int64 [changes, places,
    any] what is free from then on.
    """

    def __init__(self, now: float, free: Ints, ends: Sequence[tuple[float, Iterable[Amount]]] = ()) -> None:
        ends = [each for each in ends if each[0] < inf]
        self.times, at = np.unique([now, *(end for end, _ in ends)], return_inverse=True)
        self.levels = np.zeros((len(self.times), *free.shape), np.int64)
        self.levels[0] = free
        for step, (_, amounts) in zip(at[1:].tolist(), ends, strict=True):
            add(self.levels[step], amounts)
        self.levels.cumsum(axis=0, out=self.levels)

    def _step(self, time: float) -> int:
        """Have something change at a time; returns its place."""
        at = int(self.times.searchsorted(time))
        if time < inf and (at == len(self.times) or self.times[at] != time):
            self.times = np.concatenate((self.times[:at], [time], self.times[at:]))
            self.levels = np.concatenate((self.levels[:at], self.levels[at - 1 : at], self.levels[at:]))
        return at

    def take(self, start: float, duration: float, amounts: Iterable[Amount], sign: int = 1) -> None:
        """Note that a job takes so much for so long; with sign -1, that it does not after all.

        A job of no time takes it for a moment, so that it needs room.
        """
        first, last = self._step(start), self._step(max(start + duration, nextafter(start, inf)))
        add(self.levels[first:last], amounts, -sign)

    def least(self, start: float, durations: float | Floats) -> Ints:
        """Return what is free all the time from a start on, for durations that go with places: int64 [places, any]."""
        first = int(np.searchsorted(self.times, start, "right")) - 1
        least: Ints = self.levels[first]
        for duration in {*np.ravel(durations).tolist()}:
            last = np.searchsorted(self.times, max(start + duration, nextafter(start, inf)))
            least = np.where(durations == duration, self.levels[first:last].min(axis=0), least)
        return least

    def earliest(self, duration: float, demand: Ints | Sequence[int]) -> float:
        """Return when so much is free for so long, int64 [places, any]; infinity for never."""
        return next((time for time in self.times.tolist() if (self.least(time, duration) >= demand).all()), inf)


def add(level: Ints, amounts: Iterable[Amount], sign: int = 1) -> None:
    """Add amounts, or with sign -1 take them; changes `level`."""
    for index, taken in amounts:
        level[(..., *index)] += taken if sign > 0 else np.negative(taken)


def holding_of(view: View, request: Request, placement: Placement) -> Holding:
    """Return what a request would hold by a placement, unchecked; servers that give only links count, too."""
    chosen = placement.chosen if isinstance(placement, Provisioned) else ()
    servers = tuple(dict.fromkeys((*(share[0] for share in placement.shares), *chosen)))
    on_links = placement.amounts if isinstance(placement, Embedding) else repeat(request.bandwidth)
    devices: tuple[HeldDevices, ...] = ()
    if isinstance(view, DeviceView) and isinstance(placement, OnDevices) and placement.devices:
        devices = (HeldDevices(servers[0], placement.devices, in_python(request.demand[view.resource])[1]),)
    return Holding(request.role, servers, placement.shares, (*zip(placement.links, on_links, strict=False),), devices)


class Reservation(NamedTuple):
    """Promises a job, or a part of a gang, a placement from a time on, by which it will hold so much."""

    start: float
    duration: float
    placement: Placement
    request: Request
    holding: Holding


class Availability:
    """Foresees what servers, their devices and links have free, from what runs and what is reserved: in one profile.

    Its places are servers, with the resources of all nodes and then devices, and links, with one number each.

    An agent, `places`, shows where a job could lie on devices, under rules of placement and in networks: it is promised
    the first time at which the agent places it. In a network the agent may find no place any more when more is free:
    then the job keeps the one that it was promised.
    """

    def __init__(self, view: View, jobs: Sequence[Job], places: Agent) -> None:
        self.now, self._view, self._places = view.now, view, places
        self._jobs, self._reserved = [*jobs], list[Reservation]()
        self._network = view if isinstance(view, NetworkView) else None
        self._devices = view if isinstance(view, DeviceView) else None
        self._plain = not (self._network or self._devices or view.rules)
        self._shape = servers, nodes, resources = view.free.shape
        columns = self._devices.devices.free.shape[1] if self._devices else 0
        links = len(self._network.link_free) if self._network else 0
        self._nothing = np.zeros((servers + links, nodes * resources + columns), np.int64)
        free = self._nothing.copy()
        self._split(free)[0][:] = view.everything_free
        if self._devices:
            self._split(free)[1][:] = self._devices.devices.free
        if self._network:
            self._split(free)[2][:] = np.maximum(self._network.link_free, 0)
        self._profile = AvailabilityProfile(view.now, free, [(job.end, self._of_job(job)) for job in jobs])

    # -- amounts -------------------------------------------------------------------------------------------------------

    def _split(self, level: Ints) -> tuple[Ints, Ints, Ints]:
        """Return windows of int64 [places, kinds]: [servers, nodes, resources], [servers, devices], [links]."""
        servers, nodes, resources = self._shape
        amounts = level[:servers, : nodes * resources].reshape(self._shape)
        return amounts, level[:servers, nodes * resources :], level[servers:, 0]

    def _amounts(self, held: Holding) -> list[Amount]:
        """List what is held of nodes, links and devices."""
        servers, nodes, kinds = self._shape
        taken: list[Amount] = [
            ((server, slice(node * kinds, node * kinds + kinds)), share) for server, node, share in held.shares
        ]
        taken += [((servers + link, 0), amount) for link, amount in held.links]
        for server, devices, each in held.devices:
            taken.append(((server, [nodes * kinds + device for device in devices]), each))
        return taken

    def _of_job(self, job: Job) -> list[Amount]:
        """List what a job that runs holds; on its way, but in a network, it counts where it was listed last."""
        if self._network:
            return self._amounts(self._view.holding(job.request.index))
        held = Holding(job.request.role, (), job.shares)
        if self._devices:
            devices = self._view.holding(job.request.index).devices
            held = held._replace(devices=tuple(each for each in devices if each.server == job.shares[0][0]))
        return self._amounts(held)

    def _stays(self, request: Request) -> Floats:
        """Return how long a request stays on each server, float64 [servers]; on several, as on the slowest."""
        stays: Floats = np.broadcast_to(self._view.stays(request), self._shape[0])
        return np.full(len(stays), stays.max(initial=0.0)) if request.gang or self._network else stays

    def _least(self, start: float, stays: Floats) -> Ints:
        """Return what is free all the time from a start on, on each server for so long: int64 [places, kinds]."""
        return self._profile.least(start, stays[0] if self._network else stays[:, None])

    def _enough(self, request: Request, level: Ints) -> bool:
        """Tell whether there may be room for all parts of a request, on the servers of a network all together."""
        free = self._split(level)[0]
        if self._network:
            return bool((free.sum(axis=(0, 1)) >= request.demand).all())
        return int(rooms_on(request, free).sum()) >= request.parts

    # -- promises ------------------------------------------------------------------------------------------------------

    def start(self, request: Request, placement: Placement, sign: int = 1) -> None:
        """Note that a request has just been placed, or, with sign -1, that it has not after all."""
        stays = float(self._stays(request)[placement.shares[0][0]])
        held = holding_of(self._view, request, placement)
        self._profile.take(self.now, stays, self._amounts(held), sign)
        (self._jobs.append if sign > 0 else self._jobs.remove)(Job(self.now + stays, placement.shares, request))

    def reserve(self, held: Reservation, sign: int = 1) -> None:
        """Promise a job its place; with sign -1, take the promise back."""
        self._profile.take(held.start, held.duration, self._amounts(held.holding), sign)
        (self._reserved.append if sign > 0 else self._reserved.remove)(held)

    def earliest(self, request: Request) -> list[Reservation]:
        """Find the earliest start of a request, or of all parts of a gang; none for never."""
        stays, places = self._stays(request), self._tightest if self._plain else self._agents
        for time, level in zip(self._profile.times.tolist(), self._profile.levels, strict=True):
            if (
                self._enough(request, level)
                and self._enough(request, least := self._least(time, stays))
                and (placements := places(request, time, least))
            ):
                first = (float(stays[placement.shares[0][0]]) for placement in placements)
                held = map(holding_of, repeat(self._view), request.each(), placements)
                return [*map(Reservation, repeat(time), first, placements, request.each(), held)]
        return []

    def _tightest(self, request: Request, time: float, level: Ints) -> list[Placement]:
        """Place a request on the first server with room, parts of a gang first where there is less of it until then."""
        rooms = rooms_on(request, self._split(level)[0])
        order = np.arange(rooms.size)
        if request.gang:
            until_then = np.minimum(level, self._profile.least(self.now, time - self.now))
            order = np.argsort(rooms_on(request, self._split(until_then)[0]), axis=None, kind="stable")
        places = np.repeat(order, np.minimum(rooms.ravel()[order], request.parts))[: request.parts]
        ways = [divmod(place, rooms.shape[1]) for place in np.sort(places).tolist()]
        return [request.across(s, self._shape[1]) if request.spread else request.on(s, node) for s, node in ways]

    def _agents(self, request: Request, time: float, level: Ints) -> list[Placement]:
        """Place a request, or all parts of a gang, as the agent does with so much free; empty if it cannot."""
        placements, may, taken = list[Placement](), self._may(request, time), list[int]()
        for each in request.each():
            open_to = may
            if each.gang and each.gang.rules.restricts:
                rooms = np.where(may, rooms_on(each, self._split(level)[0]).sum(axis=1), 0)
                open_to = may & self._view.rules.open_to_part(each, taken, rooms)
            shown, level = level.copy(), level.copy()
            shown[: len(may)][~open_to] = 0
            answer = self.decide(self._places, each, time, self._showing(shown, self._view))
            if not isinstance(answer, Placement):
                return []
            held = holding_of(self._view, each, answer)
            add(level, self._amounts(held), -1)
            taken += held.servers
            placements.append(answer)
        return placements

    def _showing(self, level: Ints, view: View) -> View:
        """Return a view with so much free, int64 [places, kinds]."""
        free, devices, links = map(np.copy, self._split(np.maximum(level, 0)))
        if isinstance(view, NetworkView):
            return replace(view, free=free, link_free=np.where(view.link_free == FAILED, FAILED, links))
        if isinstance(view, DeviceView):
            return replace(view, free=free, devices=view.devices._replace(free=devices))
        return view.showing(free)

    def decide(self, agent: Agent, request: Request, start: float, view: View) -> Placement | Refusal | None:
        """Ask an agent where a request is to start then: not on servers where rules would break a promise by that."""
        while isinstance(answer := agent.decide(view, request), Placement):
            servers = holding_of(view, request, answer).servers
            broken = [server for server in servers if self._breaks(request, server, start)]
            if not any(request.demand):  # it fits on servers that show nothing, too
                return None if broken or not self._may(request, start)[[*servers]].all() else answer
            if not broken:
                break
            free = view.free.copy()
            free[broken] = 0
            view = replace(view, free=free)
        return answer

    def _may(self, request: Request, time: float, *more: tuple[tuple[int, ...], int]) -> Flags:
        """Tell where rules will let a request lie, bool [servers]; `more` has the servers and the role of another."""
        if not self._view.rules:
            return np.ones(self._shape[0], np.bool_)
        first = request.gang.first if request.gang else request.index
        gone = [job.request.index for job in self._jobs if job.end <= time]
        come = [
            (held.holding.servers, held.request.role)
            for held in self._reserved
            if not first <= held.request.index < first + request.parts
            and held.start <= time < held.start + held.duration
        ]
        may: Flags = self._view.rules.open_to(request, gone, [*come, *more])
        return may

    def _breaks(self, request: Request, server: int, start: float) -> bool:
        """Tell whether rules would not let somebody lie where it was promised, if this one starts there then."""
        if not self._view.rules:
            return False
        end, more = start + float(self._stays(request)[server]), ((server,), request.role)
        return any(
            (self._may(held.request, held.start) & ~self._may(held.request, held.start, more))[
                [*held.holding.servers]
            ].any()
            for held in self._reserved
            if start <= held.start < end and held.request.index != request.index
        )

    def keeps(self, promised: Sequence[Reservation]) -> bool:
        """Tell whether a promise in a network, which may be better than one that is made anew, can be kept."""
        if not self._network or not promised:
            return False
        start, lasts = promised[0].start, promised[0].duration
        need = self._nothing.copy()
        add(need, chain.from_iterable(self._amounts(held.holding) for held in promised))
        failed = self._network.link_free[[link for held in promised for link in held.placement.links]] == FAILED
        return bool((self._profile.least(start, lasts) >= need).all() and not failed.any()) and all(
            self._may(held.request, start)[[*held.holding.servers]].all() for held in promised
        )

    @property
    def overdrawn(self) -> bool:
        """Whether somewhere more is promised than there will be."""
        held = chain.from_iterable(self._amounts(held.holding) for held in self._reserved)
        return bool((self._profile.levels[:, [index[0] for index, _ in held]] < 0).any())

    # -- who starts now ------------------------------------------------------------------------------------------------

    def harmless(self, view: View, request: Request) -> View:
        """Return what a request may see free now: what is free for as long as it stays."""
        if not self._reserved:
            return view
        least = self._least(self.now, self._stays(request))
        free = self._split(least)[0]
        np.minimum(free, view.free, out=free)  # from some of which rules of placement keep it
        return self._showing(least, view)
