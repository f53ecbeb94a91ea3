"""How placements lie in a network: the metrics beyond those of the servers."""

from __future__ import annotations

import numpy as np

from fabric.network import SPANS, NetworkLedger
from simcore.engine import Simulation
from simcore.record import INTERRUPTED, PENDING, PLACED, REJECTED

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
