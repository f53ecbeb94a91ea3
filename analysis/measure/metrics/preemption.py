"""What was evicted, where the scenario has less urgent requests give way, and what was lost by that."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.rules import Eviction
from binwright.simcore.types import QUANTUM

HOUR = 3600.0


def evictions(run: FinishedRun) -> list[Eviction] | None:
    """List the evictions of the measured time; None where nobody gives way."""
    preempting = run.simulation.preempting
    if preempting is None:
        return None
    return [each for each in preempting.log if each.outcome == "evicted" and run.begin <= each.end <= run.finish]


@metric(heading="preemptions", better="lower", table="differs", meaning="requests evicted for more urgent ones")
def preemptions(run: FinishedRun) -> int | None:
    """Count the requests that were evicted in the measured time; a gang counts once."""
    found = evictions(run)
    return None if found is None else len(run.asked.leads(np.array([each.row for each in found], np.int64)))


@metric(
    name="lost_work_{}",
    heading="{} lost h",
    per="resource",
    better="lower",
    table="differs",
    meaning="hours of a unit of {} that were held since the last checkpoint, when evicted",
)
def lost_work(run: FinishedRun) -> list[float] | None:
    """Add up the work that evictions lost: the time since the last checkpoint, times what was held."""
    found = evictions(run)
    if found is None:
        return None
    return [
        sum(each.lost * int(run.demand[each.row, r]) for each in found) / QUANTUM / HOUR
        for r in range(len(run.resources))
    ]


@metric(
    heading="spot evicted %",
    unit="%",
    better="lower",
    meaning="share of the holding periods of spot requests that an eviction cut short",
)
def spot_evicted(run: FinishedRun) -> float | None:
    """Divide the evictions of requests that pay less by how often these were placed."""
    found = evictions(run)
    if found is None or not run.pays:
        return None
    spot = np.isin(run.priority, [*run.pays])
    placed = spot & run.got_place & (run.decided >= run.begin)
    return ratio(int(spot[[each.row for each in found]].sum()), int(placed.sum()))
