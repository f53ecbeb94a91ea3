"""What the placements earn, where there are prices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished_run import FinishedRun, Rows
from analysis.measure.metric import MONEY
from simcore.ordered_sums import dot
from simcore.types import Floats


@metric(heading="income", unit=MONEY, better="higher", meaning="prices x amounts x hours held while the run lasted")
def income(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time."""
    return _earned(run, lambda part: part.seconds * part.sold)


@metric(
    name="income_held",
    heading="income held",
    unit=MONEY,
    better="higher",
    meaning="the same of all that is held, also of what was there before; where there was a warm start",
)
def held(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time by all requests, those of the warm start included."""
    return _earned(run, lambda part: part.seconds) if run.first else None


@metric(
    name="income_booked",
    heading="income booked",
    unit=MONEY,
    better="higher",
    meaning="the income to the end of all holding periods; of those that never end, to the end of the run",
)
def booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends; those without one count to the end of the run."""
    return _earned(run, lambda part: np.where(np.isinf(part.end), part.seconds, part.end - part.start) * part.sold)


def _earned(run: FinishedRun, seconds: Callable[[Rows], Floats]) -> float | None:
    """Add up what is earned in so many seconds by each that is held, where there are prices."""
    return float(sum(dot(seconds(part), part.worth) for part in run.parts())) if run.prices else None
