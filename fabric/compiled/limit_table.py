"""Tells which limit of its queue keeps a request waiting, for the loop and for agents in Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import lean
from binwright.simcore.types import Floats, Ints

URGENT = 40
"""Turns and priorities of so many bits follow one another within each urgency of a queue."""
REQUESTS = -1
"""Stands among the numbers of resources for how many requests run."""


class LimitTable(NamedTuple):
    """Holds the limits of queues, what counts against them, and whom they have kept waiting.

    `queue` int64 [rows] is each row's queue, negative for none, and `never` bool [rows] says who is refused at once. A
    queue has the limits from its place in `first` int64 [queues + 1] to the next one's. Each limit int64 [limits] is
    on a `resource`, or on `REQUESTS`: at most `most` quanta or requests of each owner run. `owner` int64 [limits, rows]
    is the place in `used` where a row counts; those of several resources are different.

    Written are `used` int64 [any], and of each row: `runs` bool [rows], whether it counts, `since` and `until` float64
    [rows], when it was kept waiting (NaN: never; infinite: still), and `limit` int64 [rows], the first that did so.
    """

    queue: Ints
    never: npt.NDArray[np.bool_]
    first: Ints
    resource: Ints
    most: Ints
    owner: Ints
    used: Ints
    runs: npt.NDArray[np.bool_]
    since: Floats
    until: Floats
    limit: Ints


@lean
def _amount(limits: LimitTable, limit: int, demand: Ints, parts: int) -> int:
    r = limits.resource[limit]
    return 1 if r == REQUESTS else parts * demand[r]


@lean
def limit_reached(limits: LimitTable, demand: Ints, parts: int, row: int) -> int:
    """Return which limit keeps a gang of so many parts of `demand` int64 [resources] from starting, -1 for none."""
    queue = limits.queue[row]
    for limit in range(limits.first[queue] if queue >= 0 else 0, limits.first[queue + 1] if queue >= 0 else 0):
        more = _amount(limits, limit, demand, parts)
        if more > 0 and limits.used[limits.owner[limit, row]] + more > limits.most[limit]:
            return limit
    return -1


@lean
def is_kept(limits: LimitTable, demand: Ints, parts: int, row: int, now: float) -> bool:
    """Tell whether a limit keeps a row of the line from starting, and note since when, or that none does any more."""
    limit = limit_reached(limits, demand, parts, row)
    if limit >= 0:
        if np.isnan(limits.since[row]):
            limits.since[row], limits.limit[row] = now, limit
        limits.until[row] = np.inf
    elif limits.until[row] == np.inf:
        limits.until[row] = now
    return limit >= 0


@lean
def count(limits: LimitTable, demand: Ints, parts: int, row: int, runs: bool) -> None:
    """Count a row that starts, or stop counting it where it `runs` no more; changes `limits`."""
    queue = limits.queue[row]
    if queue >= 0 and limits.runs[row] != runs:
        limits.runs[row] = runs
        for limit in range(limits.first[queue], limits.first[queue + 1]):
            amount = _amount(limits, limit, demand, parts)
            limits.used[limits.owner[limit, row]] += amount if runs else -amount
