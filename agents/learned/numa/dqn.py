"""Trains agents on NUMA servers by double DQN (van Hasselt, Guez, Silver 2016, arXiv:1509.06461)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.common.proximal import averages, finite, put_averages
from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import Count, CountFromZero, Positive, PositiveShare, Share
from binwright.agents.learned.numa import trajectory
from binwright.agents.learned.numa.rollouts import compiled_agent, replays_of, rules_of, telling
from binwright.agents.learned.numa.settings import CompiledAgent
from binwright.agents.learned.numa.trainer import NumaTrainer
from binwright.agents.learned.numa.trajectory import Decisions
from binwright.agents.world import World
from binwright.fabric.compiled.numa_replay import Replay
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Ints

Tensor: TypeAlias = Any
"""torch.Tensor; torch is imported by those who train only."""
Reward: TypeAlias = Literal["one", "delta"]
SIMPLE = ("best-fit", "internal", "first-fit")
ROWS = 10_000
"""Decisions of an episode that are learned from, at most."""


@dataclass
class DQN(NumaTrainer):
    """Plays episodes, and learns from what is remembered of them.

    An iteration plays `episodes` of a `pool` of so many, each the requests of a seed from a share of `warm` on, and
    learns from `updates` batches of the last `memory` decisions, with Adam at
    `rate`. With updates `decision` it learns after each episode from as many batches as it had decisions.

    The share of choices that are random falls from 1 to `explore` over the first `annealed` iterations; with one of
    them it is the same throughout. `reward` for a request placed is 1 (`one`) or its share of the cluster's first
    resource, per server (`delta`), times 1 - `discount`, so that values are about as large as rewards. A choice is held
    to the rewards of the next `returns` decisions and what the target network says of the one after them, or to all
    rewards of its `episode`. After every `target` updates the target network moves to the network by a share `tau` of
    the way. Errors count by Huber's `loss` or `squared`.

    With `telling` only those episodes of the pool are played in which simple rules differ. In the first `lessons`
    iterations the network also learns to take the candidate that the agent `teacher` would (its name, or {name:
    options}): its errors count by how much another candidate, and one request, is valued above the teacher's choice
    (Hester et al. 2018, arXiv:1704.03732). `paired` returns of whole episodes are less what the teacher places from
    there on in the same episode: requests do not depend on decisions, so that this takes away noise alone (Mao et al.
    2019, arXiv:1807.02264).

    What is validated and kept is an average of the network, which moves to it by a share `averaged` after every update;
    with 1 it is the network itself. Choices are greedy in validation, which is paired with `against`.
    """

    episodes: Count = 5
    updates: Count | Literal["decision"] = 16
    batch: Count = 128
    memory: Count = 50_000
    rate: Positive = 5e-4
    discount: Share = 0.99
    reward: Reward = "one"
    returns: Count | Literal["episode"] = 1
    loss: Literal["huber", "squared"] = "huber"
    explore: Share = 0.05
    annealed: Count = 300
    target: Count = 100
    tau: PositiveShare = 1.0
    averaged: PositiveShare = 1.0
    telling: bool = False
    lessons: CountFromZero = 0
    teacher: CompiledAgent = "internal"
    paired: bool = False

    @abstractmethod
    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """Return a function that makes the network, and the numbers that it begins with."""

    @abstractmethod
    def inputs(self, rows: Ints, slots: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return the inputs with which the network says what choices are worth: int64 [n, any] of the candidates.

        The decisions are rows [n] of `remembered`; a place where there is no candidate may be worth anything.
        """

    @abstractmethod
    def put(self, network: Any, numbers: Floats) -> None:
        """Put numbers into a network."""

    @abstractmethod
    def taken(self, network: Any) -> Floats:
        """Return a network's numbers."""

    @abstractmethod
    def rule(self, network: Any, recorded: Floats | None) -> Compiled:
        """Return the agent's rule with the network as it is; with a tape, one that explores and writes on it."""

    @abstractmethod
    def slots(self) -> int:
        """Return how many candidates there are at most."""

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Make the networks, the optimiser and an empty memory."""
        super().begin(training, validation, seed, device)
        self._torch, self._device = extra("torch"), device
        make, numbers = self.make(stream(seed, "train", "weights"))
        self.network, self.target_network = (make().to(device) for _ in range(2))
        self.averaged_network = make().to(device) if self.averaged < 1 else self.network
        for network in (self.network, self.target_network, self.averaged_network):
            self.put(network, numbers)
        self._optimiser = self._torch.optim.Adam(self.network.parameters(), lr=self.rate, fused=True)
        self._tape = trajectory.blank(ROWS, self.slots(), self.view.capacity)
        self.remembered = trajectory.read(self._wound(1.0, 0), self.view.capacity)
        self._earned, self._chosen, self._usual = np.empty(0), np.empty(0, np.int64), np.empty(0)
        self.taught_places = np.empty(0, np.int64)
        self._learned = 0
        teacher = compiled_agent(self.teacher)
        teacher.start(self.view, stream(seed, "train", "teacher"))
        assert teacher.compiled
        self.teacher_rule = teacher.compiled
        if self.paired and (self.returns != "episode" or training.overflow.mode != "stop"):
            remedy = "Write `returns: episode` and `overflow: stop`, or leave it out."
            raise UserError("is for returns of whole episodes", key=f"train.agent.{self.agent}.paired", remedy=remedy)
        if self.telling:
            self.replays = telling(training, self._seeds, self.shares, rules_of(SIMPLE))[0]
        else:
            shares = [self.shares[number % len(self.shares)] for number in range(self.pool)]
            pairs = zip(self._seeds.tolist(), shares, strict=True)
            self.replays = [replays_of(training, [one], [share])[0] for one, share in pairs]

    def _wound(self, epsilon: float, seed: int) -> Floats:
        trajectory.wind(self._tape, epsilon, self.slots(), self._training.overflow.mode == "stop", seed)
        return self._tape

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play some episodes, and learn from what is remembered."""
        rng = stream(self._seed, "train", iteration)
        epsilon = max(self.explore, 1 - (1 - self.explore) * iteration / self.annealed)
        placed = played = 0
        learned: list[tuple[float, float]] = []
        seconds = {"playing_seconds": 0.0, "learning_seconds": 0.0}
        for number in range(self.episodes):
            start = perf_counter()
            recorded = self._wound(epsilon, int(rng.integers(2**53)))
            replay = self.replays[int(rng.integers(len(self.replays)))]
            placed += replay.placed(self.rule(self.network, recorded), self.rule(self.network, None))
            new = trajectory.read(recorded, self.view.capacity)
            self._pair(replay, len(new.code))
            self.remember(new)
            played += len(new.code)
            seconds["playing_seconds"] += perf_counter() - start
            start = perf_counter()
            taught = iteration <= self.lessons
            if self.updates == "decision":
                learned += self._learn(rng, len(new.code), taught)
            elif number == self.episodes - 1:
                learned += self._learn(rng, self.updates, taught)
            seconds["learning_seconds"] += perf_counter() - start
        loss, value = np.mean(learned, axis=0).tolist()
        if not finite(self.network.parameters()):
            loss = float("nan")  # the last update may have led there, after a loss that was a number
        means = {"placed": placed / self.episodes, "loss": loss, "value": value, "epsilon": epsilon}
        return {**means, "decisions": float(played), "updates": float(len(learned)), **seconds}

    def _pair(self, replay: Replay, decisions: int) -> None:
        """Note for each of the decisions that were just played what the teacher earns from there on."""
        usual = np.zeros(decisions)
        if self.paired:
            first = replay.first
            end = replay.placed(self.teacher_rule) + replay.first  # what it filled the cluster with included
            left = np.maximum(end - first - np.arange(decisions), 0)
            usual = 1 - self.discount**left
        self._usual = np.concatenate([self._usual, usual])[-self.memory :]

    def remember(self, new: Decisions) -> None:
        """Add decisions to the memory: new arrays every time, as what a checkpoint holds is never written to."""
        joined: Any = zip(self.remembered, new, strict=True)
        self.remembered = Decisions(*(np.concatenate(parts)[-self.memory :] for parts in joined))
        self._earned = np.concatenate([self._earned, self._rewards(new)])[-self.memory :]
        chosen = (new.candidates == new.code[:, None]).argmax(axis=1)
        self._chosen = np.concatenate([self._chosen, chosen])[-self.memory :]
        if self.lessons:
            choices = taught(new, self.view.capacity, self.teacher_rule)
            self.taught_places = np.concatenate([self.taught_places, choices])[-self.memory :]

    def _rewards(self, decisions: Decisions) -> Floats:
        capacity, earned = self.view.capacity, np.ones(len(decisions.code))
        if self.reward == "delta":
            earned *= decisions.demand[:, 0] * (len(capacity) / capacity[:, :, 0].sum())
        return earned

    def _learn(self, rng: np.random.Generator, updates: int, imitates: bool = False) -> list[tuple[float, float]]:
        """Update the network so many times; returns the loss and the mean value of what was chosen, of each."""
        torch = self._torch
        known = np.flatnonzero(self.remembered.fate != trajectory.CUT)
        if not len(known):
            raise UserError(
                "there is nothing to learn: no episode had two decisions",
                key="train.episodes",
                remedy="Give more requests, or more servers.",
            )
        error = torch.nn.functional.smooth_l1_loss if self.loss == "huber" else torch.nn.functional.mse_loss
        found = []
        for _ in range(updates):
            rows = known[rng.integers(len(known), size=self.batch)]
            wanted = self.targets(rows)
            value = self.network(*self.input_tensors(rows, self._chosen[rows, None]))[:, 0]
            loss = error(value, wanted)
            if imitates:
                loss = loss + self._missed(rows)
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            self._learned += 1
            if self._learned % self.target == 0:
                self._follow(self.target_network, self.tau)
            if self.averaged_network is not self.network:
                self._follow(self.averaged_network, self.averaged)
            found.append((float(loss.detach()), float(value.detach().mean())))
        return found

    def _missed(self, rows: Ints) -> Tensor:
        """Return by how much the network values other candidates, and one request more, above the teacher's choice."""
        torch = self._torch
        rows = rows[self.taught_places[rows] >= 0]
        if not len(rows):
            return torch.zeros(())
        listed = self.remembered.candidates[rows]
        values = self.network(*self.input_tensors(rows, np.broadcast_to(np.arange(listed.shape[1]), listed.shape)))
        wanted = torch.from_numpy(self.taught_places[rows][:, None])
        others = torch.full(listed.shape, 1 - self.discount).scatter(1, wanted, 0.0)
        others[torch.from_numpy(listed < 0)] = -torch.inf
        return ((values + others.to(values)).amax(1) - values.gather(1, wanted.to(values.device))[:, 0]).mean()

    def _follow(self, network: Any, share: float) -> None:
        """Move a network's numbers to those of the one that learns by a share of the way."""
        with self._torch.no_grad():
            self._torch._foreach_lerp_([*network.parameters()], [*self.network.parameters()], share)

    def targets(self, rows: Ints) -> Tensor:
        """Return what choices should be worth: the rewards, and the target's value of the network's choice after."""
        torch, memory = self._torch, self.remembered
        most = len(memory.fate) if self.returns == "episode" else self.returns
        earned, after, counts = trajectory.returns(memory.fate, self._earned, rows, most, self.discount)
        wanted = (1 - self.discount) * earned - self._usual[rows]
        if counts.any():
            wanted += counts * self._later(after)
        return torch.from_numpy(wanted.astype(np.float32)).to(self._device)

    def _later(self, after: Ints) -> Floats:
        """Return what the target network says of the network's choices in these decisions."""
        listed = self.remembered.candidates[after]
        with self._torch.no_grad():
            seen = self.input_tensors(after, np.broadcast_to(np.arange(listed.shape[1]), listed.shape))
            values = self.network(*seen).cpu().numpy()
            best = np.where(listed < 0, -np.inf, values).argmax(axis=1)
            found: Floats = np.take_along_axis(self.target_network(*seen).cpu().numpy(), best[:, None], axis=1)[:, 0]
        return found

    def input_tensors(self, rows: Ints, slots: Ints) -> list[Tensor]:
        return [self._torch.from_numpy(array).to(self._device) for array in self.inputs(rows, slots)]

    def used(self) -> Compiled:
        """Return the rule that always takes the best choice."""
        return self.rule(self.averaged_network, None)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the networks, the optimiser's averages, and the memory."""
        tensors = {"network": self.taken(self.network), "target": self.taken(self.target_network)}
        tensors["kept"] = self.taken(self.averaged_network)
        tensors |= averages(self._optimiser)
        tensors |= {f"memory.{name}": array for name, array in self.remembered._asdict().items()}
        tensors["memory.usual"] = self._usual
        return tensors, {"learned": self._learned}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self.put(self.network, tensors["network"])
        self.put(self.target_network, tensors["target"])
        self.put(self.averaged_network, tensors["kept"])
        put_averages(self._optimiser, tensors)
        self.remember(Decisions(*(tensors[f"memory.{name}"] for name in Decisions._fields)))
        self._usual = tensors["memory.usual"]
        self._learned = notes["learned"]


def taught(decisions: Decisions, capacity: Ints, teacher: Compiled) -> Ints:
    """Find the teacher's choice among the candidates of each decision, int64 [n]; -1 where it would take none of them.

    It is asked as if there were only the servers of the candidates.
    """
    found = np.full(len(decisions.code), -1)
    for row in range(len(found)):
        demand = tuple(decisions.demand[row].astype(np.int64).tolist())
        codes = decisions.candidates[row]
        servers = codes[codes >= 0] // capacity.shape[1]
        free = np.zeros_like(capacity)
        free[servers] = decisions.free[row, servers]
        code = teacher.scan(free, capacity, demand, bool(decisions.spread[row]), *teacher.weights)
        places = np.flatnonzero(codes == code)
        if code >= 0 and len(places):
            found[row] = places[0]
    return found
