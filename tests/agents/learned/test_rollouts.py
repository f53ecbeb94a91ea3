"""What learners on NUMA servers have in common: what is validated, and the benchmark of the same episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import AGENTS
from agents.learned.numa.rollouts import HeldOut, play_all, replays_of
from benchmarks.learned import lengths
from benchmarks.value import cluster_of
from benchmarks.value import replays_of as benchmark_replays
from fabric.ledger import Ledger
from scenarios.build.world import build_learning
from scenarios.schema.load import scenario_from
from simcore.errors import UserError
from tests.support.learning import small, trained

pytest.importorskip("safetensors")


@pytest.mark.parametrize("name", ["best-fit", "random-top", "padrl", "value-es"])
def test_what_is_validated_against_itself_gains_nothing(name: str) -> None:
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


def test_an_agent_that_is_not_compiled_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from scenarios.learn.training import train

    asked = trained({"value-es": {"against": "random"}})
    with pytest.raises(UserError, match="is not an agent for compiled episodes"):
        train(scenario_from(asked), tmp_path)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_the_benchmark_starts_agents_anew_for_every_episode_and_warm_start() -> None:
    rng = np.random.default_rng(0)
    cpu = rng.choice([1, 2, 4, 8, 16], 900)
    columns = [np.arange(900.0), rng.exponential(300, 900), cpu, cpu * rng.choice([1, 2, 4], 900)]
    trace, setting = np.column_stack(columns).astype(float), (3, 1, 400)
    found, _ = lengths(trace, ["padrl", "random-top"], setting, range(6))
    for episode in range(6):
        for j, replay in enumerate(benchmark_replays(trace, setting, episode)):
            for i, name in enumerate(["padrl", "random-top"]):
                agent: Any = AGENTS.load(name)()
                agent.start(Ledger(cluster_of(3)).view, np.random.default_rng([7, episode]))
                assert found[i, j, episode] == replay.placed(agent.compiled)
