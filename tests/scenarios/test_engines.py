"""Which engine runs a scenario, and that it makes no difference to the results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from binwright.fabric.run.play import play, play_compiled
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import agents_of, build_world
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.simcore.rng import stream
from tests.support.compiled import assert_same
from tests.support.scenarios import run_as

TIMES = {"seconds", "decision_us", "compiled"}
COSTS = """costs={servers: {power: {curve: [90, 100, 300]}, price: 1},
    switch_off: {after: 1 min, power: 4 W, waking: 9 Wh}, electricity: {pue: 1.3, price: 0.2, carbon: 300}}"""
SETS = ["workload.requests=700", COSTS, "prices={cpu_hour: 1}", "replications=2", "record=[requests, samples, states]"]


def test_results_do_not_depend_on_the_engine(tmp_path: Path) -> None:
    scenario = load_scenario("quickstart", [*SETS, "agents=[first-fit, {best-fit: {node: loose}}, internal]"])
    simpy = run_as("python", Batch(scenario, tmp_path / "python"))
    compiled = run_as("compiled", Batch(scenario, tmp_path / "compiled"))
    assert simpy.runs["status"].unique().to_list() == ["done"]
    retained = [column for column in simpy.runs.columns if column not in TIMES]
    assert {"run", "acceptance", "fragmentation_cpu", "server_hours_on", "energy", "carbon", "net_month"} < set(
        retained
    )
    assert_frame_equal(simpy.runs[retained], compiled.runs[retained], check_exact=True)
    for run in simpy.runs["run"]:
        for kind in ("requests", "samples", "states"):
            each, other = getattr(simpy, kind)(run), getattr(compiled, kind)(run)
            assert len(each)
            assert_frame_equal(each, other, check_exact=True)


WAIT = "overflow={wait: {together: 99}}"
SMALL = ["workload.requests=60", "replications=1"]


def is_compiled(run: Run) -> bool:
    """Whether machine code plays a run."""
    world = build_world(run.scenario)
    return world.compiles(*agents_of(run, world))


OBSTACLES = [
    ["agents=[best-fit, random]"],
    ["agents=[best-fit]", "pacing={step: 1 s}"],
    ["agents=[best-fit]", "warm_start={resource: cpu, until: 10 %, with: random}"],
    ["agents=[best-fit]", "overflow={wait: {together: 9, one_by_one: true}}"],
    [WAIT, "agents=[in-line]", "warm_start={resource: cpu, until: 10 %, with: best-fit}"],
    [WAIT, "agents=[in-line]", "knowledge={lifetimes: {predicted: {noise: {sigma: 1}}}}"],
    [WAIT, "agents=[{in-line: {order: random}}]"],
    # At the first point of a sweep the agent itself is refused.
    ["agents=[sched-rl]", "sweep={product: {overflow: [stop, {expand: {by: 1, limit: 20}}]}}"],
    [
        "agents=[best-fit]",
        "sweep={product: {cluster.expansion: [[], [{at: 1 h, by: 2}]]}}",
        "warm_start={resource: cpu, until: 10 %, with: sched-rl}",
    ],
]


@pytest.mark.parametrize("sets", OBSTACLES)
def test_what_machine_code_cannot_run_is_not_compiled(sets: list[str], tmp_path: Path) -> None:
    batch = Batch(load_scenario("quickstart", [*SMALL, *sets]), tmp_path / "out")
    assert not all(map(is_compiled, batch.runs))


@pytest.mark.parametrize("sets", [["agents=[best-fit]"], [WAIT, "agents=[in-line]"]])
def test_everything_else_is_compiled(sets: list[str], tmp_path: Path) -> None:
    assert all(map(is_compiled, Batch(load_scenario("quickstart", [*SMALL, *sets]), tmp_path / "out").runs))


def test_a_network_cannot_be_compiled(tmp_path: Path) -> None:
    assert not is_compiled(Batch(load_scenario("nara/table1"), tmp_path / "net").runs[0])


def mixed(rng: np.random.Generator) -> dict[str, Any]:
    """Draw a scenario that switches on at once much of what machine code runs."""
    flavours = []
    for _ in range(3):
        flavour: dict[str, Any] = {"cpu": int(rng.integers(1, 9)), "mem": int(rng.integers(1, 9))}
        flavours.append({**flavour, "priority": int(rng.integers(0, 3)), "parts": int(rng.choice([1, 1, 2, 5]))})
    arrivals = {"bursty": {"every": "30 s", "size": 3}} if rng.random() < 0.5 else {"poisson": {"every": "9 s"}}
    drawn: dict[str, Any] = {
        "name": "mixed",
        "cluster": {
            "servers": int(rng.integers(1, 5)),
            "nodes": int(rng.integers(1, 3)),
            "node": {"cpu": 8, "mem": 8},
            "spread_above": {"mem": int(rng.choice([4, 99]))},
        },
        "workload": {
            "requests": 80,
            "arrivals": arrivals,
            "flavours": flavours,
            "lifetimes": {"empirical": {"values": ["0 s", "10 s", "30 s", "90 s"]}},
        },
        "knowledge": {"lifetimes": "known"},
        "agents": [str(rng.choice(["first-fit", "best-fit", "worst-fit"]))],
    }
    if rng.random() < 0.3:
        drawn["overflow"] = str(rng.choice(["drop", "wait"]))
        if rng.random() < 0.5:
            drawn["cluster"]["expansion"] = [{"at": "1 min", "by": 1}]
        return drawn
    drawn["overflow"] = {"wait": {"together": int(rng.choice([3, 99]))}}
    order = str(rng.choice(["fcfs", "priority", "sjf", "longest", "f1", "wfp3", "unicep"]))
    backfilling = str(rng.choice(["none", "any", "easy", "conservative"]))
    drawn["agents"] = [{"in-line": {"agent": drawn["agents"][0], "order": order, "backfilling": backfilling}}]
    return drawn


@pytest.mark.long
def test_300_mixed_scenarios_do_not_depend_on_the_engine() -> None:
    for seed in range(300):
        scenario = scenario_from(mixed(np.random.default_rng(seed)))
        world = build_world(scenario)
        agent = scenario.agents[0].make()
        played = []
        for compiled, way in (False, play), (True, play_compiled):
            simulation = world.simulation(seed, compiled=compiled)
            agent.start(simulation.view, stream(seed, "agent"))
            way(simulation, agent)
            played.append(simulation)
        assert world.compiles(agent, None)
        assert_same(played[1], played[0])
