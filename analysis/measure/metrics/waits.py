"""How long the placed requests waited."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.analysis.measure.metrics.requests import scheduled


@metric(
    heading="total wait",
    unit="s",
    better="lower",
    table="never",
    in_parts=True,
    meaning="of all placed requests together",
)
def wait_total(run: FinishedRun) -> float:
    """Add the waits up."""
    return float(sum(part.waits.sum() for part in run.parts()))


@metric(
    heading="mean wait",
    unit="s",
    better="lower",
    table="differs",
    in_parts=True,
    meaning="time from arrival to placement",
)
def wait_mean(run: FinishedRun) -> float:
    """Average the waits; 0 where nothing was placed."""
    return ratio(wait_total(run), scheduled(run))


@metric(
    heading="p95 wait",
    unit="s",
    better="lower",
    table="differs",
    in_parts=True,
    meaning="95 % of the placed requests waited no longer",
)
def wait_p95(run: FinishedRun) -> float:
    """Find the least wait that 95 % of the placed requests did not exceed; 0 where nothing was placed."""
    if not wait_max(run):
        return 0.0  # without a look at all of them at once
    return float(np.quantile(run.waits, 0.95, method="inverted_cdf"))


@metric(
    heading="longest wait", unit="s", better="lower", table="never", in_parts=True, meaning="of all placed requests"
)
def wait_max(run: FinishedRun) -> float:
    """Find the longest wait; 0 where nothing was placed."""
    return max(float(part.waits.max(initial=0.0)) for part in run.parts())
