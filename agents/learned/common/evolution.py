"""Searches by evolution: mirrored errors, their ranks as fitness, and Adam (Salimans et al. 2017, arXiv:1703.03864)."""

from __future__ import annotations

import numpy as np

from agents.learned.common.tensors import Tensors
from simcore.ordered_sums import rows_dot
from simcore.types import Floats


class Evolution:
    """Climbs from `mean` float64 [size], and changes it; `average` is its mean over time.

    `memory` is the share of `average` that is kept in every iteration.
    """

    def __init__(self, mean: Floats, memory: float) -> None:
        self.mean, self.average, self._memory = mean, mean.copy(), memory
        self._moments = np.zeros((2, len(mean)))

    def errors(self, pairs: int, rng: np.random.Generator) -> Floats:
        """Draw errors, float64 [2 x pairs, size], with deviation 1: some, and the same with the other sign."""
        drawn = rng.normal(size=(pairs, len(self.mean)))
        return np.concatenate([drawn, -drawn])

    def climb(self, fitness: Floats, errors: Floats, sigma: float, rate: float, iteration: int) -> None:
        """Take a step along the ranks of `fitness`, of `mean` + `sigma` x each of `errors`; iterations start at 1."""
        ranks = fitness.argsort(kind="stable").argsort(kind="stable") / (len(fitness) - 1) - 0.5
        gradient = rows_dot(errors.T, ranks) / len(errors) / sigma
        first, second = 0.9, 0.99
        self._moments[0] = first * self._moments[0] + (1 - first) * gradient
        self._moments[1] = second * self._moments[1] + (1 - second) * gradient**2
        step, square = self._moments[0] / (1 - first**iteration), self._moments[1] / (1 - second**iteration)
        self.mean += rate * step / (np.sqrt(square) + 1e-8)
        self.average = self._memory * self.average + (1 - self._memory) * self.mean

    def save(self) -> Tensors:
        """Return the mean, its own mean over time, and Adam's moments."""
        return {"mean": self.mean.copy(), "average": self.average.copy(), "moments": self._moments.copy()}

    def load(self, tensors: Tensors) -> None:
        """Put back what `save` returned."""
        self.mean, self.average, self._moments = (tensors[name] for name in ("mean", "average", "moments"))
