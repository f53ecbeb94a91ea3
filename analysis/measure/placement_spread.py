"""How placements lie in a network: columns of what is recorded of requests and samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.measure.order import Order
from fabric.network import NetworkLedger
from simcore.engine import Simulation
from simcore.record import INTERRUPTED, PLACED
from simcore.types import QUANTUM, Ints


def spread_columns(simulation: Simulation, held: Any) -> dict[str, Any]:
    """Return columns with a value for every row of the record: `bandwidth` in units, `servers`, `span`, `links`.

    The last three are -1 for rows that `held` no place (bool [rows]).
    """
    ledger, bandwidth = simulation.ledger, simulation.asked().bandwidth
    assert isinstance(ledger, NetworkLedger)
    spread = np.full((len(held), 3), -1)
    spread[held] = ledger.spans(np.flatnonzero(held))
    servers, span, links = spread.T
    wanted = np.zeros(len(held)) if bandwidth is None else bandwidth / QUANTUM  # traces and flavours ask for none
    return {"bandwidth": wanted, "servers": servers, "span": span, "links": links}


def reserved_after(simulation: Simulation, decisions: Ints) -> Ints:
    """Count the quanta reserved on each tier right after so many `decisions` (int64 [k]), int64 [k, tiers]."""
    record, asked = simulation.record, simulation.asked()
    rows = slice(0, record.rows)
    decided = record.decided[rows]
    held = np.flatnonzero(np.isin(record.outcome[rows], (PLACED, INTERRUPTED)))
    end = np.fmin(decided[held] + asked.duration[held], record.interruption[rows][held])
    answered = np.frombuffer(record.sequence, np.int32)
    reserved = simulation.ledger.reserved(held)
    first, after = Order(answered, decided).lasting(held, end)
    change = np.zeros((len(answered) + 2, reserved.shape[1]), np.int64)
    np.add.at(change, first + 1, reserved)
    np.subtract.at(change, after + 1, reserved)
    used: Ints = change.cumsum(axis=0)[decisions]
    return used
