"""Training value-es: an evolution strategy whose candidates all meet the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents import AGENTS
from agents.learned.evolution import Evolution
from agents.learned.rollouts import HeldOut, check_worlds, play_all, telling
from agents.learned.tensors import Tensors
from agents.learned.trainer import TRAINING, Trainer
from agents.learned.value_es.agent import NODES, check_servers
from agents.learned.value_es.value import HIDDEN, INPUTS, KNOWN, SIZE, TERMS, value_es
from agents.world import World
from simcore.rng import stream
from simcore.vocabulary import Compiled, Floats

SIMPLE = ("best-fit", "internal")


class ValueTrainer(Trainer):
    """Mirrored Gaussian perturbations, their ranks as fitness, and Adam (Salimans et al. 2017, arXiv:1703.03864).

    An episode is the requests of a seed from a share of `warm` on (of the first resource, filled by Best-Fit). Most
    end at one burst of demand whoever decides, and teach nothing: of the episodes of `pool` seeds only those are kept
    in which simple rules and some random candidates differ. In every iteration `pairs` of candidates, w + e and w - e,
    all play the same `episodes` of these. Fitness is the mean of log(requests placed); errors have the standard
    deviation `sigma` in units of what a weight is like. What is validated is the mean of the weights over the last
    iterations (`memory` is the share kept of it), paired with `against`.
    """

    score = "gain"

    def __init__(
        self,
        pairs: int = 16,
        episodes: int = 128,
        pool: int = 800,
        warm: tuple[float, ...] = (0.0, 0.3, 0.5),
        sigma: float = 0.3,
        rate: float = 0.05,
        memory: float = 0.9,
        against: str = "best-fit",
    ) -> None:
        self._pairs, self._count, self._seeds, self._warm = pairs, episodes, pool, warm
        self._sigma, self._rate, self._memory, self._against = sigma, rate, memory, against

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Begin with the known terms, and a network that counts for nothing yet."""
        self._seed = seed
        self._view = training.ledger().view
        check_servers(self._view, "value-es")
        check_worlds("value-es", training, validation)
        self._held_out = HeldOut(validation, self._warm, self._against)
        rng = stream(seed, "train", "weights")
        self._scale = np.ones(SIZE)
        self._scale[:TERMS] = KNOWN
        mean = np.ones(SIZE)
        mean[TERMS:] = rng.normal(size=SIZE - TERMS)
        mean[TERMS + (INPUTS + 1) * HIDDEN :] = 0.0
        self._evolution = Evolution(mean, self._memory)
        seeds = stream(seed, "train", "episodes").integers(2**40, size=self._seeds)
        rules = [AGENTS.load(name)().compiled for name in SIMPLE]
        errors = stream(seed, "train", "candidates").normal(size=(4, SIZE))
        rules += [self._candidate(mean + self._sigma * error) for error in errors]
        self._pool, _ = telling(training, TRAINING + seeds, self._warm, rules)

    def _candidate(self, mean: Floats) -> Compiled:
        return Compiled(value_es, (mean * self._scale,))

    def iterate(self, iteration: int) -> dict[str, float]:
        """One generation."""
        rng = stream(self._seed, "train", iteration)
        chosen = rng.permutation(len(self._pool))[: self._count]
        replays = [self._pool[number] for number in chosen]
        errors = self._evolution.errors(self._pairs, rng)
        candidates = self._evolution.mean + self._sigma * errors
        placed = play_all(replays, [self._candidate(candidate) for candidate in candidates])
        fitness = np.log(np.maximum(placed, 1)).mean(axis=1)
        self._evolution.climb(fitness, errors, self._sigma, self._rate, iteration)
        return {
            "episodes": len(self._pool),
            "placed": float(placed.mean()),
            "fitness": float(fitness.mean()),
            "spread": float(fitness.std()),
        }

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """How much more is placed than by `against`."""
        return self._held_out.gains(self._candidate(self._evolution.average), seeds)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Where the strategy is."""
        return self._evolution.save(), {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """What `save` gave."""
        self._evolution.load(tensors)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Of the terms and the network."""
        resources = list(self._view.resources)
        notes = {"agent": "value-es", "resources": resources, "nodes": NODES, "hidden": HIDDEN}
        return {"weights": self._evolution.average * self._scale}, notes
