"""rl-scheduler: its episodes against the engine and Queue-v0, its network and training against plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.learned.common.tensors import SHIPPED, read, write
from binwright.agents.learned.numa.mlp import put
from binwright.agents.learned.rl_scheduler.agent import DESCRIBED, untrained
from binwright.agents.learned.rl_scheduler.episode import LAYERS, SIZE, Jobs, Tape, _seen, play, scores
from binwright.agents.learned.rl_scheduler.trainer import jobs_of
from binwright.agents.waiting_jobs import WINDOW, observed, visible
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.learn.training import train
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.simcore import rng
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.play import play as play_engine
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Floats, Request, View, Workload
from tests.reference import rlscheduler
from tests.support.learning import going_on
from tests.support.properties import scaled

torch = pytest.importorskip("torch")
PROCESSORS = 8
drawn = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(1, PROCESSORS)), min_size=1, max_size=15)


def listed(rows: list[tuple[int, int, int]]) -> Jobs:
    """Make jobs of (arrival, duration, size)."""
    columns = np.array(sorted(rows, key=lambda row: row[0]), np.float64).T
    return Jobs(columns[0] - columns[0, 0], columns[1], columns[2], float(PROCESSORS))


def some(seed: int) -> Floats:
    """Draw weights that tell jobs of seconds apart, as they are stored."""
    found = untrained(seed)
    found[: 32 * 3] *= 1000
    return found.astype(np.float32).astype(np.float64)


def simulated(jobs: Jobs, agent: Any) -> Floats:
    """Start jobs when the engine does."""
    workload = Workload.of_units(jobs.arrival, jobs.duration, {"cpu": jobs.size})
    capacity = np.full((1, 1, 1), PROCESSORS * QUANTUM)
    ledger = Ledger(Cluster(("cpu",), capacity, (10**18,), capacity[0]))
    simulation = Simulation(workload, ledger, Overflow("wait", together=len(workload), one_by_one=True))
    agent.start(simulation.view, rng.stream(0, "agent"))
    play_engine(simulation, agent)
    return simulation.record.decided


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write such weights to a file."""
    file = tmp_path_factory.mktemp("weights") / "some.safetensors"
    write(file, {"weights": some(3).astype(np.float32)}, DESCRIBED)
    return file


@given(drawn, st.booleans())
@scaled(1)
def test_episodes_are_runs_of_the_agent(weights: Path, rows: list[tuple[int, int, int]], passing: bool) -> None:
    jobs = listed(rows)
    agent = AGENTS.load("rl-scheduler")(path=str(weights), commit=True, backfilling="easy" if passing else "none")
    starts, steps = play(jobs, passing, some(3))
    assert simulated(jobs, agent).tolist() == starts.tolist()
    assert steps <= len(rows)


@given(drawn, st.booleans())
@scaled(1)
def test_without_weights_the_shortest_is_chosen_as_in_the_published_program(
    rows: list[tuple[int, int, int]], passing: bool
) -> None:
    jobs = listed(rows)
    theirs = [rlscheduler.Job(*map(int, row)) for row in zip(*jobs[:3], strict=True)]
    starts, _ = play(jobs, passing, np.zeros(0))
    assert starts.tolist() == rlscheduler.starts(theirs, "sjf", passing, PROCESSORS)
    assert jobs.slowdown(starts) == pytest.approx(rlscheduler.slowdown(theirs, starts.astype(int).tolist()))


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.booleans()), min_size=1, max_size=300))
@scaled(1)
def test_kernels_see_whom_the_agent_sees(rows: list[tuple[int, int, bool]]) -> None:
    rows = rows * (300 // len(rows))
    waits = np.array([row[2] for row in rows])
    time, size = (np.array([row[i] for row in rows]) for i in (0, 1))
    queue, seen = np.flatnonzero(waits), np.zeros(len(rows), np.int64)
    orders = [np.argsort(column, kind="stable") for column in (time, size)]
    count = _seen(queue, len(queue), waits, orders[0], orders[1], seen)
    line = [Request(int(i), float(i), float(time[i]), (int(size[i]),), False) for i in queue]
    assert seen[:count].tolist() == [one.index for one in visible(line, WINDOW)]


@given(drawn, st.booleans(), st.integers(0, 9))
@scaled(1)
def test_a_tape_has_what_torch_learns_from(rows: list[tuple[int, int, int]], passing: bool, seed: int) -> None:
    from binwright.agents.learned.rl_scheduler.policy_update import log_chances, network

    jobs, values = listed(rows), some(seed)
    tape = Tape(len(rows), np.random.default_rng(seed).random(len(rows)))
    starts, steps = play(jobs, passing, values, tape)
    policy = network(LAYERS)
    put(policy[::2], values)
    counts, actions = (torch.from_numpy(part[:steps]) for part in (tape.counts, tape.actions))
    seen = tape.jobs[: int(counts.sum())]
    found = log_chances(policy, torch.from_numpy(seen), counts, actions)
    assert found.tolist() == pytest.approx(tape.logs[:steps].tolist(), abs=1e-3)
    assert scores(seen, values) == pytest.approx(policy(torch.from_numpy(seen)).squeeze(1).tolist(), rel=1e-4, abs=1e-4)
    lost = ((starts - jobs.arrival) / np.maximum(jobs.duration, 10)).sum()
    assert tape.costs.sum() == pytest.approx(lost)


def test_advantages_by_hand() -> None:
    from binwright.agents.learned.rl_scheduler.policy_update import advantages_of

    advantages, returns = advantages_of(np.array([1.0, 0.0, 3.0]), np.array([-2.0, -1.0, -1.0]), 0.5)
    errors = [-1 - 1 + 2, 0 - 1 + 1, -3 + 1]
    assert advantages.tolist() == [
        errors[0] + 0.5 * errors[1] + 0.25 * errors[2],
        errors[1] + 0.5 * errors[2],
        errors[2],
    ]
    assert returns.tolist() == [-4, -3, -3]


def test_what_is_seen_of_spread_jobs_on_many_servers() -> None:
    free = np.array([[[3, 9], [1, 9]], [[2, 2], [2, 0]]])
    view = View(("cpu", "mem"), np.full((2, 2, 2), 10), free, now=7.0)
    jobs = [Request(i, 7.0, 43200.0, demand, spread) for i, (demand, spread) in enumerate(ASKED)]
    assert observed(view, jobs)[:, 7].round().tolist() == [1, 0, 1, 0, 1, 1]
    assert observed(view, jobs)[0, :3] == pytest.approx([0, 1, 3 / 40], abs=1e-4)


ASKED = [((3, 9), False), ((4, 0), False), ((2, 18), True), ((4, 2), True), ((2, 0), True), ((3, 3), True)]
QUEUE: dict[str, Any] = {
    "name": "queue",
    "cluster": {"servers": 1, "node": {"cpu": PROCESSORS}},
    "workload": {
        "requests": 40,
        "arrivals": {"poisson": {"every": "20 s"}},
        "flavours": [{"cpu": 1}, {"cpu": 4}, {"cpu": 8}],
        "lifetimes": {"lognormal": {"median": "30 s", "sigma": 1.5}},
    },
    "overflow": {"wait": {"together": 40, "one_by_one": True}},
    "knowledge": {"lifetimes": "known"},
    "agents": ["first-fit"],
}


def taught(**changed: Any) -> dict[str, Any]:
    """A queue in which something is learned in moments."""
    settings = {"pool": 6, "trajectories": 6, "minibatches": 2, "steps": 8} | changed
    validation = {"every": 2, "episodes": 3}
    return {**QUEUE, "train": {"agent": {"rl-scheduler": settings}, "iterations": 4, "validation": validation}}


@pytest.mark.parametrize("changed", [{}, {"backfilling": "easy", "reward": "end"}])
def test_training_goes_on_where_it_was_interrupted(tmp_path: Path, changed: dict[str, Any]) -> None:
    log = going_on(taught(**changed), tmp_path)
    assert log["gain"].drop_nulls().len() == 2
    file = next(tmp_path.glob("whole/*/best.safetensors"))
    jobs = jobs_of(build_learning(scenario_from(QUEUE)), 5)
    agent = AGENTS.load("rl-scheduler")(path=str(file), commit=True, backfilling=changed.get("backfilling", "none"))
    assert np.isfinite(simulated(jobs, agent)).all()


def test_it_learns(tmp_path: Path) -> None:
    scenario = taught(trajectories=30, pool=60, rate=1e-2, memory=0.5, steps=40)
    scenario["train"] |= {"iterations": 12, "validation": {"every": 1, "episodes": 30}}
    gain = train(scenario_from(scenario), tmp_path)["gain"].drop_nulls()
    assert gain[-1] > gain[0] + 0.1


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"cluster": {"servers": 2, "node": {"cpu": 8}}}, "cluster.servers"),
        ({"overflow": {"wait": {"together": 40}}}, "overflow"),
        ({"overflow": {"wait": {"together": 39, "one_by_one": True}}}, "overflow"),
        ({"knowledge": {"lifetimes": "hidden"}}, "knowledge.lifetimes"),
        ({"workload": {**QUEUE["workload"], "flavours": [{"cpu": 9}]}}, "workload"),
    ],
)
def test_other_queues_are_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(UserError) as error:
        jobs_of(build_learning(scenario_from({**QUEUE, **changes})), 0)
    assert error.value.key == key


def test_weights_of_others_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    write(file, {"weights": np.zeros(SIZE, np.float32)}, {**DESCRIBED, "agent": "nara"})
    with pytest.raises(UserError, match="these are weights of nara, not of rl-scheduler"):
        simulated(listed([(1, 1, 1)]), AGENTS.load("rl-scheduler")(path=str(file)))


@pytest.mark.parametrize("weights", ["lublin-1", "lublin-1-easy", "lublin-2", "lublin-2-easy"])
def test_shipped_weights_are_better_than_none(weights: str) -> None:
    name = "rlscheduler/train-2" if "2" in weights else "rlscheduler/train"
    world, passing = build_learning(load_scenario(name)), weights.endswith("easy")
    learned = read(SHIPPED / f"rl-scheduler-{weights}.safetensors")[0]["weights"].astype(np.float64)
    found = []
    for seed in range(6):
        jobs = jobs_of(world, seed)
        found.append([jobs.slowdown(play(jobs, passing, each)[0]) for each in (learned, untrained(0), np.zeros(0))])
    ours, random, shortest = np.mean(found, axis=0)
    assert ours < 0.8 * random
    assert ours < 1.15 * shortest
