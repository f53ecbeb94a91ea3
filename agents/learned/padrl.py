"""Places as padrl does: an LSTM forecasts demand, and a policy scores every place with that; and trains both.

`weights` holds all of both, in the order of `SHAPES`. `memory` is what the LSTM remembers: its output, its cell and its
forecast; every request is shown to it, once per decision.
"""

from dataclasses import dataclass
from math import exp, sqrt, tanh
from typing import Any

import numpy as np

from binwright.agents.learned.loop import TRAINING, Count, CountFromZero, Positive, arrays_of
from binwright.agents.learned.mlp import add_products, dense, flatten
from binwright.agents.learned.numa import NODES, SIMPLE, NumaTrainer, check_servers, rules_of
from binwright.agents.learned.ppo import Batch, Proximal, descend, masked
from binwright.agents.learned.replay import NONE, Trajectory
from binwright.agents.learned.weights import Tensors, described, extra, find, fitting
from binwright.agents.rules.scan import ScanAgent, places_with_room
from binwright.agents.world import World
from binwright.fabric.cluster import Cluster
from binwright.fabric.servers import share
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel
from binwright.simcore.record import SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.types import Amounts, Compiled, Floats, Ints, View
from binwright.simcore.workload import Workload

REQUEST, CELLS, FORECAST = 3, 8, 6
"""Numbers of a request, units of the LSTM, numbers that it forecasts."""
SHARED, PLACE, HIDDEN = REQUEST + 2 + FORECAST, 8, 16
"""Inputs of the policy that all places share, inputs of each place, hidden units."""
SHAPES = {
    "lstm.weight_ih": (4 * CELLS, REQUEST),
    "lstm.weight_hh": (4 * CELLS, CELLS),
    "lstm.bias": (4 * CELLS,),
    "forecast.weight": (FORECAST, CELLS),
    "forecast.bias": (FORECAST,),
    "shared.weight": (HIDDEN, SHARED),
    "shared.bias": (HIDDEN,),
    "place.weight": (HIDDEN, PLACE),
    "score.weight": (HIDDEN,),
}
NOTES = {"nodes": NODES, "sizes": [CELLS, FORECAST, HIDDEN]}
"""What the weights are for, beside resources."""
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())
MEMORY = 2 * CELLS + FORECAST
AHEAD = 100
"""How many of the next requests are forecast together."""
LARGE = (0.2, 0.4, 0.8)
"""Shares of a node's cpu: how many of the next requests want as much."""
LENGTH, UNHEARD = 256, 64
"""The LSTM learns from pieces of so many requests, from the errors after the first few."""


@kernel
def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x))


@kernel
def observe(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, memory: Floats, shared: Floats
) -> int:
    """Write the inputs that all places share to `shared` [SHARED], and show the request to the LSTM: changes `memory`.

    These are the roots of the request's shares of the first node, whether it is spread, the free shares of the cluster,
    and the forecast. Returns where the policy's weights begin.
    """
    shared[0], shared[1] = sqrt(demand[0] / capacity[0, 0, 0]), sqrt(demand[1] / capacity[0, 0, 1])
    shared[2] = 1.0 if spread else 0.0
    gates, inputs = np.empty(4 * CELLS), np.empty(REQUEST + CELLS)
    inputs[:REQUEST], inputs[REQUEST:] = shared[:REQUEST], memory[:CELLS]
    at = dense(inputs, REQUEST + CELLS, weights, 0, gates, 4 * CELLS, False)
    for i in range(CELLS):  # torch's order: input, forget, cell, output
        cell = sigmoid(gates[CELLS + i]) * memory[CELLS + i] + sigmoid(gates[i]) * tanh(gates[2 * CELLS + i])
        memory[CELLS + i] = cell
        memory[i] = sigmoid(gates[3 * CELLS + i]) * tanh(cell)
    at = dense(memory, CELLS, weights, at, memory[2 * CELLS :], FORECAST, False)
    for r in range(2):
        shared[REQUEST + r] = free[:, :, r].sum() / capacity[:, :, r].sum()
    shared[REQUEST + 2 :] = memory[2 * CELLS :]
    return at


@kernel
def padrl(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, memory: Floats, diary: Floats
) -> int:
    """Take, as a `Scan` for two nodes and two resources, the place with the highest score, the first of equals.

    `memory` float64 [MEMORY] changes. With a `diary` it takes each place with probability softmax(score), and writes
    what was seen and done: how many rows there are so far, and then rows of `row_type`, whose first number is a random
    one in [0, 1) before they are written. It takes none once the diary is full.
    """
    shared, common, hidden, places = np.empty(SHARED), np.empty(HIDDEN), np.empty(HIDDEN), 2 * len(free)
    number, width = int(diary[0]) if len(diary) else 0, 1 + SHARED + places * (1 + PLACE)
    if len(diary) and 1 + (number + 1) * width > len(diary):
        return -1
    row = diary[1 + number * width : 1 + (number + 1) * width] if len(diary) else np.empty(width)
    at = observe(free, capacity, demand, spread, weights, memory, shared)
    at = dense(shared, SHARED, weights, at, common, HIDDEN, False)
    row[1 : 1 + SHARED] = shared
    mask, scores = row[1 + SHARED : 1 + SHARED + places], np.full(places, -np.inf)
    mask[:] = 0.0
    for code in places_with_room(free, demand, spread):
        # The free shares of this node and of the other, cpu and mem, as they are and as they would be.
        place = row[1 + SHARED + places + code * PLACE : 1 + SHARED + places + (code + 1) * PLACE]
        server, first = code // 2, code % 2
        for n in range(2):
            node = first if n == 0 else 1 - first
            for r in range(2):
                taken = share(demand[r], SPREAD if spread else 0, n, NODES)
                left, of = free[server, node, r], capacity[server, node, r]
                place[n * 2 + r], place[4 + n * 2 + r] = left / of, (left - taken) / of
        mask[code], hidden[:], scores[code] = 1.0, common, 0.0
        readout = add_products(place, PLACE, weights, at, hidden, HIDDEN)
        for j in range(HIDDEN):
            scores[code] += weights[readout + j] * max(hidden[j], 0.0)
    chosen = int(scores.argmax())
    if scores[chosen] == -np.inf:
        return -1
    if len(diary):
        chances = np.exp(scores - scores[chosen]).cumsum()
        chosen = min(int(np.searchsorted(chances, row[0] * chances[-1], side="right")), places - 1)
        while mask[chosen] == 0.0:  # a sum that rounding kept below the random number
            chosen -= 1
        row[0], diary[0] = chosen, number + 1
    return chosen


def row_type(servers: int) -> np.dtype[Any]:
    """Return how a decision lies in a diary: the action, what all places share, which fitted, and their inputs."""
    shapes = {"action": (), "shared": (SHARED,), "mask": (2 * servers,), "places": (2 * servers, PLACE)}
    return np.dtype([(name, np.float64, shape) for name, shape in shapes.items()])


class PADRL(ScanAgent):
    """A policy that scores every place, told what an LSTM expects of the next requests from those seen so far.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. Any number of servers, each of two
    NUMA nodes.
    """

    scan = staticmethod(padrl)
    reference = (
        "a rival in Sheng et al. 2025, arXiv:2503.00537; from its description: page 'Learned placement on NUMA servers'"
    )

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("padrl", weights, path)
        self.numbers = np.zeros(SIZE), np.zeros(MEMORY), NONE

    def start(self, view: View, rng: np.random.Generator) -> None:
        check_servers(view, "padrl")
        weights = flatten(fitting(self._file, SHAPES, described("padrl", view, **NOTES)), SHAPES)
        self.numbers = weights.astype(np.float64), np.zeros(MEMORY), NONE
        self.get_ready(view)


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
    return seen[: len(wanted)], wanted


def untrained(rng: np.random.Generator) -> Tensors:
    """Draw weights to begin with: uniform within one over the root of the inputs."""
    inputs = {name: shape[-1] for name, shape in SHAPES.items()} | {"lstm.bias": CELLS, "forecast.bias": CELLS}
    return {name: rng.uniform(-1, 1, shape) / np.sqrt(inputs[name]) for name, shape in SHAPES.items()}


@dataclass
class PADRLTrainer(Proximal, NumaTrainer):
    """An LSTM that forecasts demand, and PPO (Schulman et al. 2017, arXiv:1707.06347) that is told the forecast.

    In the first `lessons` iterations the LSTM learns from `sequences` pieces of training workloads by least squares,
    and the policy to do as Best-Fit does; from then on the LSTM stays as it is. In every iteration `plays` of each of
    `episodes` in which simple rules differ are sampled. The advantage of all decisions of a play is how much longer it
    lasts (log) than the other plays of its episode: no value is learned. `decisions` of them are learned from, `epochs`
    times.
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
    clip: Positive = 0.2
    pool: Count = 200
    state = "tensors", "optimiser", "kl_weight"

    def begin(self, training: World, validation: World, seed: int) -> None:
        super().begin(training, validation, seed)
        torch, self._cluster = extra("torch"), training.ledger(0).cluster
        drawn = untrained(stream(seed, "train", "weights"))
        self.tensors = {name: torch.nn.Parameter(torch.from_numpy(array)) for name, array in drawn.items()}
        self.optimiser = torch.optim.Adam(self.tensors.values(), lr=self.rate)
        self._replays, _ = self.discriminative_episodes(rules_of(SIMPLE))
        kind, rows = row_type(len(self.view.capacity)), max(len(replay.simulation.workload) for replay in self._replays)
        self._diary = Trajectory(rows, kind, 1)
        some = [sequence(training.draw(int(seed)), self._cluster)[1] for seed in self._seeds[:64]]
        if not any(map(len, some)):
            remedy = f"Give more than {AHEAD + LENGTH} requests."
            raise UserError("there is nothing to forecast", key="train.episodes", remedy=remedy)
        wanted = np.concatenate(some)
        self._usual = wanted.mean(axis=0), np.maximum(wanted.std(axis=0), 1e-3)

    def iterate(self, iteration: int) -> dict[str, float]:
        rng = stream(self._seed, "train", iteration)
        metrics = self._forecast(rng) if iteration <= self.lessons else {}
        batch, played = self._play(rng)
        if iteration <= self.lessons:
            return metrics | played | {"imitation_loss": self._imitate(batch)}
        improved = self.improve(self._evaluate, self.optimiser, batch, rng)
        return metrics | played | {key: improved[key] for key in ("policy_loss", "kl", "entropy", "kl_weight")}

    def _forecast(self, rng: np.random.Generator) -> dict[str, float]:
        """Take a step of the LSTM; returns the mean square of its errors, which is 1 for always saying the mean."""
        torch, parts = extra("torch"), []
        mean, deviation = self._usual
        for _ in range(self.sequences):
            seen, wanted = sequence(self._training.draw(TRAINING + int(rng.integers(2**40))), self._cluster)
            first = int(rng.integers(max(len(seen) - LENGTH, 0) + 1))
            parts.append((seen[first : first + LENGTH], ((wanted - mean) / deviation)[first : first + LENGTH]))
        least = min(len(seen) for seen, _ in parts)
        inputs, targets = (torch.from_numpy(np.stack([pair[i][:least] for pair in parts])) for i in (0, 1))
        loss = 0.0
        for rows in torch.arange(self.sequences).split(16):
            error = (self._forecasts(inputs[rows]) - targets[rows])[:, min(UNHEARD, least // 2) :].square().mean()
            descend(self.optimiser, error)
            loss += float(error.detach()) * len(rows) / self.sequences
        return {"forecast_loss": loss}

    def _forecasts(self, inputs: Any) -> Any:
        """Return the LSTM's forecasts [b, steps, FORECAST] after each of `inputs` [b, steps, ASKED]."""
        torch, tensors = extra("torch"), self.tensors
        hidden = cell = torch.zeros(len(inputs), CELLS, dtype=torch.float64)
        projected = inputs @ tensors["lstm.weight_ih"].T + tensors["lstm.bias"]
        outputs = []
        for step in range(inputs.shape[1]):
            gates = projected[:, step] + hidden @ tensors["lstm.weight_hh"].T
            enter, keep, new, out = gates.chunk(4, 1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1) @ tensors["forecast.weight"].T + tensors["forecast.bias"]

    def _evaluate(self, shared: Any, places: Any) -> tuple[Any, Any]:
        """Return logits [n, places] of inputs [n, SHARED] and [n, places, PLACE], and values of 0 [n]."""
        torch, tensors = extra("torch"), self.tensors
        common = shared @ tensors["shared.weight"].T + tensors["shared.bias"]
        hidden = torch.relu(common[:, None] + places @ tensors["place.weight"].T)
        return hidden @ tensors["score.weight"], torch.zeros(len(shared), dtype=torch.float64)

    def _play(self, rng: np.random.Generator) -> tuple[Batch, dict[str, float]]:
        """Sample plays; returns their decisions, of which is seen [n, SHARED] and [n, places, PLACE]."""
        torch, rule = extra("torch"), self.used(self._diary.numbers)
        share = max(1, self.decisions // (self.episodes * self.plays))
        _, memory, diary = rule.weights
        sampled, lengths, gains = list[Any](), list[int](), list[Floats]()
        for number in rng.permutation(len(self._replays))[: self.episodes].tolist():
            placed = []
            for _ in range(self.plays):
                diary[0], memory[:] = 0.0, 0.0
                self._diary.table.action = rng.random(len(self._diary.table))
                placed.append(self._replays[number].placed(rule, self.used()))
                rows = self._diary.decisions
                discriminative = np.flatnonzero(rows.mask.sum(axis=1) > 1)
                sampled.append(rows[rng.permutation(discriminative)[:share]])
            logs = np.log(np.maximum(placed, 1))
            gains.append(np.repeat(logs - logs.mean(), [len(rows) for rows in sampled[-self.plays :]]))
            lengths += placed
        rows = np.concatenate(sampled)
        actions, mask = torch.from_numpy(rows["action"].astype(np.int64)), torch.from_numpy(rows["mask"] > 0)
        seen = [torch.from_numpy(np.ascontiguousarray(rows[name])) for name in ("shared", "places")]
        advantages = torch.from_numpy(np.concatenate(gains))
        advantages /= advantages.std(correction=0).clamp(min=1e-4)
        with torch.no_grad():
            logits, values = self._evaluate(*seen)
        batch = Batch(seen, actions, mask, masked(logits, mask), values, values, advantages)
        metrics = {"episodes": float(len(self._replays)), "placed": float(np.mean(lengths)), "decisions": len(actions)}
        return batch, metrics

    def _imitate(self, batch: Batch) -> float:
        """Learn the choices of Best-Fit: the server with the least free cpu, then the node with the least."""
        torch, places = extra("torch"), batch.seen[1]
        least = places[..., 0] + places[..., 2] + places[..., 0] * 1e-3
        wanted = torch.where(batch.mask, least, torch.inf).argmin(1)
        order = torch.randperm(len(wanted), generator=torch.Generator().manual_seed(self._seed))
        loss = 0.0
        for rows in order.split(self.minibatch):
            logits = masked(self._evaluate(*(part[rows] for part in batch.seen))[0], batch.mask[rows])
            error = torch.nn.functional.cross_entropy(logits, wanted[rows])
            descend(self.optimiser, error)
            loss += float(error.detach()) * len(rows) / len(wanted)
        return loss

    def used(self, diary: Floats = NONE) -> Compiled:
        return Compiled(padrl, (flatten(arrays_of(self.tensors), SHAPES), np.zeros(MEMORY), diary))

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        return arrays_of(self.tensors), described("padrl", self.view, **NOTES)
