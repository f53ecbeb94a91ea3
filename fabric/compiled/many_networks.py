"""Steps many runs of requests in a network together: every choice of a server is a step (`fabric.compiled.many`)."""

from typing import NamedTuple

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.many import Episodes, Many, stacked, stepping
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, end_next, hold
from binwright.fabric.ledger import Ledger
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, allow, begin, choose, filling
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.jit.bundle import row_of
from binwright.simcore.rules import Pacing
from binwright.simcore.types import Flags, Floats, Ints
from binwright.simcore.workload import Workload

REWARD = 10.0
"""For a request placed; as much is lost for one rejected."""


class NetworkState(NamedTuple):
    """Holds where the runs are in their network; the first axis of the arrays that change is the run.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | mask | bool [s, servers] | what may be chosen; nothing when the episode is over |
    | link_free | int64 [s, links] | what is free of links |
    | room | int64 [s, resources] | what is free of all servers together |
    | log, logged | int64 [s, any], [s] | what requests hold, as `offers.held` says: a server, a node and amounts for |
    | | | each share, then links; and how much is written |
    | short | bool [1] | whether a log has no room for another request |
    | filling | with [s, ...] | `fabric.multi_server.Filling`: what the request on offer has so far |

    `total` int64 [resources] is what all servers have. With `await_room` requests come once there is room for them,
    with `feasible` the mask leaves out servers without a working route to those chosen.
    """

    mask: Flags
    link_free: Ints
    room: Ints
    log: Ints
    logged: Ints
    short: Flags
    filling: Filling
    total: Ints
    await_room: bool
    feasible: bool


class NetworkEpisodes(Episodes):
    """Steps runs in the network of a ledger; an answer is a server."""

    state: NetworkState

    def __init__(self, ledger: Ledger, pacing: Pacing | None, count: int = 1, *, feasible: bool = False) -> None:
        view = ledger.view
        assert isinstance(view, NetworkView)
        (servers, nodes, resources), links = view.capacity.shape, view.topology.links
        if servers == 0 or count < 1:
            raise UserError("there is nothing to simulate", remedy="Take a network with servers, and one or more.")
        self.view = view
        self._most = servers * nodes * (2 + resources) + links  # that a request adds to the log
        state = NetworkState(
            mask=np.zeros((count, servers), np.bool_),
            link_free=np.zeros((count, links), np.int64),
            room=np.zeros((count, resources), np.int64),
            log=np.zeros((count, 4 * self._most), np.int64),
            logged=np.zeros(count, np.int64),
            short=np.zeros(1, np.bool_),
            filling=stacked(filling(view.routing, nodes, resources), count),
            total=view.capacity.sum(axis=(0, 1)),
            await_room=bool(pacing and pacing.await_room),
            feasible=feasible,
        )
        super().__init__(ledger, state, NETWORKS, lost=REWARD, pacing=pacing)

    def reset(self, simulation: int, workload: Workload, worth: Floats | None = None) -> None:
        """Start one run again, on an empty cluster, with these requests, each of which is worth `REWARD`."""
        state, i = self.state, simulation
        state.link_free[i], state.room[i] = self.view.topology.link_capacity, state.total
        state.logged[i] = 0
        super().reset(i, workload, np.full(len(workload), REWARD))

    def step(self, answers: Ints) -> None:
        super().step(answers)
        if self.state.short[0]:
            log = self.state.log
            self.state = self.state._replace(log=np.concatenate([log, np.zeros_like(log)], axis=1))
            self.state.short[0] = False


@lean_inlined
def _offer_servers(many: Many, state: NetworkState, i: int, requests: NumaRequests, run: NumaState, row: int) -> bool:
    if row < 0:
        return False
    at, clock, due, demand = run.at, run.clock, run.due, requests.demand[row]
    while state.await_room and at[loop.ENDS] > 0 and not _has_room(state, i, demand):
        clock[loop.NOW] = due[0]
        while at[loop.ENDS] > 0 and due[0] <= clock[loop.NOW]:
            end_next(run, None, many.tables, requests.demand, requests.nothing)
            _move(many, state, i, requests, run, at[loop.ROW])
    requests.arrival[row] = clock[loop.NOW]
    room, bandwidth = row_of(state.filling, i), many.offers.bandwidth[i, row]
    begin(room, demand)
    return allow(room, run.free, state.link_free[i], bandwidth, state.feasible, state.mask[i])


@lean_inlined
def _take_server(
    many: Many, state: NetworkState, i: int, requests: NumaRequests, run: NumaState, row: int, server: int
) -> int:
    mask, link_free, bandwidth = state.mask[i], state.link_free[i], many.offers.bandwidth[i, row]
    room, status = row_of(state.filling, i), -1
    if 0 <= server < len(mask) and mask[server]:
        status = choose(room, run.free, link_free, server, bandwidth)
    if status == GOES_ON:
        if state.feasible:
            some = allow(room, run.free, link_free, bandwidth, True, mask)
        else:
            mask[server] = False  # nothing else changed
            some = mask.any()
        if some:
            return GOES_ON
        status = -1
    if status == COMPLETE:
        _write(many, state, i, room, row)
        _move(many, state, i, requests, run, row, -1)
        hold(requests, run, row, -1, -1, loop.ELSEWHERE, -1.0)
    return int(status)


@lean_inlined
def _write(many: Many, state: NetworkState, i: int, room: Filling, row: int) -> None:
    """Write to the log what the request of a row was given."""
    log, held, at = state.log[i], many.offers.held[i, row], state.logged[i]
    held[0] = at
    for share in range(room.counts[1]):
        log[at], log[at + 1] = room.places[share, 0], room.places[share, 1]
        for r in range(len(room.need)):
            log[at + 2 + r] = room.amounts[share, r]
        at += 2 + len(room.need)
    held[1] = at
    for link in range(room.counts[2]):
        log[at] = room.links[link]
        at += 1
    held[2] = state.logged[i] = at
    most = len(room.places) * (2 + len(room.need)) + len(room.links)
    state.short[0] |= at + most > len(log)


@lean_inlined
def _move(
    many: Many, state: NetworkState, i: int, requests: NumaRequests, run: NumaState, row: int, sign: int = 1
) -> None:
    """Give back what the log says that a row holds, or take it (sign -1)."""
    log, held, resources = state.log[i], many.offers.held[i, row], state.room.shape[1]
    for at in range(held[0], held[1], 2 + resources):
        for r in range(resources):
            amount = sign * log[at + 2 + r]
            run.free[log[at], log[at + 1], r] += amount
            state.room[i, r] += amount
    for at in range(held[1], held[2]):
        state.link_free[i, log[at]] += sign * many.offers.bandwidth[i, row]


@lean
def _has_room(state: NetworkState, i: int, demand: Ints) -> bool:
    """Tell whether all servers together have as much free."""
    fits = True
    for r in range(len(demand)):
        fits &= demand[r] <= state.room[i, r]
    return fits


NETWORKS = stepping(_offer_servers, _take_server, _move)
