"""Training value-es: an evolution strategy whose candidates all meet the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from agents import AGENTS
from agents.learned.tensors import Tensors
from agents.learned.trainer import Trainer
from agents.learned.value_es.agent import NODES, check_servers
from agents.learned.value_es.value import HIDDEN, INPUTS, KNOWN, SIZE, TERMS, value_es
from agents.world import World
from fabric.ledger import Ledger
from fabric.numa_episodes import CompiledSimulation, Replay, play_compiled
from simcore.cores import usable_cpus
from simcore.engine import Overflow
from simcore.errors import UserError
from simcore.rng import stream
from simcore.vocabulary import Compiled, Floats, Ints

TRAINING = 2**40
"""Seeds of training requests start here: far from those of any scenario."""
SIMPLE = ("best-fit", "internal")
TELLING = 0.02
"""An episode teaches something in which the best of some rules places so much more than the worst."""


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
        self._kept: dict[int, tuple[list[Replay], Floats]] = {}

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Begin with the known terms, and a network that counts for nothing yet."""
        self._training, self._validation, self._seed = training, validation, seed
        self._view = training.ledger().view
        check_servers(self._view)
        for world in (training, validation):
            if world.overflow.mode not in ("drop", "stop") or world.pacing:
                remedy = "Write `overflow: stop`, and no pacing."
                raise UserError("value-es does not learn with it", key="overflow", remedy=remedy)
        rng = stream(seed, "train", "weights")
        self._scale = np.ones(SIZE)
        self._scale[:TERMS] = KNOWN
        self._mean = np.ones(SIZE)
        self._mean[TERMS:] = rng.normal(size=SIZE - TERMS)
        self._mean[TERMS + (INPUTS + 1) * HIDDEN :] = 0.0
        self._average = self._mean.copy()
        self._moments = np.zeros((2, SIZE))
        seeds = stream(seed, "train", "episodes").integers(2**40, size=self._seeds)
        self._pool = self._telling(TRAINING + seeds)

    def _telling(self, seeds: Ints) -> list[Replay]:
        """The training episodes in which rules differ."""
        rules = [AGENTS.load(name)().compiled for name in SIMPLE]
        errors = stream(self._seed, "train", "candidates").normal(size=(4, SIZE))
        rules += [self._candidate(self._mean + self._sigma * error) for error in errors]
        found = []
        for seed in seeds.tolist():
            replays = self._replays(self._training, [seed])
            placed = play_all(replays, rules)
            telling = np.ptp(placed, axis=0) > TELLING * placed.min(axis=0)
            found += [replay for replay, tells in zip(replays, telling, strict=True) if tells]
        if not found:
            raise UserError(
                "there is nothing to learn: all rules place as many requests in every training episode",
                key="train.episodes",
                remedy="Give more requests, fewer servers, or a larger `pool`.",
            )
        return found

    def _candidate(self, mean: Floats) -> Compiled:
        return Compiled(value_es, (mean * self._scale,))

    def iterate(self, iteration: int) -> dict[str, float]:
        """One generation."""
        rng = stream(self._seed, "train", iteration)
        chosen = rng.permutation(len(self._pool))[: self._count]
        replays = [self._pool[number] for number in chosen]
        errors = rng.normal(size=(self._pairs, SIZE))
        errors = np.concatenate([errors, -errors])
        placed = play_all(replays, [self._candidate(self._mean + self._sigma * error) for error in errors])
        fitness = np.log(np.maximum(placed, 1)).mean(axis=1)
        ranks = fitness.argsort(kind="stable").argsort(kind="stable") / (len(fitness) - 1) - 0.5
        self._ascend(ranks @ errors / len(errors) / self._sigma, iteration)
        return {
            "episodes": len(self._pool),
            "placed": float(placed.mean()),
            "fitness": float(fitness.mean()),
            "spread": float(fitness.std()),
        }

    def _ascend(self, gradient: Floats, iteration: int) -> None:
        """A step of Adam."""
        first, second = 0.9, 0.99
        self._moments[0] = first * self._moments[0] + (1 - first) * gradient
        self._moments[1] = second * self._moments[1] + (1 - second) * gradient**2
        mean, square = self._moments[0] / (1 - first**iteration), self._moments[1] / (1 - second**iteration)
        self._mean += self._rate * mean / (np.sqrt(square) + 1e-8)
        self._average = self._memory * self._average + (1 - self._memory) * self._mean

    def _replays(self, world: World, seeds: Sequence[int]) -> list[Replay]:
        """Every episode from every share of the warm start."""
        found = []
        for seed in seeds:
            workload = world.draw(seed)
            for share in self._warm:
                ledger = world.ledger()
                simulation = CompiledSimulation(workload, ledger, Overflow("drop"))
                agent = AGENTS.load("best-fit")()
                wanted = share * int(ledger.view.capacity[:, :, 0].sum())
                largest = int(workload.demand[:, 0].max(initial=1))
                play_compiled(simulation, agent, partial(_missing, ledger, wanted, largest))
                simulation.overflow = world.overflow
                found.append(Replay(simulation))
        return found

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """How much more is placed than by `against`."""
        key = len(seeds)
        if key not in self._kept:
            replays = self._replays(self._validation, seeds)
            other = AGENTS.load(self._against)().compiled
            self._kept[key] = replays, play_all(replays, [other])[0]
        replays, base = self._kept[key]
        placed = play_all(replays, [self._candidate(self._average)])[0]
        shares = placed.reshape(-1, len(self._warm)).mean(axis=0) / base.reshape(-1, len(self._warm)).mean(axis=0)
        ratio = np.log(np.maximum(placed, 1) / np.maximum(base, 1))
        gains = {f"gain_{share:.0%}": float(gain - 1) for share, gain in zip(self._warm, shares, strict=True)}
        return {"gain": float(shares.mean() - 1), "log_gain": float(ratio.mean()), **gains}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """The mean of the candidates, its own mean over time, and Adam's moments."""
        return {"mean": self._mean.copy(), "average": self._average.copy(), "moments": self._moments.copy()}, {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """What `save` gave."""
        self._mean, self._average, self._moments = (tensors[name] for name in ("mean", "average", "moments"))

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Of the terms and the network."""
        resources = list(self._view.resources)
        notes = {"agent": "value-es", "resources": resources, "nodes": NODES, "hidden": HIDDEN}
        return {"weights": self._average * self._scale}, notes


def _missing(ledger: Ledger, wanted: float, largest: int) -> int:
    """After how many more placements, at least, so much of the first resource is in use; 0 once it is."""
    left = wanted - int(ledger.used()[0])
    return max(1, int(left // largest)) if left > 0 else 0


def play_all(replays: Sequence[Replay], rules: Sequence[Compiled]) -> Floats:
    """Requests placed, float64 [rules, replays], on all processors."""
    placed = np.empty((len(rules), len(replays)))

    def play_one(number: int) -> None:
        placed[:, number] = [replays[number].placed(rule) for rule in rules]

    with ThreadPoolExecutor(usable_cpus()) as pool:
        list(pool.map(play_one, range(len(replays))))
    return placed
