"""Trains hindsight: plans that know the whole episode show which choices were good, and a policy learns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.learned.common.adam import averages, finite, put_averages
from agents.learned.common.settings import Count, CountFromZero, Positive, Share
from agents.learned.common.tensors import Tensors, extra
from agents.learned.hindsight.hindsight_targets import Lesson, lesson_of, terms_of
from agents.learned.numa.rollouts import rules_of, telling
from agents.learned.numa.trainer import SAMPLED, NumaTrainer
from agents.learned.numa.value import HIDDEN, INPUTS, SIZE, TERMS
from agents.learned.numa.value_agent import described, first_of, tensors_of, value_of
from agents.world import World
from simcore.rng import stream
from simcore.types import Compiled, Floats

SIMPLE = ("best-fit", "internal", "first-fit", "balance-fit")


@dataclass
class HindsightTrainer(NumaTrainer):
    """Hindsight learning (Sinclair et al. 2023, arXiv:2207.06272), with the best of many rules as its planner.

    An episode is the requests of a seed from a share of `warm` on; of the episodes of `pool` seeds
    only those are kept in which rules differ. The plan of an episode is that of `plans` rules (simple ones, and
    random values of servers) which places most in it. In every iteration the policy plays `episodes` of them, and then
    again to one of the requests that are still there at the end. There every place is tried with all that follows
    known: by the plan, and by the policy itself, whichever gets farther. The policy takes places with probability
    softmax(gain / `temperature`), and learns to place more: the mean over its choices of log(requests placed) rises by
    Adam. What is validated is the mean of its weights over the last iterations (`memory` is the share kept of it),
    paired with `against`. `sizes` are as in `agents.learned.value_es.trainer`.
    """

    agent = "hindsight"
    episodes: Count = 256
    plans: Count = 12
    temperature: Positive = 0.3
    rate: Positive = 0.02
    memory: Share = 0.95
    sizes: CountFromZero = 0

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Begin with the known terms, or with the room for `sizes`, and a network that counts for nothing yet."""
        super().begin(training, validation, seed, device)
        self._torch = torch = extra("torch")
        some, rng = self._seeds[:SAMPLED].tolist(), stream(seed, "train", "weights")
        self._known, weights, self._scale = first_of(training, some, self.sizes, rng)
        self._average = weights.copy()
        self._weights = torch.nn.Parameter(torch.from_numpy(weights.copy()))
        self._optimiser = torch.optim.Adam([self._weights], lr=self.rate)
        errors = stream(seed, "train", "plans").normal(size=(max(self.plans - len(SIMPLE), 0), len(weights)))
        self._rules = rules_of(SIMPLE[: self.plans]) + [self._rule(weights + error) for error in errors]
        self._replays, placed = telling(training, self._seeds, self.shares, self._rules)
        self._best, self._longest = placed.argmax(axis=0), placed.max(axis=0)

    def _rule(self, weights: Floats) -> Compiled:
        return value_of(weights * self._scale, self._known)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Look at some decisions in hindsight, and take a step towards the better ones."""
        rng = stream(self._seed, "train", iteration)
        student = self._rule(self._weights.detach().numpy())
        lessons, lengths, planned = [], [], []
        for number in rng.permutation(len(self._replays))[: self.episodes].tolist():
            replay = self._replays[number]
            length = replay.placed(student)
            lengths.append(length)
            planned.append(max(length, self._longest[number]))
            plans = [self._rules[self._best[number]], student]
            staying = replay.staying()
            if not len(staying):
                continue
            lesson = lesson_of(replay, student, int(rng.choice(staying)), plans, self._known)
            if lesson is not None and np.ptp(lesson.reached) > 0:
                lessons.append(lesson)
        metrics = {
            "episodes": len(self._replays),
            "placed": float(np.mean(lengths)),
            "planned": float(np.mean(planned)),
            "lessons": len(lessons),
        }
        if lessons:
            loss = self._loss(lessons)
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            metrics["loss"] = float(loss.detach())
            if not finite([self._weights]):
                metrics["loss"] = float("nan")
        self._average = self.memory * self._average + (1 - self.memory) * self._weights.detach().numpy()
        return metrics

    def _loss(self, lessons: Sequence[Lesson]) -> Any:
        """Return how much less the policy's choices reach, in percent of the best place of each lesson."""
        torch = self._torch
        most = max(len(lesson.reached) for lesson in lessons)
        before, after = np.zeros((2, len(lessons), most, INPUTS + len(self._scale) - SIZE))
        short = np.zeros((len(lessons), most))
        there = np.zeros((len(lessons), most), np.bool_)
        for row, lesson in enumerate(lessons):
            there[row, : len(lesson.reached)] = True
            before[row, there[row]], after[row, there[row]] = lesson.before, lesson.after
            reached = np.log(np.maximum(lesson.reached, 1))
            short[row, there[row]] = 100 * (reached.max() - reached)
        gain = self._worth(after) - self._worth(before)
        gain = torch.where(torch.from_numpy(there), gain / self.temperature, -1e9)
        return (torch.softmax(gain, 1) * torch.from_numpy(short)).sum(1).mean()

    def _worth(self, seen: Floats) -> Any:
        """Compute the worth of servers, as `agents.learned.numa.value` does, of what `places_of` sees of them."""
        torch = self._torch
        weights = self._weights * torch.from_numpy(self._scale)
        network, inputs = weights[TERMS:SIZE].reshape(INPUTS + 2, HIDDEN), seen[..., :INPUTS]
        hidden = torch.relu(torch.from_numpy(np.ascontiguousarray(inputs)) @ network[:INPUTS] + network[INPUTS])
        fits = torch.from_numpy(np.ascontiguousarray(seen[..., INPUTS:])) @ weights[SIZE:]
        return torch.from_numpy(terms_of(inputs)) @ weights[:TERMS] + hidden @ network[INPUTS + 1] + fits

    def used(self) -> Compiled:
        """Return the rule with the mean of the weights over time."""
        return self._rule(self._average)

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights, their mean over time, and Adam's moments."""
        tensors = {"weights": self._weights.detach().numpy().copy(), "average": self._average.copy()}
        return tensors | averages(self._optimiser), {}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        with self._torch.no_grad():
            self._weights[:] = self._torch.from_numpy(tensors["weights"])
        self._average = tensors["average"]
        put_averages(self._optimiser, tensors)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights of the terms and the network."""
        return tensors_of(self._average * self._scale, self._known), described(self.view, self.agent)
