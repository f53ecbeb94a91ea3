"""Shows agents what the requests that run have used so far."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np

from binwright.simcore.errors import AgentError
from binwright.simcore.run_state import RunState
from binwright.simcore.types import Floats, Ints
from binwright.simcore.use import Use


class Loads(NamedTuple):
    """Holds who used how much where, in a step.

    `rows`, `server` and `node` int64 [n] are the requests, and where they are, node -1 for all of them; `own` float64
    [n, nodes, resources] quanta of each, and `total` float64 [servers, nodes, resources] their sums.
    """

    rows: Ints
    server: Ints
    node: Ints
    own: Floats
    total: Floats


class UseMeter:
    """Meters the requests of a run: where they are, and what share of what they ask for they use, step by step."""

    def __init__(self, run: RunState, use: Use) -> None:
        self._run, self._use, self.step = run, use, use.step

    @property
    def over(self) -> int:
        """How many steps are over: the next one may not be asked for."""
        return floor(self._run.view.now / self.step * (1 + 1e-12))

    @property
    def installed(self) -> Ints:
        """What servers have, overcommitted or not, int64 [servers, nodes, resources]."""
        installed: Ints = self._run.ledger.installed
        return installed

    def running(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return the rows that run, ascending, their servers, nodes (-1 for all), demands and first steps.

        Demands are int64 [n, resources], all else int64 [n].
        """
        record, rows = self._run.record, np.array(sorted(self._run.ledger.running), np.int64)
        server, node = (array[rows].astype(np.int64) for array in (record.server, record.node))
        began = np.floor(record.decided[rows] / self.step).astype(np.int64)
        return rows, server, node, self._run.workload.demand[self._sources(rows)], began

    def loads(self, step: int) -> Loads:
        """Return what was used in a step that is over by those that run since before its end."""
        rows, server, node, demand, began = self.running()
        rows, server, node, demand = (each[began <= step] for each in (rows, server, node, demand))
        total, nodes = np.zeros(self.installed.shape), self._run.view.free.shape[1]
        amounts = np.minimum(self.used(rows, step, step + 1)[:, 0], 1.0) * demand
        part = np.where(node < 0, 1 / nodes, 1.0)[:, None] * ((node[:, None] < 0) | (node[:, None] == np.arange(nodes)))
        own = part[:, :, None] * amounts[:, None]
        np.add.at(total, server, own)
        return Loads(rows, server, node, own, total)

    def used(self, rows: Ints, first: int, last: int) -> Floats:
        """Return shares in the steps from `first` to before `last`, which are over, float64 [n, steps, resources]."""
        if last > self.over:
            raise AgentError(f"what is used in step {last - 1} is not known before it is over")
        sources = self._sources(rows)
        return np.stack([self._use.at(sources, step) for step in range(first, last)], axis=1)

    def _sources(self, rows: Ints) -> Ints:
        return np.array([self._run.rows.source(row) for row in rows.tolist()], np.int64)
