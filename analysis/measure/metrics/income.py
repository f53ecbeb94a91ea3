"""What the placements earn, where there are prices."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun
from analysis.measure.metric import MONEY
from simcore.sums import dot


@metric(heading="income", unit=MONEY, better="higher", meaning="prices x amounts x hours held while the run lasted")
def income(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time."""
    return float(sum(dot(part.seconds[part.sold], part.worth) for part in run.parts())) if run.prices else None


@metric(
    name="income_booked",
    heading="income booked",
    unit=MONEY,
    better="higher",
    meaning="the same to the end of all holding periods",
)
def booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends, where all of them end."""
    if not run.prices:
        return None
    found = 0.0
    for part in run.parts():
        whole = part.end[part.sold] - part.start[part.sold]
        if not np.isfinite(whole).all():
            return None
        found += dot(whole, part.worth)
    return found
