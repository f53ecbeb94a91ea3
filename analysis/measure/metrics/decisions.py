"""How long the agent took."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun


@metric(heading="µs/decision", better="lower", timed=True, meaning="the agent's own time for one decision")
def decision_us(run: FinishedRun) -> float:
    """Divide the agent's time by the number of measured decisions."""
    return run.thought / 1000 / run.decisions
