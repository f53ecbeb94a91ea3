"""Steps many simulations of requests in a network together, in one compiled call, as learning needs it.

An episode is a `fabric.run.simulation.Simulation` with a `NetworkLedger`, overflow `drop` and no failures, in which
every choice of a server is a step. The same choices have the same outcomes at the same times, and leave the same
capacity free. docs/developers/compiled-runs.md says what else to change when a rule of the run changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.heap import pop, push
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, begin, choose, filling
from binwright.fabric.network import NetworkView
from binwright.fabric.reachable_servers import Flags, allow, homes, narrow
from binwright.fabric.routing import Routes
from binwright.fabric.topology import Indices, Small
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, prepared
from binwright.simcore.record import IMPOSSIBLE, PENDING, PLACED, REJECTED
from binwright.simcore.run_options import Pacing
from binwright.simcore.types import Floats, Ints, Workload


class NetworkRules(NamedTuple):
    """Holds what all simulations share; nothing of it changes.

    `capacity` is int64 [servers, nodes, resources], `total` int64 [resources]; `home` int32 [racks] is a server of each
    rack, -1 for none. `step` is the pace, negative when requests come as they arrive. With `feasible` the mask leaves
    out servers without a working route to those chosen.
    """

    routes: Routes
    link_tier: Small
    capacity: Ints
    link_capacity: Ints
    total: Ints
    home: Indices
    weighted: bool
    step: float
    await_room: bool
    feasible: bool


class NetworkState(NamedTuple):
    """Holds where the simulations are; the first axis of every array is the simulation, and all of them change.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | free, link_free | int64 [s, servers, nodes, resources], [s, links] | what is free |
    | room | int64 [s, resources] | over all servers |
    | now | float64 [s] | the clock |
    | at | int64 [s, 3] | row of the request on offer, how many rows there are, decisions so far |
    | arrival, duration | float64 [s, rows] | of the requests; `arrival` becomes the time of the offer |
    | expected | float64 [s, rows] | what agents may know of `duration` |
    | demand, bandwidth | int64 [s, rows, resources], [s, rows] | of the requests |
    | outcome | int8 [s, rows] | as in `binwright.simcore.record` |
    | due, holder | float64, int32 [s, rows] | a heap of ends, and whose |
    | heap | int64 [s] | its length |
    | held | int64 [s, rows, 4] | the rows of `places` (from, to) and `wires` (from, to) that a request holds |
    | logged | int64 [s, 2] | rows written of `places` and `wires` |
    | places, amounts, wires | int32 [s, any, 2], int64 [s, any, resources], int32 [s, any] | what is held |
    | reach | bool [s, racks] | racks with a working route to all servers chosen |
    | mask | bool [s, servers] | what may be chosen; nothing when the episode is over |
    | sums | int64 [s, resources] | quanta in use after each decision, summed |
    | result | int64 [s, 2] | requests placed and rejected in this step |
    """

    free: Ints
    link_free: Ints
    room: Ints
    now: Floats
    at: Ints
    arrival: Floats
    duration: Floats
    expected: Floats
    demand: Ints
    bandwidth: Ints
    outcome: npt.NDArray[np.int8]
    due: Floats
    holder: Indices
    heap: Ints
    held: Ints
    logged: Ints
    places: Indices
    amounts: Ints
    wires: Indices
    reach: Flags
    mask: Flags
    sums: Ints
    result: Ints


class NetworkEpisodes:
    """Steps `count` simulations of one network: `reset` gives requests to one of them, `step` a choice to each.

    `state` (`NetworkState`) and `filling` (`fabric.multi_server.Filling` with the simulation as a further first axis)
    hold everything, `rules` what kernels need that look at them. `filling.need` is what the request on offer still
    needs.
    """

    def __init__(self, view: NetworkView, pacing: Pacing | None, count: int = 1, *, feasible: bool = False) -> None:
        servers, nodes, resources = view.capacity.shape
        if servers == 0 or count < 1:
            raise UserError("there is nothing to simulate", remedy="Take a network with servers, and one or more.")
        self.view = view
        self.count = count
        topology = view.topology
        self.rules = NetworkRules(
            view.routing.routes,
            topology.link_tier,
            view.capacity,
            topology.link_capacity,
            view.capacity.sum(axis=(0, 1)),
            homes(topology),
            view.weighted,
            pacing.step if pacing else -1.0,
            bool(pacing and pacing.await_room),
            feasible,
        )
        one = filling(view.routing, nodes, resources)
        self.filling = Filling(*(np.zeros((count, *array.shape), array.dtype) for array in one))
        self._most = servers * nodes, topology.links  # of what a request can add to the log
        self.state = _state(count, 1, 4 * self._most[0], 4 * self._most[1], topology.racks, view.capacity.shape)
        arguments = self.rules, self.state, self.filling
        self._begin = prepared(_begin, *arguments, 0)
        self._step = prepared(_step, *arguments, np.zeros(count, np.int64))

    @property
    def over(self) -> Flags:
        """Which simulations have answered all their requests, bool [count]."""
        over: Flags = self.state.at[:, 0] >= self.state.at[:, 1]
        return over

    def reset(self, simulation: int, workload: Workload) -> None:
        """Start one simulation again, on an empty cluster, with these requests."""
        rows = len(workload)
        if rows > self.state.outcome.shape[1]:
            self._widen(rows)
        state, i = self.state, simulation
        impossible = (workload.demand > self.rules.total).any(axis=1)
        state.arrival[i, :rows] = workload.arrival
        state.duration[i, :rows] = workload.duration
        state.expected[i, :rows] = workload.expected
        state.demand[i, :rows] = workload.demand
        state.bandwidth[i, :rows] = 0 if workload.bandwidth is None else workload.bandwidth
        state.outcome[i, :rows] = np.where(impossible, IMPOSSIBLE, PENDING)
        state.free[i], state.link_free[i] = self.rules.capacity, self.rules.link_capacity
        state.room[i], state.now[i], state.at[i] = self.rules.total, 0.0, (-1, rows, 0)
        state.heap[i], state.logged[i], state.sums[i], state.result[i] = 0, 0, 0, 0
        self._begin(self.rules, state, self.filling, i)

    def step(self, choices: Ints) -> None:
        """Give every simulation a server, `choices` int64 [count]; simulations that are over do not change.

        A choice that `state.mask` does not allow fails the request. `state.result` says what came of it.
        """
        if self._step(self.rules, self.state, self.filling, choices):
            self.make_space()

    def make_space(self) -> None:
        """Make space in the logs of every simulation for at least one more request."""
        for log in (0, 1):
            array = (self.state.places, self.state.wires)[log]
            if int(self.state.logged[:, log].max()) + self._most[log] > array.shape[1]:
                self._lengthen(log)

    def _widen(self, rows: int) -> None:
        """Make room for `rows` requests in every simulation."""
        old = self.state
        new = {}
        for name in ("arrival", "duration", "expected", "demand", "bandwidth", "outcome", "due", "holder", "held"):
            before = getattr(old, name)
            new[name] = np.zeros((self.count, rows, *before.shape[2:]), before.dtype)
            new[name][:, : before.shape[1]] = before
        self.state = old._replace(**new)

    def _lengthen(self, log: int) -> None:
        """Double the log of what is held: of servers (0) or of links (1)."""
        names = (("places", "amounts"), ("wires",))[log]
        old = [getattr(self.state, name) for name in names]
        self.state = self.state._replace(
            **{name: np.concatenate([array, array], axis=1) for name, array in zip(names, old, strict=True)}
        )


def _state(count: int, rows: int, places: int, wires: int, racks: int, shape: tuple[int, ...]) -> NetworkState:
    servers, nodes, resources = shape
    links = wires // 4
    return NetworkState(
        free=np.zeros((count, servers, nodes, resources), np.int64),
        link_free=np.zeros((count, links), np.int64),
        room=np.zeros((count, resources), np.int64),
        now=np.zeros(count),
        at=np.zeros((count, 3), np.int64),
        arrival=np.zeros((count, rows)),
        duration=np.zeros((count, rows)),
        expected=np.zeros((count, rows)),
        demand=np.zeros((count, rows, resources), np.int64),
        bandwidth=np.zeros((count, rows), np.int64),
        outcome=np.zeros((count, rows), np.int8),
        due=np.zeros((count, rows)),
        holder=np.zeros((count, rows), np.int32),
        heap=np.zeros(count, np.int64),
        held=np.zeros((count, rows, 4), np.int64),
        logged=np.zeros((count, 2), np.int64),
        places=np.zeros((count, places, 2), np.int32),
        amounts=np.zeros((count, places, resources), np.int64),
        wires=np.zeros((count, wires), np.int32),
        reach=np.zeros((count, racks), np.bool_),
        mask=np.zeros((count, servers), np.bool_),
        sums=np.zeros((count, resources), np.int64),
        result=np.zeros((count, 2), np.int64),
    )


@lean
def filling_of(room: Filling, i: int) -> Filling:
    """Return the scratch of one simulation: views, not copies."""
    return Filling(
        room.need[i],
        room.counts[i],
        room.servers[i],
        room.places[i],
        room.amounts[i],
        room.links[i],
        room.chosen[i],
        room.wired[i],
        room.route[i],
    )


@lean
def _begin(rules: NetworkRules, state: NetworkState, fillings: Filling, i: int) -> None:
    """Let simulation `i` go on from an empty cluster to its first request."""
    _offer_next(rules, state, filling_of(fillings, i), i)


@lean
def _step(rules: NetworkRules, state: NetworkState, fillings: Filling, choices: Ints) -> bool:
    """Step all simulations, as `NetworkEpisodes.step` says; tells whether a log is short of space for another request.

    Changes `state` and `fillings`.
    """
    shares, places = fillings.places.shape[1], state.places.shape[1]
    links, wires = state.link_free.shape[1], state.wires.shape[1]
    short = False
    for i in range(len(choices)):
        state.result[i, 0], state.result[i, 1] = 0, 0
        room = filling_of(fillings, i)
        if state.at[i, 0] < state.at[i, 1]:
            status = _take(rules, state, room, i, choices[i])
            if status != GOES_ON:
                answer(rules, state, fillings, room, i, status == COMPLETE)
                short |= state.logged[i, 0] + shares > places or state.logged[i, 1] + links > wires
    return short


@lean
def _take(rules: NetworkRules, state: NetworkState, room: Filling, i: int, server: int) -> int:
    """Take a server; returns `GOES_ON` if the request needs more and something may still be chosen."""
    bandwidth = state.bandwidth[i, state.at[i, 0]]
    status = -1
    if 0 <= server < len(rules.capacity) and state.mask[i, server]:
        status = choose(
            rules.routes, state.link_free[i], rules.link_tier, state.free[i], room, server, bandwidth, rules.weighted
        )
    if status == GOES_ON:
        if rules.feasible:
            narrow(
                rules.routes, rules.home, state.link_free[i], room, server, bandwidth, rules.weighted, state.reach[i]
            )
            return GOES_ON if _allow(rules, state, room, i) else -1
        state.mask[i, server] = False  # nothing else changed
        for other in range(state.mask.shape[1]):
            if state.mask[i, other]:
                return GOES_ON
        return -1
    return status


@lean
def answer(rules: NetworkRules, state: NetworkState, fillings: Filling, room: Filling, i: int, placed: bool) -> None:
    """Give the request on offer what `room` holds, or rejects it, and go on to the next request.

    Kernels that place whole requests in a `room` of their own call it. The logs of `state` need space for one request.
    """
    if placed:
        _hold(state, room, i, state.at[i, 0])
    _answered(rules, state, i, placed)
    _offer_next(rules, state, filling_of(fillings, i), i)


@lean
def _allow(rules: NetworkRules, state: NetworkState, room: Filling, i: int) -> bool:
    return allow(
        rules.routes,
        state.free[i],
        state.link_free[i],
        room,
        state.bandwidth[i, state.at[i, 0]],
        state.reach[i],
        rules.feasible,
        state.mask[i],
    )


@lean
def _hold(state: NetworkState, room: Filling, i: int, row: int) -> None:
    """Take what the request was given, until its end."""
    first, wire = state.logged[i, 0], state.logged[i, 1]
    for share in range(room.counts[1]):
        server, node = room.places[share, 0], room.places[share, 1]
        state.places[i, first + share, 0], state.places[i, first + share, 1] = server, node
        for r in range(len(room.need)):
            amount = room.amounts[share, r]
            state.amounts[i, first + share, r] = amount
            state.free[i, server, node, r] -= amount
            state.room[i, r] -= amount
    for j in range(room.counts[2]):
        state.wires[i, wire + j] = room.links[j]
        state.link_free[i, room.links[j]] -= state.bandwidth[i, row]
    state.logged[i, 0] += room.counts[1]
    state.logged[i, 1] += room.counts[2]
    state.held[i, row, 0], state.held[i, row, 1] = first, state.logged[i, 0]
    state.held[i, row, 2], state.held[i, row, 3] = wire, state.logged[i, 1]
    if state.duration[i, row] < np.inf:
        push(state.due[i], state.holder[i], state.heap[i], state.now[i] + state.duration[i, row], row)
        state.heap[i] += 1


@lean
def _answered(rules: NetworkRules, state: NetworkState, i: int, placed: bool) -> None:
    state.outcome[i, state.at[i, 0]] = PLACED if placed else REJECTED
    state.result[i, 0 if placed else 1] += 1
    state.at[i, 2] += 1
    for r in range(len(rules.total)):
        state.sums[i, r] += rules.total[r] - state.room[i, r]


@lean
def _offer_next(rules: NetworkRules, state: NetworkState, room: Filling, i: int) -> None:
    """Let the clock go on to the next request for which a server may be chosen, or to the end."""
    while True:
        state.at[i, 0] += 1
        row = state.at[i, 0]
        if row >= state.at[i, 1]:
            state.mask[i] = False
            return
        if state.outcome[i, row] != PENDING:
            continue
        time = state.arrival[i, row]
        if rules.step >= 0:
            time = state.now[i] + rules.step if row > 0 else 0.0
        _release_until(state, i, time)
        state.now[i] = time
        if rules.await_room and rules.step >= 0:
            while state.heap[i] > 0 and not _has_room(state, i, row):
                state.now[i] = state.due[i, 0]
                _release_until(state, i, state.now[i])
        state.arrival[i, row] = state.now[i]
        begin(room, state.demand[i, row])
        state.reach[i] = True
        if _allow(rules, state, room, i):
            return
        _answered(rules, state, i, False)


@lean
def _has_room(state: NetworkState, i: int, row: int) -> bool:
    fits = True
    for r in range(state.room.shape[1]):
        fits &= state.demand[i, row, r] <= state.room[i, r]
    return fits


@lean
def _release_until(state: NetworkState, i: int, time: float) -> None:
    """Give back whatever ends up to and including that time."""
    while state.heap[i] > 0 and state.due[i, 0] <= time:
        row = state.holder[i, 0]
        state.heap[i] -= 1
        pop(state.due[i], state.holder[i], state.heap[i])
        for share in range(state.held[i, row, 0], state.held[i, row, 1]):
            server, node = state.places[i, share, 0], state.places[i, share, 1]
            for r in range(state.amounts.shape[2]):
                state.free[i, server, node, r] += state.amounts[i, share, r]
                state.room[i, r] += state.amounts[i, share, r]
        for j in range(state.held[i, row, 2], state.held[i, row, 3]):
            state.link_free[i, state.wires[i, j]] += state.bandwidth[i, row]
