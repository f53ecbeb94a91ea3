"""Double DQN: what is recorded, updates beside torch's, training of cvd-rl and sched-rl, and their mistakes."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.agents.learned.cvd_rl import CvdTrainer, cvd_rl, server_features, sizes
from binwright.agents.learned.dqn import AVERAGE, DQN, NETWORK, TARGET
from binwright.agents.learned.mlp import size_of, untrained
from binwright.agents.learned.numa import replays_of
from binwright.agents.learned.replay import (
    CONTINUES,
    HEAD,
    NONE,
    TERMINATED,
    TRUNCATED,
    Decisions,
    Trajectory,
    decision_type,
)
from binwright.agents.learned.sched_rl import SchedTrainer
from binwright.scenarios.learn.training import course_of
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.types import Compiled, Floats, Ints
from tests.reference.agents import after, feasible
from tests.support.learning import going_on, in_use, trained
from tests.support.properties import first

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

torch = pytest.importorskip("torch")

FEW: dict[str, Any] = {"episodes": 2, "pool": 6, "updates": 3, "batch": 8, "memory": 150, "annealed": 3, "target": 4}
SETTINGS: dict[str, dict[str, Any]] = {"cvd-rl": FEW | {"warm": [0.0, 0.2]}, "sched-rl": FEW | {"warm": [0.0]}}


def small(agent: str = "cvd-rl", options: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    return scenario_from(trained({agent: SETTINGS[agent] | (options or {})}) | changed)


def begun(agent: str = "cvd-rl", options: dict[str, Any] | None = None, **changed: Any) -> DQN:
    """A trainer, with nothing learned."""
    course = course_of(small(agent, options, **changed))
    trainer = course.trainer()
    trainer.begin(course.training, course.validation, 0)
    assert isinstance(trainer, DQN)
    return trainer


def recorded(overflow: str, epsilon: float, rows: int = 400) -> tuple[Decisions, int, Floats, Any]:
    """An episode of cvd-rl as a trajectory, how many requests it placed, its numbers, and the world."""
    world = course_of(small(overflow=overflow)).training
    how = np.array([2, 3, 1, 1], np.float64)
    capacity = world.ledger(0).view.capacity
    weights = untrained(sizes(how, len(capacity)), np.random.default_rng(1))
    written = Trajectory(rows, decision_type(5, capacity))
    written.numbers[:HEAD] = 0, epsilon, 5, overflow == "stop", 7, 0
    placed = replays_of(world, [5], [0.0])[0].placed(Compiled(cvd_rl, (weights, how, written.numbers)))
    return written.decisions, placed, weights, world


@pytest.mark.long
@pytest.mark.parametrize("overflow", first(1, ["stop", "drop"]))
def test_trajectory_records_the_decisions_and_outcomes_of_the_run(overflow: str) -> None:
    decisions, placed, weights, world = recorded(overflow, 0.5)
    assert 3 < placed == len(decisions.code)
    ends = TERMINATED if overflow == "stop" else TRUNCATED
    assert decisions.outcome.tolist() == [CONTINUES] * (placed - 1) + [ends]
    capacity, how = world.ledger().view.capacity, np.array([2, 3, 1, 1], np.float64)
    explored = 0 if overflow == "drop" else 1  # a stopped episode is short
    for outcome, code, spread, demand, listed, room in decisions:
        free = room.astype(np.int64)
        wanted = tuple(int(amount) for amount in demand)
        fitting = {2 * s + n for s, n in feasible(free.tolist(), wanted, bool(spread))}
        assert code in listed
        assert set(listed[listed >= 0]) <= fitting
        assert min(2, len(fitting)) <= sum(listed >= 0) <= 5
        assert outcome in (CONTINUES, ends)
        explored += code != cvd_rl(free, capacity, wanted, bool(spread), weights, how, NONE)
    assert explored > 0
    greedy = recorded(overflow, 0.0)
    placed_by_rule = replays_of(world, [5], [0.0])[0].placed(Compiled(cvd_rl, (weights, how, NONE)))
    assert placed_by_rule == greedy[1]


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        *(
            ("cvd-rl", {"lookahead": ahead, "decomposition": parts})
            for ahead in (True, False)
            for parts in (True, False)
        ),
        ("sched-rl", {}),
    ],
)
def test_kernels_choose_what_torch_values_most(agent: str, options: dict[str, Any]) -> None:
    trainer = begun(agent, options)
    watched = Watched(trainer)
    trainer.iterate(1)
    decisions, rule = watched.decisions, trainer.used()
    choices = 0
    for row in range(len(decisions.code)):
        free, demand = decisions.free[row].astype(np.int64), tuple(decisions.demand[row].astype(np.int64).tolist())
        code = rule.scan(free, trainer.view.capacity, demand, bool(decisions.spread[row]), *rule.weights)
        candidates = decisions.candidates[row].tolist()
        values = watched.values(torch.tensor(trainer.networks[NETWORK]), row)
        assert values[candidates.index(code)] >= values.max() - 1e-6
        choices += len(values) > 1
    assert choices > 5


def test_residual_capacity_rewards_the_average_requests_that_still_fit() -> None:
    """One request after another is placed on a server, of every flavour, as long as there is room."""
    trainer = begun(options={"reward": "residual-capacity", "pool": 4})
    watched = Watched(trainer)
    trainer.iterate(1)
    ledger, decisions = trainer._training.ledger(0), watched.decisions
    demands = np.concatenate([trainer._training.draw(int(seed)).demand for seed in trainer._seeds])
    flavours, count = np.unique(demands, axis=0, return_counts=True)
    for row in range(len(decisions.code)):
        demand, code = decisions.demand[row].astype(int).tolist(), int(decisions.code[row])
        spread = bool(decisions.spread[row])
        free = decisions.free[row].astype(int).tolist()
        free[code // 2] = after(free, tuple(demand), spread, (code // 2, code % 2))
        fits = 0.0
        for flavour, share in zip(flavours.tolist(), count / count.sum(), strict=True):
            for server in free:
                room = [server]
                while places := feasible(room, tuple(flavour), bool(ledger.spreads(np.array([flavour]))[0])):
                    room = [after(room, tuple(flavour), bool(ledger.spreads(np.array([flavour]))[0]), places[0])]
                    fits += share
        assert trainer.buffer.rewards[row] == pytest.approx(fits / len(free))


class Watched:
    """Notes the decisions that a trainer learns from, and values them by torch, server by server."""

    def __init__(self, trainer: DQN) -> None:
        self.trainer, cells = trainer, trainer.cells
        self._parts: list[Decisions] = []

        def watch(decisions: Decisions) -> Any:
            self._parts.append(decisions.copy())
            return cells(decisions)

        trainer.cells = watch  # type: ignore[method-assign]

    @property
    def decisions(self) -> Decisions:
        """All that are remembered."""
        return np.concatenate(self._parts)[-self.trainer.memory :].view(np.recarray)

    def values(self, theta: Any, row: int) -> Any:
        """The values of all candidates of a decision, by weights that torch may differentiate."""
        trainer, decisions = self.trainer, self.decisions
        capacity, free, spread = trainer.view.capacity, decisions.free[row], bool(decisions.spread[row])
        demand = tuple(int(amount) for amount in decisions.demand[row])
        codes = [int(code) for code in decisions.candidates[row] if code >= 0]
        if isinstance(trainer, SchedTrainer):
            seen = np.concatenate([(free / capacity).ravel(), np.array(demand) / capacity[0, 0], [spread]])
            layers = trainer.described.sizes
            advantages, state = layered(theta, layers, seen)
            at = size_of(layers)
            value = state @ theta[at:-1] + theta[-1]
            return (value + advantages - advantages.mean())[codes]
        assert isinstance(trainer, CvdTrainer)
        how = demand, spread, trainer.described.how
        inputs = trainer.described.sizes[0] // (1 if trainer.decomposition else len(capacity))
        servers = np.empty((len(codes), len(capacity), inputs), np.float32)
        for at, code in enumerate(codes):
            for server in range(len(capacity)):
                server_features(
                    free, capacity, server, code % 2 if code // 2 == server else -1, *how, servers[at, server]
                )
        seen = servers.reshape(len(codes), -1, trainer.described.sizes[0])
        return layered(theta, trainer.described.sizes, seen)[0][..., 0].sum(1)


def layered(theta: Any, sizes: tuple[int, ...], seen: Any) -> tuple[Any, Any]:
    """The outputs of a network of plain layers, and the units before them."""
    units, at = torch.tensor(np.asarray(seen, np.float32)), 0
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        before, end = units, at + inputs * outputs
        units = units @ theta[at:end].reshape(inputs, outputs) + theta[end : end + outputs]
        units, at = torch.relu(units) if number < len(sizes) - 2 else units, end + outputs
    return units, before


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("cvd-rl", {}),
        ("cvd-rl", {"returns": 3, "lookahead": False, "reward": "residual-capacity"}),
        ("cvd-rl", {"decomposition": False, "loss": "squared"}),
        ("cvd-rl", {"returns": "episode", "averaged": 0.1, "filter": "none"}),
        ("sched-rl", {"returns": 2, "loss": "squared", "reward": "delta"}),
        ("sched-rl", {}),
    ],
)
def test_updates_equal_those_of_torch_by_autograd(agent: str, options: dict[str, Any]) -> None:
    """Double DQN decision by decision: targets, both losses, gradients, Adam, and the networks that follow."""
    options = {"discount": 0.9, "memory": 60, "tau": 0.25, "target": 2} | options
    whole = options.get("returns") == "episode"
    workload = small().workload.dump() | {"requests": 300 if whole else 9}  # of some the end is not known
    trainer = begun(agent, options, workload=workload)
    watched = Watched(trainer)
    for iteration in range(1, 4):
        trainer.iterate(iteration)
    buffer, decisions = trainer.buffer, watched.decisions
    assert buffer.outcome.tolist() == decisions.outcome.tolist()
    assert agent != "cvd-rl" or whole or {CONTINUES, TERMINATED, TRUNCATED} == set(buffer.outcome.tolist())
    trainer.moments[:], trainer.updated = 0, 0
    weights = trainer.networks[TARGET]
    weights += np.random.default_rng(5).normal(0, 0.3, weights.shape)  # chooses otherwise
    theta = torch.tensor(trainer.networks[NETWORK], requires_grad=True)
    target, average = torch.tensor(weights), torch.tensor(trainer.networks[AVERAGE])
    optimiser = torch.optim.Adam([theta], lr=trainer.rate)
    known = np.flatnonzero(buffer.outcome != TRUNCATED)
    for step, drawn in enumerate(np.random.default_rng(3).integers(len(known), size=(4, 8)), 1):
        chosen, wanted = [], []
        for row in known[drawn].tolist():
            total, weight, at = 0.0, 1.0, row
            while buffer.outcome[at] != TRUNCATED and at < row + (60 if whole else int(trainer.returns)):
                total, weight = total + weight * 0.1 * buffer.rewards[at], weight * 0.9
                if buffer.outcome[at] == TERMINATED:
                    weight = 0.0
                    break
                at += 1
            if weight:
                total += weight * watched.values(target, at)[watched.values(theta, at).argmax()].item()
            slot = decisions.candidates[row].tolist().index(decisions.code[row])
            chosen.append(watched.values(theta, row)[slot])
            wanted.append(total)
        error = torch.nn.functional.smooth_l1_loss if trainer.loss == "huber" else torch.nn.functional.mse_loss
        loss = error(torch.stack(chosen), torch.tensor(wanted, dtype=torch.float32))
        optimiser.zero_grad()
        loss.backward()
        if step == 1:
            gradient = theta.grad.numpy().copy()
        optimiser.step()
        with torch.no_grad():
            if step % 2 == 0:
                target.lerp_(theta, 0.25)
            average.lerp_(theta, trainer.averaged)
        metrics = trainer.learn(Drawn(drawn), 1)  # type: ignore[arg-type]
        np.testing.assert_allclose(metrics[0], [loss.item(), torch.stack(chosen).mean().item()], rtol=1e-4)
        if step == 1:
            np.testing.assert_allclose(trainer.moments[0] / 0.1, gradient, atol=1e-5 * np.abs(gradient).max())
    for ours, theirs in (
        (trainer.networks[NETWORK], theta),
        (trainer.networks[TARGET], target),
        (trainer.networks[AVERAGE], average),
    ):
        np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=2e-6)


class Drawn:
    """A random stream that draws the rows that a test wants."""

    def __init__(self, rows: Ints) -> None:
        self._rows = rows

    def integers(self, most: int, size: Any) -> Ints:
        return self._rows.reshape(size)


OTHERS = {
    "cvd-rl": {"averaged": 0.1, "tau": 0.1, "target": 1, "updates": "decision", "returns": 4, "decomposition": False},
    "sched-rl": {"averaged": 0.1, "loss": "squared", "returns": "episode", "reward": "delta"},
}
TELLING = {"returns": "episode", "telling": True, "pool": 40}


@pytest.mark.parametrize("agent", SETTINGS)
@pytest.mark.parametrize("more", [{}, OTHERS, TELLING], ids=["plain", "others", "telling"])
def test_training_goes_on_exactly_and_its_weights_are_used(agent: str, more: dict[str, Any], tmp_path: Path) -> None:
    settings = SETTINGS[agent] | more.get(agent, more if more is TELLING else {})
    log = going_on(trained({agent: settings}), tmp_path)
    assert log.filter(pl.col("split") == "train")["loss"].is_finite().all()
    in_use(agent, tmp_path, servers=3, **{key: settings[key] for key in settings.keys() & {"decomposition"}})
