"""Use that is drawn."""

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import Floats, Ints


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
