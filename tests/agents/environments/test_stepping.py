"""Environments as learners take them: what is written in place, when episodes begin again, what is allowed."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from binwright.environments import vector
from binwright.fabric.compiled.many import NumaEpisodes
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.reference import environments as reference
from tests.support.properties import scaled
from tests.support.scenarios import random_requests

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

PREFIX = "binwright.environments:binwright/"
SERVERS: dict[str, Any] = {
    "cluster": {"servers": 3, "nodes": 2, "node": {"cpu": 10, "mem": 10}, "spread_above": {"mem": 6}},
    "workload": random_requests(
        25,
        "1 s",
        [{"cpu": 3, "mem": 1}, {"cpu": 4, "mem": 5}, {"cpu": 7, "mem": 15.000001}, {"cpu": 30, "mem": 1}],
        "30 s",
    ),
    "agents": ["first-fit"],
}


def servers(name: str = "servers", **changed: Any) -> Scenario:
    return scenario_from(SERVERS | {"name": name, "overflow": "drop"} | changed)


def drawn(mask: np.ndarray, rng: np.random.Generator, wrong: float = 0.05) -> np.ndarray:
    """Places that the mask allows, mostly."""
    any_place = rng.integers(-1, mask.shape[1] + 1, len(mask))
    return np.where(rng.random(len(mask)) < wrong, any_place, (mask * rng.random(mask.shape)).argmax(axis=1))


@given(st.integers(0, 1000), st.sampled_from(["one", "delta"]), st.sampled_from(["drop", "stop"]))
@scaled(0.2)
def test_updated_numa_observations_equal_recomputed_ones(seed: int, reward: Any, overflow: str) -> None:
    envs = vector(servers(overflow=overflow), num_envs=3, name="Numa", reward=reward)
    episodes, rng = envs.batch.episodes, np.random.default_rng(seed)
    assert isinstance(episodes, NumaEpisodes)
    seen, _ = envs.reset(seed=seed)
    for _ in range(40):
        expected = reference.numa(episodes)
        for name, array in expected.items():
            assert seen[name].tobytes() == array.tobytes(), name
            assert seen[name].dtype == array.dtype
        going, worth = ~episodes.over, reference.worth(episodes, reward)
        actions = drawn(seen["mask"], rng)
        inside = (actions >= 0) & (actions < seen["mask"].shape[1])
        placed = going & inside & (seen["mask"][np.arange(3), np.where(inside, actions, 0)] == 1)
        seen, rewards, _, _, info = envs.step(actions)
        assert rewards.tolist() == np.where(placed, worth, 0.0).tolist()
        assert (info["placed"] == placed)[going].all()


@given(seed=st.integers(0, 1000), mask=st.sampled_from(["any", "feasible"]))
@scaled(0.1)
def test_updated_network_observations_equal_recomputed_ones(seed: int, mask: Any) -> None:
    envs = vector("nara/table1", ("workload.requests=12",), num_envs=3, name="Fabric", mask=mask)
    episodes, rng = envs.batch.episodes, np.random.default_rng(seed)
    assert isinstance(episodes, NetworkEpisodes)
    edges = envs.batch.seen["edges"].copy()
    seen, _ = envs.reset(seed=seed)
    for _ in range(60):
        for name, array in reference.network(episodes, edges).items():
            assert seen[name].tobytes() == array.tobytes(), name
            assert seen[name].dtype == array.dtype
        seen, *_ = envs.step(drawn(seen["mask"], rng))


@pytest.mark.parametrize("seeds", [1, [5, 9, 2]])
def test_episodes_begin_again_as_in_gymnasiums_own_vector(seeds: Any) -> None:
    scenario = servers()
    ours = gymnasium.make_vec(f"{PREFIX}Numa-v0", 3, scenario=scenario)
    theirs = SyncVectorEnv([lambda: gymnasium.make(f"{PREFIX}Numa-v0", scenario=scenario)] * 3)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    rng, ends = np.random.default_rng(0), 0
    same(ours.reset(seed=seeds)[0], theirs.reset(seed=seeds)[0])
    seen, _ = theirs.reset(seed=seeds)
    ours.reset(seed=seeds)  # forgets what it had
    for _ in range(120):
        actions = (seen["mask"] * rng.random(seen["mask"].shape)).argmax(axis=1)
        result, expected = ours.step(actions), theirs.step(actions)
        seen, ended = expected[0], expected[2]
        ends += int(ended.sum())
        for each, other in zip(result[:4], expected[:4], strict=True):
            same(each, other)
        for name in ("placed", "action_mask"):
            same(result[4][name], expected[4][name])
    assert ends > 3


def same(each: Any, other: Any) -> None:
    if isinstance(other, dict):
        assert each.keys() == other.keys()
        for name in other:
            same(each[name], other[name])
    else:
        assert each.dtype == other.dtype
        np.testing.assert_array_equal(each, other)
