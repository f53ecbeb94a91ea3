"""Holds the arrays of a run that kernels work on, and hands them over when others have changed them."""

from collections.abc import Iterator, MutableMapping
from math import inf, nan
from typing import Any

import numpy as np

from binwright.fabric.book import Holding
from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.compiled.numa_loop import NumaRequests, NumaState, advance, begin, bundled, place
from binwright.fabric.compiled.tables import URGENT, Tables, no_tables
from binwright.fabric.ledger import Ledger
from binwright.fabric.ranking import log_of
from binwright.simcore.clock import Clock
from binwright.simcore.errors import WorkloadError
from binwright.simcore.jit import prepared
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.record import PENDING, SPREAD, Record
from binwright.simcore.request_rows import RequestRows
from binwright.simcore.rules import Overflow, Pacing
from binwright.simcore.types import Ints, Placements, Request, View, part
from binwright.simcore.workload import Workload


class RunArrays:
    """Holds what a run has come to: its clock, record and requests, and the arrays of these that kernels work on."""

    def __init__(
        self, workload: Workload, ledger: Ledger, overflow: Overflow | None, pacing: Pacing | None, compiled: bool
    ) -> None:
        if workload.networks is not None and not ledger.tiers:
            remedy = "Take a cluster with a network."
            raise WorkloadError("virtual networks need a network, and the cluster has none", remedy=remedy)
        self.workload = workload = workload.in_parts
        self.ledger = ledger
        self.inside = compiled or (type(ledger) is Ledger and ledger.plain)
        """Are the kernel's arrays those of the ledger? If not, the ledger releases what requests hold."""
        self.holds = np.zeros(0, np.int8)
        """What each row holds: `EVICTED`, `HOLDS` or `ELSEWHERE`, int8 [rows]."""
        self.tables = no_tables()
        """How many parts gangs have, quotas, and limits of several queues, where there are some."""
        self.urgency = np.zeros(0, np.int64)
        """How urgent every row's queue is, int64 [rows]; empty where there are not several."""
        self._run: Any = None
        self._bind: Any = None
        self._advance: Any = None
        self._pacing = pacing
        self._holdings = Holdings(self)
        if self.inside:
            ledger.held = self._holdings
        self.view: View = ledger.view
        self.view.origin = workload.origin
        self.view.virtual = workload.networks[0].form if workload.networks else None
        self.overflow = overflow or Overflow()
        self.clock = Clock()
        self.record = Record(len(workload), ledger.reasons)
        self.offer: list[Request] = []
        """Those that are offered together and have no answer yet; empty where requests are offered one by one."""
        self.times: list[tuple[int, int]] | None = None
        """Of every decision its row and the agent's nanoseconds, where `play` is to note them: an empty list then."""
        self.counted = 0
        """How many answers there were, as `play` counts them."""
        self.recurring = 0
        """How many things on the clock happen at every step, for ever."""
        self.moving: Any = None
        """What moves requests that run, where something does."""
        self.preempting: Any = None
        """What evicts requests that run, where something does."""
        self.quotas: Any = None
        """What keeps requests within quotas, where something does."""
        self.queues: Any = None
        """What keeps requests in several queues, where something does."""
        self.routing: Any = None
        """What sends requests to sites, where there are several."""
        self.features: dict[str, Any] = {}
        """What other features keep of the run, by their keys."""
        self.speeds: Any = None
        """What has requests end sooner on faster servers, where there are some."""
        self.rows = rows = RequestRows(workload, ledger, self.record, pacing is not None)
        self.view.asking = rows.oracle
        self._lists = rows.kind is Request  # what is placed, where agents are told how long requests stay
        self.view.placed = Placements(ledger.running, self._list_placed)
        self._listed = 0

    @property
    def env(self) -> Clock:
        """SimPy's environment, in which processes of one's own go on: the clock."""
        return self.clock

    @property
    def now(self) -> float:
        """Seconds since the first request of the workload arrived."""
        return self.clock.now

    def request(self, row: int) -> Request:
        """Return the request of a row."""
        return self.rows.request(row)

    def _list_placed(self) -> None:
        """List in the view what was placed since this was called last, where agents know lifetimes."""
        rows, record = self.rows, self.record
        listed, self._listed = self._listed, int(record.answers[0])
        for row in record.order[listed : self._listed].tolist() if self._lists else ():
            if record.server[row] >= 0:
                request = rows.request(row)
                if self.speeds:
                    request = self.speeds.as_seen(request)
                place = int(record.server[row]), int(record.node[row])
                self.view.placed.add(request, *place, float(record.decided[row]))

    def freed(self, row: int) -> None:
        """Give back what a row counts against: its quota, and the limits of its queue."""
        if self.quotas:
            self.quotas.freed(row)
        if self.queues:
            self.queues.freed(row)

    def refuse(self, request: Request, reason: str) -> None:
        """Note that a request gets no place."""
        self.freed(request.index)
        self.record.rejected(request.index, self.now, reason, request.parts)

    @property
    def overflow(self) -> Overflow:
        """What happens when no placement is found; it may change on the way."""
        return self._rules

    @overflow.setter
    def overflow(self, rules: Overflow) -> None:
        self._rules, self._run = rules, None

    def parts_of(self, row: int) -> int:
        """Return how many parts the gang of a row has; 1 for a request."""
        parts = self.tables.parts
        return int(parts[row]) if len(parts) else 1

    @property
    def taken(self) -> Ints:
        """What each row takes with all its parts, int64 [rows, resources]."""
        parts, demand = self.tables.parts, self.requests.demand
        taken: Ints = demand * parts[:, None] if len(parts) else demand
        return taken

    @property
    def stopped(self) -> bool:
        """Whether a request that fits nowhere ended the run."""
        return bool(self.at[loop.STOPPED])

    @property
    def blocked(self) -> bool:
        """Whether the head of the line was refused, and waits until something changes."""
        return bool(self.at[loop.BLOCKED])

    @blocked.setter
    def blocked(self, value: bool) -> None:
        self.at[loop.BLOCKED] = value

    @property
    def waiting(self) -> int:
        """How many requests wait in the line."""
        return self.at[loop.LAST] - self.at[loop.FIRST]

    @property
    def waiting_rows(self) -> Any:
        """The rows of those who wait, in order: int32 [waiting], not a copy."""
        return self.state.line[self.at[loop.FIRST] : self.at[loop.LAST]]

    @property
    def head(self) -> int:
        """The row of the first in the line, -1 where nobody waits."""
        return int(self.state.line[self.at[loop.FIRST]]) if self.waiting else -1

    @property
    def next_arrival(self) -> float:
        """When the next request of the workload arrives, infinite if none does."""
        tail = self.at[loop.TAIL]
        return float(self.requests.arrival[self.requests.rows[tail]]) if tail < len(self.requests.rows) else inf

    def _make_arrays(self) -> None:
        """Make what the kernels work on."""
        workload, record, pacing = self.workload, self.record, self._pacing
        possible, leads = record.outcome == PENDING, self.rows.leads
        if workload.gangs is not None:
            self.tables = self.tables._replace(parts=workload.gangs.parts)
        self.requests = requests(workload, self.rows.spreads, possible if leads is None else possible & leads)
        if pacing:  # who is next comes when the one before has its answer
            arrival = np.full(len(workload), -inf)
            arrival[: workload.running] = workload.arrival[: workload.running]
            self.requests = self.requests._replace(arrival=arrival)
        self.roles = np.zeros(0, np.int64) if self.rows.roles is None else self.rows.roles
        """The roles of all rows, for rules of placement, int64 [rows]."""
        self._unordered = np.zeros(0, np.int64)
        self.priority = self._unordered
        """The priority of every row, int64 [rows]; empty where all are equal."""
        if workload.priority is not None:
            self.priority = np.require(workload.priority, np.int64, ["C", "W"])
        self._least = int(self.priority.min(initial=0))
        self.interested = self.priority > self._least
        """Which rows others may give way to, bool [rows]; empty where all are equal."""
        rows, kinds = len(self.requests.rows), workload.demand.shape[1]
        nowhere = np.zeros((1, 1, kinds), np.int64)
        servers = self.ledger.arrays if self.inside else (nowhere, nowhere)
        log = log_of(len(self.view.free) if self.inside else 1, self.ledger.log if self.inside else None)
        self.state = state_of(servers, rows, record, log)
        self.holds, self._at = self.state.holds, self.state.at
        self.at = self._at.data  # reads a number several times faster than the array does
        self.rules = self.ledger.rules.ruling(self.roles) if self.inside and self.ledger.rules else None
        record.grown = self.unbind

    def unbind(self) -> None:
        """Have the kernels take the arrays anew before they go on."""
        self._run = None

    def bundle(self) -> Any:
        """Return what the kernels `advance` and `begin` take."""
        if self._run is None:
            self.lay_out()
            self._time, self._waiting = self.state.clock.data, self.state.line.data
            self.at[loop.GUARDED] = self._pacing is not None
            self.at[loop.ONE_BY_ONE] = self._rules.one_by_one
            arrays = (self.requests._replace(priority=self.order()), self.state, self.rules, self.tables)
            if self._bind is None:
                self._bind = prepared(bundled, *arrays)
                self._begin = prepared(begin, self._bind(*arrays), 0, 0, 0, 0, 0.0)
            self._run = self._bind(*arrays)
            if not (self._advance or self._rules.together):
                self._advance, self._place = prepared(advance, self._run, 0.0), prepared(place, self._run, 0, 0, 0)
        return self._run

    def order(self) -> Any:
        """Return the urgencies by which the line goes, int64 [rows]; empty where it does not."""
        own = self.priority if self.overflow.preempt else self._unordered
        return own if not len(self.urgency) else (self.urgency << URGENT) + own if len(own) else self.urgency

    def lay_out(self) -> None:
        """Take the arrays that the ledger and the record have after something else has changed them."""
        record, state, changes = self.record, self.state, dict[str, Any]()
        if record.outcome is not state.outcome:
            names = ("outcome", "decided", "server", "node", "reason")
            changes = {name: getattr(record, name) for name in names} | {"sequence": record.order}
        if self.inside and self.ledger.arrays[1] is not state.left:
            capacity, free = self.ledger.arrays
            log = log_of(len(free), state.log if self.ledger.log is None else self.ledger.log)
            changes |= {"capacity": capacity, "free": free, "left": free, "log": log}
        if changes:
            self.state, self._run = state._replace(**changes), None
        if self.inside and self.ledger.log is None:
            self.state.log[0] += len(self.state.log)  # any server may have changed
        if self.inside and self.ledger.rules:
            self.rules = self.ledger.rules.ruling(self.roles)

    def make_room_for(self, rows: Ints) -> None:
        """Have the rows of all parts of requests that are sent back now in the arrays that the loop reads."""
        self._widen()
        columns, (parts, quotas, limits) = self.requests, self.tables
        copied: list[Any] = [columns.demand, columns.spread, parts, self.urgency, self.roles, self.priority]
        copied += [self.interested, quotas.counter, quotas.amount, limits.counter, limits.amount]
        columns.arrival[rows] = self.now
        columns.duration[rows] = [*map(self.rows.holding_time, rows.tolist())]
        sources = self.record.sources(rows)
        for column in copied:
            if len(column):
                column[rows] = column[sources]

    def _widen(self) -> None:
        """Make the loop's arrays longer where the record has more rows, since some were sent back."""
        if self.record.rows <= len(self.requests.arrival):
            return
        more = len(self.record.outcome) - len(self.requests.arrival)

        def longer(table: Any, *names: str) -> Any:
            return table._replace(**{name: lengthened(getattr(table, name), more) for name in names})

        parts, quotas, limits = self.tables
        tables = (
            longer(table, "counter", "amount", "never", "counts", "since", "until", "by") for table in (quotas, limits)
        )
        self.tables = Tables(lengthened(parts, more), *tables)
        for table in self.tables[1:]:
            table.since[-more:] = table.until[-more:] = nan
        self.requests = longer(self.requests, "arrival", "duration", "demand", "spread")
        self.state = longer(self.state, "line", "holds", "due", "holder")
        for name in ("priority", "interested", "roles", "urgency"):
            setattr(self, name, lengthened(getattr(self, name), more))
        self.holds, self._run = self.state.holds, None


def lengthened(array: Any, more: int) -> Any:
    """Return an array with so many rows more, of the type that the loop knows; without any where it has none."""
    if not len(array):
        return array
    longer = zeros((len(array) + more, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def requests(workload: Workload, spread: Any, possible: Any) -> NumaRequests:
    """Turn a workload into what the loop reads; `spread` and `possible` are bool [n]."""
    rows = zeros(int(np.count_nonzero(possible)), np.int32)
    filled = 0
    for some in blocks(len(possible)):
        rows_of_block = np.flatnonzero(possible[some])
        rows[filled : filled + len(rows_of_block)] = rows_of_block + some.start
        filled += len(rows_of_block)
    return NumaRequests(
        rows,
        np.require(workload.arrival, np.float64, ["C", "W"]),
        np.require(workload.duration, np.float64, ["C", "W"]),
        np.require(workload.demand, np.int64, ["C", "W"]),
        np.require(spread, np.bool_, ["C", "W"]),
        np.zeros(0, np.int64),
        (0,) * workload.demand.shape[1],
    )


def state_of(servers: tuple[Ints, Ints], rows: int, record: Record, log: Ints) -> NumaState:
    """Make the state of a run in which so many rows may arrive, and nothing has happened yet.

    `servers` are their capacity, and what is free.
    """
    return NumaState(
        *servers,
        servers[1],
        zeros(rows, np.int32),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(loop.COUNTERS, np.int64),
        np.zeros(1),
        record.order,
        record.outcome,
        record.decided,
        record.server,
        record.node,
        record.reason,
        zeros(len(record.outcome), np.int8),
        log,
        record.answers,
    )


class Holdings(MutableMapping[int, Holding]):
    """Maps the row of every request that holds something to what that is, as `Ledger` keeps it.

    What lies where the record says is read from there. Anything else, such as both places of a request on its way, is
    kept beside it, and the loop then leaves the release to the ledger.
    """

    def __init__(self, run: RunArrays) -> None:
        self._run = run
        self._elsewhere: dict[int, Holding] = {}

    def __getitem__(self, row: int) -> Holding:
        run = self._run
        if row not in self:
            raise KeyError(row)
        if run.holds[row] == loop.ELSEWHERE:
            return self._elsewhere[row]
        server, node = int(run.record.server[row]), int(run.record.node[row])
        demand, role = tuple(run.requests.demand[row].tolist()), int(run.roles[row]) if len(run.roles) else 0
        if node != SPREAD:
            return Holding(role, (server,), ((server, node, demand),))
        nodes = run.view.capacity.shape[1]
        return Holding(role, (server,), tuple((server, each, part(demand, each, nodes)) for each in range(nodes)))

    def __setitem__(self, row: int, holding: Holding) -> None:
        self._elsewhere[row], self._run.holds[row] = holding, loop.ELSEWHERE

    def __delitem__(self, row: int) -> None:
        if row not in self:
            raise KeyError(row)
        self._elsewhere.pop(row, None)
        self._run.holds[row] = loop.EVICTED

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int | np.integer) or not 0 <= row < len(self._run.holds):
            return False
        return bool(self._run.holds[row] != loop.EVICTED)

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._run.holds != loop.EVICTED).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._run.holds))

    def settle(self, row: int) -> None:
        """Note that a request lies where the record says, as it has arrived there."""
        if row in self._elsewhere:
            del self._elsewhere[row]
            self._run.holds[row] = loop.HOLDS

    def on(self, server: int) -> list[int]:
        """List the rows of the requests that hold something on a server."""
        rows = np.flatnonzero(self._run.holds != loop.EVICTED)
        on_server = rows[self._run.record.server[rows] == server].tolist()
        moving = [row for row, held in self._elsewhere.items() if server in held.servers]
        return [row for row in on_server if row not in self._elsewhere] + moving
