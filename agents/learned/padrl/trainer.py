"""Trains padrl: first the forecast, and a policy that imitates Best-Fit; then the policy alone, by PPO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.learned.common.proximal import Proximal, averages, finite, put_averages
from binwright.agents.learned.common.tensors import Tensors
from binwright.agents.learned.common.trainer import TRAINING, Count, CountFromZero, Positive
from binwright.agents.learned.numa.rollouts import discriminative_episodes, rules_of
from binwright.agents.learned.numa.trainer import NumaTrainer
from binwright.agents.learned.padrl.agent import described, joined
from binwright.agents.learned.padrl.network import (
    ASKED,
    CELLS,
    HIDDEN,
    MEMORY,
    SHAPES,
    begin_diary,
    diary_of,
    padrl,
    padrl_sampled,
    rows_of,
)
from binwright.agents.world import World
from binwright.fabric.cluster import Cluster
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Workload

AHEAD = 100
"""How many of the next requests are forecast together."""
LARGE = (0.2, 0.4, 0.8)
"""Shares of a node's cpu: how many of the next requests want as much."""


def sequence(workload: Workload, cluster: Cluster) -> tuple[Floats, Floats]:
    """Describe every request that has `AHEAD` after it, [n, ASKED], and what those are like, [n, FORECAST].

    That is: the means of their shares of a node's cpu and mem, the share that is spread, and those that want at least
    so much cpu. Both float64, not standardised.
    """
    shares = workload.demand / cluster.capacity[0, 0]
    spread = cluster.spreads(workload.demand).astype(np.float64)
    seen = np.column_stack([np.sqrt(shares), spread])
    like = np.column_stack([shares, spread, *(shares[:, 0] >= large for large in LARGE)])
    sums = np.concatenate([np.zeros((1, like.shape[1])), like.cumsum(axis=0)])
    wanted = (sums[1 + AHEAD :] - sums[1:-AHEAD]) / AHEAD
    assert seen.shape[1] == ASKED
    return seen[: len(wanted)], wanted


SIMPLE = ("best-fit", "internal", "first-fit", "balance-fit")
LENGTH, UNHEARD = 256, 64
"""The LSTM learns from pieces of so many requests, from the errors after the first few."""


@dataclass
class PADRLTrainer(Proximal, NumaTrainer):
    """An LSTM that forecasts demand, and PPO (Schulman et al. 2017, arXiv:1707.06347) that is told the forecast.

    In the first `lessons` iterations the LSTM learns from `sequences` pieces of training workloads by least squares,
    and the policy to do as Best-Fit does; from then on the LSTM stays as it is. An episode is the requests of a seed
    from a share of `warm` on; of the episodes of `pool` seeds only those are kept in which simple
    rules differ. In every iteration `plays` of each of `episodes` of them are sampled. The advantage of all decisions
    of a play is how much longer it lasts (log) than the other plays of its episode: no value is learned. `decisions`
    of them are learned from, `epochs` times. What is validated is paired with `against`.
    """

    agent = "padrl"
    lessons: CountFromZero = 15
    sequences: Count = 64
    episodes: Count = 16
    plays: Count = 8
    decisions: Count = 16384
    minibatch: Count = 512
    epochs: Count = 4
    rate: Positive = 1e-2
    learning: Positive = 1e-2
    clip: Positive = 0.2
    pool: Count = 200
    value_weight = 0.0

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Make the networks, the optimisers and the episodes."""
        super().begin(training, validation, seed, device)
        self.begin_ppo()
        torch = self._torch
        self._cluster = training.ledger(0).cluster
        self._width = self.view.capacity.shape[0]
        rng = stream(seed, "train", "weights")
        self._tensors = {name: torch.nn.Parameter(self._first(name, rng)) for name in SHAPES}
        ours = ("lstm", "forecast")
        parts = [[self._tensors[name] for name in SHAPES if name.startswith(ours) == mine] for mine in (True, False)]
        rates = self.learning, self.rate
        self._optimisers = [torch.optim.Adam(part, lr=rate) for part, rate in zip(parts, rates, strict=True)]
        self._replays, _ = discriminative_episodes(training, self._seeds, self.shares, rules_of(SIMPLE))
        self._diary = diary_of(max(replay.requests for replay in self._replays), self._width)
        some = [sequence(training.draw(int(seed)), self._cluster)[1] for seed in self._seeds[:64]]
        if not any(map(len, some)):
            remedy = f"Give more than {AHEAD + LENGTH} requests."
            raise UserError("there is nothing to forecast", key="train.episodes", remedy=remedy)
        wanted = np.concatenate(some)
        self._usual = wanted.mean(axis=0), np.maximum(wanted.std(axis=0), 1e-3)

    def _first(self, name: str, rng: np.random.Generator) -> Any:
        """Draw weights to begin with: uniform within one over the root of the inputs, scores near 0."""
        shape = SHAPES[name]
        inputs = shape[-1] if len(shape) > 1 else {"lstm.bias": CELLS, "forecast.bias": CELLS}.get(name, HIDDEN)
        weights = rng.uniform(-1, 1, shape) / np.sqrt(inputs)
        return self._torch.from_numpy(weights)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play some episodes; what is learned from them depends on the iteration."""
        rng = stream(self._seed, "train", iteration)
        metrics = self._forecast(rng) if iteration <= self.lessons else {}
        seen, batch, said = self._play(rng)
        metrics |= said
        if iteration <= self.lessons:
            metrics |= self._imitate(seen, batch)
            if not finite(self._tensors.values()):
                metrics["policy_loss"] = float("nan")
        else:
            for group in self._optimisers[1].param_groups:
                group["lr"] = self.rate

            def evaluate(rows: Any) -> Any:
                return self._evaluate(*(part[rows] for part in seen))

            found = self.improve(evaluate, self._optimisers[1], self._tensors.values(), batch, rng)
            metrics |= {key: found[key] for key in ("policy_loss", "kl", "entropy", "kl_weight")}
        return metrics

    def _forecast(self, rng: np.random.Generator) -> dict[str, float]:
        """Take a step of the LSTM; returns the mean square of its errors, which is 1 for always saying the mean."""
        torch, parts = self._torch, []
        mean, deviation = self._usual
        for _ in range(self.sequences):
            seen, wanted = sequence(self._training.draw(TRAINING + int(rng.integers(2**40))), self._cluster)
            first = int(rng.integers(max(len(seen) - LENGTH, 0) + 1))
            parts.append((seen[first : first + LENGTH], ((wanted - mean) / deviation)[first : first + LENGTH]))
        least = min(len(seen) for seen, _ in parts)
        inputs, targets = (torch.from_numpy(np.stack([pair[i][:least] for pair in parts])) for i in (0, 1))
        loss = 0.0
        for rows in torch.arange(self.sequences).split(16):
            said = self._said(inputs[rows])
            error = (said - targets[rows])[:, min(UNHEARD, least // 2) :].square().mean()
            self._optimisers[0].zero_grad()
            error.backward()
            self._optimisers[0].step()
            loss += float(error.detach()) * len(rows) / self.sequences
        return {"forecast_loss": loss}

    def _said(self, inputs: Any) -> Any:
        """Return the LSTM's forecasts [b, steps, FORECAST] after each of `inputs` [b, steps, ASKED]."""
        torch, tensors = self._torch, self._tensors
        hidden = cell = torch.zeros(len(inputs), CELLS, dtype=torch.float64)
        told = inputs @ tensors["lstm.weight_ih"].T + tensors["lstm.bias"]
        outputs = []
        for step in range(inputs.shape[1]):
            gates = told[:, step] + hidden @ tensors["lstm.weight_hh"].T
            enter, keep, new, out = gates.chunk(4, 1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1) @ tensors["forecast.weight"].T + tensors["forecast.bias"]

    def _evaluate(self, shared: Any, places: Any) -> tuple[Any, Any]:
        """Return logits [n, places] of inputs [n, SHARED] and [n, places, PLACE], and values of 0 [n]."""
        torch, tensors = self._torch, self._tensors
        common = shared @ tensors["shared.weight"].T + tensors["shared.bias"]
        hidden = torch.relu(common[:, None] + places @ tensors["place.weight"].T)
        return hidden @ tensors["score.weight"], torch.zeros(len(shared), dtype=torch.float64)

    def _play(self, rng: np.random.Generator) -> tuple[list[Any], Any, dict[str, float]]:
        """Play; returns what was seen, the batch, and how well it went."""
        torch, library, weights = self._torch, self._library, self._joined()
        kept: list[tuple[Any, ...]] = []
        lengths, advantages = [], []
        share = max(1, self.decisions // (self.episodes * self.plays))
        for number in rng.permutation(len(self._replays))[: self.episodes].tolist():
            replay, placed, mine = self._replays[number], [], []
            for _ in range(self.plays):
                diary = self._diary
                begin_diary(diary, self._width, rng)
                rule = Compiled(padrl_sampled, (weights, np.zeros(MEMORY), diary))
                placed.append(replay.placed(rule, self.used()))
                rows = rows_of(diary, self._width)
                telling = np.flatnonzero(rows[2].sum(axis=1) > 1)
                some = rng.permutation(telling)[:share]
                mine.append(tuple(part[some] for part in rows))
            kept += mine
            lengths += placed
            logs = np.log(np.maximum(placed, 1))
            advantages += [np.full(len(seen[0]), far) for seen, far in zip(mine, logs - logs.mean(), strict=True)]
        actions, shared, mask, places = (torch.from_numpy(np.concatenate(part)) for part in zip(*kept, strict=True))
        advantage = torch.from_numpy(np.concatenate(advantages))
        with torch.no_grad():
            logits, values = self._evaluate(shared, places)
        batch = library.Batch(
            actions=actions,
            mask=mask,
            old_logits=library.masked(logits, mask),
            values=values,
            returns=values,
            advantages=advantage / advantage.std(correction=0).clamp(min=1e-4),
        )
        metrics = {"episodes": float(len(self._replays)), "placed": float(np.mean(lengths)), "decisions": len(actions)}
        return [shared, places], batch, metrics

    def _imitate(self, seen: list[Any], batch: Any) -> dict[str, float]:
        """Learn the choices of Best-Fit: the server with the least free cpu, then the node with the least."""
        torch, (shared, places) = self._torch, seen
        for group in self._optimisers[1].param_groups:
            group["lr"] = self.learning
        least = places[..., 0] + places[..., 2] + places[..., 0] * 1e-3
        wanted = torch.where(batch.mask, least, torch.inf).argmin(1)
        order = torch.randperm(len(wanted), generator=torch.Generator().manual_seed(self._seed))
        loss = 0.0
        for rows in order.split(self.minibatch):
            logits = self._library.masked(self._evaluate(shared[rows], places[rows])[0], batch.mask[rows])
            error = torch.nn.functional.cross_entropy(logits, wanted[rows])
            self._optimisers[1].zero_grad()
            error.backward()
            self._optimisers[1].step()
            loss += float(error.detach()) * len(rows) / len(wanted)
        return {"imitation_loss": loss}

    def used(self) -> Compiled:
        """Return the rule that always takes the highest score."""
        return Compiled(padrl, (self._joined(), np.zeros(MEMORY)))

    def _joined(self) -> Floats:
        return joined(self._arrays())

    def _arrays(self) -> Tensors:
        return {name: tensor.detach().numpy().copy() for name, tensor in self._tensors.items()}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights, both optimisers' averages, and the weight of the KL penalty."""
        tensors = {f"weights.{name}": array for name, array in self._arrays().items()}
        for which, optimiser in enumerate(self._optimisers):
            tensors |= averages(optimiser, f"adam.{which}")
        return tensors, {"kl_weight": self._kl_weight}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        with self._torch.no_grad():
            for name, parameter in self._tensors.items():
                parameter[:] = self._torch.from_numpy(tensors[f"weights.{name}"])
        for which, optimiser in enumerate(self._optimisers):
            put_averages(optimiser, tensors, f"adam.{which}")
        self._kl_weight = notes["kl_weight"]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights of both networks."""
        return self._arrays(), described(self.view)
