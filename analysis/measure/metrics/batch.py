"""What users of a batch system look at: waits, turnarounds and slowdowns of the jobs that started."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.record import PLACED
from binwright.simcore.types import Floats

SHORT = 10.0
"""Seconds. Jobs that run for less count as if they ran for so long, since their slowdown would say nothing."""


def _waits(run: FinishedRun) -> Floats:
    return run.waits


def _turnarounds(run: FinishedRun) -> Floats:
    """Return the seconds from arrival to end of each that was placed, as far as it ends, float64 [n]."""
    found = _stays(run)
    return found[np.isfinite(found)]


def _stays(run: FinishedRun) -> Floats:
    """Return the seconds from arrival to end of each of `placed`, float64 [placed].

    It is infinite for requests that never end, and NaN for those that a failure ended and that did not start again.
    What a failure sent back ends when its last row does.
    """
    last = run.placed
    back = np.arange(len(run.simulation.workload), len(run.outcome))
    if len(back):
        again = np.arange(len(run.outcome))
        again[run.origin[back]] = back
        while (again[last] != last).any():
            last = again[last]
    stays: Floats = run.decided[last] - run.arrival[run.placed] + run.duration[last]
    stays[run.outcome[last] != PLACED] = np.nan
    return stays


def _slowdowns(run: FinishedRun) -> Floats:
    """Return the bounded slowdown of each that was placed and not lost, float64 [n]; 1 for those that never end."""
    stays, ran = _stays(run), run.duration[run.placed]
    ends = np.isfinite(stays)
    found: Floats = np.ones(len(ran))
    found[ends] = stays[ends] / np.maximum(ran[ends], SHORT)
    return np.maximum(found, 1.0)[~np.isnan(stays)]


OF = {"wait": _waits, "turnaround": _turnarounds, "slowdown": _slowdowns}
MEANING = {
    "wait": "time from arrival to placement",
    "turnaround": "time from arrival to end, of those that end",
    "slowdown": f"max(1, turnaround / max(run, {SHORT:.0f} s))",
}


def _of(what: str, percent: int | None = None) -> Definition:
    """Make the metric of a percentile, or of the mean."""
    which, said = ("mean", "mean") if percent is None else (f"p{percent}", f"{percent} % have no more")

    @metric(
        name=f"{what}_{which}",
        heading=f"{which} {'bounded ' if what == 'slowdown' else ''}{what}",
        unit="" if what == "slowdown" else "s",
        better="lower",
        in_parts=True,
        meaning=f"{MEANING[what]}: {said}",
    )
    def measured(run: FinishedRun) -> float | None:
        values = OF[what](run)
        if not len(values):
            return None
        return float(values.mean() if percent is None else np.quantile(values, percent / 100, method="inverted_cdf"))

    return measured


wait_p50, wait_p99 = _of("wait", 50), _of("wait", 99)
turnaround_mean, slowdown_mean = _of("turnaround"), _of("slowdown")
turnaround_p50, turnaround_p95, turnaround_p99 = (_of("turnaround", percent) for percent in (50, 95, 99))
slowdown_p50, slowdown_p95, slowdown_p99 = (_of("slowdown", percent) for percent in (50, 95, 99))
