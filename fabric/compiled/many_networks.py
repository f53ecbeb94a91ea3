"""Steps many runs of requests in a network together, in one compiled call, as learning needs it.

A run is one of `binwright.fabric.run.simulation.Simulation` in a network, overflow `drop` and no failures, in which
every choice of a server is a step. docs/developers/compiled-runs.md says what else to change with a rule of the
run.
"""

from typing import Any, NamedTuple

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.many import Flags, Many, copied, many_runs, reset, run_of
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, end_next, forward, hold, leave, refuse
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, allow, begin, choose, filling
from binwright.fabric.network import NetworkView
from binwright.fabric.routing import Routing
from binwright.fabric.topology import Indices
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, lean_inlined, prepared
from binwright.simcore.record import IMPOSSIBLE
from binwright.simcore.rules import Pacing
from binwright.simcore.types import Floats, Ints, Workload


class NetworkRules(NamedTuple):
    """Holds what all runs share; nothing of it changes.

    `total` int64 [resources] is what all servers have. `step` is the pace, negative when requests come as they arrive.
    With `feasible` the mask leaves out servers without a working route to those chosen.
    """

    link_capacity: Ints
    total: Ints
    step: float
    await_room: bool
    feasible: bool


class NetworkState(NamedTuple):
    """Holds where the runs are; the first axis of every array is the run, and all of them change.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | many | `Many` | requests, whose `arrival` becomes the time of the offer, and states of the loop |
    | link_free | int64 [s, links] | what is free of links |
    | room | int64 [s, resources] | what is free of all servers together |
    | at | int64 [s, 2] | row of the request on offer, how many rows there are |
    | expected | float64 [s, rows] | what agents may know of `duration` |
    | bandwidth | int64 [s, rows] | of the requests |
    | held | int64 [s, rows, 4] | the rows of `places` (from, to) and `wires` (from, to) that a request holds |
    | logged | int64 [s, 2] | rows written of `places` and `wires` |
    | places, amounts, wires | int32 [s, any, 2], int64 [s, any, resources], int32 [s, any] | what is held |
    | mask | bool [s, servers] | what may be chosen; nothing when the episode is over |
    | sums | int64 [s, resources] | quanta in use after each decision, summed |
    | result | int64 [s, 2] | requests placed and rejected in this step |
    """

    many: Many
    link_free: Ints
    room: Ints
    at: Ints
    expected: Floats
    bandwidth: Ints
    held: Ints
    logged: Ints
    places: Indices
    amounts: Ints
    wires: Indices
    mask: Flags
    sums: Ints
    result: Ints


class NetworkEpisodes:
    """Steps `count` runs in one network: `reset` gives requests to one of them, `step` a choice to each.

    `state` (`NetworkState`) and `filling` (`fabric.multi_server.Filling` with the run as a further first axis) hold
    everything, `rules` what kernels need that look at them. `filling.need` is what the request on offer still needs.
    """

    def __init__(self, view: NetworkView, pacing: Pacing | None, count: int = 1, *, feasible: bool = False) -> None:
        servers, nodes, resources = view.capacity.shape
        if servers == 0 or count < 1:
            raise UserError("there is nothing to simulate", remedy="Take a network with servers, and one or more.")
        self.view = view
        self.count = count
        topology, paths = view.topology, view.routing
        self.rules = NetworkRules(
            topology.link_capacity,
            view.capacity.sum(axis=(0, 1)),
            pacing.step if pacing else -1.0,
            bool(pacing and pacing.await_room),
            feasible,
        )
        own = Routing(topology, paths.k, paths.order, paths.weighted)  # threads cannot share them
        scratch: Any = filling(own, nodes, resources)
        arrays = (np.zeros((count, *array.shape), array.dtype) for array in scratch[1:])
        self.filling = Filling(scratch.routes, *arrays)
        self._most = servers * nodes, topology.links  # of what a request can add to the log
        self.state = self._arrays(1, 4 * self._most[0], 4 * self._most[1])
        arguments = self.rules, self.state, self.filling
        self._begin = prepared(_begin, *arguments, 0)
        self._step = prepared(_step, *arguments, np.zeros(count, np.int64))

    @property
    def over(self) -> Flags:
        """Which runs have answered all their requests, bool [count]: not a copy."""
        return self.state.many.over

    def reset(self, simulation: int, workload: Workload) -> None:
        """Start one run again, on an empty cluster, with these requests."""
        rows = len(workload)
        if rows > self.state.expected.shape[1]:
            wider = self._arrays(rows, self.state.places.shape[1], self.state.wires.shape[1])
            self.state = copied(self.state, wider)._replace(mask=self.state.mask, result=self.state.result)
        state, i = self.state, simulation
        possible: Flags = np.all(workload.demand <= self.rules.total, axis=1)
        reset(state.many, i, workload, possible)
        state.many.state.outcome[i, :rows][~possible] = IMPOSSIBLE
        state.expected[i, :rows] = workload.expected
        state.bandwidth[i, :rows] = 0 if workload.bandwidth is None else workload.bandwidth
        state.link_free[i], state.room[i] = self.rules.link_capacity, self.rules.total
        state.at[i], state.logged[i], state.sums[i], state.result[i] = (-1, rows), 0, 0, 0
        self._begin(self.rules, state, self.filling, i)

    def step(self, choices: Ints) -> None:
        """Give every run a server, `choices` int64 [count]; runs that are over do not change.

        A choice that `state.mask` does not allow fails the request. `state.result` says what came of it.
        """
        if self._step(self.rules, self.state, self.filling, choices):
            for log, name in enumerate(("places", "wires")):
                length = getattr(self.state, name).shape[1]
                if int(self.state.logged[:, log].max()) + self._most[log] > length:
                    self._lengthen(("places", "amounts") if name == "places" else ("wires",))

    def _lengthen(self, names: tuple[str, ...]) -> None:
        """Double a log of what is held."""
        longer: dict[str, Any] = {name: np.concatenate([getattr(self.state, name)] * 2, axis=1) for name in names}
        self.state = self.state._replace(**longer)

    def _arrays(self, rows: int, places: int, wires: int) -> NetworkState:
        """Make the arrays of runs of at most so many requests, and logs of so many places and wires."""
        view, count = self.view, self.count
        servers, links, resources = len(view.capacity), view.topology.links, view.capacity.shape[2]
        return NetworkState(
            many=many_runs(view.capacity, count, rows),
            link_free=np.zeros((count, links), np.int64),
            room=np.zeros((count, resources), np.int64),
            at=np.zeros((count, 2), np.int64),
            expected=np.zeros((count, rows)),
            bandwidth=np.zeros((count, rows), np.int64),
            held=np.zeros((count, rows, 4), np.int64),
            logged=np.zeros((count, 2), np.int64),
            places=np.zeros((count, places, 2), np.int32),
            amounts=np.zeros((count, places, resources), np.int64),
            wires=np.zeros((count, wires), np.int32),
            mask=np.zeros((count, servers), np.bool_),
            sums=np.zeros((count, resources), np.int64),
            result=np.zeros((count, 2), np.int64),
        )


@lean_inlined
def filling_of(room: Filling, i: int) -> Filling:
    """Return the scratch of one run: views, not copies."""
    return Filling(
        room.routes,
        room.need[i],
        room.counts[i],
        room.servers[i],
        room.places[i],
        room.amounts[i],
        room.links[i],
        room.chosen[i],
        room.wired[i],
        room.route[i],
        room.joined[i],
    )


@lean
def _begin(rules: NetworkRules, state: NetworkState, fillings: Filling, i: int) -> None:
    """Let run `i` go on from an empty cluster to its first request."""
    requests, run = run_of(state.many, i)
    _offer_next(rules, state, filling_of(fillings, i), i, requests, run)


@lean
def _step(rules: NetworkRules, state: NetworkState, fillings: Filling, choices: Ints) -> bool:
    """Step all runs, as `NetworkEpisodes.step` says; tells whether a log is short of space for another request.

    Changes `state` and `fillings`.
    """
    shares, places = fillings.places.shape[1], state.places.shape[1]
    links, wires = state.link_free.shape[1], state.wires.shape[1]
    short = False
    for i in range(len(choices)):
        state.result[i, 0], state.result[i, 1] = 0, 0
        if not state.many.over[i]:
            requests, run = run_of(state.many, i)
            room = filling_of(fillings, i)
            status = _take(rules, state, run.free, room, i, choices[i])
            if status != GOES_ON:
                if status == COMPLETE:
                    _hold(state, room, i, requests, run)
                else:
                    refuse(run, state.at[i, 0])
                _answered(rules, state, i, status == COMPLETE)
                _offer_next(rules, state, room, i, requests, run)
                short |= state.logged[i, 0] + shares > places or state.logged[i, 1] + links > wires
    return short


@lean_inlined
def _take(rules: NetworkRules, state: NetworkState, free: Ints, room: Filling, i: int, server: int) -> int:
    """Take a server; returns `GOES_ON` if the request needs more and something may still be chosen."""
    bandwidth, mask, link_free = state.bandwidth[i, state.at[i, 0]], state.mask[i], state.link_free[i]
    if not (0 <= server < len(mask) and mask[server]):
        return -1
    status = choose(room, free, link_free, server, bandwidth)
    if status != GOES_ON:
        return int(status)
    if rules.feasible:
        some = allow(room, free, link_free, bandwidth, True, mask)
        return GOES_ON if some else -1
    mask[server] = False  # nothing else changed
    for other in range(len(mask)):
        if mask[other]:
            return GOES_ON
    return -1


@lean_inlined
def _hold(state: NetworkState, room: Filling, i: int, requests: NumaRequests, run: NumaState) -> None:
    """Take what the request on offer was given, until its end."""
    row, first, wire = state.at[i, 0], state.logged[i, 0], state.logged[i, 1]
    for share in range(room.counts[1]):
        server, node = room.places[share, 0], room.places[share, 1]
        state.places[i, first + share, 0], state.places[i, first + share, 1] = server, node
        for r in range(len(room.need)):
            amount = room.amounts[share, r]
            state.amounts[i, first + share, r] = amount
            run.free[server, node, r] -= amount
            state.room[i, r] -= amount
    for j in range(room.counts[2]):
        state.wires[i, wire + j] = room.links[j]
        state.link_free[i, room.links[j]] -= state.bandwidth[i, row]
    state.logged[i, 0] += room.counts[1]
    state.logged[i, 1] += room.counts[2]
    state.held[i, row, 0], state.held[i, row, 1] = first, state.logged[i, 0]
    state.held[i, row, 2], state.held[i, row, 3] = wire, state.logged[i, 1]
    hold(requests, run, row, -1, -1, loop.ELSEWHERE, -1.0)
    leave(run.at)


@lean_inlined
def _release(state: NetworkState, i: int, free: Ints, row: int) -> None:
    """Give back what a request holds."""
    for share in range(state.held[i, row, 0], state.held[i, row, 1]):
        server, node = state.places[i, share, 0], state.places[i, share, 1]
        for r in range(state.amounts.shape[2]):
            free[server, node, r] += state.amounts[i, share, r]
            state.room[i, r] += state.amounts[i, share, r]
    for j in range(state.held[i, row, 2], state.held[i, row, 3]):
        state.link_free[i, state.wires[i, j]] += state.bandwidth[i, row]


@lean_inlined
def _answered(rules: NetworkRules, state: NetworkState, i: int, placed: bool) -> None:
    """Count the answer."""
    state.result[i, 0 if placed else 1] += 1
    for r in range(len(rules.total)):
        state.sums[i, r] += rules.total[r] - state.room[i, r]


@lean
def _offer_next(
    rules: NetworkRules, state: NetworkState, room: Filling, i: int, requests: NumaRequests, run: NumaState
) -> None:
    """Let the clock go on to the next request for which a server may be chosen, or to the end."""
    many, clock, at = state.many, run.clock, run.at
    while True:
        if rules.step >= 0 and at[loop.TAIL] < len(requests.rows):
            row = requests.rows[at[loop.TAIL]]
            requests.arrival[row] = clock[loop.NOW] + rules.step if row > 0 else 0.0
        status = loop.RELEASED
        while status == loop.RELEASED:
            status = forward(requests, run, None, many.tables, np.inf)
            if status == loop.RELEASED:
                _release(state, i, run.free, at[loop.ROW])
        if status != loop.ASK:
            state.at[i, 0], many.over[i] = state.at[i, 1], True
            state.mask[i] = False
            return
        row = run.line[at[loop.FIRST]]
        awaits = rules.step >= 0 and rules.await_room
        while awaits and at[loop.ENDS] > 0 and not _has_room(state, i, requests.demand[row]):
            clock[loop.NOW] = run.due[0]
            while at[loop.ENDS] > 0 and run.due[0] <= clock[loop.NOW]:
                end_next(run, None, many.tables, requests.demand, requests.nothing)
                _release(state, i, run.free, at[loop.ROW])
        requests.arrival[row], state.at[i, 0] = clock[loop.NOW], row
        begin(room, requests.demand[row])
        bandwidth, mask = state.bandwidth[i, row], state.mask[i]
        if allow(room, run.free, state.link_free[i], bandwidth, rules.feasible, mask):
            return
        refuse(run, row)
        _answered(rules, state, i, False)


@lean
def _has_room(state: NetworkState, i: int, demand: Ints) -> bool:
    """Tell whether all servers together have as much free."""
    fits = True
    for r in range(len(demand)):
        fits &= demand[r] <= state.room[i, r]
    return fits
