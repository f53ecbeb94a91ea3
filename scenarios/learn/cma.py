"""CMA-ES (Hansen 2016, arXiv:1604.00772) in the unit cube: what is tried next, from how well the last ones did.

It looks at ranks only, so scores may be of any size and noisy; the mean of its distribution is its answer.
"""

from math import exp, log, sqrt

import numpy as np

from binwright.simcore.types import Floats


class Cma:
    """A normal distribution over [0, 1]^n that moves to where scores are high.

    `mean` float64 [n] may leave the cube by as much as samples did before they were clipped to it.
    """

    def __init__(self, mean: Floats, sigma: float, population: int, rng: np.random.Generator) -> None:
        n = len(mean)
        self.mean, self.sigma, self._size, self._rng = mean.astype(float), sigma, population, rng
        weights = log(population / 2 + 0.5) - np.log(np.arange(1, population // 2 + 1))
        self._weights = weights / weights.sum()
        self._mass = mass = float(1 / (self._weights**2).sum())
        self._c_sigma = (mass + 2) / (n + mass + 5)
        self._damping = 1 + self._c_sigma + 2 * max(0.0, sqrt((mass - 1) / (n + 1)) - 1)
        self._c_path = (4 + mass / n) / (n + 4 + 2 * mass / n)
        self._c_one = 2 / ((n + 1.3) ** 2 + mass)
        self._c_rank = min(1 - self._c_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        self._length = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # of a standard normal vector
        self._covariance, self._axes, self._widths = np.eye(n), np.eye(n), np.ones(n)
        self._path, self._steps, self._told = np.zeros(n), np.zeros(n), 0

    def ask(self) -> Floats:
        """Points to try, float64 [population, n]."""
        squares, self._axes = np.linalg.eigh(self._covariance)
        self._widths = np.sqrt(np.maximum(squares, 1e-20))
        drawn = self._rng.standard_normal((self._size, len(self.mean)))
        points: Floats = np.clip(self.mean + self.sigma * (drawn * self._widths) @ self._axes.T, 0.0, 1.0)
        return points

    def tell(self, points: Floats, scores: Floats) -> None:
        """Learn how well each of them did, float64 [population]: more is better, NaN is worst; of equals the first."""
        best = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")[: len(self._weights)]
        moves = (points[best] - self.mean) / self.sigma
        move = self._weights @ moves
        self._told += 1
        self.mean = self.mean + self.sigma * move
        c, straight = self._c_sigma, self._axes @ ((self._axes.T @ move) / self._widths)
        self._steps = (1 - c) * self._steps + sqrt(c * (2 - c) * self._mass) * straight
        steps = float(np.linalg.norm(self._steps))
        limit = (1.4 + 2 / (len(move) + 1)) * self._length * sqrt(1 - (1 - c) ** (2 * self._told))
        calm = float(steps < limit)
        c = self._c_path
        self._path = (1 - c) * self._path + calm * sqrt(c * (2 - c) * self._mass) * move
        old = self._covariance * (1 - self._c_one - self._c_rank + (1 - calm) * self._c_one * c * (2 - c))
        self._covariance = (
            old + self._c_one * np.outer(self._path, self._path) + self._c_rank * (moves.T * self._weights) @ moves
        )
        self.sigma *= exp(min(1.0, self._c_sigma / self._damping * (steps / self._length - 1)))
