"""How long the placed requests waited."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun


@metric(heading="total wait", unit="s", better="lower", table="never", meaning="of all placed requests together")
def wait_total(run: FinishedRun) -> float:
    """Add the waits up."""
    return float(run.waits.sum())


@metric(heading="mean wait", unit="s", better="lower", table="differs", meaning="time from arrival to placement")
def wait_mean(run: FinishedRun) -> float:
    """Average the waits; 0 where nothing was placed."""
    return float(run.waits.mean()) if len(run.placed) else 0.0


@metric(
    heading="p95 wait",
    unit="s",
    better="lower",
    table="differs",
    meaning="95 % of the placed requests waited no longer",
)
def wait_p95(run: FinishedRun) -> float:
    """Find the least wait that 95 % of the placed requests did not exceed; 0 where nothing was placed."""
    return float(np.quantile(run.waits, 0.95, method="inverted_cdf")) if len(run.placed) else 0.0


@metric(heading="longest wait", unit="s", better="lower", table="never", meaning="of all placed requests")
def wait_max(run: FinishedRun) -> float:
    """Find the longest wait; 0 where nothing was placed."""
    return float(run.waits.max(initial=0.0))
