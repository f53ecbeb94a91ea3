"""The Gymnasium environment on NUMA servers: a rollout in it is a run of the engine."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from binwright.fabric.compiled.numa_loop import NOW
from binwright.fabric.run.play import play
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Placement, Request, View
from tests.support.scenarios import random_requests

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

gymnasium = pytest.importorskip("gymnasium")
NAME = "binwright.environments:binwright/Numa-v0"
CLUSTER: dict[str, Any] = {"servers": 3, "nodes": 2, "node": {"cpu": 10, "mem": 10}, "spread_above": {"mem": 6}}


def small(**changed: Any) -> Scenario:
    """Full most of the time; some requests are spread, one flavour is larger than any server."""
    return scenario_from(
        {
            "name": "small", "cluster": CLUSTER,
            "workload": random_requests(120, "1 s", [
                    {"cpu": 1, "mem": 1},
                    {"cpu": 4, "mem": 5},
                    {"cpu": 8, "mem": 16},
                    {"cpu": 30, "mem": 1, "weight": 0.1},
                ], "20 s"),
            "overflow": "drop", "agents": ["first-fit"], **changed,
        },
    )  # fmt: skip


class Again(Agent):
    """Answers what it is told, and rejects what fits nowhere."""

    def __init__(self, answers: Iterator[int]) -> None:
        self.answers = answers

    def decide(self, view: View, request: Request) -> Placement | None:
        nodes = view.free.shape[1]
        parts = (request.across(s, nodes) if request.spread else request.on(s, n) for s in range(3) for n in range(2))
        if not any(all((view.free[s, n] >= part).all() for s, n, part in placement.shares) for placement in parts):
            return None
        code = next(self.answers)
        server, node = divmod(code, nodes)
        return request.across(server, nodes) if request.spread else request.on(server, node)


@pytest.mark.parametrize("overflow", ["drop", "stop"])
def test_a_random_masked_rollout_is_the_engines_run(overflow: str) -> None:
    scenario = small(overflow=overflow)
    env = gymnasium.make(NAME, scenario=scenario, disable_env_checker=True)
    for seed in range(3):
        seen, info = env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        answers, rewards, over = [], 0.0, False
        while not over:
            assert (info["action_mask"] == seen["mask"]).all()
            answers.append(int(rng.choice(np.flatnonzero(seen["mask"]))))
            seen, reward, over, _, info = env.step(answers[-1])
            rewards += reward
        engine = build_world(scenario).simulation(seed)
        play(engine, Again(iter(answers)))
        many = env.unwrapped.batch.episodes.many
        rows = len(engine.workload)
        assert rewards == len(answers) == (engine.record.outcome == 1).sum()
        placed = engine.record.outcome == 1
        answered = ~np.isnan(engine.record.decided)
        for name in ("server", "node", "decided"):
            np.testing.assert_array_equal(
                getattr(many.state, name)[0, :rows][placed], getattr(engine.record, name)[placed]
            )
        outcome = many.state.outcome[0, :rows]
        np.testing.assert_array_equal(outcome[answered], engine.record.outcome[answered])
        np.testing.assert_array_equal(many.state.free[0], engine.view.free)
        assert many.state.clock[0, NOW] == engine.now


@pytest.mark.parametrize("reward", ["one", "delta"])
def test_gymnasiums_own_checker_is_content(reward: str) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(NAME, scenario=small(), reward=reward).unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({"overflow": "wait"}, {}, "dropped here"),
        ({"pacing": {"step": "1 s"}}, {}, "without network, pacing and rules"),
        ({}, {"reward": "two"}, "no such reward"),
        ({"warm_start": {"until": "10 %", "with": "best-fit"}}, {}, "nothing is learned with it"),
        ({"cluster": CLUSTER | {"numbering": "drawn"}}, {}, "cluster.numbering: nothing is learned with it"),
        (
            {"overflow": {"wait": {"together": 8, "queues": {"q": {}}}}},
            {},
            "overflow.wait.queues: nothing is learned with it\n  Write `overflow: drop`, or stop, in the scenario",
        ),
    ],
)
def test_numa_environment_refuses_other_scenarios(
    changed: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        gymnasium.make(NAME, scenario=small(**changed), **options)
