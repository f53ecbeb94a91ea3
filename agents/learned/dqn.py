"""Trains agents on NUMA servers by double DQN (van Hasselt, Guez, Silver 2016, arXiv:1509.06461)."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from binwright.agents.learned.dqn_update import Learning, update
from binwright.agents.learned.loop import Count, Positive, PositiveShare, Share
from binwright.agents.learned.mlp import size_of, untrained
from binwright.agents.learned.numa import SIMPLE, NumaTrainer, replays_of, rules_of
from binwright.agents.learned.replay import HEAD, NONE, TRUNCATED, Decisions, ReplayBuffer, Trajectory, decision_type
from binwright.agents.learned.value import known_sizes, remaining, sizes_of
from binwright.agents.learned.weights import Tensors, fitting
from binwright.agents.rules.scan import ScanAgent
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Ints, Placement, Reals, Request, View

FREQUENT = 100
"""Sizes of requests of which it is counted at most how many still fit."""
ROWS = 10_000
"""Decisions of an episode that are learned from, at most."""
TARGET, NETWORK, AVERAGE = range(3)
"""Rows of `networks`: the target network, the one that learns, and its average, which is validated and kept."""


class QNetwork(NamedTuple):
    """Describes a network: the `sizes` of its layers, `how` float64 [any] the kernel uses it, and its `notes`."""

    sizes: tuple[int, ...]
    how: Floats
    notes: dict[str, Any]


class DQNAgent(ScanAgent):
    """Decides by a network that a `DQN` trains; one that sees the whole cluster is for as many servers only.

    Its kernel is an `exploring_scan`, with the numbers weights and `QNetwork.how`. Without a file it is untrained.
    """

    name: ClassVar[str]
    numbers = np.zeros(0), np.zeros(0), NONE
    _file: Path | None
    _seed = 0

    @abstractmethod
    def network(self, view: View) -> QNetwork:
        """Describe the network, or refuse servers that the agent is not for."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        network, self._servers = self.network(view), len(view.capacity)
        weights = untrained(network.sizes, stream(self._seed, "train", "weights"))
        if self._file:
            weights = fitting(self._file, {"weights": weights.shape}, network.notes)["weights"].astype(np.float64)
        self.numbers = weights, network.how, NONE
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        if not self.any_size and len(view.free) != self._servers:
            problem = f"{self.name} sees the whole cluster of {self._servers} servers, and it has grown"
            raise UserError(problem, key="agents", remedy="Take value-es, or a cluster that does not grow.")
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled:
        return Compiled(self.scan, self.numbers)


@dataclass
class DQN(NumaTrainer):
    """Plays episodes, and learns from a replay buffer, by the compiled updates of `dqn_update`.

    An iteration plays `episodes` of a `pool` of so many, each the requests of a seed from a share of `warm` on, and
    learns from `updates` batches of the last `memory` decisions, by Adam at `rate`; with updates `decision` after each
    episode from as many batches as it had decisions.

    The share of choices that are random falls from 1 to `explore` over the first `annealed` iterations. `reward` for a
    request placed is 1 (`one`), its share of the cluster's first resource, per server (`delta`), or how many average
    requests of the training still fit on a server afterwards, on average (`residual-capacity`); times 1 - `discount`,
    so that values are about as large as rewards. The target of a choice is the rewards of the next `returns` decisions
    and the target network's value of the one after them, or all rewards of its `episode`. After every `target` updates
    the target network moves to the network by a share `tau` of the way. Errors count by Huber's `loss` or `squared`.

    With `telling` only discriminative episodes of the pool are played, those in which simple rules differ. What is
    validated and kept is an average of the network, which moves to it by a share `averaged` after every update.
    """

    episodes: Count = 5
    updates: Count | Literal["decision"] = 16
    batch: Count = 128
    memory: Count = 50_000
    rate: Positive = 5e-4
    discount: Share = 0.99
    reward: Literal["one", "delta", "residual-capacity"] = "one"
    returns: Count | Literal["episode"] = 1
    loss: Literal["huber", "squared"] = "huber"
    explore: Share = 0.05
    annealed: Count = 300
    target: Count = 100
    tau: PositiveShare = 1.0
    averaged: PositiveShare = 1.0
    telling: bool = False
    state = (
        *("networks", "moments", "updated"),
        *("buffer.outcome", "buffer.rewards", "buffer.records", "buffer.observations", "buffer.limit"),
    )

    dueling: ClassVar[bool] = False

    @abstractmethod
    def new_agent(self) -> DQNAgent:
        """Make the agent that is trained."""

    @abstractmethod
    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Return the shared cells of decisions, and those after and before each slot, for `ReplayBuffer.add`."""

    def check(self, view: View) -> None:
        self.new_agent().network(view)

    def begin(self, training: World, validation: World, seed: int) -> None:
        super().begin(training, validation, seed)
        agent = self.new_agent()
        self.described, self._scan = agent.network(self.view), agent.scan
        layers, rng = self.described.sizes, stream(seed, "train", "weights")
        weights = untrained(layers, rng)
        if self.dueling:  # the value of the state comes last, and is for learning only
            weights = np.concatenate([weights, untrained((layers[-2], 1), rng)])
        self.networks = np.tile(weights.astype(np.float32), (3, 1))
        self.moments, self.updated = np.zeros((2, len(weights)), np.float32), 0
        self.buffer = ReplayBuffer(self.memory, layers[0], layers[-1], self.slots)
        self._trajectory = Trajectory(ROWS, decision_type(self.slots, self.view.capacity))
        if self.telling:
            self.replays = self.discriminative_episodes(rules_of(SIMPLE[:3]))[0]
        else:
            pairs = zip(self._seeds.tolist(), cycle(self.shares), strict=False)
            self.replays = [replays_of(training, [number], [share])[0] for number, share in pairs]
        if self.reward == "residual-capacity":
            draws = map(training.draw, self._seeds.tolist())
            sizes = sizes_of(draws, training.ledger(0), FREQUENT, frequent=True)
            self._known = known_sizes(sizes, np.column_stack([sizes[:, 3], np.zeros(len(sizes))]).ravel())

    def iterate(self, iteration: int) -> dict[str, float]:
        rng, stops = stream(self._seed, "train", iteration), self._training.overflow.mode == "stop"
        epsilon = max(self.explore, 1 - (1 - self.explore) * iteration / self.annealed)
        placed, played, learned = 0, 0, list[Floats]()
        written, network = self._trajectory, self.networks[NETWORK]
        for number in range(self.episodes):
            written.numbers[:HEAD] = 0, epsilon, self.slots, stops, int(rng.integers(2**53)), 0
            replay = self.replays[int(rng.integers(len(self.replays)))]
            placed += replay.placed(self.rule(network, written.numbers), self.rule(network, NONE))
            new = written.decisions
            self.buffer.add(new, self.rewards(new), self.cells(new))
            played += len(new)
            if self.updates == "decision" or number == self.episodes - 1:
                count = len(new) if self.updates == "decision" else self.updates
                learned.append(self.learn(rng, count))
        metrics = np.concatenate(learned)
        loss, value = metrics.mean(axis=0).tolist()
        means = {"placed": placed / self.episodes, "loss": loss, "value": value, "epsilon": epsilon}
        return {**means, "decisions": float(played), "updates": float(len(metrics))}

    def rewards(self, decisions: Decisions) -> Floats:
        """Return the rewards of decisions, float64 [n], before these count 1 - discount."""
        capacity, earned = self.view.capacity, np.ones(len(decisions))
        if self.reward == "delta":
            earned *= decisions.demand[:, 0] * (len(capacity) / capacity[:, :, 0].sum())
        if self.reward == "residual-capacity":
            remaining(decisions.free, decisions.code, decisions.demand, decisions.spread, self._known, earned)
        return earned

    def learn(self, rng: np.random.Generator, updates: int) -> Floats:
        """Update the networks so many times; returns loss and mean value of what was chosen, float64 [updates, 2]."""
        buffer = self.buffer
        known = np.flatnonzero(buffer.outcome != TRUNCATED)
        if not len(known):
            problem = "there is nothing to learn: no episode had two decisions"
            raise UserError(problem, key="train.episodes", remedy="Give more requests, or more servers.")
        samples = known[rng.integers(len(known), size=(updates, self.batch))]
        samples.sort(axis=1)  # the order makes no difference, but to the time that memory takes
        layers, own = self.described.sizes, ("dueling", "slots", "rate", "discount", "target", "tau", "averaged")
        how = Learning(
            layers=len(layers) - 1,
            width=layers[1],
            outputs=layers[-1],
            returns=len(buffer.outcome) if self.returns == "episode" else self.returns,
            huber=self.loss == "huber",
            **{name: getattr(self, name) for name in own},
        )
        memory = buffer.outcome, buffer.rewards, buffer.records, buffer.observations
        metrics = np.empty((updates, 2))
        self.updated = update(samples, memory, self.networks, self.moments, how, self.updated, metrics)
        return metrics

    @property
    def slots(self) -> int:
        """How many candidates there are at most: all places."""
        return int(self.view.capacity[:, :, 0].size)

    def used(self) -> Compiled:
        return self.rule(self.networks[AVERAGE], NONE)

    def rule(self, network: Reals, trajectory: Floats) -> Compiled:
        """Return the agent's rule with these weights, which explores and writes to the trajectory unless it is [0]."""
        weights = network[: size_of(self.described.sizes)].astype(np.float64)
        return Compiled(self._scan, (weights, self.described.how, trajectory))

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        return {"weights": self.networks[AVERAGE][: size_of(self.described.sizes)].copy()}, self.described.notes
