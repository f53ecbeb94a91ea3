"""The Gymnasium environment: the contract, and that it is the engine."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.environments.observation import Observer
from binwright.agents.environments.stepping import BatchEnv, FabricBatch
from binwright.environments import env as make_env
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.fabric.network import NetworkView
from binwright.fabric.run.play import play
from binwright.scenarios.build.world import build_learning, build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import Request
from tests.support.properties import first, scaled
from tests.support.recording import Recorder

pytestmark = pytest.mark.long

SHORT = ("workload.requests=12",)


NUMA = ("workload={demand: uniform, requests: 6, holding: 4}", "pacing={step: 1 s}", "cluster.failures=null")


@pytest.mark.parametrize(
    ("scenario", "overrides", "mask"), first(1, [("nara/table1", SHORT, "any"), ("nara/numa-fabric", NUMA, "feasible")])
)
def test_network_environment_passes_gymnasiums_checker(scenario: str, overrides: tuple[str, ...], mask: str) -> None:
    env = gymnasium.make("binwright/Fabric-v0", scenario=scenario, overrides=overrides, mask=mask)
    check_env(env.unwrapped)


def test_a_random_rollout_is_the_engines() -> None:
    scenario = load_scenario("nara/table1", ["workload.requests=60"])
    simulation = build_world(scenario).simulation(4)
    recorder = Recorder(np.random.default_rng(0), False)
    play(simulation, recorder)
    env = BatchEnv(FabricBatch, build_learning(scenario))
    observation, info = env.reset(seed=4)
    over, total, counts = False, 0.0, np.zeros(2)
    rng = np.random.default_rng(0)
    for choice in recorder.choices:
        assert not over
        assert observation["mask"].astype(bool).tolist() == choice.mask
        server = rng.choice(np.flatnonzero(observation["mask"]))
        assert server == choice.server
        observation, reward, over, truncated, info = env.step(server)
        assert not truncated
        total += reward
        counts += info["placed"], info["rejected"]
    assert over
    placed = int((simulation.record.outcome == 1).sum())
    assert counts.tolist() == [placed, 60 - placed]
    assert total == 10 * placed - 10 * (60 - placed)


def reference(
    view: NetworkView, request: Request, need: list[int], chosen: list[int], plain: bool = False, left: Any = None
) -> dict[str, Any]:
    """An observation, vertex by vertex; `left` is what the request has left of servers and links, if that counts."""
    topology = view.topology
    servers, links_free = left or (view.free.sum(axis=1).tolist(), view.link_free.tolist())

    def enough(free: float, wanted: float) -> float:
        if wanted == 0:
            return float(1 / (1 + np.exp(1))) if plain else 1.0
        return float(1 / (1 + np.exp(1 - free / wanted)))

    nodes = []
    for vertex in range(topology.switches + topology.servers):
        server = vertex - topology.switches
        if server < 0:
            nodes.append([enough(0, 1) if plain else 0.0] * len(need) + [0.0])
        else:
            nodes.append([enough(f, n) for f, n in zip(servers[server], need, strict=True)] + [float(server in chosen)])
    links = [enough(free, request.bandwidth) for free in links_free]
    used = 1 - view.free.sum(axis=(0, 1)) / view.capacity.sum(axis=(0, 1))
    held = 1.0 if request.duration == np.inf else request.duration / (request.duration + 32)
    return {"nodes": nodes, "links": links, "cluster": [*used, held], "edges": topology.link_ends.tolist()}


@given(seed=st.integers(0, 1000), steps=st.integers(0, 60))
@scaled(0.25)
def test_observation_shows_free_shares_links_and_the_request(seed: int, steps: int) -> None:
    env = make_env("nara/table1", ("workload.requests=40",), name="Fabric", mask="feasible")
    observation, _ = env.reset(seed=seed)
    rng, over = np.random.default_rng(seed), False
    episodes = env.batch.episodes
    assert isinstance(episodes, NetworkEpisodes)
    for _ in range(steps):
        observation, _, over, _, _ = env.step(rng.choice(np.flatnonzero(observation["mask"])))
        if over:
            break
    assert env.observation_space.contains(observation)
    if over:
        assert not observation["mask"].any()
        return
    many, state, room, row = episodes.many, episodes.state, episodes.state.filling, int(episodes.row[0])
    chosen = room.servers[0, : room.counts[0, 0]].tolist()
    demand, bandwidth = tuple(many.requests.demand[0, row].tolist()), int(many.offers.bandwidth[0, row])
    request = Request(row, 0.0, float(many.requests.duration[0, row]), demand, False, bandwidth)
    view = episodes.view
    view.free, view.link_free = many.state.free[0], state.link_free[0]
    expected = reference(view, request, room.need[0].tolist(), chosen)
    np.testing.assert_allclose(observation["nodes"], expected["nodes"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(observation["links"][:, 0], expected["links"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(observation["cluster"], expected["cluster"], rtol=1e-6, atol=1e-6)
    assert observation["edges"].T.tolist() == expected["edges"]
    assert np.flatnonzero(observation["chosen"]).tolist() == sorted(chosen)
    left = view.free.sum(axis=1).tolist(), view.link_free.tolist()
    for share in range(int(room.counts[0, 1])):
        for r, amount in enumerate(room.amounts[0, share].tolist()):
            left[0][room.places[0, share, 0]][r] -= amount
    for link in room.links[0, : room.counts[0, 2]].tolist():
        left[1][link] -= bandwidth
    seen = Observer(episodes, text=True)()
    expected = reference(view, request, room.need[0].tolist(), chosen, True, left)
    np.testing.assert_allclose(seen.nodes[0], expected["nodes"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(seen.edges[0], expected["links"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(seen.cluster[0], expected["cluster"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("overrides", "options", "match"),
    [
        ((), {"mask": "none"}, "no such mask"),
        (("overflow=wait",), {}, "must be dropped"),
        (("cluster.failures={mtbf: 1 d, mttr: 1 h}",), {}, "nothing is learned with it"),
    ],
)
def test_mistakes_are_explained(overrides: tuple[str, ...], options: dict[str, Any], match: str) -> None:
    with pytest.raises(UserError, match=match):
        make_env("nara/table1", overrides, name="Fabric", **options)
