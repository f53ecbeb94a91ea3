"""Trains value-es by an evolution strategy whose candidates all meet the same requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.learned.loop import Count, CountFromZero, Positive, Share
from binwright.agents.learned.numa import SAMPLED, SIMPLE, NumaTrainer, discriminative_episodes, play_all, rules_of
from binwright.agents.learned.value import SIZE, TERMS, by_table, described, first_of, grains_of, tensors_of, value_of
from binwright.agents.learned.weights import Tensors
from binwright.agents.world import World
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats


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


@dataclass
class ValueTrainer(NumaTrainer):
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
    memory: Share = 0.9
    sizes: CountFromZero = 0
    network: bool = True

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Begin with the known terms, or with the room for `sizes`, and a network that counts for nothing yet."""
        super().begin(training, validation, seed, device)
        some, rng = self._seeds[:SAMPLED].tolist(), stream(seed, "train", "weights")
        self._known, mean, self._scale = first_of(training, some, self.sizes, rng)
        self._scale[TERMS:SIZE] *= self.network
        self._evolution = Evolution(mean, self.memory)
        errors = stream(seed, "train", "candidates").normal(size=(4, len(mean)))
        rules = rules_of(SIMPLE[:2]) + [self._candidate(mean + self.sigma * error) for error in errors]
        self._replays, _ = discriminative_episodes(training, self._seeds, self.shares, rules)
        self._grains = grains_of(self._replays)

    def _candidate(self, mean: Floats) -> Compiled:
        return value_of(mean * self._scale, self._known)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play one generation."""
        rng = stream(self._seed, "train", iteration)
        chosen = rng.permutation(len(self._replays))[: self.episodes]
        replays = [self._replays[number] for number in chosen]
        errors = self._evolution.errors(self.pairs, rng)
        candidates = self._evolution.mean + self.sigma * errors
        capacity, grains = self.view.capacity[0], self._grains
        rules = [by_table(self._candidate(candidate), capacity, grains) for candidate in candidates]
        placed = play_all(replays, rules)
        fitness = np.log(np.maximum(placed, 1)).mean(axis=1)
        self._evolution.climb(fitness, errors, self.sigma, self.rate, iteration)
        return {
            "episodes": len(self._replays),
            "placed": float(placed.mean()),
            "fitness": float(fitness.mean()),
            "spread": float(fitness.std()),
        }

    def used(self) -> Compiled:
        """Return the rule with the mean of the weights over time."""
        return self._candidate(self._evolution.average)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return where the strategy is."""
        return self._evolution.save(), {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self._evolution.load(tensors)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights of the terms and the network."""
        weights = tensors_of(self._evolution.average * self._scale, self._known)
        return weights, described(self.view, self.agent)
