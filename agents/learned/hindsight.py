"""Trains hindsight: plans that know the whole episode show which choices were good, and a policy learns them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from binwright.agents.learned.loop import Count, Positive, Share
from binwright.agents.learned.numa import NODES, SIMPLE, rules_of
from binwright.agents.learned.ppo import descend
from binwright.agents.learned.value import HIDDEN, INPUTS, SIZE, TERMS, ValueTrainer, fitting_on, worth
from binwright.agents.learned.weights import extra
from binwright.agents.rules.scan import places_with_room
from binwright.agents.world import World
from binwright.fabric.servers import give
from binwright.simcore.record import SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints, Request

Sample: TypeAlias = tuple[Floats, Floats, Floats]
"""What `places_of` sees of the servers of c places, before and after, and how many requests the best plan that begins
at each places, float64 [c].
"""


@dataclass
class HindsightTrainer(ValueTrainer):
    """Hindsight learning (Sinclair et al. 2023, arXiv:2207.06272), with the best of many rules as its planner.

    The plan of an episode in which rules differ is that of `plans` rules (simple ones, and random values of servers)
    which places most in it. In every iteration the policy plays `episodes` of them, and then again to one of the
    requests that are still there at the end. There every place is tried with all that follows known: by the plan, and
    by the policy itself, whichever gets farther. The policy takes places with probability softmax(gain /
    `temperature`), and learns to place more: the mean over its choices of log(requests placed) rises by Adam.
    """

    agent = "hindsight"
    episodes: Count = 256
    plans: Count = 12
    temperature: Positive = 0.3
    rate: Positive = 0.02
    memory: Share = 0.95
    state = "learned", "average", "optimiser"

    def begin(self, training: World, validation: World, seed: int) -> None:
        super().begin(training, validation, seed)
        torch, weights = extra("torch"), self.average
        self.learned = {"weights": torch.nn.Parameter(torch.from_numpy(weights.copy()))}
        self.optimiser = torch.optim.Adam(self.learned.values(), lr=self.rate)
        errors = stream(seed, "train", "plans").normal(size=(max(self.plans - len(SIMPLE), 0), len(weights)))
        self._rules = rules_of(SIMPLE[: self.plans]) + [self.rule(weights + error) for error in errors]
        self._replays, placed = self.discriminative_episodes(self._rules)
        self._best, self._longest = placed.argmax(axis=0), placed.max(axis=0)

    def iterate(self, iteration: int) -> dict[str, float]:
        rng = stream(self._seed, "train", iteration)
        student = self.rule(self.learned["weights"].detach().numpy())
        samples, lengths, planned = list[Sample](), [], []
        for number in rng.permutation(len(self._replays))[: self.episodes].tolist():
            replay = self._replays[number]
            length = replay.placed(student)
            lengths.append(length)
            planned.append(max(length, self._longest[number]))
            staying = replay.staying()
            if not len(staying) or (request := replay.follow(student, int(rng.choice(staying)))) is None:
                continue
            codes, before, after = places_of(request, replay.simulation.view.free, self.view.capacity, self._known)
            if len(codes) > 1:
                plans = self._rules[self._best[number]], student
                reached = np.max([replay.tried(codes, plan) for plan in plans], axis=0).astype(np.float64)
                if np.ptp(reached) > 0:
                    samples.append((before, after, reached))
        metrics = {
            "episodes": len(self._replays),
            "placed": float(np.mean(lengths)),
            "planned": float(np.mean(planned)),
            "lessons": len(samples),
        }
        if samples:
            loss = self._loss(samples)
            descend(self.optimiser, loss)
            metrics["loss"] = float(loss.detach())
        self.follow(self.learned["weights"].detach().numpy())
        return metrics

    def _loss(self, samples: Sequence[Sample]) -> Any:
        """Return how much less the policy's choices reach, in percent of the best place of each sample."""
        befores, afters, reached = zip(*samples, strict=True)
        torch, logs = extra("torch"), [np.log(np.maximum(each, 1)) for each in reached]
        before, after = np.concatenate(befores), np.concatenate(afters)
        gains = ((self._worth(after) - self._worth(before)) / self.temperature).split([len(each) for each in logs])
        short = [torch.from_numpy(100 * (each.max() - each)) for each in logs]
        pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
        return (torch.softmax(pad(gains, padding_value=-1e9), 1) * pad(short)).sum(1).mean()

    def _worth(self, seen: Floats) -> Any:
        """Compute the worth of servers, as `agents.learned.value` does, of what `places_of` sees of them."""
        torch = extra("torch")
        weights = self.learned["weights"] * torch.from_numpy(self._scale)
        network, inputs = weights[TERMS:SIZE].reshape(INPUTS + 2, HIDDEN), seen[..., :INPUTS]
        hidden = torch.relu(torch.from_numpy(inputs) @ network[:INPUTS] + network[INPUTS])
        units, fits = np.eye(TERMS, SIZE), torch.from_numpy(seen[..., INPUTS:]) @ weights[SIZE:]
        terms = np.array([[worth(a, b, c, d, unit) for unit in units] for a, b, c, d in inputs.tolist()])
        return torch.from_numpy(terms) @ weights[:TERMS] + hidden @ network[INPUTS + 1] + fits


def inputs_of(free: Ints, capacity: Ints) -> Floats:
    """Return the free shares of servers [..., 2 nodes, 2 resources] as [..., INPUTS].

    First cpu and mem of the node that has less free, then those of the other.
    """
    shares = free / capacity
    order = np.lexsort((shares[..., 1], shares[..., 0]))
    return np.take_along_axis(shares, order[..., None], axis=-2).reshape(*shares.shape[:-2], INPUTS)


def places_of(request: Request, free: Ints, capacity: Ints, sizes: Floats) -> tuple[list[int], Floats, Floats]:
    """Return the places that fit: codes [c], and what is seen of the server before and after, [c, any] each.

    That is its inputs, and what fits of `sizes` float64 [k, 4]. Of places that leave the same shares on a server that
    had the same before, the first stands for all.
    """
    codes = places_with_room(free, request.demand, request.spread)
    free, capacity = free[codes // NODES], capacity[codes // NODES]
    left = free.copy()
    for place, code in enumerate(codes.tolist()):
        give(left, request.demand, place, SPREAD if request.spread else code % NODES, -1)
    before, after = inputs_of(free, capacity), inputs_of(left, capacity)
    rows = np.concatenate([before, after, capacity.reshape(len(codes), INPUTS)], axis=1)
    before = np.concatenate([before, fitting_on(free, sizes)], axis=1)
    after = np.concatenate([after, fitting_on(left, sizes)], axis=1)
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    return codes[first].tolist(), before[first], after[first]
