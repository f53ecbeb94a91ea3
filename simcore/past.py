"""Says what has been seen of requests up to now, and nothing of what is still to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.simcore.record import INTERRUPTED, PLACED
from binwright.simcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Holds the requests that have had their answers, and those that run now.

    Of the last n requests, in order of arrival: `gaps` float64 [n], seconds since the arrival before; `demand` int64
    [n, resources]; `stayed` float64 [n], seconds that each is known to have stayed, and `ended` bool [n], whether that
    was all. Those that were refused have stayed for 0 s. `answered` counts all answers.

    Of the m that run now: `ages` float64 [m], `held` int64 [m, resources], `spread` bool [m], and where they are:
    `server` int64 [m] and `node` int64 [m], which is -1 for a part of every node.

    `overflow` says what becomes now of a request that fits nowhere; `spreads` and `possible` tell of demands [k,
    resources], bool [k], whether they take a part of every node, and whether an empty server could hold them.
    """

    gaps: Floats
    demand: Ints
    stayed: Floats
    ended: npt.NDArray[np.bool_]
    answered: int
    ages: Floats
    held: Ints
    spread: npt.NDArray[np.bool_]
    server: Ints
    node: Ints
    overflow: str
    spreads: Callable[[Ints], npt.NDArray[np.bool_]]
    possible: Callable[[Ints], npt.NDArray[np.bool_]]


def past_of(simulation: Any, most: int) -> Past:
    """Return the past of a `binwright.simcore.engine.Simulation`, of its requests the last `most`."""
    record, workload, now, ledger = simulation.record, simulation.workload, simulation.view.now, simulation.ledger
    answered = np.array(record.sequence, np.int64)
    first, end = workload.running, len(workload)
    own = answered[(answered >= first) & (answered < end)]
    rows = np.sort(own[-most:])
    outcome = record.outcome[rows]
    gaps = np.diff(workload.arrival[rows], prepend=workload.arrival[rows[:1]])
    stays = simulation.rows.holding_times(rows)
    cut = np.where(outcome == INTERRUPTED, record.interruption[rows], now)
    since = np.where(np.isin(outcome, (PLACED, INTERRUPTED)), record.decided[rows], cut)
    stayed = np.minimum(stays, cut - since)
    on = answered[record.outcome[answered] == PLACED]
    on = on[record.decided[on] + simulation.rows.holding_times(on) > now]
    if ledger.running:
        on = on[np.isin(on, np.fromiter(ledger.running, np.int64))]
    ages = now - record.decided[on]
    before = on < first
    if workload.age is not None:
        ages[before] += workload.age[on[before]]
    held = workload.demand[[simulation.source(row) for row in on.tolist()]]
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
