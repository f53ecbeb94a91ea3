"""Goes where least of the devices is lost, to the next request and to those after it: GPU-Lookahead."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from binwright.agents.rules.on_devices import DeviceAgent
from binwright.fabric.devices import Devices, DeviceView, fits_server, in_python, wanted
from binwright.simcore.errors import UserError
from binwright.simcore.jit import inlined, kernel
from binwright.simcore.types import QUANTUM, Amounts, Ints, Placement, Request, View

MOST = 1 << 22
"""Costs that are kept at most, of all kinds of requests together."""
KINDS = 1024
"""Kinds of requests whose costs are kept at most. One more takes the place of the one not asked for longest."""
STEPS = 20
"""How many steps of cost a device has. Differences within a step are noise of the few futures that are drawn."""
EMPTY = -1
"""What `Kept.known` is where there is no cost yet."""


class Kept(NamedTuple):
    """Holds what places cost, for as long as a server does not change, and scratch. All of it is written.

    `asked` int64 [kinds, resources + 2] are the demand and the models of a kind, and when it was asked for last, 0 for
    never; `cost`, `chosen` and `known` int64 [kinds, servers] what it costs on a server (-1 in `chosen`: it does not
    fit), on which devices, and for which `version` int64 [servers] of it. `seen` int64 [servers, resources + most] is
    what a server had free, and its devices, when the version changed; `base` int64 [servers] is the cost of leaving it
    as it is. `room` int64 [resources] and `rest` int64 [2, most] are scratch, and `clock` int64 [1] counts decisions.
    """

    asked: Ints
    cost: Ints
    chosen: Ints
    known: Ints
    version: Ints
    seen: Ints
    base: Ints
    room: Ints
    rest: Ints
    clock: Ints


Numbers: TypeAlias = tuple[Ints, Ints, Ints, int, Kept]
"""Futures; the usual requests, their weights, and how many times one future the next request counts; what is kept."""


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


@kernel
def out_of_reach(
    free: Ints, taken: Ints, left: Ints, there: int, model: int, kinds: Ints, weight: Ints, resource: int
) -> int:
    """Return how much of a server's free devices the next request could not take, quanta, on average over `kinds`.

    The server is as in `unused`, and a kind has the columns of a step of a future; `weight` int64 [kinds] are
    millionths. A request that does not fit could take nothing. One that fits could take what is on the devices that
    have enough for it.
    """
    total = 0
    for kind in range(len(kinds)):
        fits = True
        for r in range(len(taken)):
            fits &= free[r] - taken[r] >= kinds[kind, r]
        models = kinds[kind, len(taken) + 2]
        fits &= models == 0 or (models >> model) & 1 == 1
        count, each = kinds[kind, len(taken)], kinds[kind, len(taken) + 1]
        enough, small, large = 0, 0, 0
        for device in range(there):
            if left[device] >= each:
                enough += 1
                large += left[device]
            else:
                small += left[device]
        total += weight[kind] * (small if fits and enough >= count else small + large)
    return total // 1_000_000


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
    numbers: Numbers,
) -> int:
    """Take, as a `DeviceScan`, the server and the devices with which the cost grows least, in whole steps."""
    left, there, model, _ = devices
    futures, kinds, weight, following, kept = numbers
    asked, cost, chosen, known, version, seen, base, room, rest, clock = kept
    step = len(futures) * QUANTUM // STEPS
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
            base[server] = unused(free[server, 0], nothing, left[server], own, of, futures, resource, room, scratch)
            base[server] += following * out_of_reach(
                free[server, 0], nothing, left[server], own, of, kinds, weight, resource
            )
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
                    here += following * out_of_reach(free[server, 0], taken, after, own, of, kinds, weight, resource)
                    if not several:
                        after[device] += each
                    if chosen[kind, server] < 0 or here < cost[kind, server]:
                        cost[kind, server], chosen[kind, server] = here, some
        if chosen[kind, server] >= 0 and (cost[kind, server] - base[server]) // step < least:
            best, least = server, (cost[kind, server] - base[server]) // step
    if best < 0:
        return -1
    code: int = (best << left.shape[1]) + chosen[kind, best]
    return code


class GPULookahead(DeviceAgent):
    """The server and devices where least of the devices is lost, to the next request and to those after it.

    Lost to those after it is what stays unused when the server alone meets `length` of the usual requests that take
    devices, each of which takes the tightest devices while it fits: the mean over `futures` such courses of events,
    drawn when the run begins. Lost to the next request is what a usual request could not take, the mean over all kinds
    of them, weighted by how often they come and by how few of the devices they can take at all; it counts `next` times.
    """

    reference = (
        "ours: a rollout (Bertsekas and Castanon 1999, Journal of Heuristics) on one server at a time, "
        "and the fragments of Weng et al. 2023 (USENIX ATC)"
    )
    rule = staticmethod(gpu_lookahead)

    def __init__(self, futures: int = 16, length: int = 40, next: int = 4) -> None:
        for key, value, least in (("futures", futures, 1), ("length", length, 1), ("next", next, 0)):
            if value < least:
                raise UserError("is too few", key=key, value=value, remedy=f"Give {least} or more.")
        self.futures, self.length, self.next = futures, length, next

    def learn(self, view: DeviceView, rng: np.random.Generator) -> Numbers:
        """Draw the futures, weigh the usual requests, and make room for costs."""
        kinds, weight = weighted(view)
        drawn = futures_of(view, self.futures, self.length, rng)
        return drawn, kinds, weight, self.next * self.futures, kept_for(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says, once there is room for servers that were added."""
        assert isinstance(view, DeviceView)
        *drawn, kept = self._numbers
        if len(kept.seen) != len(view.free) or kept.rest.shape[1] != view.devices.free.shape[1]:
            self._numbers = (*drawn, kept_for(view))
        return super().decide(view, request)


def kinds_of(view: DeviceView) -> tuple[Ints, Ints]:
    """Return the usual requests with devices, int64 [kinds, resources + 3], and how often each comes, int64 [kinds].

    A row is a demand, the number of its devices, the quanta of each, and the bits of the models.
    """
    rows = view.usual.demand[:, view.resource] > 0
    demand = view.usual.demand[rows]
    parts = np.array([in_python(amount) for amount in demand[:, view.resource].tolist()], np.int64).reshape(-1, 2)
    kinds = np.column_stack([demand, parts, view.usual.models[rows]])
    return np.ascontiguousarray(kinds), view.usual.times[rows]


def weighted(view: DeviceView) -> tuple[Ints, Ints]:
    """Return the usual requests with devices as `kinds_of`, and their weights, int64 [kinds], millionths in all.

    A kind weighs as much as it is frequent, times all devices over those of the servers that could take it when empty:
    one that asks for a rare model, or for all devices of a server, has few other places to go.
    """
    kinds, times = kinds_of(view)
    there, model = view.devices.there, view.devices.model
    resources = len(view.resources)
    weight = np.zeros(len(kinds))
    for kind, row in enumerate(kinds):
        takes = (view.capacity[:, 0] >= row[:resources]).all(axis=1) & (there >= row[resources])
        if models := row[resources + 2]:
            takes &= (model >= 0) & (models >> model.clip(min=0) & 1 == 1)
        weight[kind] = times[kind] * max(1, there.sum()) / max(1, there[takes].sum())
    return kinds, np.floor(1_000_000 * weight / weight.sum()).astype(np.int64) if len(kinds) else times


def futures_of(view: DeviceView, futures: int, length: int, rng: np.random.Generator) -> Ints:
    """Draw the requests of all futures from the usual ones with devices: int64 [futures, length, resources + 3].

    At every step the futures together have each kind as often as it is usual, as nearly as their number allows.
    """
    kinds, often = kinds_of(view)
    times = often.cumsum()
    if not len(times):
        return np.zeros((futures, 0, len(view.resources) + 3), np.int64)
    points = (np.arange(futures)[:, None] + rng.random((1, length))) / futures * times[-1]
    rows = rng.permuted(np.searchsorted(times, points, side="right").clip(max=len(times) - 1), axis=0)
    return np.ascontiguousarray(kinds[rows])
