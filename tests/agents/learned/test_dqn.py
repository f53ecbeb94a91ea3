"""Double DQN: what is recorded, updates beside torch's, training of cvd-rl and sched-rl, and their mistakes."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.agents.heuristics.servers.candidates import counts
from binwright.agents.heuristics.servers.costs import best_fit, first_fit
from binwright.agents.learned import replay as replay_buffer
from binwright.agents.learned.cvd_rl import (
    CvdTrainer,
    action_features,
    cvd_rl,
    server_features,
    sizes,
)
from binwright.agents.learned.dqn import AVERAGE, DQN, NETWORK, TARGET, taught_slots
from binwright.agents.learned.mlp import size_of, untrained
from binwright.agents.learned.numa import replays_of
from binwright.agents.learned.replay import (
    CONTINUES,
    NONE,
    TERMINATED,
    TRUNCATED,
    Decisions,
    decisions_of,
    empty_trajectory,
    reset,
)
from binwright.agents.learned.sched_rl import SchedTrainer
from binwright.agents.learned.weights import read
from binwright.scenarios.learn.training import course_of
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.rng import stream
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
    how = np.array([*counts("both", 5), 1, 1], np.float64)
    capacity = world.ledger(0).view.capacity
    weights = untrained(sizes(how, len(capacity)), np.random.default_rng(1))
    written = empty_trajectory(rows, 5, capacity)
    reset(written, epsilon, 5, overflow == "stop", 7)
    placed = replays_of(world, [5], [0.0])[0].placed(Compiled(cvd_rl, (weights, how, written)))
    return decisions_of(written, capacity), placed, weights, world


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
        inputs, how = trainer.described.sizes[0], (demand, spread, trainer.described.how)
        if not trainer.decomposition:
            rows = np.empty((len(codes), inputs), np.float32)
            for seen, code in zip(rows, codes, strict=True):
                action_features(free, capacity, code, *how, seen)
            return layered(theta, trainer.described.sizes, rows)[0][:, 0]
        servers = np.empty((len(codes), len(capacity), inputs), np.float32)
        for at, code in enumerate(codes):
            for server in range(len(capacity)):
                server_features(
                    free, capacity, server, code % 2 if code // 2 == server else -1, *how, servers[at, server], 0
                )
        return layered(theta, trainer.described.sizes, servers)[0][..., 0].sum(1)


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
        ("cvd-rl", {"decomposition": False, "lessons": 9, "loss": "squared"}),
        ("cvd-rl", {"returns": "episode", "paired": True, "lessons": 9, "averaged": 0.1, "filter": "none"}),
        ("sched-rl", {"returns": 2, "loss": "squared", "reward": "delta"}),
        ("sched-rl", {"lessons": 9}),
    ],
)
def test_updates_equal_those_of_torch_by_autograd(agent: str, options: dict[str, Any]) -> None:
    """Double DQN decision by decision: targets, both losses, gradients, Adam, and the networks that follow."""
    options = {"discount": 0.9, "memory": 60, "tau": 0.25, "target": 2} | options
    workload = small().workload.dump() | {"requests": 300 if "paired" in options else 9}  # of some the end is not known
    trainer = begun(agent, options, workload=workload)
    watched = Watched(trainer)
    for iteration in range(1, 4):
        trainer.iterate(iteration)
    buffer, decisions, imitates = trainer.buffer, watched.decisions, trainer.lessons > 0
    assert buffer.outcome.tolist() == decisions.outcome.tolist()
    assert agent != "cvd-rl" or trainer.paired or {CONTINUES, TERMINATED, TRUNCATED} == set(buffer.outcome.tolist())
    trainer.moments[:], trainer.updated = 0, 0
    weights = trainer.networks[TARGET]
    weights += np.random.default_rng(5).normal(0, 0.3, weights.shape)  # chooses otherwise
    theta = torch.tensor(trainer.networks[NETWORK], requires_grad=True)
    target, average = torch.tensor(weights), torch.tensor(trainer.networks[AVERAGE])
    optimiser = torch.optim.Adam([theta], lr=trainer.rate)
    known = np.flatnonzero(buffer.outcome != TRUNCATED)
    taught = taught_slots(decisions, trainer.view.capacity, trainer.teacher_rule)
    for step, drawn in enumerate(np.random.default_rng(3).integers(len(known), size=(4, 8)), 1):
        chosen, wanted, margins = [], [], []
        for row in known[drawn].tolist():
            total, weight, at = -buffer.baseline[row], 1.0, row
            while buffer.outcome[at] != TRUNCATED and at < row + (60 if trainer.paired else int(trainer.returns)):
                total, weight = total + weight * 0.1 * buffer.rewards[at], weight * 0.9
                if buffer.outcome[at] == TERMINATED:
                    weight = 0.0
                    break
                at += 1
            if weight:
                total += weight * watched.values(target, at)[watched.values(theta, at).argmax()].item()
            values = watched.values(theta, row)
            chosen.append(values[decisions.candidates[row].tolist().index(decisions.code[row])])
            wanted.append(total)
            if imitates and taught[row] >= 0:
                above = torch.full((len(values),), 0.1).scatter(0, torch.tensor([taught[row]]), 0.0)
                margins.append((values + above).max() - values[taught[row]])
        error = torch.nn.functional.smooth_l1_loss if trainer.loss == "huber" else torch.nn.functional.mse_loss
        loss = error(torch.stack(chosen), torch.tensor(wanted, dtype=torch.float32))
        loss = loss + torch.stack(margins).mean() if margins else loss
        optimiser.zero_grad()
        loss.backward()
        if step == 1:
            gradient = theta.grad.numpy().copy()
        optimiser.step()
        with torch.no_grad():
            if step % 2 == 0:
                target.lerp_(theta, 0.25)
            average.lerp_(theta, trainer.averaged)
        assert step > 1 or len(margins) > 0 or not imitates
        metrics = trainer.learn(Drawn(drawn), 1, imitates)  # type: ignore[arg-type]
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


def test_lessons_teach_the_choices_of_the_teacher() -> None:
    alike = []
    for lessons in (0, 8):
        options = {"lessons": lessons, "teacher": "best-fit", "updates": 12, "batch": 32, "rate": 0.003}
        trainer = begun(options=options | {"filter": {"best-fit": 4, "internal": 3}})
        watched = Watched(trainer)
        for iteration in range(1, 9):
            trainer.iterate(iteration)
        decisions = watched.decisions
        taught = taught_slots(decisions, trainer.view.capacity, trainer.teacher_rule)
        assert not lessons or (taught == trainer.buffer.records[:, replay_buffer.TAUGHT] - 1).all()
        follows = []
        for row, slot in enumerate(taught.tolist()):
            free, demand = decisions.free[row].astype(np.int64), tuple(decisions.demand[row].astype(np.int64).tolist())
            candidates = decisions.candidates[row].tolist()
            free[[server for server in range(len(free)) if not {2 * server, 2 * server + 1} & {*candidates}]] = 0
            code = best_fit(free, trainer.view.capacity, demand, bool(decisions.spread[row]))
            assert candidates[slot] == code if slot >= 0 else code not in candidates
            if slot >= 0 and candidates[1] >= 0:  # there is a choice
                follows.append(int(watched.values(torch.tensor(trainer.networks[NETWORK]), row).argmax()) == slot)
        alike.append(np.mean(follows))
    assert alike[0] + 0.2 < alike[1]


def test_paired_returns_are_less_what_the_teacher_places_from_there_on() -> None:
    paired = {"returns": "episode", "paired": True, "discount": 0.9, "teacher": "first-fit", "memory": 4000}
    filled = {"resource": "cpu", "until": "40 %", "with": "self"}
    trainer = begun(options=paired | {"episodes": 1, "telling": True, "pool": 40, "warm": [0.4]}, warm_start=filled)
    assert isinstance(trainer, CvdTrainer)
    seen, longer = 0, {0}
    for iteration in range(1, 8):
        weights = trainer.networks[NETWORK].astype(np.float64)
        trainer.iterate(iteration)
        baseline, rng = trainer.buffer.baseline, stream(0, "train", iteration)
        rows = np.arange(seen, len(baseline))
        seen = len(baseline)
        luck, chosen = int(rng.integers(2**53)), int(rng.integers(len(trainer.replays)))
        assert luck
        replay = trainer.replays[chosen]
        replay.placed(Compiled(cvd_rl, (weights, trainer.described.how, NONE)))  # the cluster is filled without chance
        gain = len(rows) + replay.first
        gain -= replay.placed(Compiled(first_fit)) + replay.first
        longer.add(int(np.sign(gain)))
        more = np.arange(len(rows), 0, -1)
        usual = 1 - 0.9 ** np.maximum(more - gain, 0)
        np.testing.assert_allclose(baseline[rows], usual, atol=1e-6)
    assert longer > {0}  # without a difference nothing was held to it


OTHERS = {
    "cvd-rl": {"averaged": 0.1, "tau": 0.1, "target": 1, "updates": "decision", "returns": 4},
    "sched-rl": {"averaged": 0.1, "loss": "squared", "returns": "episode", "reward": "delta"},
}
TAUGHT = {"lessons": 2, "paired": True, "returns": "episode", "telling": True, "pool": 40}


@pytest.mark.parametrize("agent", SETTINGS)
@pytest.mark.parametrize("more", [{}, OTHERS, TAUGHT], ids=["plain", "others", "taught"])
def test_training_goes_on_exactly_and_its_weights_are_used(agent: str, more: dict[str, Any], tmp_path: Path) -> None:
    log = going_on(trained({agent: SETTINGS[agent] | more.get(agent, more if more is TAUGHT else {})}), tmp_path)
    assert log.filter(pl.col("split") == "train")["loss"].is_finite().all()
    in_use(agent, tmp_path, servers=3)


@pytest.mark.parametrize("ahead", [True, False])
def test_weights_know_by_which_sizes_they_see(ahead: bool, tmp_path: Path) -> None:
    settings = SETTINGS["cvd-rl"] | {"sizes": "absolute", "lookahead": ahead}
    going_on(trained({"cvd-rl": settings}), tmp_path)
    file = next(tmp_path.glob("whole/*/best.safetensors"))
    assert read(file)[1]["units"] == [10_000_000, 10_000_000]
    in_use("cvd-rl", tmp_path, lookahead=ahead)
