"""Shows jobs that wait as RLScheduler sees them, to its agent and in Queue-v0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from binwright.simcore.types import Ints, Request, View

WINDOW, FEATURES, LONGEST = 128, 8, 12 * 3600.0
"""Jobs that are seen, what is seen of each, and the seconds by which waits are divided."""
BELOW = 1 - 1e-5
"""The most that is said of a job."""


def visible(line: Sequence[Request], window: int) -> list[Request]:
    """Choose whom of those that wait is seen: all in order of arrival, or the shortest and the smallest by turns."""
    if len(line) <= window:
        return list(line)
    by_time = sorted(line, key=lambda one: (one.duration, one.arrival))
    by_size = sorted(line, key=lambda one: (one.demand[0], one.arrival))
    found = {one.index: one for pair in zip(by_time, by_size, strict=True) for one in pair}
    return list(found.values())[:window]


def observed(view: View, jobs: Sequence[Request], longest: float = LONGEST) -> npt.NDArray[np.float32]:
    """Describe jobs, float32 [jobs, 8]: waits, times, shares of the first resource, four ones, and who fits now.

    A gang has the share of all its parts, and fits if all do.
    """
    found = np.ones((len(jobs), FEATURES), np.float32)
    if jobs:
        total, parts = int(view.capacity[:, :, 0].sum()), [one.parts for one in jobs]
        told = [
            ((view.now - one.arrival) / LONGEST, one.duration / longest, one.demand[0] * count / total)
            for one, count in zip(jobs, parts, strict=True)
        ]
        found[:, :3] = np.minimum(told, BELOW)
        found[:, 7] = np.where(_room(view, jobs) >= parts, BELOW, 1 - BELOW)
    return found


def _room(view: View, jobs: Sequence[Request]) -> Ints:
    """Count for each job how many like it there is room for, int64 [jobs]."""
    demand, nodes = np.array([one.demand for one in jobs])[:, None, None], view.free.shape[1]
    spread = np.array([one.spread for one in jobs])
    each = demand // nodes + (np.arange(nodes)[:, None] < demand % nodes)
    needed = np.where(spread[:, None, None, None], each, demand)
    found = np.where(needed > 0, view.free // np.maximum(needed, 1), 2**31).min(axis=3)
    rooms: Ints = np.where(spread, found.min(axis=2).sum(axis=1), found.sum(axis=(1, 2)))
    return rooms
