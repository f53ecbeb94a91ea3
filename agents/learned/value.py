"""Places by what every server of two NUMA nodes is worth: the agents value-es and hindsight.

A server is worth a small function of the shares free on it and the requests of known absolute sizes that still fit.
Sizes are kept with the weights, float64 [k, 4]: what a request takes of a node's cpu and mem, in quanta, whether it is
spread (1, and then it takes as much of the other node), and its importance.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar

import numpy as np

from binwright.agents.learned.loop import Count, CountFromZero, Positive, Share
from binwright.agents.learned.numa import NODES, SAMPLED, SIMPLE, NumaTrainer, check_servers, play_all, rules_of
from binwright.agents.learned.weights import Tensors, described, find, fitting, read
from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.agents.world import World
from binwright.fabric.ledger import Ledger
from binwright.fabric.servers import give
from binwright.simcore.jit import inlined, kernel, lean
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.record import SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Ints, View
from binwright.simcore.workload import Workload

NO_SIZES: Floats = np.zeros((0, 4))
PER_SIZE = 2
"""Weights of a size: of every request that fits, and of whether one does."""
ROW = 3 + PER_SIZE
"""Numbers of a size in the kernel: 1 / cpu, 1 / mem, whether it is spread, and its weights."""
SCALE = 50.0
"""What a weight of a size is like, in units of its importance."""
SLACK = 1e-9
"""Room for so much of a request is missing at most by what floats round."""


def sizes_of(workloads: Iterable[Workload], ledger: Ledger, most: int, frequent: bool = False) -> Floats:
    """Return the sizes that take most of the cluster, `most` at most: float64 [k, 4], the smallest first.

    What a size takes is its number of requests times the larger of its shares of an average node's resources. Its
    importance is its share of what all of these take, times that larger share. Or else they are the most `frequent`
    ones, each with its share of all requests as its importance.
    """
    demands = np.concatenate([workload.demand for workload in workloads])
    rows, count = np.unique(demands if frequent else demands[ledger.possible(demands)], axis=0, return_counts=True)
    share = np.ones(len(rows)) if frequent else (rows / ledger.view.capacity.mean(axis=(0, 1))).max(axis=1)
    chosen = np.sort(np.argsort(-count * share, kind="stable")[:most])
    rows, share, taken = rows[chosen], share[chosen], (count * share)[chosen]
    spread = ledger.spreads(rows).astype(np.float64)
    parts = np.maximum(rows / (1 + spread)[:, None], 1), spread, taken / taken.sum() * share
    return np.column_stack(parts)[np.argsort(share, kind="stable")]


def known_sizes(sizes: Floats, weights: Floats) -> Floats:
    """Put sizes [k, 4] and their weights [k * PER_SIZE] together for the kernel, float64 [k * ROW]."""
    parts = [1 / sizes[:, :2], sizes[:, 2:3], weights.reshape(len(sizes), PER_SIZE)]
    return np.concatenate(parts, axis=1).ravel()


def fitting_on(free: Ints, sizes: Floats) -> Floats:
    """Count what fits on servers with these quanta free, int64 [..., 2 nodes, 2 resources]: [..., k * PER_SIZE].

    Of each size how many requests do, and as 0 or 1 whether any does: what its weights are of.
    """
    each = np.floor((free[..., None, :] / sizes[:, :2]).min(axis=-1) + SLACK)  # [..., nodes, k]
    fits = np.where(sizes[:, 2] > 0, each.min(axis=-2), each.sum(axis=-2))
    return np.stack([fits, fits > 0], axis=-1).reshape(*fits.shape[:-1], PER_SIZE * len(sizes))


@inlined
def room(cpu: float, mem: float, other_cpu: float, other_mem: float, known: Floats, first: int) -> float:
    """Compute the worth of what still fits on a server with these quanta free on its nodes; sizes begin at `first`."""
    value = 0.0
    for at in range(first, len(known), ROW):
        on_node = min(cpu * known[at], mem * known[at + 1]) + SLACK
        on_other = min(other_cpu * known[at], other_mem * known[at + 1]) + SLACK
        fits = floor(min(on_node, on_other)) if known[at + 2] > 0 else floor(on_node) + floor(on_other)
        if fits > 0:
            value += known[at + 3] * fits + known[at + 4]
    return value


@kernel
def remaining(free: Floats, codes: Floats, demand: Floats, spread: Floats, known: Floats, levels: Floats) -> None:
    """Write to levels [n] what still fits on a server after each placement, on average over the servers.

    `free` [n, servers, 2, 2], `demand` [n, 2] quanta, `codes` [n], and `spread` [n] are as in a trajectory.
    """
    for b in range(len(free)):
        left, chosen, node = free[b].copy(), int(codes[b]) // 2, int(codes[b]) % 2
        give(left, demand[b], chosen, SPREAD if spread[b] > 0 else node, -1)
        levels[b] = 0.0
        for server in left:
            levels[b] += room(server[0, 0], server[0, 1], server[1, 0], server[1, 1], known, 0) / len(left)


TERMS, HIDDEN, INPUTS = 6, 8, 4
SIZE = TERMS + (INPUTS + 2) * HIDDEN
"""Weights: of the terms; then of the network, for all hidden units those of each input, the biases, and what
they count."""

NOTES = {"nodes": NODES, "hidden": HIDDEN}
"""What the weights are for, beside resources."""
KNOWN: Floats = np.array([23.9, 1.02, 1.61, 2.10, 0.94, 0.56])
"""Weights of the terms that an earlier evolution strategy found, without a network."""
LARGE, MIDDLE, SMALL = (0.8, 0.71), (0.4, 0.355), (0.2, 0.177)
"""Shares of cpu and mem: 32 of 40 cores and 64 of 90 GB, half, a quarter."""


def beginning(sizes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return where training begins, and its scale, both float64 [SIZE + PER_SIZE * k]; rules take the product.

    Without `sizes` the terms begin with the known weights, or else with none: then a server is worth the requests that
    still fit on it, each by its importance. The network begins with weights that count for nothing yet.
    """
    weights, scale = np.ones((2, SIZE))
    scale[:TERMS] = KNOWN
    weights[:TERMS] = not len(sizes)
    weights[TERMS:] = rng.normal(size=SIZE - TERMS)
    weights[TERMS + (INPUTS + 1) * HIDDEN :] = 0.0
    begin = np.tile(np.eye(PER_SIZE)[0], len(sizes))
    return np.concatenate([weights, begin]), np.concatenate([scale, np.repeat(SCALE * sizes[:, 3], PER_SIZE)])


@kernel
def worth(cpu: float, mem: float, other_cpu: float, other_mem: float, weights: Floats) -> float:
    """Compute the worth of a server with these shares free on its nodes; which node is which makes no difference.

    The terms: the square of the free share of the server's cpu; the least share of all; the squares of the nodes'
    shares of cpu; and 1 for each of three sizes while both nodes have room for it.
    """
    if cpu > other_cpu or (cpu == other_cpu and mem > other_mem):
        cpu, mem, other_cpu, other_mem = other_cpu, other_mem, cpu, mem
    both, least = (cpu + other_cpu) / 2, min(mem, other_mem)
    value: float = weights[0] * both * both + weights[1] * min(cpu, least)
    value += weights[2] * (cpu * cpu + other_cpu * other_cpu)
    value += weights[3] * (cpu >= LARGE[0] and least >= LARGE[1])
    value += weights[4] * (cpu >= MIDDLE[0] and least >= MIDDLE[1])
    value += weights[5] * (cpu >= SMALL[0] and least >= SMALL[1])
    for unit in range(HIDDEN):
        at = TERMS + unit
        excited = weights[at] * cpu + weights[at + HIDDEN] * mem
        excited += weights[at + 2 * HIDDEN] * other_cpu + weights[at + 3 * HIDDEN] * other_mem
        value += weights[at + 5 * HIDDEN] * max(excited + weights[at + 4 * HIDDEN], 0.0)
    return value


@cheapest
def value_es(free: Ints, capacity: Ints, taken: Ints, node: int, weights: Floats) -> float:
    """Costs the worth that the server loses, one of two nodes and two resources.

    `weights` float64 [any] are of the shares that are free, [SIZE], and then of the requests that still fit, as
    `known_sizes` has them.
    """
    before = _worth_of(free[0, 0], free[0, 1], free[1, 0], free[1, 1], capacity, weights)
    left = free[0, 0] - taken[0, 0], free[0, 1] - taken[0, 1], free[1, 0] - taken[1, 0], free[1, 1] - taken[1, 1]
    return before - _worth_of(*left, capacity, weights)


@lean
def _worth_of(cpu: int, mem: int, other_cpu: int, other_mem: int, capacity: Ints, weights: Floats) -> float:
    """Compute the worth of a server with these quanta free on its nodes."""
    shares = cpu / capacity[0, 0], mem / capacity[0, 1], other_cpu / capacity[1, 0], other_mem / capacity[1, 1]
    return worth(*shares, weights) + room(cpu, mem, other_cpu, other_mem, weights, SIZE)


def value_of(weights: Floats, sizes: Floats) -> Compiled:
    """Return the rule with these weights, float64 [SIZE + PER_SIZE * k], of shares and of `sizes` float64 [k, 4]."""
    return Compiled(value_es, (np.concatenate([weights[:SIZE], known_sizes(sizes, weights[SIZE:])]),))


class ValueES(ScanAgent):
    """The place that costs its server least of its worth, a small function whose weights evolution found.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote, and `untrained` is where the training
    of the weights began. Any number of servers, each of two NUMA nodes.
    """

    name: ClassVar[str] = "value-es"
    reference = "ours: the page 'Learned placement on NUMA servers' has the method and the measurements"
    scan = staticmethod(value_es)

    def __init__(self, weights: str = "huawei-10", path: str | None = None, untrained: bool = False) -> None:
        self._file, self._untrained = find(self.name, weights, path), untrained
        self.numbers = (np.zeros(SIZE),)

    def start(self, view: View, rng: np.random.Generator) -> None:
        check_servers(view, self.name)
        sizes = read(self._file)[0].get("sizes", NO_SIZES).astype(np.float64)
        shapes: dict[str, tuple[int, ...]] = {"weights": (SIZE + PER_SIZE * len(sizes),)}
        weights = fitting(self._file, shapes, described(self.name, view, **NOTES))["weights"].astype(np.float64)
        if self._untrained:
            weights = np.prod(beginning(sizes, np.random.default_rng(0)), axis=0)
        self.numbers = value_of(weights, sizes).weights
        self.get_ready(view)


class Hindsight(ValueES):
    """Imitates, without seeing any future, a planner that knew all of it, by what every server is worth.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote, and `untrained` is where the training
    of the weights began. Any number of servers, each of two NUMA nodes.
    """

    name = "hindsight"
    reference = "Sinclair et al. 2023, Hindsight Learning for MDPs with Exogenous Inputs, ICML, arXiv:2207.06272"


@dataclass
class ValueTrainer(NumaTrainer):
    """Trains what a server is worth; validated is the mean of the weights over time.

    `memory` is the share of that mean that is kept in every iteration. With `sizes` a server's value knows how many
    requests of so many sizes still fit on it: those that take most of the cluster in the training requests.
    """

    sizes: CountFromZero = 0
    memory: Share = 0.9

    def begin(self, training: World, validation: World, seed: int) -> None:
        super().begin(training, validation, seed)
        some = map(training.draw, self._seeds[:SAMPLED].tolist())
        self._known = sizes_of(some, training.ledger(0), self.sizes) if self.sizes else NO_SIZES
        self.average, self._scale = beginning(self._known, stream(seed, "train", "weights"))

    def rule(self, weights: Floats) -> Compiled:
        return value_of(weights * self._scale, self._known)

    def used(self) -> Compiled:
        return self.rule(self.average)

    def follow(self, weights: Floats) -> None:
        """Move the mean over time towards these weights."""
        self.average = self.memory * self.average + (1 - self.memory) * weights

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        sizes = {"sizes": self._known} if len(self._known) else {}
        return {"weights": self.average * self._scale, **sizes}, described(self.agent, self.view, **NOTES)


@dataclass
class EvolutionTrainer(ValueTrainer):
    """Mirrored Gaussian perturbations, their ranks as fitness, and Adam (Salimans et al. 2017, arXiv:1703.03864).

    In every iteration `pairs` of candidates, w + e and w - e, all play the same `episodes` of those in which simple
    rules and some random candidates differ. Fitness is the mean of log(requests placed); errors have the standard
    deviation `sigma` in units of what a weight is like. Without `network` only the terms and the `sizes` are learned.
    """

    agent = "value-es"
    pairs: Count = 16
    episodes: Count = 128
    pool: Count = 800
    sigma: Positive = 0.3
    rate: Positive = 0.05
    network: bool = True
    state = "mean", "average", "moments"

    def begin(self, training: World, validation: World, seed: int) -> None:
        super().begin(training, validation, seed)
        self._scale[TERMS:SIZE] *= self.network
        self.mean, self.moments = self.average, np.zeros((2, len(self.average)))
        errors = stream(seed, "train", "candidates").normal(size=(4, len(self.mean)))
        rules = rules_of(SIMPLE[:2]) + [self.rule(self.mean + self.sigma * error) for error in errors]
        self._replays, _ = self.discriminative_episodes(rules)

    def iterate(self, iteration: int) -> dict[str, float]:
        rng = stream(self._seed, "train", iteration)
        replays = [self._replays[number] for number in rng.permutation(len(self._replays))[: self.episodes]]
        drawn = rng.normal(size=(self.pairs, len(self.mean)))
        errors = np.concatenate([drawn, -drawn])
        rules = [self.rule(self.mean + self.sigma * error) for error in errors]
        placed = play_all(replays, rules)
        fitness = np.log(np.maximum(placed, 1)).mean(axis=1)
        ranks = fitness.argsort(kind="stable").argsort(kind="stable") / (len(fitness) - 1) - 0.5
        gradient = rows_dot(errors.T, ranks) / len(errors) / self.sigma
        decay = np.array([[0.9], [0.99]])  # Adam's
        self.moments = decay * self.moments + (1 - decay) * [gradient, gradient**2]
        slope, square = self.moments / (1 - decay**iteration)
        self.mean = self.mean + self.rate * slope / (np.sqrt(square) + 1e-8)
        self.follow(self.mean)
        scores = {"placed": float(placed.mean()), "fitness": float(fitness.mean()), "spread": float(fitness.std())}
        return {"episodes": len(self._replays), **scores}
