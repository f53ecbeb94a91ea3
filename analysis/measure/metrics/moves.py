"""What was moved while it ran, where the scenario has requests moved."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.types import QUANTUM


@metric(heading="moves", better="lower", meaning="requests that were moved while they ran, each as often as it arrived")
def moves(run: FinishedRun) -> int | None:
    """Count the moves that arrived within the measured time."""
    return len(run.arrived) if run.moving else None


@metric(heading="moved", unit="GB", better="lower", table="differs", meaning="memory that these moves carried")
def moved(run: FinishedRun) -> float | None:
    """Add up what the requests that were moved held of memory."""
    if run.moving is None or run.moving.rules.resource < 0:
        return None
    return float(run.demand[run.arrived, run.moving.rules.resource].sum()) / QUANTUM


@metric(heading="downtime", unit="s", better="lower", table="harm", meaning="for which moved requests stood still")
def downtime(run: FinishedRun) -> float | None:
    """Add up the downtime of the moves."""
    return len(run.arrived) * run.moving.rules.downtime if run.moving else None


@metric(
    name="moves_for_load",
    heading="moves for load",
    better="lower",
    table="differs",
    meaning="those of these moves by which a request left a server that used too much (`on_load`)",
)
def moves_for_load(run: FinishedRun) -> int | None:
    """Count the moves for load that arrived within the measured time."""
    if run.moving is None or run.moving.relief is None:
        return None
    return sum(each.outcome == "done" and each.why == "load" for each in run.moves_ended)


@metric(
    name="moves_failed",
    heading="moves failed",
    better="lower",
    table="harm",
    meaning="moves that did not arrive: called off as a server failed, or their request ended or was interrupted",
)
def failed(run: FinishedRun) -> int | None:
    """Count the moves that ended within the measured time and did not arrive."""
    if run.moving is None:
        return None
    return sum(each.outcome != "done" for each in run.moves_ended)


@metric(
    name="moves_under_way",
    heading="moves under way",
    better="lower",
    table="never",
    meaning="at most at a time, those of no duration included",
)
def under_way(run: FinishedRun) -> int | None:
    """Return how many moves were on the way at most."""
    return run.moving.most if run.moving else None


@metric(
    name="plan_ms",
    heading="ms/plan",
    better="lower",
    table="never",
    timed=True,
    meaning="the mover's own time for one plan, on average",
)
def plan_ms(run: FinishedRun) -> float | None:
    """Average how long the movers took for a plan."""
    if run.moving is None or not run.moving.plans:
        return None
    return float(np.mean([took for _, took, _ in run.moving.plans])) / 1e6


@metric(
    name="plans_late",
    heading="late plans",
    better="lower",
    table="differs",
    timed=True,
    meaning="plans that took the mover longer than `within`",
)
def late(run: FinishedRun) -> int | None:
    """Count the plans that took the mover longer than the scenario says."""
    return sum(late for _, _, late in run.moving.plans) if run.moving else None
