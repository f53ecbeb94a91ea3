"""Shares of what is installed that are held, or would be: of every resource, and in the same way of links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.memmap import blocks
from binwright.simcore.ordered_sums import dot
from binwright.simcore.record import IMPOSSIBLE, REJECTED

Shares = Callable[[FinishedRun, range], list[float] | None]
"""(run, columns) -> the shares of these columns of the run's amounts: resources come first, then tiers."""
NO_PATH = "no path: "
"""Reasons of rejections begin so, the tier after it, when a chosen server could not be reached."""


def _metrics(shares: Shares, name: str, heading: str, meaning: str, **how: Any) -> tuple[Definition, Definition]:
    """Make the metric of resources, and that of tiers of links."""

    @metric(
        name=name,
        per="resource",
        heading=heading,
        unit="%",
        better="higher",
        meaning=f"share allocated{meaning}",
        beyond=True,
        **how,
    )
    def of_resources(run: FinishedRun) -> list[float] | None:
        return shares(run, range(len(run.resources)))

    @metric(name=name, per="tier", heading=heading, unit="%", meaning=f"share of the links reserved{meaning}", **how)
    def of_tiers(run: FinishedRun) -> list[float] | None:
        return shares(run, range(len(run.resources), len(run.resources) + len(run.tiers)))

    return of_resources, of_tiers


def over_time(run: FinishedRun, columns: range) -> list[float]:
    """Average the shares over the measured time, weighted by time."""
    held, there = run.held_seconds, run.installed_seconds
    return [ratio(float(held[r]), float(there[r])) for r in columns]


def over_decisions(run: FinishedRun, columns: range) -> list[float]:
    """Average the shares right after every decision."""
    return [run.shares[0][r] for r in columns]


def at_the_end(run: FinishedRun, columns: range) -> list[float]:
    """Return the shares right after the last decision."""
    return [run.shares[1][r] for r in columns]


def over_makespan(run: FinishedRun, columns: range) -> list[float] | None:
    """Average the shares over the time until the last holding period ends, where all of them do."""
    if run.last == np.inf:
        return None
    held, there = run.held_until(run.last), run.installed(run.last)
    return [ratio(float(held[r]), float(there[r])) for r in columns]


allocation, links_allocation = _metrics(over_time, "allocation_{}", "{} %", ", weighted by time", in_parts=True)
allocation_decisions, links_allocation_decisions = _metrics(
    over_decisions,
    "allocation_{}_decisions",
    "{} % (decisions)",
    ", mean over the moments right after every decision",
    table="never",
    in_parts=True,
)
allocation_end, links_allocation_end = _metrics(
    at_the_end, "allocation_{}_end", "{} % (end)", " right after the last decision", table="never"
)
utilisation, links_utilisation = _metrics(  # nearly what is allocated until the last decision
    over_makespan, "utilisation_{}", "{} % in all", " over the makespan", table="never"
)


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


@metric(
    name="load_{}",
    per="resource",
    heading="{} load %",
    unit="%",
    table="never",
    beyond=True,
    meaning="share that would be allocated if every request that some server could hold were placed when it arrives",
)
def load(run: FinishedRun) -> list[float]:
    """Average over the measured time what would be held; what the warm start skipped does not count."""
    wanted, there = np.zeros(len(run.resources)), run.installed_seconds
    for some in blocks(run.simulation.offered):
        rows = np.arange(some.start, some.stop)
        rows = rows[np.where(rows < run.first, run.got_place[rows], run.outcome[rows] != IMPOSSIBLE)]
        seconds = np.minimum(run.arrival[rows] + run.duration[rows], run.finish)
        seconds -= np.maximum(run.arrival[rows], run.begin)
        np.clip(seconds, 0, None, out=seconds)
        wanted += [dot(seconds, run.demand[rows, r]) for r in range(len(wanted))]
    return [ratio(float(wanted[r]), float(there[r])) for r in range(len(wanted))]
