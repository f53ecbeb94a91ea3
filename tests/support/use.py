"""Use that is drawn, and simulations on servers of which more may be sold than there is."""

from typing import Any

import numpy as np

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload


class Table:
    """Use drawn for every request and step; refuses to tell of steps that are not over, if it is asked to."""

    run: Simulation | None = None

    def __init__(self, step: float, shares: Floats) -> None:
        self.step, self.shares = step, shares

    def at(self, requests: Ints, step: int) -> Floats:
        assert self.run is None or (step + 1) * self.step <= self.run.now, "it peeks"
        found: Floats = self.shares[requests, step % self.shares.shape[1]]
        return found

    def during(self, request: int, first: int, last: int) -> Floats:
        found: Floats = self.shares[request, np.arange(first, last) % self.shares.shape[1]]
        return found

    def take(self, rows: Ints) -> "Table":
        return Table(self.step, self.shares[rows])


def simulation(workload: Workload, capacity: Any, over: int = 1, **more: Any) -> Simulation:
    there = np.array(capacity, np.int64)
    sold = there * over
    cluster = Cluster(workload.resources, sold, (4 * QUANTUM,) * sold.shape[2], sold[0], physical=there)
    return Simulation(workload, Ledger(cluster), **more)
