"""Steps many runs together, in one compiled call, as learning needs it; what is special to servers and networks aside.

A run is one of `binwright.fabric.run.simulation.Simulation` with overflow `drop` or `stop`: its arrays are those of the
loop, and the loop's own functions play them. docs/developers/compiled-runs.md says what else to change with a rule of
the run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, demand_of, forward, hold, leave, move, refuse
from binwright.fabric.compiled.tables import Tables, no_tables
from binwright.fabric.ledger import Ledger
from binwright.fabric.multi_server import COMPLETE, GOES_ON
from binwright.fabric.ranking import log_of
from binwright.fabric.run.arrays import state_of
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, lean_inlined, prepared
from binwright.simcore.jit.bundle import row_of
from binwright.simcore.record import IMPOSSIBLE, PENDING, SPREAD, Record
from binwright.simcore.rules import Pacing
from binwright.simcore.types import Flags, Floats, Ints, Reals
from binwright.simcore.workload import Workload

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Offers(NamedTuple):
    """Holds what else there is to know of the n requests of a run.

    `worth` float64 [n] is what one that is placed earns, `expected` float64 [n] what agents may know of `duration`,
    and `bandwidth` is int64 [n]. `held` int64 [n, 3] says where what it holds is written, in a network.
    """

    worth: Floats
    expected: Floats
    bandwidth: Ints
    held: Ints


class Many(NamedTuple):
    """Holds many runs: their arrays, of which each has the run as a further first axis.

    `possible` int64 [s] is how many of `requests.rows` each run has, `row` int64 [s] the request on offer, -1 before
    the first one, `over` bool [s] whether there is nothing to answer any more. `result` int64 [s, 2] are the requests
    that the last step placed and rejected, `rewards` float64 [s] what it earned: one rejected costs `lost`, and with
    `stops` it ends the run. `step` is the pace, negative where requests come as they arrive. `tables` are empty.
    """

    requests: NumaRequests
    state: NumaState
    offers: Offers
    possible: Ints
    row: Ints
    over: Flags
    result: Ints
    rewards: Floats
    lost: float
    stops: bool
    step: float
    tables: Tables


def stacked(run: Arrays, count: int) -> Arrays:
    """Return the arrays of a run as often as there are runs, with the run as a further first axis."""
    return type(run)(*(np.repeat(part[None], count, 0) if isinstance(part, np.ndarray) else part for part in run))


def copied(before: Arrays, after: Arrays) -> Arrays:
    """Copy what is in arrays, and in tuples of arrays, to such of the same or a larger shape; returns `after`."""
    for old, new in zip(before, after, strict=True):
        if isinstance(old, tuple):
            copied(old, new)
        elif isinstance(old, np.ndarray):
            new[tuple(map(slice, old.shape))] = old
    return after


class Episodes:
    """Steps `count` runs together: `reset` gives requests to one of them, `step` an answer to each.

    `many` has the runs, and `state` a named tuple of what is special to their kind, as `kernels` of `stepping` take it:
    its `mask` bool [count, actions] says which answers are allowed, none when the run is over.
    """

    def __init__(
        self,
        ledger: Ledger,
        state: Any,
        kernels: tuple[Callable[..., None], ...],
        *,
        lost: float = 0.0,
        stops: bool = False,
        pacing: Pacing | None = None,
    ) -> None:
        self.cluster, self.state, self.count, self._ledger = ledger.cluster, state, len(state.mask), ledger
        self._lost, self._stops, self._pace = lost, stops, pacing.step if pacing else -1.0
        self.many = self._runs(1)
        self._begin = prepared(kernels[0], self.many, state, 0)
        self._step = prepared(kernels[1], self.many, state, np.zeros(self.count, np.int64))

    @property
    def over(self) -> Flags:
        """Which runs are over, bool [count]: not a copy."""
        return self.many.over

    @property
    def row(self) -> Ints:
        """The request on offer of each run, int64 [count], the last one after its end: not a copy."""
        return self.many.row

    def _runs(self, n: int) -> Many:
        """Make the arrays of runs of at most so many requests; none of them has begun."""
        capacity, count = self.cluster.capacity, self.count
        servers, _, resources = capacity.shape
        times, flags, none = np.zeros(n), np.zeros(n, np.bool_), np.zeros(0, np.int64)
        demand, rows = np.zeros((n, resources), np.int64), np.zeros(n, np.int32)
        requests = NumaRequests(rows, times, times, demand, flags, none, (0,) * resources)
        state = state_of((capacity, capacity), n, Record(n, ()), log_of(servers))
        return Many(
            stacked(requests, count),
            stacked(state, count),
            stacked(Offers(times, times, np.zeros(n, np.int64), np.zeros((n, 3), np.int64)), count),
            possible=np.zeros(count, np.int64),
            row=np.full(count, -1),
            over=np.ones(count, np.bool_),
            result=np.zeros((count, 2), np.int64),
            rewards=np.zeros(count),
            lost=self._lost,
            stops=self._stops,
            step=self._pace,
            tables=no_tables(),
        )

    def reset(self, simulation: int, workload: Workload, worth: Floats) -> None:
        """Start one run again, on an empty cluster, with these requests; `worth` float64 [n] rewards them."""
        i, n, many = simulation, len(workload), self.many
        if n > many.offers.worth.shape[1]:
            self.many = many = copied(many, self._runs(n))
        requests, state, offers = many[:3]
        rows = np.flatnonzero(self._ledger.possible(workload.demand))
        requests.rows[i, : len(rows)], requests.spread[i, :n] = rows, self._ledger.spreads(workload.demand)
        requests.arrival[i, :n], requests.duration[i, :n] = workload.arrival, workload.duration
        requests.demand[i, :n], offers.worth[i, :n], offers.expected[i, :n] = workload.demand, worth, workload.expected
        offers.bandwidth[i, :n] = 0 if workload.bandwidth is None else workload.bandwidth
        state.at[i], state.clock[i], state.answers[i], state.outcome[i] = 0, 0.0, 0, IMPOSSIBLE
        state.free[i] = state.left[i] = self.cluster.capacity
        state.outcome[i, rows] = PENDING
        many.possible[i], many.row[i], many.over[i], many.result[i] = len(rows), -1, False, 0
        self._begin(many, self.state, i)
        many.rewards[i] = 0.0

    def step(self, answers: Ints) -> None:
        """Give every run an answer, int64 [count]; one that `state.mask` does not allow refuses the request.

        Changes `many` and `state`. Runs that are over do not change, and have no reward.
        """
        self._step(self.many, self.state, answers)


def stepping(offer: Callable[..., bool], take: Callable[..., int], release: Callable[..., None]) -> Any:
    """Make two kernels, which begin a run, (many, state, i), and step all of them, (many, state, answers), of three.

    `offer` shows the request of a row, or for row -1 that there is none any more, and tells whether any answer is
    allowed; `take` (.., row, answer) has it take its place, and returns what `fabric.multi_server.choose` does;
    `release` gives back what a row holds. All begin with (many, state, i, requests, run): the two last are views of
    one run.
    """

    @lean_inlined
    def go_on(many: Many, state: Any, i: int, requests: NumaRequests, run: NumaState) -> None:
        at = run.at
        while not many.over[i]:
            if many.step >= 0 and at[loop.TAIL] < len(requests.rows):
                row = requests.rows[at[loop.TAIL]]
                requests.arrival[row] = run.clock[loop.NOW] + many.step if row > 0 else 0.0
            status = loop.RELEASED
            while status == loop.RELEASED:
                status = forward(requests, run, None, many.tables, np.inf)
                if status == loop.RELEASED:
                    release(many, state, i, requests, run, at[loop.ROW])
            if status != loop.ASK:
                break
            many.row[i] = run.line[at[loop.FIRST]]
            if offer(many, state, i, requests, run, many.row[i]):
                return
            _rejected(many, run, i)
        many.over[i] = True
        offer(many, state, i, requests, run, -1)
        for action in range(state.mask.shape[1]):
            state.mask[i, action] = False

    @lean
    def begin(many: Many, state: Any, i: int) -> None:
        go_on(many, state, i, _requests_of(many, i), row_of(many.state, i))

    @lean
    def step(many: Many, state: Any, answers: Ints) -> None:
        for i in range(len(answers)):
            many.rewards[i], many.result[i, 0], many.result[i, 1] = 0.0, 0, 0
            if many.over[i]:
                continue
            requests, run, row, answer = _requests_of(many, i), row_of(many.state, i), many.row[i], answers[i]
            status = take(many, state, i, requests, run, row, answer)
            if status == GOES_ON:
                continue
            if status == COMPLETE:
                many.result[i, 0] += 1
                many.rewards[i] += many.offers.worth[i, row]
                leave(run.at)
            else:
                _rejected(many, run, i)
            go_on(many, state, i, requests, run)

    return begin, step


@lean_inlined
def _requests_of(many: Many, i: int) -> NumaRequests:
    """Return the requests of one run: views, not copies."""
    requests = row_of(many.requests, i)
    return NumaRequests(requests.rows[: many.possible[i]], *requests[1:])


@lean_inlined
def _rejected(many: Many, run: NumaState, i: int) -> None:
    """Refuse the request on offer."""
    refuse(run, many.row[i], 1, -1)
    leave(run.at)
    many.result[i, 1] += 1
    many.rewards[i] -= many.lost
    many.over[i] = many.stops


class NumaShown(NamedTuple):
    """Holds what is seen of runs on servers with NUMA nodes, written where it lies: only what changed.

    So nobody else may write there. `free` float32 [s, servers, nodes, resources] are free shares. `request` float32
    [s, resources + 1] is the request on offer: its demand as shares of the largest node, and whether it is spread;
    nothing after the last one. `mask` bool [s, servers * nodes] says which places it may take, a spread request a
    server by the number of its first node; it is empty only when the episode is over, since requests that fit nowhere
    are refused on the way. Shares are of `installed` float64 [servers, nodes, resources], 1 where there is nothing, and
    of `largest` float64 [resources].
    """

    free: Reals
    request: Reals
    mask: Flags
    installed: Floats
    largest: Floats


class NumaEpisodes(Episodes):
    """Steps runs on the servers of a ledger; an answer is server * nodes + node, and what is seen `NumaShown`."""

    state: NumaShown

    def __init__(self, ledger: Ledger, overflow: str, count: int) -> None:
        if overflow not in ("drop", "stop"):
            remedy = "Write `overflow: drop` or `overflow: stop`."
            raise UserError("what fits nowhere must be dropped here, or end it", key="overflow", remedy=remedy)
        capacity = np.maximum(ledger.cluster.capacity, 1).astype(np.float64)
        servers, nodes, resources = capacity.shape
        shown = NumaShown(
            free=np.zeros((count, *capacity.shape), np.float32),
            request=np.zeros((count, resources + 1), np.float32),
            mask=np.zeros((count, servers * nodes), np.bool_),
            installed=capacity,
            largest=capacity.max(axis=(0, 1)),
        )
        super().__init__(ledger, shown, NUMA, stops=overflow == "stop")

    def reset(self, simulation: int, workload: Workload, worth: Floats) -> None:
        self.state.free[simulation] = self.cluster.capacity / self.state.installed
        super().reset(simulation, workload, worth)


@lean_inlined
def _offer_place(many: Many, shown: NumaShown, i: int, requests: NumaRequests, run: NumaState, row: int) -> bool:
    free, mask, last, some = run.free, shown.mask[i], len(shown.largest), False
    for r in range(last):
        shown.request[i, r] = requests.demand[row, r] / shown.largest[r] if row >= 0 else 0.0
    shown.request[i, last] = requests.spread[row] if row >= 0 else 0.0
    if row < 0:
        return False
    demand, spread, nodes = requests.demand[row], requests.spread[row], free.shape[1]
    for server in range(len(free)):
        for node in range(nodes):
            fits = (
                fits_node(free, server, node, demand) if not spread else node == 0 and fits_spread(free, server, demand)
            )
            mask[server * nodes + node] = fits
            some |= fits
    return some


@lean_inlined
def _take_place(
    many: Many, shown: NumaShown, i: int, requests: NumaRequests, run: NumaState, row: int, place: int
) -> int:
    nodes = run.free.shape[1]
    if not (0 <= place < shown.mask.shape[1] and shown.mask[i, place]):
        return -1
    server = place // nodes
    hold(requests, run, row, server, SPREAD if requests.spread[row] else place - server * nodes, loop.ELSEWHERE, -1.0)
    _move(many, shown, i, requests, run, row, -1)
    return COMPLETE


@lean_inlined
def _move(
    many: Many, shown: NumaShown, i: int, requests: NumaRequests, run: NumaState, row: int, sign: int = 1
) -> None:
    """Give back what a row asks for where it lies, or take it (sign -1), and show what is free there."""
    free, server = run.free, run.server[row]
    move(run.left, free, run.log, demand_of(requests.demand, row, requests.nothing), server, run.node[row], sign)
    for node in range(free.shape[1]):
        for r in range(free.shape[2]):
            shown.free[i, server, node, r] = free[server, node, r] / shown.installed[server, node, r]


NUMA = stepping(_offer_place, _take_place, _move)
