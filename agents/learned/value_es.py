"""Trains value-es by an evolution strategy whose candidates all meet the same requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binwright.agents.learned.loop import Count, Positive
from binwright.agents.learned.numa import SIMPLE, discriminative_episodes, play_all, rules_of
from binwright.agents.learned.value import SIZE, TERMS, ValueTrainer, by_table, grains_of
from binwright.agents.world import World
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats


def climb(
    mean: Floats, moments: Floats, fitness: Floats, errors: Floats, sigma: float, rate: float, iteration: int
) -> tuple[Floats, Floats]:
    """Take a step from `mean` along the ranks of `fitness`, of `mean` + `sigma` x each of `errors`, by Adam.

    Returns where it leads, float64 [size], and Adam's moments then, float64 [2, size]; iterations start at 1.
    """
    ranks = fitness.argsort(kind="stable").argsort(kind="stable") / (len(fitness) - 1) - 0.5
    gradient = rows_dot(errors.T, ranks) / len(errors) / sigma
    first, second = 0.9, 0.99
    slope = first * moments[0] + (1 - first) * gradient
    square = second * moments[1] + (1 - second) * gradient**2
    step = slope / (1 - first**iteration)
    return mean + rate * step / (np.sqrt(square / (1 - second**iteration)) + 1e-8), np.stack([slope, square])


@dataclass
class EvolutionTrainer(ValueTrainer):
    """Mirrored Gaussian perturbations, their ranks as fitness, and Adam (Salimans et al. 2017, arXiv:1703.03864).

    An episode is the requests of a seed from a share of `warm` on. Most end at one burst of demand whoever decides, and
    teach nothing: of the episodes of `pool` seeds only those are kept in which simple rules and some random candidates
    differ. In every iteration `pairs` of candidates, w + e and w - e, all play the same `episodes` of these. Fitness is
    the mean of log(requests placed); errors have the standard deviation `sigma` in units of what a weight is like. What
    is validated is the mean of the weights over the last iterations (`memory` is the share kept of it), paired with
    `against`. With `sizes` a server's value knows how many requests of so many sizes still fit on it: those that take
    most of the cluster in the training requests. Without `network` only the terms and these are learned.
    """

    agent = "value-es"
    pairs: Count = 16
    episodes: Count = 128
    pool: Count = 800
    sigma: Positive = 0.3
    rate: Positive = 0.05
    network: bool = True
    state = "mean", "average", "moments"

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Find the episodes in which something can be learned."""
        super().begin(training, validation, seed, device)
        self._scale[TERMS:SIZE] *= self.network
        self.mean, self.moments = self.average, np.zeros((2, len(self.average)))
        errors = stream(seed, "train", "candidates").normal(size=(4, len(self.mean)))
        rules = rules_of(SIMPLE[:2]) + [self.rule(self.mean + self.sigma * error) for error in errors]
        self._replays, _ = discriminative_episodes(training, self._seeds, self.shares, rules)
        self._grains = grains_of(self._replays)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play one generation."""
        rng = stream(self._seed, "train", iteration)
        chosen = rng.permutation(len(self._replays))[: self.episodes]
        replays = [self._replays[number] for number in chosen]
        drawn = rng.normal(size=(self.pairs, len(self.mean)))
        errors = np.concatenate([drawn, -drawn])
        capacity, candidates = self.view.capacity[0], self.mean + self.sigma * errors
        rules = [by_table(self.rule(candidate), capacity, self._grains) for candidate in candidates]
        placed = play_all(replays, rules)
        fitness = np.log(np.maximum(placed, 1)).mean(axis=1)
        self.mean, self.moments = climb(self.mean, self.moments, fitness, errors, self.sigma, self.rate, iteration)
        self.follow(self.mean)
        return {
            "episodes": len(self._replays),
            "placed": float(placed.mean()),
            "fitness": float(fitness.mean()),
            "spread": float(fitness.std()),
        }
