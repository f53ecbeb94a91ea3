"""How placements lie in a network: the metrics beyond those of the servers."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.measure.metrics import after_each
from fabric.network import SPANS, NetworkLedger
from simcore.engine import Simulation
from simcore.record import INTERRUPTED, PENDING, PLACED, REJECTED
from simcore.vocabulary import QUANTUM, Ints

NO_PATH = "no path: "
"""Reasons of rejections begin so, the tier after it, when a chosen server could not be reached."""


def measure_spans(simulation: Simulation, ledger: NetworkLedger, first: int) -> dict[str, float]:
    """Servers per request and span of the placements after row `first`, and which tier had no path for the others.

    `span` is the mean of 0 one server, 1 one rack, 2 neighbouring racks, 3 beyond; `span_0` to `span_3` are shares.
    """
    record = simulation.record
    rows = np.arange(first, record.rows)
    rows = rows[record.outcome[rows] != PENDING]
    outcome = record.outcome[rows]
    placed = rows[np.isin(outcome, (PLACED, INTERRUPTED))]
    servers, span = ledger.spans(placed).T
    metrics = {
        "servers_per_request": float(servers.mean()) if len(placed) else 0.0,
        "span": float(span.mean()) if len(placed) else 0.0,
    }
    for number in range(len(SPANS)):
        metrics[f"span_{number}"] = float((span == number).mean()) if len(placed) else 0.0
    reasons = record.reason[rows[outcome == REJECTED]]
    for tier in ledger.tiers:
        reason = f"{NO_PATH}{tier}"
        blocked = (reasons == record.reasons.index(reason)).sum() if reason in record.reasons else 0
        metrics[f"blocked_{tier}"] = float(blocked / len(rows))
    return metrics


def spread_columns(simulation: Simulation, held: Any) -> dict[str, Any]:
    """Of every row of the record: `bandwidth` in units; `servers` and `span` of those that `held` (bool [rows]) a
    place, -1 for the others.
    """
    ledger, bandwidth = simulation.ledger, simulation.asked().bandwidth
    assert isinstance(ledger, NetworkLedger)
    assert bandwidth is not None
    spread = np.full((len(held), 2), -1)
    spread[held] = ledger.spans(np.flatnonzero(held))
    return {"bandwidth": bandwidth / QUANTUM, "servers": spread[:, 0], "span": spread[:, 1]}


def reserved_after(simulation: Simulation, decisions: Ints) -> Ints:
    """Quanta reserved on each link tier right after so many decisions, int64 [k, tiers] for int64 [k]."""
    record, asked = simulation.record, simulation.asked()
    rows = slice(0, record.rows)
    decided = record.decided[rows]
    held = np.flatnonzero(np.isin(record.outcome[rows], (PLACED, INTERRUPTED)))
    end = np.fmin(decided[held] + asked.duration[held], record.interruption[rows][held])
    answered = np.array(record.sequence, np.int64)
    reserved = simulation.ledger.reserved(held)
    used = after_each(answered, decided[answered], held, end, reserved)
    nothing = np.zeros((1, used.shape[1]), np.int64)
    return np.concatenate([nothing, used])[decisions]
