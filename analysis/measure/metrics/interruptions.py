"""What failures did to those who held something."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished_run import FinishedRun


def _cut(run: FinishedRun) -> int:
    """Count the holding periods that a failure cut short."""
    return int((run.interruption >= run.begin).sum())


@metric(heading="interrupted", better="lower", table="harm", meaning="holding periods that a failure cut short")
def interrupted(run: FinishedRun) -> int:
    """Count the holding periods that a failure cut short in the measured time."""
    return _cut(run)


@metric(heading="lost", better="lower", table="harm", meaning="of those, the ones that got no new place")
def lost(run: FinishedRun) -> int:
    """Count those of them whose request got no new place."""
    back = slice(len(run.simulation.workload), None)  # where those lie that were sent back
    again = run.got_place[back] & (run.interruption[run.origin[back]] >= run.begin)
    return _cut(run) - int(again.sum())
