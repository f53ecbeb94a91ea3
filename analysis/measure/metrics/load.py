"""How much the requests would hold if all of them were placed."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished_run import FinishedRun, ratio
from simcore.memmap import blocks
from simcore.ordered_sums import dot
from simcore.record import IMPOSSIBLE


@metric(
    name="load_{}",
    per="resource",
    heading="{} load %",
    unit="%",
    table="never",
    beyond=True,
    meaning="share that would be allocated if every request that some server could hold were placed when it arrives",
)
def load(run: FinishedRun) -> list[float]:
    """Average over the measured time what would be held; what the warm start skipped does not count."""
    wanted, there = np.zeros(len(run.resources)), run.installed_seconds
    for some in blocks(run.simulation.offered):
        rows = np.arange(some.start, some.stop)
        rows = rows[np.where(rows < run.first, run.got_place[rows], run.outcome[rows] != IMPOSSIBLE)]
        seconds = np.minimum(run.arrival[rows] + run.duration[rows], run.finish)
        seconds -= np.maximum(run.arrival[rows], run.begin)
        np.clip(seconds, 0, None, out=seconds)
        wanted += [dot(seconds, run.demand[rows, r]) for r in range(len(wanted))]
    return [ratio(float(wanted[r]), float(there[r])) for r in range(len(wanted))]
