"""What speaks against taking a trace for a steady stream of requests: survivors only, or arrivals that grow."""

from __future__ import annotations

import numpy as np

from simcore.types import Floats
from workloads.survival import kaplan_meier

ROWS = 20_000
"""So many rows are looked at, evenly chosen, where there are more."""
PARTS = 40
"""Moments that are tried for the beginning of what is complete."""
EXPECTED, MISSING = 20.0, 0.1
"""Requests that should have ended before a moment, at least, and the share of them that did, at most."""
CHANCE = 5.0
"""Standard deviations by which two numbers of arrivals differ at least, so that it is not by chance."""
FACTOR = 2.0
"""By so much the busiest quarter of the time differs from the calmest at least, where arrivals are not steady."""


def complete_from(arrival: Floats, lifetime: Floats) -> float | None:
    """Find the moment before which a trace has only those that survived it; None if it has those that ended, too.

    `arrival` float64 [n] ascends. Those that come later say how many of the earlier ones should have ended by then.
    """
    step = max(1, len(arrival) // ROWS)
    arrival, lifetime = arrival[::step], lifetime[::step]
    end = arrival + lifetime
    last = max(float(arrival[-1]), float(end[np.isfinite(end)].max(initial=-np.inf)))
    best, found = 0.0, None
    for moment in np.linspace(arrival[0], arrival[-1], PARTS + 1)[1:-1]:
        first = int(np.searchsorted(arrival, moment))
        ended = np.isfinite(lifetime[first:])
        if not ended.any():
            break
        seen = np.where(ended, lifetime[first:], last - arrival[first:])
        times, share = kaplan_meier(seen, ended)
        place = np.searchsorted(times, moment - arrival[:first], side="right")
        expected = float(np.where(place > 0, share[place - 1], 0.0).sum())
        there = int((end[:first] <= moment).sum())
        if expected >= EXPECTED / step and there <= MISSING * expected and expected - there > best:
            best, found = expected - there, float(moment)
    return found


def steady_from(arrival: Floats) -> float | None:
    """Find the moment from which on arrivals are steady, where they are not so from the beginning; None if they are."""
    first, last = float(arrival[0]), float(arrival[-1])
    if _ratio(arrival, first, last) < FACTOR:
        return None
    for part in range(1, PARTS * 3 // 4):
        begin = first + part * (last - first) / PARTS
        if _ratio(arrival, begin, last) < FACTOR:
            return begin
    return first + 0.75 * (last - first)


def _ratio(arrival: Floats, first: float, last: float) -> float:
    """Divide the arrivals in the busiest quarter of a time by those in the calmest; 1 where chance may be why."""
    counts, _ = np.histogram(arrival, 4, (first, last))
    most, least = int(counts.max()), int(counts.min())
    return most / max(1, least) if most - least > CHANCE * (most + least) ** 0.5 else 1.0
