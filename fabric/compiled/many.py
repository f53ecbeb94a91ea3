"""Steps many runs of servers with NUMA nodes together, in one compiled call, as environments need it.

A run is one of `binwright.fabric.run.simulation.Simulation` with overflow `drop` or `stop` in which every step answers
a request: its arrays are those of the loop, and the loop's own functions play them.
"""

from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, demand_of, forward, hold, leave, move, refuse
from binwright.fabric.compiled.tables import Tables, no_tables
from binwright.fabric.ledger import Ledger
from binwright.fabric.ranking import log_of
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, lean_inlined, prepared
from binwright.simcore.record import PENDING, SPREAD
from binwright.simcore.types import Amounts, Floats, Ints, Workload

Flags: TypeAlias = npt.NDArray[np.bool_]
Reals: TypeAlias = npt.NDArray[np.float32]
Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class Many(NamedTuple):
    """Holds the requests and the states of many runs, whose arrays have the run as a further first axis.

    Shared are `requests.priority` and `state.capacity`; `state.left` is `state.free`. `possible` int64 [s] is how many
    of `requests.rows` each run has, and `over` bool [s] whether there is nothing to answer any more. `tables` are
    empty.
    """

    requests: NumaRequests
    state: NumaState
    possible: Ints
    over: Flags
    tables: Tables


def many_runs(capacity: Ints, count: int, rows: int) -> Many:
    """Make `count` runs of at most so many requests on servers of this capacity; none of them has begun."""
    resources = capacity.shape[2]

    def zeros(dtype: npt.DTypeLike, *shape: int) -> Any:
        return np.zeros((count, *shape), dtype)

    free, nobody = zeros(np.int64, *capacity.shape), np.zeros(0, np.int64)
    requests = NumaRequests(
        rows=zeros(np.int32, rows),
        arrival=zeros(np.float64, rows),
        duration=zeros(np.float64, rows),
        demand=zeros(np.int64, rows, resources),
        spread=zeros(np.bool_, rows),
        priority=nobody,
        nothing=(0,) * resources,
    )
    state = NumaState(
        capacity=capacity,
        free=free,
        left=free,
        line=zeros(np.int32, max(1, rows)),
        due=zeros(np.float64, rows),
        holder=zeros(np.int64, rows),
        at=zeros(np.int64, loop.COUNTERS),
        clock=zeros(np.float64, 1),
        sequence=zeros(np.int32, rows),
        outcome=zeros(np.int8, rows),
        decided=zeros(np.float64, rows),
        server=zeros(np.int32, rows),
        node=zeros(np.int8, rows),
        reason=zeros(np.int32, rows),
        holds=zeros(np.int8, rows),
        log=zeros(np.int64, len(log_of(len(capacity)))),
        answers=zeros(np.int64, 1),
    )
    return Many(requests, state, zeros(np.int64), np.ones(count, np.bool_), no_tables())


def copied(before: Arrays, after: Arrays) -> Arrays:
    """Copy what is in arrays, and in tuples of arrays, to such of the same or a larger shape; returns `after`."""
    for old, new in zip(before, after, strict=True):
        if isinstance(old, tuple):
            copied(old, new)
        elif old is not new and isinstance(old, np.ndarray):
            new[tuple(slice(length) for length in old.shape)] = old
    return after


def reset(many: Many, run: int, workload: Workload, possible: npt.NDArray[np.bool_]) -> None:
    """Start one run again, on empty servers, with requests of which some are `possible`, bool [n]; changes `many`."""
    n, rows = len(workload), np.flatnonzero(possible)
    requests, state = many.requests, many.state
    requests.arrival[run, :n], requests.duration[run, :n] = workload.arrival, workload.duration
    requests.demand[run, :n], requests.rows[run, : len(rows)] = workload.demand, rows
    state.free[run], state.at[run], state.answers[run], many.over[run] = state.capacity, 0, 0, False
    state.clock[run], many.possible[run] = 0.0, len(rows)
    state.outcome[run, :n] = PENDING


@lean_inlined
def run_of(many: Many, i: int) -> tuple[NumaRequests, NumaState]:
    """Return the requests and the state of one run: views, not copies."""
    requests, state = many.requests, many.state
    free = state.free[i]
    return (
        NumaRequests(
            requests.rows[i, : many.possible[i]],
            requests.arrival[i],
            requests.duration[i],
            requests.demand[i],
            requests.spread[i],
            requests.priority,
            requests.nothing,
        ),
        NumaState(
            state.capacity,
            free,
            free,
            state.line[i],
            state.due[i],
            state.holder[i],
            state.at[i],
            state.clock[i],
            state.sequence[i],
            state.outcome[i],
            state.decided[i],
            state.server[i],
            state.node[i],
            state.reason[i],
            state.holds[i],
            state.log[i],
            state.answers[i],
        ),
    )


def check_overflow(overflow: str) -> None:
    """Refuse a mode in which requests wait, or servers are added."""
    if overflow not in ("drop", "stop"):
        remedy = "Write `overflow: drop` or `overflow: stop`."
        raise UserError("what fits nowhere must be dropped here, or end it", key="overflow", remedy=remedy)


class NumaShown(NamedTuple):
    """Holds what is seen of the runs and came of the last step, written where it lies: only what changed.

    So nobody else may write there. `free` float32 [s, servers, nodes, resources] are free shares. `request` float32
    [s, resources + 1] is the request on offer: its demand as shares of the largest node, and whether it is spread;
    nothing after the last one. `mask` bool [s, servers * nodes] says which places it may take, a spread request a
    server by the number of its first node; it is empty only when the episode is over, since requests that fit nowhere
    are refused on the way. `rewards` float64 [s], `ended` and `placed` bool [s] say what came of the last step.
    """

    free: Reals
    request: Reals
    mask: Flags
    rewards: Floats
    ended: Flags
    placed: Flags


class _Scale(NamedTuple):
    """Holds what shares are of: `installed` float64 [servers, nodes, resources], `largest` float64 [resources].

    `installed` is 1 where there is nothing. With `stops` a refusal ends the run.
    """

    installed: Floats
    largest: Floats
    stops: bool


class NumaEpisodes:
    """Steps runs on the servers of a ledger: `reset` gives requests to one of them, `step` an answer to each.

    `many` (`Many`) is where they are, and `shown` (`NumaShown`) what is to be seen of them.
    """

    def __init__(self, ledger: Ledger, overflow: str, shown: NumaShown) -> None:
        check_overflow(overflow)
        self._ledger, self.cluster, self.shown, self.count = ledger, ledger.cluster, shown, len(shown.mask)
        self._capacity = capacity = np.ascontiguousarray(ledger.cluster.capacity)
        most = np.maximum(capacity.max(axis=(0, 1)), 1).astype(np.float64)
        self._scale = _Scale(np.maximum(capacity, 1).astype(np.float64), most, overflow == "stop")
        self.many, self._worth = many_runs(capacity, self.count, 1), np.zeros((self.count, 1))
        self._step = prepared(_step, self._scale, self.many, shown, self._worth, np.zeros(self.count, np.int64))
        self._begin = prepared(_begin, self._scale, self.many, shown, 0)

    @property
    def over(self) -> Flags:
        """Which runs are over, bool [count]: not a copy."""
        return self.many.over

    @property
    def row(self) -> Ints:
        """The request on offer of each run, int64 [count]; any after an episode."""
        state, runs = self.many.state, np.arange(self.count)
        return state.line[runs, state.at[:, loop.FIRST]].astype(np.int64)

    def reset(self, simulation: int, workload: Workload, worth: Floats) -> None:
        """Start one run again, on an empty cluster, with these requests; `worth` float64 [n] rewards them."""
        n = len(workload)
        if n > self._worth.shape[1]:
            before = self.many, self._worth
            after = many_runs(self._capacity, self.count, n), np.zeros((self.count, n))
            self.many, self._worth = copied(before, after)
        self._worth[simulation, :n] = worth
        reset(self.many, simulation, workload, self._ledger.possible(workload.demand))
        self.many.requests.spread[simulation, :n] = self._ledger.spreads(workload.demand)
        self._begin(self._scale, self.many, self.shown, simulation)

    def step(self, answers: Ints) -> None:
        """Answer the requests on offer, `answers` int64 [count]; a place that the mask forbids refuses the request.

        Changes `many` and `shown`. Runs that are over do not change, and have no reward.
        """
        self._step(self._scale, self.many, self.shown, self._worth, answers)


@lean
def _begin(scale: _Scale, many: Many, shown: NumaShown, i: int) -> None:
    """Let run `i` go on from empty servers to its first request, and show it; changes `many` and `shown`."""
    requests, state = run_of(many, i)
    shown.placed[i] = False
    _advance(scale, many, shown, i, requests, state, state.log[0] - len(state.log))


@lean
def _step(scale: _Scale, many: Many, shown: NumaShown, worth: Floats, answers: Ints) -> None:
    """Step all runs, as `NumaEpisodes.step` says."""
    nodes = shown.free.shape[2]
    for i in range(len(answers)):
        shown.rewards[i], shown.placed[i] = 0.0, False
        if not many.over[i]:
            requests, state = run_of(many, i)
            row, place, changes = state.line[state.at[loop.FIRST]], answers[i], state.log[0]
            if 0 <= place < shown.mask.shape[1] and shown.mask[i, place]:
                server = place // 2 if nodes == 2 else place // nodes  # dividing by a constant is faster
                node = SPREAD if requests.spread[row] else place - server * nodes
                demand = demand_of(requests.demand, row, requests.nothing)
                move(state.left, state.free, state.log, demand, server, node, -1)
                hold(requests, state, row, server, node, loop.HOLDS, -1.0)
                leave(state.at)
                shown.rewards[i], shown.placed[i] = worth[i, row], True
            else:
                refuse(state, row)
                many.over[i] = scale.stops
            _advance(scale, many, shown, i, requests, state, changes)
        shown.ended[i] = many.over[i]


@lean_inlined
def _advance(
    scale: _Scale, many: Many, shown: NumaShown, i: int, requests: NumaRequests, state: NumaState, changes: int
) -> None:
    """Let the clock go on to the next request that fits somewhere, or to the end, and show it.

    Servers that changed after the first `changes` are not shown yet.
    """
    while not many.over[i]:
        status = forward(requests, state, None, many.tables, np.inf)
        _show_changed(scale.installed, state.log, state.free, shown.free[i], changes)
        changes = state.log[0]
        if status != loop.ASK:
            break
        row = state.line[state.at[loop.FIRST]]
        if _write_mask(state.free, requests.demand[row], requests.spread[row], shown.mask[i]):
            for r in range(len(scale.largest)):
                shown.request[i, r] = requests.demand[row, r] / scale.largest[r]
            shown.request[i, len(scale.largest)] = requests.spread[row]
            return
        refuse(state, row)
        many.over[i] = scale.stops
    many.over[i] = True
    for r in range(shown.request.shape[1]):
        shown.request[i, r] = 0.0
    for place in range(shown.mask.shape[1]):
        shown.mask[i, place] = False


@lean
def _show_changed(installed: Floats, log: Ints, free: Ints, shown: Reals, changes: int) -> None:
    """Write the free shares of servers that changed after the first `changes`; of all if the log holds fewer.

    Changes `shown` float32 [servers, nodes, resources].
    """
    ring = len(log) - 1
    forgotten = log[0] - changes > ring
    for change in range(0 if forgotten else changes, len(free) if forgotten else log[0]):
        server = change if forgotten else log[1 + (change & (ring - 1))]
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                shown[server, node, r] = free[server, node, r] / installed[server, node, r]


@lean
def _write_mask(free: Ints, demand: Amounts, spread: bool, mask: Flags) -> bool:
    """Write to `mask` which places a request may take; tells whether there are any."""
    some, nodes = False, free.shape[1]
    for server in range(len(free)):
        for node in range(nodes):
            fits = (
                fits_node(free, server, node, demand) if not spread else node == 0 and fits_spread(free, server, demand)
            )
            mask[server * nodes + node] = fits
            some |= fits
    return some
