"""Draws futures that resemble the past of a run."""

from __future__ import annotations

import numpy as np

from binwright.agents.adaptive.lifetimes import Lifetimes
from binwright.fabric.compiled.numa_futures import Future
from binwright.simcore.past import Past
from binwright.simcore.types import Ints

BLOCK = 8
"""Requests that are taken from the past together, so that bursts stay bursts."""
UNSEEN = 0.5
"""How many requests of a larger kind than those seen are thought to come with as many as were seen."""


class Resampling:
    """Draws futures of `length` requests. Each thinks the past as typical as it may be: every part counts by chance.

    So what was seen twice only is frequent in some futures and rare in others. Now and then one asks for twice as much
    as a kind that was seen, as far as an empty server could hold that.
    """

    def __init__(self, past: Past, length: int) -> None:
        self._past, self._length = past, length
        self._lifetimes = Lifetimes(past.stayed, past.ended)
        kinds = np.unique(past.demand, axis=0)
        larger = 2 * kinds[past.possible(2 * kinds)]
        self._larger: Ints = larger[~(larger[:, None] == kinds[None]).all(axis=2).any(axis=1)]

    def draw(self, rng: np.random.Generator) -> Future:
        """Draw one."""
        past, n = self._past, len(self._past.gaps)
        stays, ends = self._lifetimes.draw(past.ages, rng)
        weights = rng.standard_exponential(n)
        starts = rng.choice(n, -(-self._length // BLOCK), p=weights / weights.sum())
        rows = ((starts[:, None] + np.arange(BLOCK)) % n).reshape(-1)[: self._length]
        demand = past.demand[rows]
        if len(self._larger):
            new = np.flatnonzero(rng.random(len(rows)) < UNSEEN / (n + UNSEEN))
            demand[new] = self._larger[rng.integers(len(self._larger), size=len(new))]
        arrival = np.cumsum(past.gaps[rows])
        return Future(arrival, stays[rows], demand, past.spreads(demand), ends - past.ages)
