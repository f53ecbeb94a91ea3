"""Trains rl-scheduler by proximal policy optimisation (Schulman and others 2017) in the queue of RLScheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from binwright.agents.learned.common.proximal import averages, finite, put_averages
from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import TRAINING, Count, Positive, Share, Trainer
from binwright.agents.learned.numa.mlp import put, taken
from binwright.agents.learned.rl_scheduler.agent import DESCRIBED, NAME, untrained
from binwright.agents.learned.rl_scheduler.episode import LAYERS, STATES, Jobs, Tape, play
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats

NO_WEIGHTS = np.zeros(0)


class _Sequence(NamedTuple):
    """Holds jobs and the mean bounded slowdown that the shortest first gives them."""

    jobs: Jobs
    shortest: float


@dataclass
class RLTrainer(Trainer):
    """A network scores each job by itself, as published; what it learns from is calmer.

    Every iteration plays `trajectories` of the workloads of `pool` seeds. `steps` of the policy at `rate`, over so many
    `minibatches` by turns, end when it has moved by 1.5 `kl_target`; as many of the value follow at `value_rate`.
    `reward` is what all who wait lose from one decision to the next (waiting), or all of it at the end, as published,
    in parts of what the shortest first would lose. In use is the mean of the weights over the last iterations (`memory`
    is the share kept of it). What is validated is by which share it beats the shortest first.
    """

    score = "gain"
    backfilling: Literal["none", "easy"] = "none"
    pool: Count = 1000
    trajectories: Count = 100
    steps: Count = 80
    minibatches: Count = 40
    rate: Positive = 1e-3
    value_rate: Positive = 1e-3
    clip: Positive = 0.2
    kl_target: Positive = 0.01
    smoothing: Share = 0.97
    memory: Share = 0.97
    reward: Literal["waiting", "end"] = "waiting"

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Draw the jobs, and make the policy and its value."""
        self._torch, self._library = extra("torch"), extra("binwright.agents.learned.rl_scheduler.policy_update")
        self._seed, self._validation = seed, validation
        seeds = TRAINING + stream(seed, "train", "episodes").integers(2**40, size=self.pool)
        self._pool = [self._drawn(training, each) for each in seeds.tolist()]
        self._held_out: dict[int, _Sequence] = {}
        self._policy, self._average = self._library.network(LAYERS), untrained(seed)
        self._torch.manual_seed(seed)
        self._value = self._library.network((STATES, 64, 32, 1))
        put(self._policy[::2], self._average)
        self._optimisers = [
            self._torch.optim.Adam(part.parameters(), lr=rate)
            for part, rate in ((self._policy, self.rate), (self._value, self.value_rate))
        ]

    def _drawn(self, world: World, seed: int) -> _Sequence:
        jobs = jobs_of(world, seed)
        starts, _ = play(jobs, self.backfilling == "easy", NO_WEIGHTS)
        return _Sequence(jobs, jobs.slowdown(starts))

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play some trajectories and learn from them."""
        torch, rng = self._torch, stream(self._seed, "train", iteration)
        weights, tapes, ratios, scaled = taken(self._policy[::2]), [], [], []
        for number in rng.integers(len(self._pool), size=self.trajectories).tolist():
            jobs, shortest = self._pool[number]
            tape = Tape(len(jobs.arrival), rng.random(len(jobs.arrival)))
            starts, steps = play(jobs, self.backfilling == "easy", weights, tape)
            tape.states[:, 7] = np.log(shortest)
            slowdown = jobs.slowdown(starts)
            tapes.append((tape, steps, int(tape.counts[:steps].sum())))
            ratios.append(slowdown / shortest)
            costs = tape.costs[:steps] / (len(jobs.arrival) * shortest)
            if self.reward == "end":
                costs = np.append(np.zeros(steps - 1), ratios[-1])
            scaled.append(costs)

        def column(name: str, long: bool = False) -> Any:
            parts = [getattr(tape, name)[: seen if long else steps] for tape, steps, seen in tapes]
            return torch.from_numpy(np.concatenate(parts))

        states = column("states").float()
        with torch.no_grad():
            values = self._value(states).squeeze(1).double().numpy()
        ends = np.cumsum([len(costs) for costs in scaled])[:-1]
        found = [
            self._library.advantages_of(costs, value, self.smoothing)
            for costs, value in zip(scaled, np.split(values, ends), strict=True)
        ]
        advantages, returns = (np.concatenate(parts) for parts in zip(*found, strict=True))
        advantages = (advantages - advantages.mean()) / max(advantages.std(), 1e-8)
        counts, jobs_seen = column("counts"), column("jobs", long=True)
        of = [counts, column("actions"), column("logs").float(), torch.from_numpy(advantages).float()]
        size = -(-len(counts) // self.minibatches)
        parts = [part.split(size) for part in of]
        seen = jobs_seen.split([int(part.sum()) for part in parts[0]])
        steps, divergence = self._library.improve(
            self._policy,
            self._optimisers[0],
            list(zip(seen, *parts, strict=True)),
            self.steps,
            self.clip,
            1.5 * self.kl_target,
        )
        batches = list(zip(states.split(size), torch.from_numpy(returns).float().split(size), strict=True))
        error = self._library.fit(self._value, self._optimisers[1], batches, self.steps)
        self._average = self.memory * self._average + (1 - self.memory) * taken(self._policy[::2])
        sound = finite([*self._policy.parameters(), *self._value.parameters()])
        return {
            "ratio": float(np.mean(ratios)),
            "policy_steps": float(steps),
            "kl": divergence,
            "entropy": float(-of[2].mean()),
            "value_error": error if sound else float("nan"),
        }

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """Return the mean bounded slowdown, that of the shortest first, and by which share the first is less."""
        found = []
        for seed in seeds:
            if seed not in self._held_out:
                self._held_out[seed] = self._drawn(self._validation, seed)
            jobs, shortest = self._held_out[seed]
            starts, _ = play(jobs, self.backfilling == "easy", _stored(self._average))
            found.append((jobs.slowdown(starts), shortest))
        ours, theirs = np.mean(found, axis=0).tolist()
        return {"gain": 1 - ours / theirs, "slowdown": ours, "shortest_first": theirs}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights, their mean over time, and where the optimisers are."""
        parts = {"average": self._average, "policy": taken(self._policy[::2]), "value": taken(self._value[::2])}
        policy, value = (
            averages(one, name) for one, name in zip(self._optimisers, ("adam", "value_adam"), strict=True)
        )
        return {**parts, **policy, **value}, {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self._average = tensors["average"]
        put(self._policy[::2], tensors["policy"])
        put(self._value[::2], tensors["value"])
        for one, name in zip(self._optimisers, ("adam", "value_adam"), strict=True):
            put_averages(one, tensors, name)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the mean of the weights over time."""
        return {"weights": self._average.astype(np.float32)}, {**DESCRIBED, "backfilling": self.backfilling}


def _stored(weights: Floats) -> Floats:
    """Round weights as they are stored."""
    return weights.astype(np.float32).astype(np.float64)


def jobs_of(world: World, seed: int) -> Jobs:
    """Draw the jobs of a seed that fit the machine; refuses worlds that the episodes of rl-scheduler do not play."""
    workload, ledger = world.draw(seed), world.ledger(seed)
    capacity = ledger.view.capacity
    for key, wrong, remedy in (
        ("cluster.servers", capacity.size != 1, "Take one server of one node with one resource."),
        ("overflow", not world.overflow.one_by_one, "Write `overflow: {wait: {together: 100000, one_by_one: true}}`."),
        ("cluster.failures", world.fails, "Take failures out."),
        ("workload.parts", world.gangs, "Take jobs of one part: a server with many cpus."),
        ("knowledge.lifetimes", world.hidden or workload.foresight, "Write `knowledge: {lifetimes: known}`."),
        ("workload", workload.running or world.quotas, "Begin with an empty machine, without quotas."),
    ):
        if wrong:
            raise UserError(f"{NAME} learns the queue of one machine", key=key, remedy=remedy)
    if world.overflow.together < len(workload):
        remedy = f"Write `overflow: {{wait: {{together: {len(workload)}, one_by_one: true}}}}`."
        raise UserError("the queue is to hold all jobs", key="overflow", remedy=remedy)
    rows = np.flatnonzero(ledger.possible(workload.demand))
    if not len(rows):
        raise UserError("no job fits the machine", key="workload", remedy="Take a larger machine.")
    size = workload.demand[rows, 0] / QUANTUM
    return Jobs(workload.arrival[rows], workload.duration[rows], size, float(capacity[0, 0, 0]) / QUANTUM)
