"""Steps many simulations of servers with NUMA nodes together, in one compiled call, as environments need it.

An episode is a `fabric.run.simulation.Simulation` with overflow `drop` or `stop` in which every step answers a request.
The same answers have the same outcomes at the same times, and leave the same capacity free. Nothing waits here, so the
clock goes from one arrival to the next, and no more of `binwright.fabric.compiled.numa_loop` is needed.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.compiled.heap import pop, push
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, prepared
from binwright.simcore.record import PLACED, REJECTED, SPREAD
from binwright.simcore.types import Amounts, Floats, Ints, Workload

Flags: TypeAlias = npt.NDArray[np.bool_]
Reals: TypeAlias = npt.NDArray[np.float32]


class NumaRules(NamedTuple):
    """Holds what all simulations share; nothing of it changes.

    `capacity` is int64 [servers, nodes, resources], `there` float64 the same, 1 where there is nothing; `kinds` int64
    [k, nodes, resources] are the different servers, and `most` float64 [resources] the largest node. `above` int64
    [resources] is more than a request that is not spread may ask for. With `stops` a refusal ends the episode.
    """

    capacity: Ints
    there: Floats
    kinds: Ints
    most: Floats
    above: Ints
    stops: bool


class NumaMany(NamedTuple):
    """Holds where the simulations are; the first axis of every array is the simulation, and all of them change.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | possible, rows | int64 [s], [s, rows] | how many requests some empty server could hold, and which |
    | arrival, duration | float64 [s, rows] | of the requests |
    | demand, spread | int64 [s, rows, resources], bool [s, rows] | of the requests |
    | asked | float32 [s, rows, resources + 1] | what is seen of the requests |
    | worth | float64 [s, rows] | the reward for placing a request |
    | free | int64 [s, servers, nodes, resources] | what is free |
    | due, holder, heap | float64, int64 [s, rows], int64 [s] | a heap of ends, whose, and its length |
    | head | int64 [s] | how many of `rows` have their answer |
    | now | float64 [s] | the clock |
    | over | bool [s] | whether there is nothing to answer any more |
    | outcome, server, node, decided | int8, int32, int8, float64 [s, rows] | as in `binwright.simcore.record` |
    """

    possible: Ints
    rows: Ints
    arrival: Floats
    duration: Floats
    demand: Ints
    spread: Flags
    asked: Reals
    worth: Floats
    free: Ints
    due: Floats
    holder: Ints
    heap: Ints
    head: Ints
    now: Floats
    over: Flags
    outcome: npt.NDArray[np.int8]
    server: npt.NDArray[np.int32]
    node: npt.NDArray[np.int8]
    decided: Floats


class NumaShown(NamedTuple):
    """Holds what is seen of the simulations and came of the last step, written where it lies: only what changed.

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


def check_overflow(overflow: str) -> None:
    """Refuse a mode in which requests wait, or servers are added."""
    if overflow not in ("drop", "stop"):
        remedy = "Write `overflow: drop` or `overflow: stop`."
        raise UserError("what fits nowhere must be dropped here, or end it", key="overflow", remedy=remedy)


class NumaEpisodes:
    """Steps simulations of one cluster: `reset` gives requests to one of them, `step` an answer to each.

    `many` (`NumaMany`) is where they are, and `shown` (`NumaShown`) what is to be seen of them.
    """

    def __init__(self, cluster: Cluster, overflow: str, shown: NumaShown) -> None:
        check_overflow(overflow)
        capacity = np.ascontiguousarray(cluster.capacity)
        self.cluster, self.shown, self.count = cluster, shown, len(shown.mask)
        self.rules = NumaRules(
            capacity,
            np.maximum(capacity, 1).astype(np.float64),
            np.unique(np.concatenate([capacity, cluster.growth[None]]), axis=0),
            np.maximum(capacity.max(axis=(0, 1)), 1).astype(np.float64),
            np.array(cluster.spread_above),
            overflow == "stop",
        )
        self.many = _many(capacity, self.count, 1)
        self._step = prepared(_step, self.rules, self.many, shown, np.zeros(self.count, np.int64))

    @property
    def over(self) -> Flags:
        """Which simulations are over, bool [count]: not a copy."""
        return self.many.over

    @property
    def row(self) -> Ints:
        """The request on offer of each simulation, int64 [count]; the last one's after an episode."""
        many = self.many
        return many.rows[np.arange(self.count), np.maximum(np.minimum(many.head, many.possible - 1), 0)]

    def reset(self, simulation: int, workload: Workload, worth: Floats) -> None:
        """Start one simulation again, on an empty cluster, with these requests; `worth` float64 [n] rewards them."""
        n, i, many = len(workload), simulation, self.many
        if n > many.rows.shape[1]:
            self.many = _many(self.cluster.capacity, self.count, n)
            for name, before in many._asdict().items():
                after = getattr(self.many, name)
                after[tuple(slice(length) for length in before.shape)] = before
            many = self.many
        many.arrival[i, :n] = workload.arrival
        many.duration[i, :n] = workload.duration
        many.demand[i, :n] = workload.demand
        many.worth[i, :n] = worth
        _begin(self.rules, many, self.shown, i, n)

    def step(self, answers: Ints) -> None:
        """Answer the requests on offer, `answers` int64 [count]; a place that the mask forbids refuses the request.

        Changes `many` and `shown`. Simulations that are over do not change, and have no reward.
        """
        self._step(self.rules, self.many, self.shown, answers)


def _many(capacity: Ints, count: int, rows: int) -> NumaMany:
    resources = capacity.shape[2]
    return NumaMany(
        possible=np.zeros(count, np.int64),
        rows=np.zeros((count, rows), np.int64),
        arrival=np.zeros((count, rows)),
        duration=np.zeros((count, rows)),
        demand=np.zeros((count, rows, resources), np.int64),
        spread=np.zeros((count, rows), np.bool_),
        asked=np.zeros((count, rows, resources + 1), np.float32),
        worth=np.zeros((count, rows)),
        free=np.zeros((count, *capacity.shape), np.int64),
        due=np.zeros((count, rows)),
        holder=np.zeros((count, rows), np.int64),
        heap=np.zeros(count, np.int64),
        head=np.zeros(count, np.int64),
        now=np.zeros(count),
        over=np.ones(count, np.bool_),
        outcome=np.zeros((count, rows), np.int8),
        server=np.zeros((count, rows), np.int32),
        node=np.zeros((count, rows), np.int8),
        decided=np.zeros((count, rows)),
    )


@lean
def _begin(rules: NumaRules, many: NumaMany, shown: NumaShown, i: int, n: int) -> None:
    """Begin the episode of simulation `i`, whose first `n` requests are written; changes all of its `many`, `shown`."""
    _, nodes, resources = rules.capacity.shape
    kinds = rules.kinds
    possible = 0
    for row in range(n):
        spread, demand = False, many.demand[i, row]
        for r in range(resources):
            spread |= nodes > 1 and demand[r] > rules.above[r]
            many.asked[i, row, r] = demand[r] / rules.most[r]
        many.asked[i, row, resources] = spread
        many.spread[i, row] = spread
        many.outcome[i, row] = 0
        fits = False
        for kind in range(len(kinds)):
            if spread:
                fits |= fits_spread(kinds, kind, demand)
            else:
                for node in range(nodes):
                    fits |= fits_node(kinds, kind, node, demand)
        many.rows[i, possible] = row
        possible += fits
    many.possible[i], many.head[i], many.heap[i], many.now[i], many.over[i] = possible, 0, 0, 0.0, False
    for server in range(len(rules.capacity)):
        for node in range(nodes):
            for r in range(resources):
                many.free[i, server, node, r] = rules.capacity[server, node, r]
                shown.free[i, server, node, r] = rules.capacity[server, node, r] / rules.there[server, node, r]
    shown.placed[i] = False
    _advance(rules, many, shown, i)


@lean
def _step(rules: NumaRules, many: NumaMany, shown: NumaShown, answers: Ints) -> None:
    """Step all simulations, as `NumaEpisodes.step` says."""
    nodes = rules.capacity.shape[1]
    for i in range(len(answers)):
        shown.rewards[i], shown.placed[i] = 0.0, False
        if not many.over[i]:
            row, place = many.rows[i, many.head[i]], answers[i]
            many.decided[i, row] = many.now[i]
            many.head[i] += 1
            if 0 <= place < shown.mask.shape[1] and shown.mask[i, place]:
                server = place // 2 if nodes == 2 else place // nodes  # dividing by a constant is faster
                node = SPREAD if many.spread[i, row] else place - server * nodes
                _move(rules, many, shown, i, row, server, node, -1)
                many.outcome[i, row], many.server[i, row], many.node[i, row] = PLACED, server, node
                if many.duration[i, row] < np.inf:
                    push(many.due[i], many.holder[i], many.heap[i], many.now[i] + many.duration[i, row], row)
                    many.heap[i] += 1
                shown.rewards[i], shown.placed[i] = many.worth[i, row], True
            else:
                many.outcome[i, row] = REJECTED
                many.over[i] = rules.stops
            _advance(rules, many, shown, i)
        shown.ended[i] = many.over[i]


@lean
def _advance(rules: NumaRules, many: NumaMany, shown: NumaShown, i: int) -> None:
    """Let the clock go on to the next request that fits somewhere, or to the end."""
    while not many.over[i] and many.head[i] < many.possible[i]:
        row = many.rows[i, many.head[i]]
        time = many.arrival[i, row]
        while many.heap[i] > 0 and many.due[i, 0] <= time:
            holder = many.holder[i, 0]
            many.heap[i] -= 1
            pop(many.due[i], many.holder[i], many.heap[i])
            _move(rules, many, shown, i, holder, many.server[i, holder], many.node[i, holder], 1)
        many.now[i] = time
        if _write_mask(many.free[i], many.demand[i, row], many.spread[i, row], shown.mask[i]):
            for r in range(shown.request.shape[1]):
                shown.request[i, r] = many.asked[i, row, r]
            return
        many.outcome[i, row], many.decided[i, row] = REJECTED, time
        many.head[i] += 1
        many.over[i] = rules.stops
    many.over[i] = True
    for r in range(shown.request.shape[1]):
        shown.request[i, r] = 0.0
    for place in range(shown.mask.shape[1]):
        shown.mask[i, place] = False


@lean
def _move(
    rules: NumaRules, many: NumaMany, shown: NumaShown, i: int, row: int, server: int, node: int, sign: int
) -> None:
    """Take what a request asks for (sign -1), or give it back (sign 1), and show it."""
    nodes = rules.capacity.shape[1]
    for r in range(rules.capacity.shape[2]):
        amount = many.demand[i, row, r]
        for n in range(nodes):
            if node == SPREAD:
                part = amount // nodes + (n < amount % nodes)
            elif n == node:
                part = amount
            else:
                continue
            many.free[i, server, n, r] += sign * part
            shown.free[i, server, n, r] = many.free[i, server, n, r] / rules.there[server, n, r]


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
