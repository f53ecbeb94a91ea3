"""Trains agents on NUMA servers by double DQN (van Hasselt, Guez, Silver 2016, arXiv:1509.06461)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from agents.learned.common.adam import averages, finite, put_averages
from agents.learned.common.settings import Count, Positive, Share
from agents.learned.common.tensors import Tensors, extra
from agents.learned.numa import tape
from agents.learned.numa.rollouts import replays_of
from agents.learned.numa.tape import Decisions
from agents.learned.numa.trainer import NumaTrainer
from agents.world import World
from simcore.errors import UserError
from simcore.rng import stream
from simcore.vocabulary import Compiled, Floats, Ints

Tensor: TypeAlias = Any
"""torch.Tensor; torch is imported by those who train only."""
Reward: TypeAlias = Literal["one", "delta"]
ROWS = 10_000
"""Decisions of an episode that are learned from, at most."""


@dataclass
class DQN(NumaTrainer):
    """Plays episodes, and learns from what is remembered of them.

    An iteration plays `episodes` of a `pool` of so many, each the requests of a seed from a share of `warm` on (of the
    first resource, filled by Best-Fit), and learns from `updates` batches of the last `memory` decisions, with Adam at
    `rate`.

    The share of choices that are random falls from 1 to `explore` over the first `annealed` iterations. `reward` for a
    request placed is 1 (`one`), or its share of the cluster's first resource (`delta`), per server; times
    1 - `discount`, so that values are about as large as rewards. The target network is a copy, made anew after every
    `target` updates; errors count by Huber's loss. What is validated is the greedy choice, paired with `against`.
    """

    episodes: Count = 5
    updates: Count = 16
    batch: Count = 128
    memory: Count = 50_000
    rate: Positive = 5e-4
    discount: Share = 0.99
    reward: Reward = "one"
    explore: Share = 0.05
    annealed: Count = 300
    target: Count = 100

    def __post_init__(self) -> None:
        if self.reward not in get_args(Reward):
            raise UserError("no such reward", key="reward", value=self.reward, remedy="Give one or delta.")

    @abstractmethod
    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """Return a function that makes the network, and the numbers that it begins with."""

    @abstractmethod
    def inputs(self, decisions: Decisions, codes: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return the inputs with which the network says what choices `codes` int64 [n, any] are worth."""

    @abstractmethod
    def put(self, network: Any, numbers: Floats) -> None:
        """Put numbers into a network."""

    @abstractmethod
    def taken(self, network: Any) -> Floats:
        """Return a network's numbers."""

    @abstractmethod
    def rule(self, network: Any, recorded: Floats | None) -> Compiled:
        """Return the agent's rule with the network as it is; with a tape, one that explores and write that down."""

    @abstractmethod
    def slots(self) -> int:
        """Return how many candidates there are at most."""

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Make the networks, the optimiser and an empty memory."""
        super().begin(training, validation, seed, device)
        self._torch, self._device = extra("torch"), device
        make, numbers = self.make(stream(seed, "train", "weights"))
        self._network, self._copy = (make().to(device) for _ in range(2))
        for network in (self._network, self._copy):
            self.put(network, numbers)
        self._optimiser = self._torch.optim.Adam(self._network.parameters(), lr=self.rate, fused=True)
        self._tape = tape.blank(ROWS, self.slots(), self.view.capacity)
        self._remembered = tape.read(self._wound(1.0, 0), self.view.capacity)
        self._learned = 0
        shares = [self.warm[number % len(self.warm)] for number in range(self.pool)]
        self._replays = [
            replays_of(training, [one], [share])[0] for one, share in zip(self._seeds.tolist(), shares, strict=True)
        ]

    def _wound(self, epsilon: float, seed: int) -> Floats:
        tape.wind(self._tape, epsilon, self.slots(), self._training.overflow.mode == "stop", seed)
        return self._tape

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play some episodes, and learns from what is remembered."""
        rng = stream(self._seed, "train", iteration)
        epsilon = max(self.explore, 1 - (1 - self.explore) * iteration / self.annealed)
        placed, played, start = 0, [self._remembered], perf_counter()
        for _ in range(self.episodes):
            recorded = self._wound(epsilon, int(rng.integers(2**53)))
            placed += self._replays[int(rng.integers(self.pool))].placed(self.rule(self._network, recorded))
            played.append(tape.read(recorded, self.view.capacity))
        # New arrays every time: what a checkpoint holds is never written to.
        self._remembered = Decisions(*(np.concatenate(parts)[-self.memory :] for parts in zip(*played, strict=True)))
        halfway = perf_counter()
        loss, value = self._learn(rng)
        if not finite(self._network.parameters()):
            loss = float("nan")  # the last update may have led there, after a loss that was a number
        return {
            "placed": placed / self.episodes,
            "loss": loss,
            "value": value,
            "epsilon": epsilon,
            "decisions": float(sum(len(part.code) for part in played[1:])),
            "playing_seconds": halfway - start,
            "learning_seconds": perf_counter() - halfway,
        }

    def _learn(self, rng: np.random.Generator) -> tuple[float, float]:
        """Update the network several times; returns the mean loss and the mean value of what was chosen."""
        torch = self._torch
        known = np.flatnonzero(self._remembered.fate != tape.CUT)
        if not len(known):
            raise UserError(
                "there is nothing to learn: no episode had two decisions",
                key="train.episodes",
                remedy="Give more requests, or more servers.",
            )
        losses, values = [], []
        for _ in range(self.updates):
            rows = known[rng.integers(len(known), size=self.batch)]
            wanted = self._wanted(rows)
            chosen = self._remembered.code[rows].astype(np.int64)[:, None]
            value = self._network(*self._seen(rows, chosen))[:, 0]
            loss = torch.nn.functional.smooth_l1_loss(value, wanted)
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            self._learned += 1
            if self._learned % self.target == 0:
                self._copy.load_state_dict(self._network.state_dict())
            losses.append(float(loss.detach()))
            values.append(float(value.detach().mean()))
        return float(np.mean(losses)), float(np.mean(values))

    def _wanted(self, rows: Ints) -> Tensor:
        """Return what choices should be worth: the reward, and the target's value of the network's next choice."""
        torch, memory = self._torch, self._remembered
        goes_on = memory.fate[rows] == tape.GOES_ON
        after = np.where(goes_on, rows + 1, rows)
        listed = memory.candidates[after].astype(np.int64)
        with torch.no_grad():
            values = self._network(*self._seen(after, np.maximum(listed, 0))).cpu().numpy()
            best = np.where(listed < 0, -np.inf, values).argmax(axis=1)
            best_codes = np.take_along_axis(listed, best[:, None], axis=1)
            later = self._copy(*self._seen(after, best_codes))[:, 0].cpu().numpy()
        earned: Any = np.ones(len(rows))
        if self.reward == "delta":
            capacity = self.view.capacity[:, :, 0]
            earned = memory.demand[rows, 0] * (len(capacity) / capacity.sum())
        wanted = (1 - self.discount) * earned + self.discount * goes_on * later
        return torch.from_numpy(wanted.astype(np.float32)).to(self._device)

    def _seen(self, rows: Ints, codes: Ints) -> list[Tensor]:
        decisions = Decisions._make(column[rows] for column in self._remembered)
        return [self._torch.from_numpy(array).to(self._device) for array in self.inputs(decisions, codes)]

    def used(self) -> Compiled:
        """Return the rule that always takes the best choice."""
        return self.rule(self._network, None)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return both networks, the optimiser's averages, and the memory."""
        tensors = {"network": self.taken(self._network), "target": self.taken(self._copy)}
        tensors |= averages(self._optimiser)
        tensors |= {f"memory.{name}": array for name, array in self._remembered._asdict().items()}
        return tensors, {"learned": self._learned}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self.put(self._network, tensors["network"])
        self.put(self._copy, tensors["target"])
        put_averages(self._optimiser, tensors)
        self._remembered = Decisions(*(tensors[f"memory.{name}"] for name in Decisions._fields))
        self._learned = notes["learned"]
