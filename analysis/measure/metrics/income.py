"""What the placements earn, where there are prices."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun


@metric(heading="income", better="higher", meaning="prices x amounts x hours held while the run lasted")
def income(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time."""
    return float(run.seconds[run.sold] @ run.worth) if run.prices else None


@metric(
    name="income_booked", heading="income booked", better="higher", meaning="the same to the end of all holding periods"
)
def booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends, where all of them end."""
    if not run.prices:
        return None
    whole = run.end[run.sold] - run.start[run.sold]
    return float(whole @ run.worth) if np.isfinite(whole).all() else None
