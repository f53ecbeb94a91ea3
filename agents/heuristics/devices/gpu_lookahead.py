"""Goes where requests that may come next leave least of the devices unused: GPU-Lookahead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.rules.on_devices import DeviceAgent
from fabric.devices import Devices, DeviceView, fits_server, in_python, wanted
from simcore.errors import UserError
from simcore.jit import inlined, kernel
from simcore.vocabulary import QUANTUM, Amounts, Ints, Placement, Request, View

MOST = 1 << 22
"""Costs that are kept at most, of all kinds of requests together."""
KINDS = 1024
"""Kinds of requests whose costs are kept at most. One more takes the place of the one not asked for longest."""
EMPTY = -1
"""What `Kept.known` is where there is no cost yet."""


class Kept(NamedTuple):
    """Holds what places cost, for as long as a server does not change, and scratch. All of it is written.

    `asked` int64 [kinds, resources + 2] are the demand and the models of a kind, and when it was asked for last, 0 for
    never; `cost`, `chosen` and `known` int64 [kinds, servers] what it costs on a server (-1 in `chosen`: it does not
    fit), on which devices, and for which `version` int64 [servers] of it. `seen` int64 [servers, resources + most] is
    what a server had free, and its devices, when the version changed; `unused` int64 [servers] what is expected to stay
    unused there. `room` int64 [resources] and `rest` int64 [2, most] are scratch, and `clock` int64 [1] counts
    decisions.
    """

    asked: Ints
    cost: Ints
    chosen: Ints
    known: Ints
    version: Ints
    seen: Ints
    unused: Ints
    room: Ints
    rest: Ints
    clock: Ints


def kept_for(view: DeviceView) -> Kept:
    """Make room for the servers there are; memory that no kind uses is not touched."""
    servers, _, resources = view.free.shape
    most = view.devices.free.shape[1]
    kinds = max(1, min(KINDS, MOST // max(1, servers)))
    return Kept(
        np.zeros((kinds, resources + 2), np.int64),
        np.zeros((kinds, servers), np.int64),
        np.zeros((kinds, servers), np.int64),
        np.zeros((kinds, servers), np.int64),
        np.zeros(servers, np.int64),
        np.full((servers, resources + most), EMPTY, np.int64),
        np.zeros(servers, np.int64),
        np.zeros(resources, np.int64),
        np.zeros((2, most), np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def unused(
    free: Ints, taken: Ints, left: Ints, there: int, model: int, futures: Ints, resource: int, room: Ints, rest: Ints
) -> int:
    """Add up what stays unused of a server's devices, quanta, over all `futures`, each of which comes to this server.

    The server has `free` int64 [resources] less `taken`, and `left` int64 [any] of its first `there` devices, which are
    of `model`. `futures` int64 [futures, length, resources + 3] are demands, each with its number of devices, the
    quanta of each, and the bits of the models: who fits takes the devices with least free that have enough. `room` and
    `rest` are scratch.
    """
    total, resources = 0, len(room)
    for future in range(len(futures)):
        for r in range(resources):
            room[r] = free[r] - taken[r]
        for device in range(there):
            rest[device] = left[device]
        for step in range(futures.shape[1]):
            if room[resource] == 0:
                break
            fits = True
            for r in range(resources):
                fits &= room[r] >= futures[future, step, r]
            models = futures[future, step, resources + 2]
            if not fits or (models != 0 and (models >> model) & 1 == 0):
                continue
            count, each = futures[future, step, resources], futures[future, step, resources + 1]
            enough = 0
            for device in range(there):
                enough += rest[device] >= each
            if enough < count:
                continue
            for _ in range(count):
                best, least = 0, QUANTUM + 1
                for device in range(there):
                    if each <= rest[device] < least:
                        best, least = device, rest[device]
                rest[best] -= each
            for r in range(resources):
                room[r] -= futures[future, step, r]
        total += room[resource]
    return total


@inlined
def _kind(asked: Ints, known: Ints, demand: Amounts, models: int) -> int:
    """Return the row of a kind of request, which is made for a new one."""
    oldest, last = 0, len(demand) + 1
    for row in range(len(asked)):
        if asked[row, last] == 0:
            oldest = row
            break
        same = asked[row, last - 1] == models
        for r in range(len(demand)):
            same &= asked[row, r] == demand[r]
        if same:
            return row
        if asked[row, last] < asked[oldest, last]:
            oldest = row
    for r in range(len(demand)):
        asked[oldest, r] = demand[r]
    asked[oldest, last - 1] = models
    known[oldest] = EMPTY
    return oldest


@inlined
def _changed(free: Ints, left: Ints, server: int, seen: Ints) -> bool:
    """Tell whether a server has something else free than what was `seen`, and see it now."""
    resources, differs = free.shape[2], False
    for r in range(resources):
        differs |= seen[server, r] != free[server, 0, r]
        seen[server, r] = free[server, 0, r]
    for device in range(left.shape[1]):
        differs |= seen[server, resources + device] != left[server, device]
        seen[server, resources + device] = left[server, device]
    return differs


@kernel
def gpu_lookahead(
    free: Ints,
    capacity: Ints,
    devices: Devices,
    demand: Amounts,
    resource: int,
    models: int,
    numbers: tuple[Ints, Kept],
) -> int:
    """Take, as a `DeviceScan`, the server and the devices with which least more is expected to stay unused."""
    left, there, model, _ = devices
    futures = numbers[0]
    asked, cost, chosen, known, version, seen, stays, room, rest, clock = numbers[1]
    count, each = wanted(demand[resource])
    kind = _kind(asked, known, demand, models)
    clock[0] += 1
    asked[kind, len(demand) + 1] = clock[0]
    nothing, taken = np.zeros(len(demand), np.int64), np.zeros(len(demand), np.int64)
    for r in range(len(demand)):
        taken[r] = demand[r]
    after, scratch = rest[0], rest[1]
    best, least = -1, np.iinfo(np.int64).max
    for server in range(len(free)):
        own, of = there[server], model[server]
        if _changed(free, left, server, seen):
            version[server] += 1
            stays[server] = unused(free[server, 0], nothing, left[server], own, of, futures, resource, room, scratch)
        if known[kind, server] != version[server]:
            known[kind, server], chosen[kind, server] = version[server], -1
            if fits_server(free, left, server, own, of, demand, count, each, models):
                after[:] = left[server]
                several, some, missing = count != 1 or each == QUANTUM, 0, count
                for device in range(own):
                    if several and missing > 0 and after[device] == QUANTUM:
                        after[device] = 0
                        some |= 1 << device
                        missing -= 1
                for device in range(1 if several else own):
                    if not several:
                        tried = after[device] >= each
                        for other in range(device):
                            tried &= after[other] != after[device]
                        if not tried:  # too full, or as another one
                            continue
                        after[device] -= each
                        some = 1 << device
                    here = unused(free[server, 0], taken, after, own, of, futures, resource, room, scratch)
                    if not several:
                        after[device] += each
                    if chosen[kind, server] < 0 or here < cost[kind, server]:
                        cost[kind, server], chosen[kind, server] = here, some
        if chosen[kind, server] >= 0 and cost[kind, server] - stays[server] < least:
            best, least = server, cost[kind, server] - stays[server]
    if best < 0:
        return -1
    code: int = (best << left.shape[1]) + chosen[kind, best]
    return code


class GPULookahead(DeviceAgent):
    """The server and devices where what is expected to stay unused of the devices grows least.

    What is expected is tried: `futures` times the server alone meets `length` requests of the usual ones that take
    devices, drawn when the run begins, and gives them the tightest devices while they fit. What then is left is unused.
    """

    reference = "ours: a rollout (Bertsekas and Castanon 1999, Journal of Heuristics) on one server at a time"
    remembers = ()
    rule = staticmethod(gpu_lookahead)

    def __init__(self, futures: int = 16, length: int = 40) -> None:
        for key, value in (("futures", futures), ("length", length)):
            if value < 1:
                raise UserError("is too few", key=key, value=value, remedy="Give 1 or more.")
        self.futures, self.length = futures, length

    def learn(self, view: DeviceView, rng: np.random.Generator) -> tuple[Ints, Kept]:
        """Draw the futures, and make room for costs."""
        drawn = futures_of(view, self.futures, self.length, rng)
        return drawn, kept_for(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says, once there is room for servers that were added."""
        assert isinstance(view, DeviceView)
        futures, kept = self._numbers
        if len(kept.seen) != len(view.free) or kept.rest.shape[1] != view.devices.free.shape[1]:
            self._numbers = futures, kept_for(view)
        return super().decide(view, request)


def futures_of(view: DeviceView, futures: int, length: int, rng: np.random.Generator) -> Ints:
    """Draw the requests of all futures from the usual ones with devices: int64 [futures, length, resources + 3].

    At every step the futures together have each kind as often as it is usual, as nearly as their number allows.
    """
    usual = view.usual
    times = np.where(usual.demand[:, view.resource] > 0, usual.times, 0).cumsum()
    if not len(times) or times[-1] == 0:
        return np.zeros((futures, 0, len(view.resources) + 3), np.int64)
    points = (np.arange(futures)[:, None] + rng.random((1, length))) / futures * times[-1]
    rows = rng.permuted(np.searchsorted(times, points, side="right").clip(max=len(times) - 1), axis=0)
    parts = np.array([in_python(amount) for amount in usual.demand[:, view.resource].tolist()], np.int64)
    kinds = np.column_stack([usual.demand, parts, usual.models])
    return np.ascontiguousarray(kinds[rows])
