"""Agents that decide by what the environment shows: the same actions come to the same run."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binwright as bw
from binwright.agents.policy import Policy, observed
from binwright.fabric.run.play import play
from binwright.scenarios.build.world import build_world
from binwright.simcore.types import Placement, Request, View
from tests.support import ROOT
from tests.support.learning import small

LIBRARIES = ROOT / "examples" / "libraries"


class Last(Policy):
    """Takes the last place that fits, or one that the mask forbids where there are few; notes what it saw."""

    reference = "a test"

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def act(self, seen: dict[str, Any]) -> int:
        self.seen.append(seen)
        return int(np.flatnonzero(seen["mask"])[-1]) if seen["mask"].sum() > 1 else 0


@pytest.mark.parametrize("options", [small(), small(overflow="drop")])
def test_policy_agents_see_the_environments_observations_and_run_the_same(options: dict[str, Any]) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    scenario = bw.scenario(options)
    agent, world = Last(), build_world(scenario)
    simulation = world.simulation(5)
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    env = gymnasium.make("binwright.environments:binwright/Numa-v0", scenario=scenario)
    other, total, over = Last(), 0.0, False
    seen, _ = env.reset(seed=5)
    while not over:
        seen, reward, over, _, _ = env.step(other.act({key: value.copy() for key, value in seen.items()}))
        total += reward
    assert len(agent.seen) == len(other.seen) >= 5
    for each, two in zip(agent.seen, other.seen, strict=True):
        assert each.keys() == two.keys()
        for key, value in each.items():
            assert value.dtype == two[key].dtype
            np.testing.assert_array_equal(value, two[key])
    assert total == (simulation.record.server >= 0).sum()
    assert any(seen["request"][-1] for seen in agent.seen), "a spread request"


def test_an_answer_that_is_forbidden_refuses() -> None:
    class Wild(Policy):
        def act(self, seen: dict[str, Any]) -> int:
            return 10**6

    simulation = build_world(bw.scenario(small())).simulation(0)
    request = simulation.advance()
    assert request is not None
    assert observed(simulation.view, request)["mask"].all()
    assert answer(Wild(), simulation.view, request) is None


def answer(agent: Policy, view: View, request: Request) -> Placement | None:
    return agent.decide(view, request)


@pytest.mark.long
@pytest.mark.parametrize(("name", "needs"), [("sb3", "sb3_contrib"), ("cleanrl", "torch"), ("rllib", "tree")])
def test_a_policy_of_a_library_trains_and_runs(name: str, needs: str, tmp_path: Path) -> None:
    """Libraries change what the process does with threads and warnings, so each has one of its own."""
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    text = (LIBRARIES / f"{name}.py").read_text()
    short = text.replace("5_000", "600").replace('.pt", 40', '.pt", 2').replace('weights", 20', 'weights", 2')
    assert short != text
    (tmp_path / f"{name}.py").write_text(short.replace('out="results', '"replications=2", out="results'))
    done = subprocess.run(
        [sys.executable, f"{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert f"| {name}.py:" in done.stdout
    results = bw.load(tmp_path / "results" / name)
    assert len(results.done) == 6
