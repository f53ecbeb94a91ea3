"""Estimates how long requests stay, from some that have ended and some that still run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

from binwright.simcore.types import Floats

SCALES = 40
"""Medians that are tried, or what a Weibull distribution has of that kind."""
SIGMAS, SHAPES = np.geomspace(0.3, 3.0, 8), np.geomspace(0.35, 2.5, 8)
BEYOND = 30.0
"""By how much a typical lifetime may exceed the longest that was seen."""
ENOUGH = 300
"""So many requests are looked at."""


class Lifetimes:
    """Weighs lognormal and Weibull distributions, and that nothing ever ends, by how well each explains what was seen.

    `stayed` float64 [n] seconds, and `ended` bool [n] tells whether that was all: the others stay for longer.
    """

    def __init__(self, stayed: Floats, ended: npt.NDArray[np.bool_]) -> None:
        self._stayed, self._ended = stayed, ended
        seen = np.flatnonzero(stayed > 0)
        seen = seen[:: -(-len(seen) // ENOUGH) or 1]
        times, over = np.log(stayed[seen]), ended[seen]
        low, high = (float(np.median(times)), float(times.max())) if len(times) else (0.0, 0.0)
        scales = np.linspace(low - 1, high + np.log(BEYOND), SCALES)
        normal = np.array([(scale, sigma) for scale in scales for sigma in SIGMAS])
        weibull = np.array([(scale, shape) for scale in scales for shape in SHAPES])
        z = (times - normal[:, :1]) / normal[:, 1:]
        log = np.where(over, -z * z / 2 - np.log(normal[:, 1:] * np.sqrt(2 * np.pi)), log_ndtr(-z)).sum(axis=1)
        y = (times - weibull[:, :1]) * weibull[:, 1:]
        grown = np.exp(np.minimum(y, 700))
        other = np.where(over, np.log(weibull[:, 1:]) + y - grown, -grown).sum(axis=1)
        never = -np.inf if over.any() else 0.0
        self._grid = np.concatenate([normal, weibull])
        self._lognormals = len(normal)
        scores = np.concatenate([log - np.log(len(log)), other - np.log(len(other)), [never]])
        weights = np.exp(scores - scores.max())
        self._weights = weights / weights.sum()

    def draw(self, ages: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw one way in which it could be: how long each of those seen stays in all, and some of these `ages`.

        Returns float64 [n], which is what was seen where they have ended, and float64 [ages].
        """
        cell = int(rng.choice(len(self._weights), p=self._weights))
        among = np.concatenate([self._stayed, ages])
        left = rng.random(len(among))
        if cell == len(self._grid):
            totals = np.full(len(among), np.inf)
        else:
            scale, form = self._grid[cell]
            age = np.log(np.maximum(among, 1e-9))
            if cell < self._lognormals:
                alive = np.maximum(ndtr(-(age - scale) / form) * left, 1e-300)
                totals = np.exp(scale - form * ndtri(alive))
            else:
                totals = np.exp(scale + np.log(np.exp((age - scale) * form) - np.log1p(-left)) / form)
            totals = np.maximum(totals, among)
        n = len(self._stayed)
        return np.where(self._ended, self._stayed, totals[:n]), totals[n:]
