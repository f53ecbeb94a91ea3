"""Training padrl: first the forecast, and a policy that imitates Best-Fit; then the policy alone, by PPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents import AGENTS
from agents.learned.padrl.agent import joined
from agents.learned.padrl.forecast import AHEAD, sequence
from agents.learned.padrl.network import (
    CELLS,
    FORECAST,
    HIDDEN,
    MEMORY,
    SHAPES,
    begin_diary,
    diary_of,
    padrl,
    padrl_sampled,
    rows_of,
)
from agents.learned.rollouts import HeldOut, check_worlds, telling
from agents.learned.tensors import Tensors, extra
from agents.learned.trainer import TRAINING, Trainer
from agents.learned.value_es.agent import NODES, check_servers
from agents.world import World
from simcore.errors import UserError
from simcore.rng import stream
from simcore.vocabulary import Compiled, Floats

SIMPLE = ("best-fit", "internal", "first-fit", "balance-fit")
LENGTH, UNHEARD = 256, 64
"""The LSTM learns from pieces of so many requests, from the errors after the first few."""


class PADRLTrainer(Trainer):
    """An LSTM that forecasts demand, and PPO (Schulman et al. 2017, arXiv:1707.06347) that is told the forecast.

    In the first `lessons` iterations the LSTM learns from `sequences` pieces of training workloads by least squares,
    and the policy to do as Best-Fit does; from then on the LSTM stays as it is. An episode is the requests of a seed
    from a share of `warm` on, filled by Best-Fit; of the episodes of `pool` seeds only those are kept in which simple
    rules differ. In every iteration `plays` of each of `episodes` of them are sampled. The advantage of all decisions
    of a play is how much longer it lasts (log) than the other plays of its episode: no value is learned. `decisions`
    of them are learned from, `epochs` times. What is validated is paired with `against`.
    """

    score = "gain"

    def __init__(
        self,
        lessons: int = 15,
        sequences: int = 64,
        episodes: int = 16,
        plays: int = 8,
        decisions: int = 16384,
        minibatch: int = 512,
        epochs: int = 4,
        rate: float = 1e-2,
        learning: float = 1e-2,
        clip: float = 0.2,
        kl_weight: float = 0.2,
        kl_target: float = 0.01,
        pool: int = 200,
        warm: tuple[float, ...] = (0.0, 0.3, 0.5),
        against: str = "best-fit",
    ) -> None:
        self._lessons, self._sequences, self._count, self._plays = lessons, sequences, episodes, plays
        self._decisions, self._seeds, self._warm, self._against = decisions, pool, warm, against
        self._learning, self._kl_weight = learning, kl_weight
        self._ppo = {
            "minibatch": minibatch,
            "epochs": epochs,
            "rate": rate,
            "clip": clip,
            "kl_target": kl_target,
            "value_weight": 0.0,
        }

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Make the networks, the optimisers and the episodes."""
        self._torch, self._library = torch, library = extra("torch"), extra("agents.learned.ppo")
        self._settings = library.Settings(**self._ppo)
        self._training, self._seed = training, seed
        ledger = training.ledger()
        self._view, self._cluster = ledger.view, ledger.cluster
        check_servers(self._view, "padrl")
        check_worlds("padrl", training, validation)
        self._held_out = HeldOut(validation, self._warm, self._against)
        self._width = self._view.capacity.shape[0]
        rng = stream(seed, "train", "weights")
        self._tensors = {name: torch.nn.Parameter(self._first(name, rng)) for name in SHAPES}
        ours = ("lstm", "forecast")
        parts = [[self._tensors[name] for name in SHAPES if name.startswith(ours) == mine] for mine in (True, False)]
        rates = self._learning, self._settings.rate
        self._optimisers = [torch.optim.Adam(part, lr=rate) for part, rate in zip(parts, rates, strict=True)]
        seeds = stream(seed, "train", "episodes").integers(2**40, size=self._seeds)
        rules = [AGENTS.load(name)().compiled for name in SIMPLE]
        self._pool, _ = telling(training, TRAINING + seeds, self._warm, rules)
        self._diary = diary_of(max(replay.requests for replay in self._pool), self._width)
        some = [sequence(training.draw(TRAINING + int(seed)), self._cluster)[1] for seed in seeds[:64]]
        if not any(map(len, some)):
            remedy = f"Give more than {AHEAD + LENGTH} requests."
            raise UserError("there is nothing to forecast", key="train.episodes", remedy=remedy)
        wanted = np.concatenate(some)
        self._usual = wanted.mean(axis=0), np.maximum(wanted.std(axis=0), 1e-3)

    def _first(self, name: str, rng: np.random.Generator) -> Any:
        """Weights to begin with: uniform within one over the root of the inputs, scores near 0."""
        shape = SHAPES[name]
        inputs = shape[-1] if len(shape) > 1 else {"lstm.bias": CELLS, "forecast.bias": CELLS}.get(name, HIDDEN)
        weights = rng.uniform(-1, 1, shape) / np.sqrt(inputs)
        return self._torch.from_numpy(weights)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Some plays; what is learned from them depends on the iteration."""
        rng = stream(self._seed, "train", iteration)
        metrics = self._forecast(rng) if iteration <= self._lessons else {}
        seen, batch, said = self._play(rng)
        metrics |= said
        if iteration <= self._lessons:
            metrics |= self._imitate(seen, batch)
        else:
            for group in self._optimisers[1].param_groups:
                group["lr"] = self._settings.rate
            found = self._library.update(
                lambda rows: self._evaluate(*(part[rows] for part in seen)),
                self._optimisers[1],
                batch,
                self._kl_weight,
                self._settings,
                rng,
            )
            metrics |= {key: found[key] for key in ("policy_loss", "kl", "entropy")} | {"kl_weight": self._kl_weight}
            self._kl_weight = self._library.next_kl_weight(self._kl_weight, found["kl"], self._settings.kl_target)
        if not all(bool(self._torch.isfinite(tensor).all()) for tensor in self._tensors.values()):
            metrics["policy_loss"] = float("nan")
        return metrics

    def _forecast(self, rng: np.random.Generator) -> dict[str, float]:
        """A step of the LSTM: the mean square of its errors, where 1 is that of saying the usual."""
        torch, parts = self._torch, []
        mean, deviation = self._usual
        for _ in range(self._sequences):
            seen, wanted = sequence(self._training.draw(TRAINING + int(rng.integers(2**40))), self._cluster)
            first = int(rng.integers(max(len(seen) - LENGTH, 0) + 1))
            parts.append((seen[first : first + LENGTH], ((wanted - mean) / deviation)[first : first + LENGTH]))
        least = min(len(seen) for seen, _ in parts)
        inputs, targets = (torch.from_numpy(np.stack([pair[i][:least] for pair in parts])) for i in (0, 1))
        loss = 0.0
        for rows in torch.arange(self._sequences).split(16):
            said = self._said(inputs[rows])
            error = (said - targets[rows])[:, min(UNHEARD, least // 2) :].square().mean()
            self._optimisers[0].zero_grad()
            error.backward()
            self._optimisers[0].step()
            loss += float(error.detach()) * len(rows) / self._sequences
        return {"forecast_loss": loss}

    def _said(self, inputs: Any) -> Any:
        """The LSTM's forecasts [b, steps, FORECAST] after each of `inputs` [b, steps, ASKED]."""
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
        """Logits [n, places] of inputs [n, SHARED] and [n, places, PLACE], and values of nothing [n]."""
        torch, tensors = self._torch, self._tensors
        common = shared @ tensors["shared.weight"].T + tensors["shared.bias"]
        hidden = torch.relu(common[:, None] + places @ tensors["place.weight"].T)
        return hidden @ tensors["score.weight"], torch.zeros(len(shared), dtype=torch.float64)

    def _play(self, rng: np.random.Generator) -> tuple[list[Any], Any, dict[str, float]]:
        """What was seen, the batch, and how well it went."""
        torch, library, weights = self._torch, self._library, self._joined()
        kept: list[tuple[Any, ...]] = []
        lengths, advantages = [], []
        share = max(1, self._decisions // (self._count * self._plays))
        for number in rng.permutation(len(self._pool))[: self._count].tolist():
            replay, placed = self._pool[number], []
            for _ in range(self._plays):
                diary = self._diary
                begin_diary(diary, self._width, rng)
                rule = Compiled(padrl_sampled, (weights, np.zeros(MEMORY), diary))
                placed.append(replay.placed(rule))
                rows = rows_of(diary, self._width)
                telling = np.flatnonzero(rows[2].sum(axis=1) > 1)
                some = rng.permutation(telling)[:share]
                kept.append(tuple(part[some] for part in rows))
            lengths += placed
            logs = np.log(np.maximum(placed, 1))
            advantages += [
                np.full(len(part[0]), far) for part, far in zip(kept[-self._plays :], logs - logs.mean(), strict=True)
            ]
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
        metrics = {"episodes": float(len(self._pool)), "placed": float(np.mean(lengths)), "decisions": len(actions)}
        return [shared, places], batch, metrics

    def _imitate(self, seen: list[Any], batch: Any) -> dict[str, float]:
        """Learn the choices of Best-Fit: the machine with the least free cpu, then the node with the least."""
        torch, (shared, places) = self._torch, seen
        for group in self._optimisers[1].param_groups:
            group["lr"] = self._learning
        least = places[..., 0] + places[..., 2] + places[..., 0] * 1e-3
        wanted = torch.where(batch.mask, least, torch.inf).argmin(1)
        order = torch.randperm(len(wanted), generator=torch.Generator().manual_seed(self._seed))
        loss = 0.0
        for rows in order.split(self._settings.minibatch):
            logits = self._library.masked(self._evaluate(shared[rows], places[rows])[0], batch.mask[rows])
            error = torch.nn.functional.cross_entropy(logits, wanted[rows])
            self._optimisers[1].zero_grad()
            error.backward()
            self._optimisers[1].step()
            loss += float(error.detach()) * len(rows) / len(wanted)
        return {"imitation_loss": loss}

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """How much more is placed than by `against`, always taking the highest score."""
        return self._held_out.gains(Compiled(padrl, (self._joined(), np.zeros(MEMORY))), seeds)

    def _joined(self) -> Floats:
        return joined(self._arrays())

    def _arrays(self) -> Tensors:
        return {name: tensor.detach().numpy().copy() for name, tensor in self._tensors.items()}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """The weights, both optimisers' averages, and the weight of the KL penalty."""
        tensors = {f"weights.{name}": array for name, array in self._arrays().items()}
        for which, optimiser in enumerate(self._optimisers):
            for number, state in optimiser.state_dict()["state"].items():
                tensors |= {f"adam.{which}.{number}.{name}": value.numpy().copy() for name, value in state.items()}
        return tensors, {"kl_weight": self._kl_weight}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """What `save` gave."""
        torch = self._torch
        states: list[dict[int, dict[str, Any]]] = [{}, {}]
        with torch.no_grad():
            for key, array in tensors.items():
                kind, _, rest = key.partition(".")
                if kind == "weights":
                    self._tensors[rest][:] = torch.from_numpy(array)
                else:
                    which, number, name = rest.split(".")
                    states[int(which)].setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
        for optimiser, state in zip(self._optimisers, states, strict=True):
            if state:
                optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
        self._kl_weight = notes["kl_weight"]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Of both networks."""
        notes = {"agent": "padrl", "resources": list(self._view.resources), "nodes": NODES}
        return self._arrays(), {**notes, "sizes": [CELLS, FORECAST, HIDDEN]}
