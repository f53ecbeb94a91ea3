"""Defines what is known of the use of requests: which share of what they ask for they use, over time."""

from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

Shares = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class Use(Protocol):
    """Says what share of what it asks for a request uses, on a grid of time.

    Step k is the time from `k * step` to before `(k + 1) * step`, in seconds of the run's clock. It answers the same to
    the same question, in whatever order it is asked. Rows are those of the workload, see `Simulation.source` for
    requests that were sent back.
    """

    @property
    def step(self) -> float: ...

    def at(self, requests: Rows, step: int) -> Shares:
        """Return the shares in one step, float64 [requests, resources], from 0; 1 is all that was asked for."""
        ...

    def during(self, request: int, first: int, last: int) -> Shares:
        """Return the shares of one request in the steps from `first` to before `last`, float64 [steps, resources]."""
        ...

    def take(self, rows: Rows) -> Self:
        """Return the use of the requests of these rows, in this order."""
        ...
