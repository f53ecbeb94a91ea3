"""How much of every tier of links is reserved, and how often one was in the way."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun
from analysis.measure.metrics import shares
from simcore.record import REJECTED

NO_PATH = "no path: "
"""Reasons of rejections begin so, the tier after it, when a chosen server could not be reached."""


@metric(
    name="allocation_{}", per="tier", heading="{} %", unit="%", in_parts=True, meaning="share of the links reserved"
)
def allocation(run: FinishedRun) -> list[float]:
    """Average what is reserved over the measured time."""
    return shares.over_time(run, links=True)


@metric(
    name="allocation_{}_decisions",
    per="tier",
    heading="{} % (decisions)",
    unit="%",
    table="never",
    in_parts=True,
    meaning="share of the links reserved, mean over the moments right after every decision",
)
def after_decisions(run: FinishedRun) -> list[float]:
    """Average what is reserved over the decisions."""
    return shares.over_decisions(run, links=True)


@metric(
    name="allocation_{}_before",
    per="tier",
    heading="{} % (before decisions)",
    unit="%",
    in_parts=True,
    meaning="share of the links reserved, mean over the moments right before every decision",
)
def before_decisions(run: FinishedRun) -> list[float] | None:
    """Average what decisions find reserved."""
    return shares.before_decisions(run, links=True)


@metric(
    name="allocation_{}_end",
    per="tier",
    heading="{} % (end)",
    unit="%",
    table="never",
    meaning="share of the links reserved right after the last decision",
)
def at_the_end(run: FinishedRun) -> list[float]:
    """Return what is reserved after the last decision."""
    return shares.at_the_end(run, links=True)


@metric(
    name="utilisation_{}",
    per="tier",
    heading="{} % in all",
    unit="%",
    table="never",
    meaning="share of the links reserved over the makespan",
)
def utilisation(run: FinishedRun) -> list[float] | None:
    """Average what is reserved over the time until the last holding period ends."""
    return shares.over_makespan(run, links=True)


@metric(
    name="blocked_{}",
    per="tier",
    heading="no path in {} %",
    unit="%",
    better="lower",
    table="never",
    in_parts=True,
    meaning="share of the requests that were rejected because no path through the tier {} was free",
)
def blocked(run: FinishedRun) -> list[float]:
    """Count the rejections for want of a path, as a share of all answers."""
    reasons, rows = run.simulation.record.reasons, run.answered
    rejected = run.reason[rows[run.outcome[rows] == REJECTED]]
    found = []
    for tier in run.tiers:
        reason = f"{NO_PATH}{tier}"
        times = (rejected == reasons.index(reason)).sum() if reason in reasons else 0
        found.append(float(times / len(rows)))
    return found
