"""Plays the runs in which requests that wait are offered together in machine code: the batch queue."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from binwright.fabric.compiled.numa_loop import BROKEN, as_argument
from binwright.fabric.compiled.queue_line import ASKED, BACKFILLING, COUNTED, COUNTERS, SEEN, Queue
from binwright.fabric.compiled.queue_loop import go_line
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.jit import prepared
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled, InOrder, Workload


class CompiledQueue(Simulation):
    """Simulates servers whose requests wait and are offered together. `fabric.run.play.play_compiled` drives it."""

    def __init__(self, workload: Workload, ledger: Ledger, overflow: Overflow) -> None:
        super().__init__(workload, ledger, overflow, compiled=True)
        self._queue: Queue | None = None
        self._call: Any = None
        self.counted = 0

    def prepare(self, rule: Compiled) -> None:
        """Compile the loop and a rule, or load them, and put the requests in order."""
        how = rule.in_order or InOrder("any")
        self._queue = self._queue or self._lined_up(how)
        decide = as_argument(rule.scan, self.state.free.shape[2], rule.weights)
        form = (
            *(decide, rule.weights, self.requests, self.state, self._queue, self.parts),
            *(BACKFILLING.index(how.backfilling), self.overflow.together, float(self.overflow.window)),
        )
        self._call = prepared(go_line, *form, 0), form

    def _lined_up(self, how: InOrder) -> Queue:
        """Make the line of a run."""
        possible = self.requests.rows.astype(np.int64)
        n, rows = len(self.workload), len(possible)
        expected = np.require(self.workload.expected, np.float64, ["C", "W"])
        rank, divisor, factor, view, score = np.zeros(0, np.int32), np.zeros(0), np.zeros(0), self.view, how.score
        if how.by_wait is not None:
            constants = np.array([how.by_wait(one) for one in self.rows.requests(possible)])
            if rows:
                divisor = np.zeros(n)
                divisor[possible] = constants[:, 0]
            if rows and constants.shape[1] > 1:
                factor = np.zeros(n)
                factor[possible] = constants[:, 1]
        elif score is not None:
            keys = np.full(n, inf)
            keys[possible] = [score(view, one) for one in self.rows.requests(possible)]
            rank = np.zeros(n, np.int32)
            rank[np.argsort(keys, kind="stable")] = np.arange(n)
        at = np.zeros(COUNTERS, np.int64)
        at[SEEN] = -1
        scratch = rows if len(rank) or len(divisor) else 0
        return Queue(
            expected,
            rank,
            divisor,
            factor,
            offered=np.zeros(scratch, np.int32),
            keys=np.zeros(scratch),
            until=np.zeros(rows),
            runs=np.zeros(rows, np.int64),
            promise=np.zeros(n),
            place=np.full(n, -1),
            due=np.full(1, inf),
            at=at,
        )

    def go(self, rule: Compiled, answers: int = -1, ahead: bool = False) -> int:
        """Offer the line until there were so many answers, or to the end of the run when negative; returns how many.

        Raises `InfeasiblePlacement` as `answer` does.
        """
        if self._call is None:
            self.prepare(rule)
        loop, form = self._call
        made, status, code = loop(*form, answers)
        self.follow()
        self.counted = int(form[4].at[COUNTED])
        if status == BROKEN:
            self._complain(int(form[4].at[ASKED]), code)
        return int(made)
