"""Trains fabric-rl by an evolution strategy whose candidates all meet the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.learned.common.evolution import Evolution
from agents.learned.common.settings import Count, FromZero, Positive, Share
from agents.learned.common.tensors import Tensors
from agents.learned.common.trainer import TRAINING, Trainer
from agents.learned.fabric_rl.agent import described
from agents.learned.fabric_rl.network import Weights, beginning, weights_of
from agents.learned.fabric_rl.search import play
from agents.learned.fabric_rl.sight import sight
from agents.world import World
from simcore.cores import usable_cpus
from simcore.jit import prepared
from simcore.record import PLACED
from simcore.rng import stream
from simcore.vocabulary import Floats, Workload


@dataclass
class FabricTrainer(Trainer):
    """Mirrored Gaussian perturbations, their ranks as fitness, and Adam (Salimans et al. 2017, arXiv:1703.03864).

    In every iteration `pairs` of candidates, w + e and w - e, all play the same `episodes`: the share `rejecting` of
    these with the right to reject. Fitness is the mean acceptance, plus `use` times the mean share of the cluster in
    use. Over `annealed` iterations the standard deviation of the errors falls from `sigma` to a half, and the rate from
    `rate` to a tenth.
    What is validated is the mean of the weights over the last iterations (`memory` is the share kept of it).
    """

    score = "fitness"
    pairs: Count = 16
    episodes: Count = 16
    rejecting: Share = 0.5
    use: FromZero = 0.5
    sigma: Positive = 0.08
    rate: Positive = 0.02
    annealed: Count = 130
    memory: Share = 0.9

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Begin near best-home."""
        self._seed = seed
        self._worlds = training, validation
        workers = usable_cpus()
        self._players = [[Player(world) for _ in range(workers)] for world in self._worlds]
        self._view = training.ledger(0).view
        self._evolution = Evolution(beginning(stream(seed, "train", "weights")), self.memory)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play one generation."""
        rng = stream(self._seed, "train", iteration)
        seeds = TRAINING + rng.integers(2**40, size=self.episodes)
        workloads = [self._worlds[0].draw(int(seed)) for seed in seeds]
        errors = self._evolution.errors(self.pairs, rng)
        rejecting = np.arange(self.episodes) < self.rejecting * self.episodes
        done = min(1.0, iteration / self.annealed)
        sigma, rate = self.sigma * 0.5**done, self.rate * 0.1**done
        scores = play_all(self._players[0], self._evolution.mean + sigma * errors, workloads, rejecting)
        fitness = self._fitness(scores).mean(axis=1)
        self._evolution.climb(fitness, errors, sigma, rate, iteration)
        acceptance = scores[:, :, 0].mean(axis=0)
        return {
            "acceptance": float(acceptance[~rejecting].mean()) if not rejecting.all() else 0.0,
            "acceptance_rejecting": float(acceptance[rejecting].mean()) if rejecting.any() else 0.0,
            "fitness": float(fitness.mean()),
            "spread": float(fitness.std()),
        }

    def _fitness(self, scores: Floats) -> Floats:
        found: Floats = scores[..., 0] + self.use * scores[..., 1:].mean(axis=-1)
        return found

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """Play every episode without rejecting, and with; returns metrics."""
        workloads = [self._worlds[1].draw(seed) for seed in seeds]
        found: dict[str, float] = {}
        fitness = []
        for reject, name in ((False, ""), (True, "_rejecting")):
            flags = np.full(len(seeds), reject)
            scores = play_all(self._players[1], self._evolution.average[None], workloads, flags)[0]
            means = scores.mean(axis=0)
            found[f"acceptance{name}"] = float(means[0])
            for resource, share in zip(self._view.resources, means[1:].tolist(), strict=True):
                found[f"allocation_{resource}{name}"] = share
            fitness.append(float(self._fitness(scores).mean()))
        weights = 1 - self.rejecting, self.rejecting
        return {**found, "fitness": weights[0] * fitness[0] + weights[1] * fitness[1]}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return where the strategy is."""
        return self._evolution.save(), {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self._evolution.load(tensors)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the mean of the weights over time."""
        return weights_of(self._evolution.average.copy())._asdict(), described(self._view)


class Player:
    """Plays episodes of a world, one after the other."""

    def __init__(self, world: World) -> None:
        self.episodes = world.episodes(1)
        self._sight = sight(self.episodes.view)

    def play(self, flat: Floats, workload: Workload, reject: bool) -> list[float]:
        """Return the share of requests placed, and of every resource in use, by weights in one vector."""
        episodes = self.episodes
        episodes.reset(0, workload)
        self._sight.known[:] = 0.0
        self._sight.ends[:] = 0.0
        weights = weights_of(flat)
        while not self._over(weights, reject):
            episodes.make_space()
        state = episodes.state
        decisions = max(1, int(state.at[0, 2]))
        placed = int((state.outcome[0, : len(workload)] == PLACED).sum())
        return [placed / max(1, len(workload)), *(state.sums[0] / decisions / episodes.rules.total).tolist()]

    def _over(self, weights: Weights, reject: bool) -> bool:
        """Play on; tells whether the episode is over, and not just out of space in a log."""
        arguments = self.episodes.rules, self.episodes.state, self.episodes.filling, self._sight, weights, reject
        return bool(prepared(play, *arguments)(*arguments))


def play_all(players: Sequence[Player], vectors: Floats, workloads: Sequence[Workload], reject: Any) -> Floats:
    """Play every vector [n, SIZE] on every workload: float64 [n, workloads, 1 + resources], on all processors.

    `reject` bool [workloads] says where they may reject requests that they could place.
    """

    def part(number: int) -> list[tuple[int, list[list[float]]]]:
        return [
            (row, [players[number].play(vectors[row], *each) for each in zip(workloads, reject.tolist(), strict=True)])
            for row in range(number, len(vectors), len(players))
        ]

    with ThreadPoolExecutor(len(players)) as pool:
        found = dict(pair for some in pool.map(part, range(len(players))) for pair in some)
    return np.array([found[row] for row in range(len(vectors))])
