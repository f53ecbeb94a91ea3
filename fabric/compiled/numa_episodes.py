"""Steps many simulations of servers with NUMA nodes together, in one compiled call, as environments need it.

An episode is a run of `simcore.engine.Simulation` with overflow `drop` or `stop` in which every step answers a request.
The same answers have the same outcomes at the same times, and leave the same capacity free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabric.cluster import Cluster
from fabric.compiled.numa_loop import ASK, COUNTERS, HEAD, MODES, OVER, NumaRequests, NumaState, as_argument, given, go
from fabric.servers import fits_node, fits_spread
from simcore.errors import UserError
from simcore.jit import kernel, prepared
from simcore.record import PLACED
from simcore.vocabulary import Amounts, Floats, Ints, Workload

BEGINS = -2.0
"""Stands in place of an answer where an episode begins."""


class Many(NamedTuple):
    """Holds `NumaRequests` and `NumaState` of all simulations, with the simulation as the first axis [s].

    `possible` int64 [s] says how many of each simulation's `rows` count.
    """

    possible: Ints
    rows: Ints
    arrival: Floats
    duration: Floats
    demand: Ints
    spread: npt.NDArray[np.bool_]
    nothing: Amounts
    capacity: Ints
    free: Ints
    due: Floats
    holder: Ints
    at: Ints
    now: Floats
    sequence: Ints
    outcome: npt.NDArray[np.int8]
    decided: Floats
    server: npt.NDArray[np.int32]
    node: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int32]
    log: Ints


class NumaEpisodes:
    """Steps `count` simulations of one cluster: `reset` gives requests to one of them, `step` an answer to each.

    `mask` bool [count, servers * nodes] says which places the request on offer may take; a spread request takes a
    server by the number of its first node. The mask is empty only when the episode is over: requests that fit nowhere
    are refused on the way. `row` int64 [count] is the request on offer.
    """

    def __init__(self, cluster: Cluster, overflow: str, count: int = 1) -> None:
        if overflow not in ("drop", "stop"):
            remedy = "Write `overflow: drop` or `overflow: stop`."
            raise UserError("what fits nowhere must be dropped here, or end it", key="overflow", remedy=remedy)
        servers, nodes, resources = cluster.capacity.shape
        self.cluster, self.count = cluster, count
        self.total: Ints = cluster.capacity.sum(axis=(0, 1))
        self._mode = MODES.index(overflow)
        self.many = _many(cluster, count, 1)
        self.status = np.full(count, OVER, np.int64)
        self.mask = np.zeros((count, servers * nodes), np.bool_)
        self.row = np.zeros(count, np.int64)
        self._answers = np.zeros((count, 1))
        self._given = as_argument(given, resources, [np.zeros(1)])
        self._step_all = prepared(step_all, *self._arguments)

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Which simulations are over, bool [count]."""
        over: npt.NDArray[np.bool_] = self.status == OVER
        return over

    def reset(self, simulation: int, workload: Workload) -> None:
        """Start one simulation again, on an empty cluster, with these requests."""
        n, i = len(workload), simulation
        if n > self.many.rows.shape[1]:
            old, self.many = self.many, _many(self.cluster, self.count, n)
            for name in Many._fields[1:]:
                if name not in ("nothing", "capacity", "log"):
                    before = getattr(old, name)
                    getattr(self.many, name)[:, : before.shape[1]] = before
            self.many.possible[:] = old.possible
        many = self.many
        possible = np.flatnonzero(self.cluster.possible(workload.demand))
        many.possible[i] = len(possible)
        many.rows[i, : len(possible)] = possible
        many.arrival[i, :n], many.duration[i, :n], many.demand[i, :n] = (
            workload.arrival,
            workload.duration,
            workload.demand,
        )
        many.spread[i, :n] = self.cluster.spreads(workload.demand)
        many.free[i], many.at[i], many.now[i], many.outcome[i] = self.cluster.capacity, 0, 0.0, 0
        self.status[i] = ASK
        self._answers[:] = np.nan
        self._answers[i] = BEGINS
        self._go()

    def step(self, answers: Ints) -> npt.NDArray[np.bool_]:
        """Answer the requests on offer, `answers` int64 [count]; a place that the mask forbids refuses the request.

        Returns which requests were placed, bool [count]. Simulations that are over do not change.
        """
        before, going = self.row.copy(), ~self.over
        self._answers[:, 0] = answers
        self._go()
        placed: npt.NDArray[np.bool_] = going & (self.many.outcome[np.arange(self.count), before] == PLACED)
        return placed

    @property
    def _arguments(self) -> tuple[Any, Many, int, Floats, Ints, Ints, npt.NDArray[np.bool_]]:
        return self._given, self.many, self._mode, self._answers, self.status, self.row, self.mask

    def _go(self) -> None:
        self._step_all(*self._arguments)


def _many(cluster: Cluster, count: int, rows: int) -> Many:
    resources = cluster.capacity.shape[2]
    return Many(
        possible=np.zeros(count, np.int64),
        rows=np.zeros((count, rows), np.int64),
        arrival=np.zeros((count, rows)),
        duration=np.zeros((count, rows)),
        demand=np.zeros((count, rows, resources), np.int64),
        spread=np.zeros((count, rows), np.bool_),
        nothing=(0,) * resources,
        capacity=np.ascontiguousarray(cluster.capacity),
        free=np.zeros((count, *cluster.capacity.shape), np.int64),
        due=np.zeros((count, rows)),
        holder=np.zeros((count, rows), np.int64),
        at=np.zeros((count, COUNTERS), np.int64),
        now=np.zeros((count, 1)),
        sequence=np.zeros((count, rows), np.int64),
        outcome=np.zeros((count, rows), np.int8),
        decided=np.zeros((count, rows)),
        server=np.zeros((count, rows), np.int32),
        node=np.zeros((count, rows), np.int8),
        reason=np.zeros((count, rows), np.int32),
        log=np.zeros((count, 2), np.int64),  # which nobody reads
    )


@kernel
def step_all(
    rule: Any, many: Many, mode: int, answers: Floats, status: Ints, row: Ints, mask: npt.NDArray[np.bool_]
) -> None:
    """Step all simulations, as `NumaEpisodes.step` says, but those whose answer is NaN.

    Changes everything but `rule` and `mode`.
    """
    for i in range(len(answers)):
        if status[i] == OVER or np.isnan(answers[i, 0]):
            continue
        asked = NumaRequests(
            many.rows[i, : many.possible[i]],
            many.arrival[i],
            many.duration[i],
            many.demand[i],
            many.spread[i],
            many.nothing,
        )
        state = NumaState(
            many.capacity,
            many.free[i],
            many.free[i],
            many.due[i],
            many.holder[i],
            many.at[i],
            many.now[i],
            many.sequence[i],
            many.outcome[i],
            many.decided[i],
            many.server[i],
            many.node[i],
            many.reason[i],
            many.log[i],
        )
        count = 0 if answers[i, 0] == BEGINS else 1
        if count and not (0 <= answers[i, 0] < mask.shape[1] and mask[i, int(answers[i, 0])]):
            answers[i, 0] = -1.0
        mask[i] = False
        while True:
            status[i] = go(rule, (answers[i],), asked, state, mode, np.inf, count, True)[1]
            if status[i] != ASK:
                break
            row[i] = asked.rows[state.at[HEAD]]
            if _write_mask(state.free, asked, row[i], mask[i]):
                break
            answers[i, 0], count = -1.0, 1  # it fits nowhere


@kernel
def _write_mask(free: Ints, asked: NumaRequests, row: int, mask: npt.NDArray[np.bool_]) -> bool:
    """Write to `mask` which places the request may take; tells whether there are any."""
    some, nodes, demand = False, free.shape[1], asked.demand[row]
    for server in range(len(free)):
        if asked.spread[row]:
            mask[server * nodes] = fits_spread(free, server, demand)
            some |= mask[server * nodes]
        else:
            for node in range(nodes):
                mask[server * nodes + node] = fits_node(free, server, node, demand)
                some |= mask[server * nodes + node]
    return some
