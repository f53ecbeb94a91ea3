"""padrl: the kernels against plain Python, what it remembers, weights and their mistakes, and training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.learned.mlp import flatten
from binwright.agents.learned.numa import Replay
from binwright.agents.learned.padrl import (
    AHEAD,
    CELLS,
    FORECAST,
    MEMORY,
    REQUEST,
    SHAPES,
    padrl,
    row_type,
    sequence,
)
from binwright.agents.learned.replay import NONE
from binwright.agents.learned.weights import Tensors
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled, Floats, Ints
from tests.support.learning import busy, going_on, in_use, trained
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")


def tensors_of(seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


class Slow:
    """The networks as docs/learn/numa-learning.md says them."""

    def __init__(self, tensors: Tensors) -> None:
        self.of = tensors
        self.hidden, self.cell = np.zeros(CELLS), np.zeros(CELLS)

    def forecast(self, seen: Floats) -> Floats:
        of = self.of
        gates = of["lstm.weight_ih"] @ seen + of["lstm.weight_hh"] @ self.hidden + of["lstm.bias"]
        enter, keep, new, out = gates.reshape(4, CELLS)
        self.cell = self.cell / (1 + np.exp(-keep)) + np.tanh(new) / (1 + np.exp(-enter))
        self.hidden = np.tanh(self.cell) / (1 + np.exp(-out))
        output: Floats = of["forecast.weight"] @ self.hidden + of["forecast.bias"]
        return output

    def scores(self, free: Ints, capacity: Ints, demand: tuple[int, int], spread: bool) -> dict[int, float]:
        """By code, of every place that fits."""
        of, result = self.of, {}
        seen = np.array([*np.sqrt(np.array(demand) / capacity[0, 0]), spread])
        total = free.sum(axis=(0, 1)) / capacity.sum(axis=(0, 1))
        shared = of["shared.weight"] @ np.concatenate([seen, total, self.forecast(seen)]) + of["shared.bias"]
        for server in range(len(free)):
            for node in range(1 if spread else 2):
                left = free[server].copy()
                for r, amount in enumerate(demand):
                    left[node, r] -= amount - amount // 2 if spread else amount
                    left[1 - node, r] -= amount // 2 if spread else 0
                if (left >= 0).all():
                    shares = [now[n] / capacity[server, n] for now in (free[server], left) for n in (node, 1 - node)]
                    hidden = np.maximum(shared + of["place.weight"] @ np.concatenate(shares), 0)
                    result[server * 2 + node] = float(of["score.weight"] @ hidden)
        return result


@given(st.integers(0, 2**32))
@scaled(1)
def test_padrl_takes_the_place_with_the_highest_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    capacity = np.tile(np.array([40, 90]), (4, 2, 1)) + rng.integers(0, 2, (4, 1, 1)) * 10
    tensors = tensors_of(seed)
    slow, memory = Slow(tensors), np.zeros(MEMORY)
    for _ in range(3):
        free = rng.integers(0, capacity + 1)
        requested = int(rng.integers(1, 30)), int(rng.integers(1, 30))
        spread = bool(rng.integers(2))
        code = padrl(free, capacity, requested, spread, flatten(tensors, SHAPES), memory, NONE)
        possible = slow.scores(free, capacity, requested, spread)
        if not possible:
            assert code == -1
        else:
            assert possible[code] >= max(possible.values()) - 1e-9
    np.testing.assert_allclose(memory[: 2 * CELLS], np.concatenate([slow.hidden, slow.cell]), atol=1e-12)


def test_diary_records_choices_and_their_candidates() -> None:
    workload, cluster = busy(300)
    simulation = Simulation(workload, Ledger(cluster), Overflow("stop"), compiled=True)
    replay, tensors = Replay(simulation), tensors_of(3)
    kind = row_type(len(cluster.capacity))
    diary = np.zeros(1 + len(workload) * kind.itemsize // 8)
    chosen = []
    for _ in range(2):
        diary[0], diary[1:].view(kind)["action"] = 0, np.random.default_rng(1).random(len(workload))
        placed = replay.placed(Compiled(padrl, (flatten(tensors, SHAPES), np.zeros(MEMORY), diary)))
        rows = diary[1:].view(kind)[: int(diary[0])]
        actions, shared, mask, places = (rows[name] for name in ("action", "shared", "mask", "places"))
        actions = actions.astype(int)
        chosen.append(actions)
        assert len(actions) == placed > 10
    np.testing.assert_array_equal(chosen[0], chosen[1])
    assert mask[np.arange(len(actions)), actions].all()
    capacity = cluster.capacity
    np.testing.assert_array_equal(shared[0, REQUEST : REQUEST + 2], 1.0)  # an empty cluster
    first = workload.demand[0] / capacity[0, 0]
    np.testing.assert_allclose(shared[0, :2] ** 2, first)
    if not workload.demand[0, 1] > 10:
        np.testing.assert_allclose(places[0, 0, 4:6], 1 - first)
    assert len(np.unique(actions)) > 3, "it is drawn"


def test_forecast_targets_cover_the_next_requests_only() -> None:
    workload, cluster = busy(AHEAD + 5)
    seen, wanted = sequence(workload, cluster)
    assert seen.shape == (5, REQUEST)
    assert wanted.shape == (5, FORECAST)
    after = workload.demand[3 : 3 + AHEAD] / 40
    np.testing.assert_allclose(wanted[2, :2], after.mean(axis=0))
    np.testing.assert_allclose(wanted[2, 2], (after[:, 1] > 0.25).mean())
    np.testing.assert_allclose(wanted[2, 3:], [(after[:, 0] >= large).mean() for large in (0.2, 0.4, 0.8)])


LITTLE: dict[str, Any] = {
    "lessons": 2, "sequences": 2, "episodes": 2, "plays": 2, "decisions": 64, "minibatch": 32, "pool": 40,
    "warm": [0.0, 0.2],
}  # fmt: skip


@pytest.mark.long
def test_training_goes_on_and_its_weights_are_used(tmp_path: Path) -> None:
    log = going_on(trained({"padrl": LITTLE}), tmp_path, rows=4)
    assert log.filter(step=3)["kl"].is_finite().all(), "the third iteration, after which it is interrupted, is of PPO"
    in_use("padrl", tmp_path)
