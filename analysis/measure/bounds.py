"""What no agent can exceed."""

from __future__ import annotations

import numpy as np

from simcore.engine import Simulation
from simcore.record import IMPOSSIBLE, PLACED
from simcore.vocabulary import Floats, Ints


def scheduled_bound(simulation: Simulation, first: int) -> int:
    """Count the requests from row `first` on that can be placed at most, before one that fits nowhere ends the run.

    For servers that neither fail nor grow, and requests offered as they arrive: until then all are placed at once, so
    those still held at every arrival must fit into the cluster as a whole, resource by resource. `simulation` is one
    of the runs that begin with the same warm start; whoever decided after it makes no difference.
    """
    workload, total = simulation.workload, simulation.view.capacity.sum(axis=(0, 1))
    outcome = simulation.record.outcome[: len(workload)]
    there = np.where(np.arange(len(workload)) < first, outcome == PLACED, outcome != IMPOSSIBLE)
    rows = np.flatnonzero(there)
    begin = workload.arrival[rows]
    over = (held(begin, begin + workload.duration[rows], workload.demand[rows]) > total).any(axis=1) & (rows >= first)
    return int(over.argmax() if over.any() else len(rows)) - int((rows < first).sum())


def held(begin: Floats, end: Floats, demand: Ints) -> Ints:
    """Add up what is held right after each beginning, int64 [n, resources].

    `begin` float64 [n] ascends; what ends at a beginning ends before it.

    What ends where it begins is held at no time.
    """
    demand = np.where((end > begin)[:, None], demand, 0)
    order = np.argsort(end, kind="stable")
    gone = np.concatenate([np.zeros((1, demand.shape[1]), np.int64), demand[order].cumsum(axis=0)])
    left: Ints = demand.cumsum(axis=0) - gone[np.searchsorted(end[order], begin, side="right")]
    return left
