"""Looks back on a run: what could be seen of its requests up to now."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from simcore.model import ResourceModel
from simcore.past import Past
from simcore.record import INTERRUPTED, PLACED, Record
from simcore.types import Floats, Ints, View, Workload


class Remembered(Protocol):
    """What is looked at of a `simcore.engine.Simulation`."""

    workload: Workload
    ledger: ResourceModel
    record: Record
    view: View

    @property
    def overflowing(self) -> str:
        """What becomes now of a request that fits nowhere."""

    def stays(self, rows: Ints) -> Floats:
        """Return how long the requests of these rows stay."""

    def source(self, row: int) -> int:
        """Find the row of the workload that a row continues."""


def past_of(simulation: Remembered, most: int) -> Past:
    """Return the past of a run, of its requests the last `most`."""
    record, workload, now, ledger = simulation.record, simulation.workload, simulation.view.now, simulation.ledger
    answered = np.array(record.sequence, np.int64)
    first, end = workload.running, len(workload)
    own = answered[(answered >= first) & (answered < end)]
    rows = np.sort(own[-most:])
    outcome = record.outcome[rows]
    gaps = np.diff(workload.arrival[rows], prepend=workload.arrival[rows[:1]])
    stays = simulation.stays(rows)
    cut = np.where(outcome == INTERRUPTED, record.interruption[rows], now)
    since = np.where(np.isin(outcome, (PLACED, INTERRUPTED)), record.decided[rows], cut)
    stayed = np.minimum(stays, cut - since)
    on = answered[record.outcome[answered] == PLACED]
    on = on[record.decided[on] + simulation.stays(on) > now]
    if ledger.running:
        on = on[np.isin(on, np.fromiter(ledger.running, np.int64))]
    ages = now - record.decided[on]
    before = on < first
    if workload.age is not None:
        ages[before] += workload.age[on[before]]
    held = _demand(simulation, on)
    return Past(
        gaps,
        workload.demand[rows],
        stayed,
        (outcome == PLACED) & (stays <= stayed),
        len(own),
        ages,
        held,
        ledger.spreads(held),
        record.server[on].astype(np.int64),
        record.node[on].astype(np.int64),
        simulation.overflowing,
        ledger.spreads,
        ledger.possible,
    )


def _demand(simulation: Remembered, rows: Ints) -> Ints:
    """Return what requests take, int64 [n, resources], also of those that a failure sent back."""
    return simulation.workload.demand[[simulation.source(row) for row in rows.tolist()]]
