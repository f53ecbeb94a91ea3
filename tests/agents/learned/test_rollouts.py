"""What learners on NUMA servers have in common: validation, the same episodes, and that they run as they learned."""

from pathlib import Path
from typing import Any

import pytest

from binwright.agents import AGENTS
from binwright.agents.learned.numa import NumaTrainer, play_all, replays_of
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled
from tests.support.learning import a_little, crowded, going_on, small, trained
from tests.support.scenarios import run_as

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")


class Itself(NumaTrainer):
    """Has learned to be the agent that it is measured against."""

    agent = "itself"
    iterate = weights = None  # type: ignore[assignment]

    def used(self) -> Compiled:
        return self.rival


@pytest.mark.parametrize("name", ["best-fit", "random-top", "padrl", "value-es"])
def test_validation_against_itself_gains_nothing(name: str) -> None:
    """The other agent has its weights, and begins every episode anew."""
    world = build_learning(scenario_from(small()))
    trainer = Itself(warm=(0.0, 0.2), against=name)
    trainer.begin(world, world, 0)
    rule = trainer.rival
    for seeds in (range(3), range(5, 8)):
        assert set(trainer.validate(world, seeds).values()) == {0.0}
    assert not rule.weights or any(part.any() for part in rule.weights)
    replays = replays_of(world, [1], [0.0])
    [[first], [second]] = play_all(replays, [rule, rule])
    assert first == second == play_all(replays, [rule])[0, 0]


@pytest.mark.parametrize(
    ("against", "problem"),
    [
        ("two-stage", "is not an agent for compiled episodes"),
        ({"best-fit": {}}, "against: expected text"),
    ],
)
def test_agents_that_training_cannot_be_judged_against_are_refused(against: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        scenario_from(trained({"cvd-rl": {"against": against}}))


OWN = {"resource": "mem", "until": "40 %", "with": "self"}


@pytest.mark.parametrize("filler", ["self", "worst-fit"])
def test_episodes_begin_with_the_scenarios_warm_start_as_runs_do(filler: str, tmp_path: Path) -> None:
    names = ["first-fit", "internal", "random-top"]
    cluster = small()["cluster"] | {"servers": 9}
    scenario = scenario_from(small(cluster=cluster, warm_start=OWN | {"with": filler}, agents=names, replications=3))
    runs = {engine: run_as(engine, Batch(scenario, tmp_path / engine)).runs for engine in ("python", "compiled")}
    same = ["agent", "seed", "offered", "scheduled", "allocation_mem"]
    assert runs["python"][same].equals(runs["compiled"][same])
    world, lengths = build_learning(scenario, warm=True), []
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


DQN = {"episodes": 2, "pool": 6, "updates": 3, "batch": 8, "memory": 150, "annealed": 3, "warm": [0.0, 0.2]}
SETTINGS: dict[str, dict[str, Any]] = {
    "value-es": {"pairs": 2, "episodes": 4, "pool": 12, "warm": [0.0, 0.2], "sizes": 3},
    "cvd-rl": DQN,
    "sched-rl": DQN,
    "hindsight": {"episodes": 6, "pool": 12, "plans": 5, "warm": [0.0, 0.2]},
    "padrl": {"pool": 12, "episodes": 2, "plays": 2, "sequences": 4, "lessons": 2, "warm": [0.0, 0.2]},
}


def test_rules_of_placement_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="sched-rl does not learn with rules of placement"):
        going_on(trained({"sched-rl": DQN}) | {"placement": [{"drain": [1], "at": "150 s"}]}, tmp_path)


@pytest.mark.parametrize("name", SETTINGS)
def test_learners_run_as_they_learned(name: str, tmp_path: Path) -> None:
    going_on(crowded(train=a_little({name: SETTINGS[name]})), tmp_path)
    path = str(next(tmp_path.glob("whole/*/best.safetensors")))
    used = scenario_from(crowded(agents=[{name: {"path": path}}, "best-fit"], replications=2))
    world = build_learning(used)
    compiled, simpy = (run_as(engine, Batch(used, tmp_path / engine)) for engine in ("compiled", "python"))
    same = [column for column in compiled.runs.columns if column not in ("compiled", "seconds", "decision_us")]
    assert compiled.runs[same].equals(simpy.runs[same])
    for row in compiled.runs.iter_rows(named=True):
        agent = next(spec for spec in used.agents if spec.name == row["agent"].partition("(")[0]).make()
        agent.start(world.ledger(row["seed"]).view, stream(row["seed"], "agent"))
        assert agent.compiled is not None
        [replay] = replays_of(world, [row["seed"]], [0.0])
        assert replay.placed(agent.compiled) == row["scheduled"]
