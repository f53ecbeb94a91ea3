"""Shares of what is installed that are held: of resources, and in the same way of links."""

from __future__ import annotations

import numpy as np

from analysis.measure.finished import FinishedRun, ratio


def columns(run: FinishedRun, *, links: bool) -> range:
    """Return which columns of the run's amounts are of links, or which are of resources."""
    resources = len(run.resources)
    return range(resources, resources + len(run.tiers)) if links else range(resources)


def over_time(run: FinishedRun, *, links: bool) -> list[float]:
    """Average the shares over the measured time, weighted by time."""
    held, there = run.held_seconds, run.installed_seconds
    return [ratio(float(held[r]), float(there[r])) for r in columns(run, links=links)]


def over_decisions(run: FinishedRun, *, links: bool) -> list[float]:
    """Average the shares right after every decision."""
    return [run.shares[0][r] for r in columns(run, links=links)]


def before_decisions(run: FinishedRun, *, links: bool) -> list[float] | None:
    """Average the shares right before every decision; None where requests are moved."""
    found = run.shares_before
    return None if found is None else [found[r] for r in columns(run, links=links)]


def at_the_end(run: FinishedRun, *, links: bool) -> list[float]:
    """Return the shares right after the last decision."""
    return [run.shares[1][r] for r in columns(run, links=links)]


def over_makespan(run: FinishedRun, *, links: bool) -> list[float] | None:
    """Average the shares over the time until the last holding period ends, where all of them do."""
    if run.last == np.inf:
        return None
    held, there = run.held_until(run.last), run.installed(run.last)
    return [ratio(float(held[r]), float(there[r])) for r in columns(run, links=links)]
