"""How long it took until servers that were to be emptied were empty."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.fabric.ledger import Ledger
from binwright.simcore.types import Floats


def _emptied(run: FinishedRun) -> tuple[Floats, Floats] | None:
    """Tell of each server that was to be emptied since when, and when it was: float64 [n] each, infinite for never.

    None where there are none. Servers that take nothing from the start are none of them. Of several drains of a server
    the first counts. One that still holds something when its drain ends was not emptied.
    """
    ledger = run.simulation.ledger
    drains = ledger.drains if isinstance(ledger, Ledger) else []
    since, until = np.full((2, len(run.capacity)), np.inf)
    for begins, ends, servers in drains:
        first = servers & (begins < since)
        since[first], until[first] = begins, ends
    some = np.flatnonzero((since > 0) & (since <= run.finish))
    if not len(some):
        return None
    lay, empty = run.places, since.copy()
    before = lay.start < until[lay.server]
    np.maximum.at(empty, lay.server[before], lay.end[before])
    empty[empty > until] = np.inf
    return since[some], empty[some]


@metric(
    heading="until drained",
    unit="s",
    better="lower",
    meaning="from when servers were to be emptied until the last of them was",
)
def drained(run: FinishedRun) -> float | None:
    """Find how long it took for the server for which it took longest, if all of them are empty some day."""
    found = _emptied(run)
    if found is None or np.isinf(found[1]).any():
        return None
    return float((found[1] - found[0]).max())


@metric(
    heading="not drained",
    better="lower",
    table="harm",
    meaning="servers to be emptied that still held something at the last decision",
)
def undrained(run: FinishedRun) -> int | None:
    """Count the servers that were not empty by the end of the measured time."""
    found = _emptied(run)
    return None if found is None else int((found[1] > run.finish).sum())
