"""Ask HiGHS, which comes with scipy, by the model that everyone writes first.

Huangfu and Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10, 2018.
"""

from __future__ import annotations

from math import ceil
from time import monotonic

import numpy as np

from binwright.agents.solver.packing.rivals import Places, Tell
from binwright.simcore.types import Ints

LARGEST = 200_000
"""Choices of a ball and a bin that a model may have."""
TINY = 1e-6
"""What its bounds may be off."""


def improve(demand: Ints, places: Places, bound: int, seconds: float, seed: int, tell: Tell) -> tuple[Ints | None, int]:
    """Return a placement, None if none was found in time, and a lower bound. It takes no hint and no seed.

    The model has a binary number for each ball and bin, and one for each bin: is it used? Of each kind, the bins that
    are used come first.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    began = monotonic()
    balls, dims, bins = len(demand), demand.shape[1], len(places.price)
    if balls * bins > LARGEST:
        return None, bound
    ball, target = (part.ravel() for part in np.indices((balls, bins)))
    once = (np.ones(balls * bins), (ball, ball * bins + target))
    used = balls * bins + np.arange(bins)
    rules = [LinearConstraint(coo_array(once, (balls, balls * bins + bins)).tocsr(), 1, 1)]
    for d in range(dims):
        room = places.capacity[:, d]
        amounts = np.concatenate([demand[ball, d], -room]) / max(int(room.max()), 1)
        at = np.concatenate([target, np.arange(bins)]), np.concatenate([ball * bins + target, used])
        rules.append(LinearConstraint(coo_array((amounts, at), (bins, balls * bins + bins)).tocsr(), -np.inf, 0))
    first = np.flatnonzero(places.kind[1:] == places.kind[:-1])
    if len(first):
        row = np.arange(len(first))
        entries = np.concatenate([np.ones(len(first)), -np.ones(len(first))])
        at = np.concatenate([row, row]), np.concatenate([used[first], used[first + 1]])
        rules.append(LinearConstraint(coo_array((entries, at), (len(first), balls * bins + bins)).tocsr(), 0, 1))
    found = milp(
        np.append(np.zeros(balls * bins), places.price),
        integrality=np.ones(balls * bins + bins),
        bounds=Bounds(0, 1),
        constraints=rules,
        options={"time_limit": max(began + seconds - monotonic(), 0.01)},
    )
    if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
        bound = max(bound, ceil(found.mip_dual_bound - TINY))
    if found.x is None:
        return None, bound
    where = found.x[: balls * bins].reshape(balls, bins).argmax(axis=1)
    needs = demand.any(axis=1)
    where[~needs] = where[needs][0] if needs.any() else places.price.argmin()  # the model lets them lie in unused bins
    return where, bound
