"""Ask Z3 for one part of the balls after another: whole inputs are too much for it."""

from __future__ import annotations

from time import monotonic

import numpy as np

from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.agents.solver.packing import heuristics
from binwright.agents.solver.packing.bin_selection import Bought
from binwright.agents.solver.packing.rivals import Places, Tell, z3
from binwright.simcore.types import Ints

PART = 120
"""Balls of a part, at most."""
SHORTEST = 0.05
"""Seconds below which a part is given up."""


def improve(demand: Ints, places: Places, bound: int, seconds: float, seed: int, tell: Tell) -> tuple[Ints | None, int]:
    """Return a placement into equal bins, None if one part has none in time, and a lower bound.

    No two parts share a bin. The balls are cut into parts as equal as can be, in their order; each has an equal share
    of the time that is left. Where Z3 finds nothing in half of its time, it is asked for one bin more, in half of the
    time that is left then.
    """
    until = monotonic() + seconds
    fleet, capacity = Fleet.alike(places.capacity[0]), places.capacity[0]
    count = -(-len(demand) // PART)
    placed: list[Ints] = []
    used = 0
    for number, part in enumerate(np.array_split(demand, count)):
        most, least = int(heuristics.ffd_prod(part, capacity).max()) + 1, lower_bound(part, capacity)
        end = monotonic() + (until - monotonic()) / (count - number)
        where = None
        while where is None and end - monotonic() > SHORTEST:
            bins = Places.of(fleet, len(part), Bought(np.zeros(len(part), np.int64), np.zeros(most, np.int64)))
            where, _ = z3.improve(part, bins, least, (end - monotonic()) / 2, seed, _untold)
            most += 1
        if where is None:
            return None, bound
        _, where = np.unique(where, return_inverse=True)
        placed.append(used + where)
        used += int(where.max()) + 1
    return np.concatenate(placed), bound


def _untold(bins: int) -> None:
    """Keep quiet about a placement of a part: only that of all parts counts."""
