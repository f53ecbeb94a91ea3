"""Looks at the cluster now and then while a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import Ints

KEPT = 128
"""At most so many samples are kept of a run, and half as many at least."""


class Sampler:
    """Keeps a row for every look at the cluster.

    It has time, decisions, changes and servers so far, servers in use, requests waiting, and quanta free, used,
    stranded and installed per resource.

    It is the `watch` of `play`, or a callback of its `Watchers`. When there are too many rows, every second one goes
    and the pace halves: runs of any length are covered evenly. Nothing is kept before request `first` is due, with
    which measuring begins, nor while requests that were sent back at this instant have no answer and cannot wait.
    """

    def __init__(self, simulation: Simulation, ledger: Ledger, first: int = 0) -> None:
        self._simulation = simulation
        self._ledger = ledger
        self._first = first
        flavours, _ = simulation.workload.flavours
        flavours = flavours[ledger.possible(flavours)]
        spread = ledger.spreads(flavours)
        # Where any flavour fits, one of the smallest does.
        self._flavours = np.concatenate([smallest(flavours[spread]), smallest(flavours[~spread])])
        self._rows: list[Sequence[Any]] = []
        self._installed: tuple[int, tuple[int, ...]] = (0, ())
        self._stride = 1

    def __call__(self) -> int:
        """Take a sample, if it is time; returns after how many decisions to take the next."""
        if (early := self._simulation.before(self._first)) > 0:
            return early
        return 1 if self._simulation.within_instant else self.look()

    def look(self) -> int:
        """Take a sample; returns after how many decisions to take the next."""
        simulation, view = self._simulation, self._simulation.view
        in_use, free, used, stranded = self._ledger.look(self._flavours)
        self._rows.append(
            (
                simulation.now,
                len(simulation.record.sequence),
                len(simulation.changes),
                len(view.capacity),
                in_use,
                simulation.waiting,
                tuple(free.tolist()),
                tuple(used.tolist()),
                tuple(stranded.tolist()),
                self._capacity(),
            )
        )
        if len(self._rows) > KEPT:
            del self._rows[1::2]
            self._stride *= 2
        return self._stride

    def _capacity(self) -> tuple[int, ...]:
        """Count the quanta installed of each resource, failed servers included; sums again when servers are added."""
        servers = len(self._simulation.view.capacity)
        if self._installed[0] != servers:
            self._installed = servers, tuple(self._ledger.installed.sum(axis=(0, 1)).tolist())
        return self._installed[1]

    def columns(self) -> dict[str, Any]:
        """Return the samples as columns.

        They are `time` float64 [k], `decisions`, `changes`, `servers`, `in_use`, `waiting` int64 [k]; `free`, `used`,
        `stranded` and `capacity` int64 [k, resources] quanta.
        """
        names = (
            *("time", "decisions", "changes", "servers", "in_use", "waiting"),
            *("free", "used", "stranded", "capacity"),
        )
        return {name: np.array(column) for name, column in zip(names, zip(*self._rows, strict=True), strict=True)}


def smallest(flavours: Ints) -> Ints:
    """Keep those of the demands [k, resources], in ascending order, that are nowhere larger than another one."""
    kept = flavours[:0]
    for flavour in flavours:
        if not (kept <= flavour).all(axis=1).any():
            kept = np.concatenate([kept, flavour[None]])
    return kept
