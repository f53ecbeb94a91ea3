"""Holds the state of a run that its parts share."""

from typing import Any

from binwright.simcore.clock import Clock
from binwright.simcore.errors import WorkloadError
from binwright.simcore.record import Record
from binwright.simcore.request_rows import RequestRows
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Placements, Request, View
from binwright.simcore.workload import Workload


class RunState:
    """Holds what a run has come to: its clock, record and requests, and what moves, evicts or bounds these."""

    def __init__(self, workload: Workload, ledger: Any, overflow: Overflow | None, *, paced: bool) -> None:
        if workload.networks is not None and not ledger.tiers:
            remedy = "Take a cluster with a network."
            raise WorkloadError("virtual networks need a network, and the cluster has none", remedy=remedy)
        self.workload = workload = workload.in_parts
        self.ledger = ledger
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
        self.rows = rows = RequestRows(workload, ledger, self.record, paced)
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
