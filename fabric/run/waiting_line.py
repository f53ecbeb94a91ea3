"""Keeps the requests that wait in order: by queue, behind the more urgent, and apart while above their quotas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.simcore.types import Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class WaitingLine(Sequence[Request]):
    """Shows who waits, whose rows are in the arrays of a run, as requests, in order."""

    def __init__(self, run: Simulation) -> None:
        self._run = run

    def __len__(self) -> int:
        return self._run.waiting

    def __iter__(self) -> Iterator[Request]:
        return map(self._run.rows.next_request, self._run.waiting_rows.tolist())

    def __getitem__(self, place: Any) -> Any:
        rows = self._run.waiting_rows[place]
        if isinstance(place, slice):
            return [self._run.rows.next_request(row) for row in rows.tolist()]
        return self._run.rows.next_request(int(rows))

    def _insert(self, place: int, request: Request) -> None:
        """Put a request at a place of the line."""
        run, at = self._run, self._run.at
        if at[loop.LAST] == len(run.state.line):
            rows = run.waiting_rows.copy()
            at[loop.FIRST], at[loop.LAST] = 0, len(rows)
            run.waiting_rows[:] = rows
        at[loop.LAST] += 1
        rows = run.waiting_rows
        rows[place + 1 :] = rows[place:-1].copy()
        rows[place] = request.index

    def remove(self, request: Request) -> None:
        """Take a request out of the line."""
        rows = self._run.waiting_rows
        place = rows.tolist().index(request.index)
        rows[place:-1] = rows[place + 1 :].copy()
        self._run.at[loop.LAST] -= 1

    def popleft(self) -> Request:
        """Take out the first."""
        request: Request = self[0]
        self._run.at[loop.FIRST] += 1
        return request

    @property
    def held(self) -> Sequence[Request]:
        """Those who wait apart from the line, above their quotas."""
        return self._run.quotas.held if self._run.quotas else ()

    @property
    def startable(self) -> Sequence[Request]:
        """Those of the line that no limit of their queue keeps waiting."""
        return self._run.queues.within_limits(self) if self._run.queues else self

    @property
    def eager(self) -> bool:
        """Whether somebody waits for whatever ends."""
        return self._run.blocked or bool(self.held)

    def readmit(self) -> bool:
        """Put those into the line whose quotas have room again; tells whether there are any."""
        quotas = self._run.quotas
        admitted = quotas.readmitted() if quotas and quotas.held else ()
        for request in admitted:
            self._enter(request)
        return bool(admitted)

    def arrive(self, request: Request) -> float:
        """Put a request into the line, unless it is above its quota, or its queue takes none like it.

        Returns its place in the line, 0 where there are several queues; infinite if it has none.
        """
        quotas, queues, place = self._run.quotas, self._run.queues, inf
        if queues and (reason := queues.refusal(request)):
            self._run.refuse(request, reason)
        elif quotas is None or quotas.admits(request):
            place = self._enter(request) * (queues is None)
        self.readmit()
        return place

    def _place(self, request: Request, before: bool) -> int:
        """Return the place of a request in line, before or behind those that are as urgent."""
        run, rows = self._run, self._run.waiting_rows
        order = run.order()
        if not len(order):
            return 0 if before else len(rows)
        return int(np.searchsorted(-order[rows], -order[request.index], "left" if before else "right"))

    def _enter(self, request: Request) -> int:
        """Put a request into the line, behind those that are as urgent; returns its place."""
        place = self._place(request, False)
        if self._run.overflow.preempt:
            self._run.blocked = self._run.blocked and place > 0
        self._insert(place, request)
        return place

    def take_back(self, requests: Sequence[Request]) -> None:
        """Put requests that were interrupted before the others that are as urgent, if their quotas have room."""
        quotas = self._run.quotas
        for request in requests:
            self._run.make_room_for(request)
        if quotas:
            requests = [request for request in requests if quotas.admits(request, again=True)]
        for request in reversed(requests):
            self._insert(self._place(request, True), request)
