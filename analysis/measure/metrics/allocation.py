"""How much of every resource is allocated."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun
from analysis.measure.metrics import shares


@metric(
    name="allocation_{}",
    per="resource",
    heading="{} %",
    unit="%",
    better="higher",
    in_parts=True,
    meaning="share allocated, weighted by time",
)
def allocation(run: FinishedRun) -> list[float]:
    """Average what is allocated over the measured time."""
    return shares.over_time(run, links=False)


@metric(
    name="allocation_{}_decisions",
    per="resource",
    heading="{} % (decisions)",
    unit="%",
    better="higher",
    table="never",
    in_parts=True,
    meaning="share allocated, mean over the moments right after every decision",
)
def after_decisions(run: FinishedRun) -> list[float]:
    """Average what is allocated over the decisions."""
    return shares.over_decisions(run, links=False)


@metric(
    name="allocation_{}_before",
    per="resource",
    heading="{} % (before decisions)",
    unit="%",
    better="higher",
    in_parts=True,
    meaning="share allocated, mean over the moments right before every decision",
)
def before_decisions(run: FinishedRun) -> list[float] | None:
    """Average what decisions find allocated: nothing is known of it where requests are moved."""
    return shares.before_decisions(run, links=False)


@metric(
    name="allocation_{}_end",
    per="resource",
    heading="{} % (end)",
    unit="%",
    better="higher",
    table="never",
    meaning="share allocated right after the last decision",
)
def at_the_end(run: FinishedRun) -> list[float]:
    """Return what is allocated after the last decision."""
    return shares.at_the_end(run, links=False)


@metric(
    name="utilisation_{}",
    per="resource",
    heading="{} % in all",
    unit="%",
    better="higher",
    table="never",  # nearly what is allocated until the last decision
    meaning="share allocated over the makespan",
)
def utilisation(run: FinishedRun) -> list[float] | None:
    """Average what is allocated over the time until the last holding period ends."""
    return shares.over_makespan(run, links=False)
