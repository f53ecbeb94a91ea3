"""Looks at the cluster now and then while a run goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric.ledger import Ledger
from fabric.servers import stranded
from simcore.engine import Simulation

SAMPLES = 512
"""About so many samples are taken of a workload that is answered to its end, evenly over the decisions."""


class Sampler:
    """Rows of (time, servers, in use, waiting, and quanta free, used and stranded per resource).

    Meant as the `watch` of `play`.
    """

    def __init__(self, simulation: Simulation, ledger: Ledger) -> None:
        self._simulation = simulation
        self._ledger = ledger
        flavours, _ = simulation.workload.flavours()
        flavours = flavours[ledger.possible(flavours)]
        self._flavours = flavours, ledger.spreads(flavours).astype(np.int64)
        self._rows: list[tuple[float, int, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
        self._stride = max(1, len(simulation.workload) // SAMPLES)

    def __call__(self) -> int:
        """Take a sample; returns after how many decisions to take the next."""
        simulation, view = self._simulation, self._simulation.view
        used = self._ledger.used()
        in_use = int((view.free != view.capacity).any(axis=(1, 2)).sum()) - self._ledger.down
        self._rows.append(
            (
                simulation.now,
                len(view.capacity),
                in_use,
                simulation.waiting,
                tuple(view.free.sum(axis=(0, 1)).tolist()),
                tuple(used.tolist()),
                tuple(stranded(view.free, *self._flavours).tolist()),
            )
        )
        return self._stride

    def columns(self) -> dict[str, Any]:
        """The samples as columns: `time` float64 [k], `servers`, `in_use`, `waiting` int64 [k]; `free`, `used` and
        `stranded` int64 [k, resources] quanta.
        """
        names = ("time", "servers", "in_use", "waiting", "free", "used", "stranded")
        return {name: np.array(column) for name, column in zip(names, zip(*self._rows, strict=True), strict=True)}
