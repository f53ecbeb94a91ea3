"""How long the run was, and how long the agent took for a decision."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import HOUR, FinishedRun


@metric(
    heading="hours",
    table="never",
    in_parts=True,
    meaning="from the first arrival after the warm start to the last decision",
)
def hours(run: FinishedRun) -> float:
    """Measure the measured time."""
    return (run.finish - run.begin) / HOUR


@metric(heading="makespan", unit="s", better="lower", meaning="from the first arrival to the end of the last lifetime")
def makespan(run: FinishedRun) -> float | None:
    """Measure the time until the last holding period ends, where all of them do."""
    return run.last - run.begin if run.last < np.inf else None


@metric(heading="µs/decision", better="lower", timed=True, meaning="the agent's own time for one decision")
def decision_us(run: FinishedRun) -> float:
    """Divide the agent's time by the number of measured decisions."""
    return run.thought / 1000 / run.decisions
