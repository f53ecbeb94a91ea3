"""How much the requests would hold if all of them were placed."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun, ratio
from simcore.record import IMPOSSIBLE


@metric(
    name="load_{}",
    per="resource",
    heading="{} load %",
    unit="%",
    table="never",
    meaning="share that would be allocated if every request that some server could hold were placed when it arrives",
)
def load(run: FinishedRun) -> list[float]:
    """Average over the measured time what would be held; what the warm start skipped does not count."""
    rows = np.arange(run.simulation.offered)
    rows = rows[np.where(rows < run.first, run.got_place[rows], run.outcome[rows] != IMPOSSIBLE)]
    wanted, there = run.arrival[rows] + run.duration[rows], run.installed_seconds
    np.minimum(wanted, run.finish, out=wanted)
    wanted -= np.maximum(run.arrival[rows], run.begin)
    np.clip(wanted, 0, None, out=wanted)
    return [ratio(float(wanted @ run.demand[rows, r]), float(there[r])) for r in range(len(run.resources))]
