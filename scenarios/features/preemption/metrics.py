"""Requests that gave way to more urgent ones."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun
from binwright.simcore.rules import Eviction
from binwright.simcore.types import QUANTUM


def _evictions(run: FinishedRun) -> list[Eviction] | None:
    """Need `preemption`: the evictions of the measured time."""
    preempting = run.simulation.preempting
    if preempting is None:
        return None
    return [each for each in preempting.log if each.outcome == "evicted" and run.begin <= each.end <= run.finish]


def _lost_work(run: FinishedRun, evictions: list[Eviction]) -> list[float]:
    """Add up the work that evictions lost: the time since the last checkpoint, times what was held."""
    return [
        sum(each.lost * int(run.demand[each.row, r]) for each in evictions) / QUANTUM / HOUR
        for r in range(len(run.resources))
    ]


TABLE = table((
    define("preemptions", "preemptions", "requests evicted for more urgent ones",
           lambda run, evictions: len(run.asked.leads(np.array([each.row for each in evictions], np.int64))),
           needs=_evictions, table="differs", better="lower"),
    define("lost_work_{}", "{} lost h", "hours of a unit of {} that were held since the last checkpoint, when evicted",
           _lost_work, needs=_evictions, per="resource", table="differs", better="lower"),
))  # fmt: skip
