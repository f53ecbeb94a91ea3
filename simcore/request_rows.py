"""Makes the requests of a run from the rows of its record: those of the workload, then those that were sent back."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from math import nan
from typing import Any

import numpy as np

from binwright.simcore.lifetime_info import LifetimeOracle
from binwright.simcore.record import Record
from binwright.simcore.types import HiddenLifetimeRequest, Ints, Request
from binwright.simcore.workload import Workload

CHUNK, FEWEST = 2048, 4
"""Rows of the workload turned into Python numbers at a time, at most and where others lie between them."""


class RequestRows:
    """Makes the requests of a run, and knows how long each stays. With `paced`, arrivals may be set later."""

    def __init__(self, workload: Workload, ledger: Any, record: Record, paced: bool) -> None:
        self._workload, self._record = workload, record
        self.arrival = workload.arrival.copy() if paced else workload.arrival
        """When the requests of the workload arrive, float64 [n]."""
        self.longer: dict[int, float] = {}
        """How long rows stay that are on faster servers."""
        self.speeds: Any = None
        foresight = workload.foresight
        self.oracle = None if foresight is None else LifetimeOracle(foresight)
        """What agents may ask about lifetimes, unless they are told."""
        self.kind: type[Request] = HiddenLifetimeRequest if foresight and foresight.hidden else Request
        self.spreads = ledger.spreads(workload.demand)
        """Which requests of the workload take a part of every node, bool [n]."""
        self.models = ledger.expect(workload)
        self.roles = ledger.roles_of(workload)
        self._bandwidth = (
            np.broadcast_to(np.int64(0), len(workload)) if workload.bandwidth is None else workload.bandwidth
        )
        self.leads = None if workload.gangs is None else workload.gangs.leads
        """Which rows of the workload are the first of a gang, or requests of one part, bool [n]; None without gangs."""
        self._durations = np.ascontiguousarray(workload.duration).data  # reads a number faster than the array does
        self._known: dict[int, Request] = {}
        self._made, self._size = 0, FEWEST
        self._paced = paced
        self._returned: list[Request] = []
        self._rests: list[float] = []  # of those that were sent back, how long they still stay

    def as_workload(self) -> Workload:
        """List the rows of the record: the workload, and after it every request that was sent back."""
        rows, back = replace(self._workload, arrival=self.arrival), self._returned
        if back:
            of = np.array([*range(len(rows)), *(self.source(request.index) for request in back)])
            if gangs := rows.gangs:
                assert gangs.first is not None
                first = [*gangs.first.tolist(), *(each.gang.first if each.gang else each.index for each in back)]
                gangs = replace(gangs.take(of), first=np.array(first))
            rows = replace(
                replace(rows, age=None, foresight=None, watched=None, requested=None).take(of),
                arrival=np.append(rows.arrival, [request.arrival for request in back]),
                duration=np.append(rows.duration, self._rests),
                bandwidth=self._bandwidth[of],
                gangs=gangs,
                usual=None,
                origin=0.0,
            )
        if self.longer:
            duration = rows.duration.copy()
            duration[[*self.longer]] = [*self.longer.values()]
            rows = replace(rows, duration=duration)
        return rows

    def source(self, row: int) -> int:
        """Find the row of the workload that a row continues, if it is that of a request that was sent back."""
        while row >= len(self._workload):
            row = int(self._record.origin[row])
        return row

    def holding_time(self, row: int) -> float:
        """Return how long the request of a row stays, whatever agents are told."""
        return self.longer.get(row, self._full_time(row))

    def _full_time(self, row: int) -> float:
        """Return how long the request of a row stays, with all parts of its gang."""
        rows = len(self._workload)
        stays: float = self._durations[row] if row < rows else self._rests[row - rows]
        return stays

    def request(self, row: int) -> Request:
        """Return the request of a row, also of one that no server could hold.

        Those of the workload are kept, and made many at a time where they are taken in order.
        """
        if (request := self._known.get(row)) is None:
            rows, known = len(self._workload), self._known
            if row >= rows:
                return self._returned[row - rows]
            if self._paced:  # the arrival may be set later
                return next(self.requests(np.array([row])))
            come = np.array([row])
            if row >= self._made:
                self._size = min(2 * self._size, CHUNK) if row < self._made + FEWEST else FEWEST
                come = np.arange(row, min(rows, row + self._size))
                self._known = known = {} if len(known) > 2 * CHUNK else known
                self._made = row + len(come)
            known.update(zip(come.tolist(), self.requests(come), strict=True))
            request = known[row]
        return request

    def requests(self, rows: Ints) -> Iterator[Request]:
        """Return the requests of these rows of the workload, int64 [n], one after another."""
        workload, networks, gangs = self._workload, self._workload.networks, self._workload.gangs
        columns = zip(
            rows.tolist(),
            self.arrival[rows].tolist(),
            workload.expected[rows].tolist(),
            map(tuple, workload.demand[rows].tolist()),
            self.spreads[rows].tolist(),
            self._bandwidth[rows].tolist(),
            repeat(None) if networks is None else map(networks.__getitem__, rows.tolist()),
            repeat(0) if self.models is None else self.models[rows].tolist(),
            repeat(0) if self.roles is None else self.roles[rows].tolist(),
            repeat(0) if workload.priority is None else workload.priority[rows].tolist(),
            repeat(None) if gangs is None else map(gangs.at, rows.tolist()),
            strict=False,
        )
        # As Request(*row), in half the time.
        return map(tuple.__new__, repeat(self.kind), columns)

    def send_back(self, rows: Sequence[int], now: float, saved: Callable[[float], float]) -> list[Request]:
        """Make and keep new requests for the rest of interrupted ones, which lie in `rows` with all parts of gangs.

        `saved` says how much of the time that one has run is not lost.
        """
        new = [row for row in rows if row < len(self._workload) and row not in self._known]
        if new and not self._paced:
            self._known.update(zip(new, self.requests(np.array(new)), strict=True))
        returned, began = list[Request](), self._record.decided[rows].tolist()
        for row, time, again in zip(rows, began, self._record.add(rows), strict=True):
            ran = saved(now - time)
            ran = self.speeds.done(row, ran) if self.speeds else ran
            rest = expected = self._full_time(row) - ran
            self._rests.append(rest)
            if self.oracle:
                source, parts = self.oracle.back.get(row, (row, ()))
                self.oracle.back[again] = source, (*parts, ran)
                expected = nan if self.kind is HiddenLifetimeRequest else self.oracle(again, 0.0)
            request = self.kind(again, now, expected, *self.request(row)[3:])
            if gang := request.gang:
                request = request._replace(gang=gang._replace(first=again - row + gang.first))
            returned.append(request)
        self._returned += returned
        return returned

    def gang_of_returned(self, row: int) -> int:
        """Return the first row of the gang of a request that was sent back, or its own row."""
        gang = self._returned[row - len(self._workload)].gang
        return gang.first if gang else row
