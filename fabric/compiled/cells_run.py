"""Plays a run whose cluster is divided into cells, each of which decides for itself what a router sends it.

The clock is that of `fabric.compiled.numa_loop`, one for each cell. Between two windows the cells know nothing of one
another, so they go on side by side in threads: kernels do not hold Python's lock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import floor, inf
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.changed_servers import log_of
from binwright.fabric.compiled.heap import Rows, pop
from binwright.fabric.compiled.numa_loop import (
    ANSWERED,
    BROKEN,
    COUNTERS,
    DROP,
    ENDS,
    FIRST,
    HEAD,
    TAIL,
    NumaRequests,
    NumaState,
    as_argument,
    demand_of,
    go,
    move,
)
from binwright.fabric.compiled.numa_run import requests
from binwright.fabric.ledger import Ledger
from binwright.fabric.ranking import standings
from binwright.fabric.survey import Survey
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import kernel
from binwright.simcore.record import PENDING, Record
from binwright.simcore.run_options import Cells
from binwright.simcore.types import Agent, Compiled, Floats, Ints, Workload


@kernel
def settle(asked: NumaRequests, state: NumaState, until: float) -> None:
    """Release what ends until a time, and then; changes `state`."""
    due, holder, at = state.due, state.holder, state.at
    ends = at[ENDS]
    while ends > 0 and due[0] <= until:
        row = holder[0]
        ends -= 1
        pop(due, holder, ends)
        demand = demand_of(asked.demand, row, asked.nothing)
        move(state.left, state.free, state.log, demand, state.server[row] - at[FIRST], state.node[row], 1)
    at[ENDS] = ends


@kernel
def route(used: Floats, installed: Floats, demand: Ints, candidates: Ints, rows: Rows) -> Ints:
    """Choose the cell of each of these rows, one after another; returns them, int64 [len(rows)].

    `used` and `installed` float64 [cells, resources]; what is sent is added to `used`, which changes.
    """
    chosen = np.zeros(len(rows), np.int64)
    some = candidates.shape[1]
    for place in range(len(rows)):
        row, least = rows[place], np.inf
        for k in range(some if some > 0 else len(used)):
            cell = candidates[row, k] if some > 0 else k
            load = 0.0
            for r in range(used.shape[1]):
                if installed[cell, r] > 0:
                    load = max(load, used[cell, r] / installed[cell, r])
            if load < least or (load == least and cell < chosen[place]):
                least, chosen[place] = load, cell
        for r in range(used.shape[1]):
            used[chosen[place], r] += demand[row, r]
    return chosen


def tell(log: Ints, servers: Ints) -> None:
    """Note in a log of `fabric.changed_servers` that these changed; more than it holds mean that all may have."""
    ring = len(log) - 1
    if len(servers) <= ring:
        log[1 + ((log[0] + np.arange(len(servers))) & (ring - 1))] = servers
    log[0] += min(len(servers), ring + 1)


class Cell:
    """The servers of a cell, from `first` on: parts of a ledger's arrays. In its arrays they count from 0.

    `record` is the run's, and `rows` is how many requests may be placed at a time.
    """

    def __init__(self, record: Record, arrays: tuple[Ints, Ints, Ints], first: int, rows: int) -> None:
        capacity, free, left = arrays
        servers, _, resources = capacity.shape
        self.first = first
        self.state = NumaState(
            capacity,
            free,
            left,
            np.zeros(rows),  # of these, memory is taken where something is written
            np.zeros(rows, np.int64),
            np.zeros(COUNTERS, np.int64),
            np.zeros(1),
            np.zeros(0, np.int32),
            record.outcome,
            record.decided,
            record.server,
            record.node,
            record.reason,
            log_of(servers),
        )
        self.state.at[FIRST] = first
        self._survey = Survey(servers, np.zeros((0, resources), np.int64), np.zeros(0, np.bool_), self.state.log)
        self.installed: Ints = capacity.sum(axis=(0, 1))
        self._told = 0

    def take(self, rule: Compiled) -> None:
        """Give the cell a rule, whose numbers it has for itself: other cells may change theirs meanwhile."""
        scan: Any = rule.scan
        self.numbers = tuple(array.copy() for array in rule.weights)
        weights: tuple[Any, ...] = self.numbers
        servers, _, resources = self.state.free.shape
        if scan.incremental and servers >= scan.worth_it:
            scan, weights = scan.incremental, (*weights, self.state.log, *standings(self.state.free))
        self._form = as_argument(scan, resources, weights), weights

    def prepare(self, asked: NumaRequests) -> None:
        """Compile the loop and the rule, or load them, so that no decision takes the time for it."""
        self._go(asked, asked.rows[:0])
        settle(asked, self.state, -inf)

    def settle(self, asked: NumaRequests, until: float) -> Ints:
        """Release what ends until a time; returns what is taken then, int64 [resources] quanta."""
        settle(asked, self.state, until)
        return self.installed - self._survey(self.state.left, self.state.capacity)[1]

    def answer(self, asked: NumaRequests, rows: npt.NDArray[np.int32], last: int) -> None:
        """Answer the requests of these rows, int32 [any], and go on to when row `last` has its answer, here or not."""
        self._go(asked, rows)
        if not len(rows) or rows[-1] != last:  # what is placed and ends at once is there until something else happens
            settle(asked, self.state, asked.arrival[last])

    def _go(self, asked: NumaRequests, rows: npt.NDArray[np.int32]) -> None:
        state = self.state._replace(sequence=np.empty(len(rows), np.int32))
        state.at[[HEAD, TAIL, ANSWERED]] = 0
        _, status, code = go(*self._form, asked._replace(rows=rows), state, None, None, DROP, inf, -1, False)
        if status == BROKEN:
            row = rows[state.at[HEAD]]
            raise InfeasiblePlacement(f"request {row} does not fit at {code} of the cell from server {self.first} on")

    def changed(self) -> Ints:
        """Return which servers changed since this was asked last, int64 [any]; all of them where it is not known."""
        log, first = self.state.log, self._told
        self._told, ring = int(log[0]), len(log) - 1
        if self._told - first > ring:
            return np.arange(len(self.state.free))
        found: Ints = log[1 + (np.arange(first, self._told) & (ring - 1))]
        return found


class CellSimulation(Simulation):
    """Simulates servers in cells, `Cells`, without failures and expansion; what fits nowhere in its cell is dropped.

    `chances` int64 [n, 2] are two different cells of each request, where the router chooses between two. `threads`
    cells go on at a time, which changes no result.
    """

    def __init__(
        self, workload: Workload, ledger: Ledger, cells: Cells, chances: Ints | None = None, *, threads: int = 1
    ) -> None:
        super().__init__(workload, ledger)
        self._decisions.close()
        self._servers, self._window, self._threads = ledger, cells.window, threads
        self.requests = requests(workload, self.rows.spreads, self.record.outcome == PENDING)
        rows, servers = len(self.requests.rows), len(ledger.view.free)
        bounds = [servers * number // cells.count for number in range(cells.count + 1)]
        arrays = ledger.arrays
        self.cells = [
            Cell(self.record, (arrays[0][first:after], arrays[1][first:after], arrays[2][first:after]), first, rows)
            for first, after in pairwise(bounds)
        ]
        self._candidates = _candidates(workload, cells, chances)
        self._installed = np.array([cell.installed for cell in self.cells], np.float64)
        self.made = 0
        """How many decisions were made, over all cells."""
        self._until = 0
        """How many there are until the end of the window."""
        self._loads: Floats = np.zeros(0)
        """What the router knows to be taken in each cell, float64 [cells, resources]; it adds what it sends."""
        self.thought = 0
        """The nanoseconds of `play` so far, this time."""

    def play(self, agent: Agent, watch: Callable[[], int]) -> int:
        rule = agent.compiled
        if rule is None:
            raise TypeError(f"{type(agent).__name__} is not compiled")
        asked, cells = self.requests, self.cells
        rows, self.thought = asked.rows, 0
        for cell in cells:
            cell.take(rule)
            cell.prepare(asked)
        with ThreadPoolExecutor(self._threads) as pool:
            left = watch()
            while left and self.made < len(rows):
                before, first = perf_counter_ns(), self.made
                if first == self._until:
                    time, self._until = self._window_of(first)
                    taken = pool.map(lambda cell: cell.settle(asked, time), cells)  # noqa: B023 (waited for here)
                    self._loads = np.array(list(taken), np.float64)
                after = min(self._until, first + left) if left > 0 else self._until
                chosen = route(self._loads, self._installed, asked.demand, self._candidates, rows[first:after])
                sent = [rows[first:after][chosen == number] for number in range(len(cells))]
                last = int(rows[after - 1])
                list(pool.map(lambda cell, mine: cell.answer(asked, mine, last), cells, sent))  # noqa: B023
                self._follow(after)
                if left > 0:
                    left -= after - first
                if not left:
                    self._note()
                self.thought += perf_counter_ns() - before
                left = left or watch()
        self._note()
        self._servers.confirm()
        return self.thought

    def _note(self) -> None:
        """Note in the ledger's log what changed in the cells: it is looked at next."""
        if self._servers.log is not None:
            for cell in self.cells:
                tell(self._servers.log, cell.first + cell.changed())

    def _window_of(self, first: int) -> tuple[float, int]:
        """Return when the window of a request begins, a place in `rows`, and the first place of a later one."""
        arrival, rows, window = self.workload.arrival, self.requests.rows, self._window
        if not window:
            return float(arrival[rows[first]]), first + 1
        number = floor(arrival[rows[first]] / window)
        return number * window, bisect_right(rows, number, lo=first, key=lambda row: floor(arrival[row] / window))

    def _follow(self, made: int) -> None:
        """Write that so many decisions were made to the places where the engine keeps it."""
        rows = self.requests.rows[self.made : made]
        self.made = made
        if not len(rows):
            return
        self.record.sequence.frombytes(rows.tobytes())
        self.clock.run_to(float(self.workload.arrival[rows[-1]]), False)
        self.view.now = self.clock.now
        self.offered = len(self.workload) if made == len(self.requests.rows) else int(rows[-1]) + 1


def two_choices(rows: int, cells: int, rng: np.random.Generator) -> Ints:
    """Draw two different cells for each request, int64 [rows, 2]; the same one twice where there is only one."""
    first = rng.integers(0, cells, rows)
    return np.stack([first, (first + rng.integers(1, max(2, cells), rows)) % cells], axis=1)


def _candidates(workload: Workload, cells: Cells, chances: Ints | None) -> Ints:
    """Return the cells that each request may be sent to, int64 [n, any]: none where it may be sent to all."""
    if cells.router == "two-choices":
        assert chances is not None
        return chances
    if cells.router == "least-loaded":
        return np.zeros((len(workload), 0), np.int64)
    cells.check(workload.labels)
    assert cells.by
    words = np.unique(workload.labels[cells.by], return_inverse=True)[1].astype(np.int64)
    return np.reshape(words % cells.count, (-1, 1))


def play_cells(simulation: CellSimulation, agent: Agent, watch: Callable[[], int] = lambda: -1) -> int:
    """Play a run as `binwright.simcore.play.play` does; returns the nanoseconds."""
    return simulation.play(agent, watch)
