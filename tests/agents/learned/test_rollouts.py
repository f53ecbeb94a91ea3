"""What learners on NUMA servers have in common: what is validated, and the benchmark of the same episodes."""

from pathlib import Path
from typing import Any

import pytest

from binwright.agents import AGENTS
from binwright.agents.heuristics.servers.first_fit import first_fit
from binwright.agents.heuristics.servers.internal import internal
from binwright.agents.learned.numa.rollouts import HeldOut, play_all, replays_of
from binwright.fabric.compiled.numa_loop import placement_of
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.compiled.numa_run import CompiledSimulation
from binwright.fabric.ledger import Ledger
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled
from tests.support.learning import busy, small, trained

pytest.importorskip("safetensors")


@pytest.mark.parametrize("name", ["best-fit", "random-top", "padrl", "value-es"])
def test_validation_against_itself_gains_nothing(name: str) -> None:
    """The other agent has its weights, and begins every episode anew."""
    world = build_learning(scenario_from(small()))
    held_out = HeldOut(world, [0.0, 0.2], name)
    rule = held_out._other
    for seeds in (range(3), range(5, 8)):
        assert set(held_out.gains(rule, seeds).values()) == {0.0}
    assert not rule.weights or any(part.any() for part in rule.weights)
    replays = replays_of(world, [1], [0.0])
    [[first], [second]] = play_all(replays, [rule, rule])
    assert first == second == play_all(replays, [rule])[0, 0]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("two-stage", "is not an agent for compiled episodes"),
        ({"value-es": {"wieghts": "huawei-10"}}, r"teacher.value-es.wieghts: unknown option .*\n.*'weights'"),
        ({"best-fit": {"node": 5}}, r"teacher.best-fit.node: expected .*, got 5"),
        ({"best-fit": {}, "internal": {}}, "at most 1 of these"),
    ],
)
def test_agents_that_cannot_teach_are_refused(said: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        scenario_from(trained({"cvd-rl": {"teacher": said}}))


OWN = {"resource": "mem", "until": "40 %", "with": "self"}


@pytest.mark.parametrize("filler", ["self", "worst-fit"])
def test_episodes_begin_with_the_scenarios_warm_start_as_runs_do(filler: str, tmp_path: Path) -> None:
    names = ["first-fit", "internal", "random-top"]
    cluster = small()["cluster"] | {"servers": 9}
    asked = scenario_from(small(cluster=cluster, warm_start=OWN | {"with": filler}, agents=names, replications=3))
    runs = {engine: Batch(asked, tmp_path / engine).run(engine=engine).runs for engine in ("simpy", "compiled")}
    same = ["agent", "seed", "offered", "scheduled", "allocation_mem"]
    assert runs["simpy"][same].equals(runs["compiled"][same])
    world, lengths = build_learning(asked, warm=True), []
    for seed in range(3):
        [replay] = replays_of(world, [seed], [0.4])
        for name in names:
            rules = []
            for use in ("agent", "warm-start"):
                agent: Any = AGENTS.load(name)()
                agent.start(world.ledger(0).view, stream(seed, use))
                rules.append(agent.compiled)
            lengths.append(replay.placed(*rules))
            [first] = runs["compiled"].filter(seed=seed, agent=name)["offered"].to_list()
            assert replay.follow(rules[0], first) is None or name == "random-top"
    assert lengths == runs["compiled"].sort("seed", maintain_order=True)["scheduled"].to_list()
    assert len({*lengths}) > 3


def test_every_rule_fills_the_cluster_itself() -> None:
    """What is placed until then does not count, and neither does what fits nowhere then end the run."""
    workload, cluster = busy(400)
    simulation = CompiledSimulation(workload, Ledger(cluster), Overflow("stop"))
    replay = Replay(simulation, (0, 0.6))
    for scan in (internal, first_fit):
        engine = Simulation(workload, Ledger(cluster), Overflow("drop"))
        wanted, installed = 0.6, int(cluster.capacity[:, :, 0].sum())
        count = 0
        while (request := engine.advance()) is not None:
            if installed - engine.view.free[:, :, 0].sum() >= wanted * installed:
                engine.overflow = Overflow("stop")
                wanted = -1.0
            code = scan(engine.view.free, engine.view.capacity, request.demand, request.spread)
            count += wanted < 0 <= code
            engine.answer(placement_of(code, request, 2) if code >= 0 else None)
        assert count > 20
        for _ in range(2):
            assert replay.placed(Compiled(scan)) == count
    assert replay.placed(Compiled(internal), Compiled(first_fit)) != replay.placed(Compiled(internal))
