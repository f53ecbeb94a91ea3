"""When servers are expected to be empty, by what was said of the requests that they hold."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from simcore.vocabulary import Floats, Request, View


class Exits:
    """Keeps when every server is expected to be empty: the last end of what runs there.

    An end that has passed while its request still runs is asked for again.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._runs: dict[int, tuple[Request, float, float, int]] = {}  # when it began, its end, its server
        self._due: list[tuple[float, int]] = []  # a heap of ends, and whose
        self._last: list[list[tuple[float, int]]] = []  # of each server a heap of ends, negative, and whose

    def look(self, view: View) -> Floats:
        """Return when each server is expected to be empty, float64 [servers]: -inf for one that is, at least now."""
        now, running = view.now, view.placed.running
        self._last += [[] for _ in range(len(view.free) - len(self._last))]
        for _, request, server, began in view.placed.since(self._seen):
            self._note(request, began, began + request.duration, server)
        self._seen = view.placed.total
        late = []
        while self._due and self._due[0][0] <= now:
            end, row = heappop(self._due)
            known = self._runs.get(row)
            if known and known[2] == end and row in running:
                late.append(known)
        for request, began, _, server in late:
            end = began + view.expected(request, now - began)
            self._note(request, began, max(end, float(np.nextafter(now, np.inf))), server)
        return np.array([self._last_of(server, view) for server in range(len(view.free))])

    def _note(self, request: Request, began: float, end: float, server: int) -> None:
        row = request.index
        self._runs[row] = request, began, end, server
        heappush(self._due, (end, row))
        heappush(self._last[server], (-end, row))

    def _last_of(self, server: int, view: View) -> float:
        ends = self._last[server]
        while ends:
            end, row = ends[0]
            known = self._runs.get(row)
            if known and row not in view.placed.running:
                del self._runs[row]
            elif known and known[2] == -end and known[3] == server:  # it may have been moved
                return -end
            heappop(ends)
        return -np.inf
