"""How many servers there are, and how many hold something."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished_run import FinishedRun


@metric(heading="servers", better="lower", table="differs", meaning="at the end, with all expansion")
def servers(run: FinishedRun) -> int:
    """Count the servers at the end."""
    return len(run.capacity)


@metric(
    name="servers_used",
    heading="servers used",
    better="lower",
    in_parts=True,
    meaning="holding something, mean over the run",
)
def used(run: FinishedRun) -> float:
    """Average over the samples how many servers hold something."""
    return float(run.samples["in_use"].mean())
