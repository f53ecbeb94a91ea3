"""Ask Z3 for one part of the balls after another: whole inputs are too much for it."""

from __future__ import annotations

from time import monotonic

import numpy as np

from agents.solver.model.packing_bound import lower_bound
from agents.solver.packing import heuristics
from agents.solver.packing.rivals import Tell, z3
from simcore.vocabulary import Ints

PART = 120
"""Balls of a part, at most."""
SHORTEST = 0.05
"""Seconds below which a part is given up."""


def improve(
    demand: Ints, capacity: Ints, known: Ints, bound: int, seconds: float, seed: int, tell: Tell
) -> tuple[Ints | None, int]:
    """Return a placement in which no two parts share a bin, None if one part has none in time, and a lower bound.

    The balls are cut into parts as equal as can be, in their order; each has an equal share of the time that is left.
    Where Z3 finds nothing in half of its time, it is asked for one bin more, in half of the time that is left then.
    """
    until = monotonic() + seconds
    count = -(-len(demand) // PART)
    placed: list[Ints] = []
    used = 0
    for number, part in enumerate(np.array_split(demand, count)):
        known, least = heuristics.ffd_prod(part, capacity), lower_bound(part, capacity)
        end = monotonic() + (until - monotonic()) / (count - number)
        where = None
        while where is None and end - monotonic() > SHORTEST:
            where, _ = z3.improve(part, capacity, known, least, (end - monotonic()) / 2, seed, _untold)
            known = known + 1
        if where is None:
            return None, bound
        _, where = np.unique(where, return_inverse=True)
        placed.append(used + where)
        used += int(where.max()) + 1
    return np.concatenate(placed), bound


def _untold(bins: int) -> None:
    """Keep quiet about a placement of a part: only that of all parts counts."""
