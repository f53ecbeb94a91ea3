"""fabric-rl: its features and scores against plain Python, its use in the engine against its training."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from agents import AGENTS
from agents.learned.common.tensors import read, write
from agents.learned.fabric_rl.network import (
    FEATURES,
    HIDDEN,
    OWN,
    SHARED,
    SIZE,
    STYLES,
    TERMS,
    beginning,
    rejects,
    weights_of,
)
from agents.learned.fabric_rl.search import fill, place
from agents.learned.fabric_rl.sight import look, sight
from agents.learned.fabric_rl.trainer import FabricTrainer, Player
from fabric.cluster import NEVER, Cluster
from fabric.filling import COMPLETE, GOES_ON, begin, choose, filling
from fabric.network import NetworkLedger, NetworkView
from fabric.routing import Routing, find_route
from fabric.shapes import fabric
from scenarios.build.world import build_learning, build_world
from scenarios.schema.load import load_scenario
from simcore.engine import Simulation
from simcore.errors import UserError
from simcore.play import play
from simcore.record import PLACED
from simcore.rng import stream
from simcore.vocabulary import Ints, Request
from tests.support.networks import SHAPES, UNIT
from tests.support.properties import scaled
from tests.support.training import TINY, interrupted, sound

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def squashed(value: float) -> float:
    return value / (1 + value) if value < np.inf else 1.0


def slow(
    view: NetworkView,
    link_free: Ints,
    free: Ints,
    demand: Any,
    need: list[int],
    chosen: list[int],
    run: Any,
    width: int,
) -> dict[int, dict[str, float]]:
    """The features of every server that may be chosen next, said one by one."""
    net, resources = view.topology, range(len(need))
    most = view.capacity.sum(axis=1).max(axis=0).tolist()
    own = {server: int(net.server_link[server]) for server in range(net.servers)}
    widest = max((int(net.link_capacity[link]) for link in own.values() if link >= 0), default=1)
    there = free.sum(axis=1)
    able = [
        s
        for s in range(net.servers)
        if there[s].any() and ((there[s] >= demand).all() or own[s] < 0 or link_free[own[s]] >= width)
    ]

    def over(servers: list[int]) -> float:
        shares = [sum(int(there[s, r]) for s in servers) / need[r] for r in resources if need[r] > 0]
        return squashed(min(shares, default=np.inf))

    def pod(server: int) -> int:
        return int(net.pod_of[net.rack_of[server]])

    found = {}
    for s in able:
        complete = all(there[s, r] >= need[r] for r in resources)
        reached = all(find_route(view.routing.routes, link_free, other, s, width, False) >= 0 for other in chosen)
        alone = not chosen and complete
        linked = own[s] < 0 or link_free[own[s]] >= width
        given = sum(min(there[s, r], need[r]) / most[r] for r in resources)
        if s in chosen or not reached or not (linked or alone) or (given == 0 and not complete):
            continue
        before = [there[s, r] / most[r] for r in resources]
        left = [(there[s, r] - min(there[s, r], need[r])) / most[r] for r in resources]
        wire = max(0, link_free[own[s]]) / widest if own[s] >= 0 else 1.0
        after = wire if alone else wire - width / widest
        between = [e for e in range(net.links) if net.link_ends[e].max() < net.switches]
        up = [e for e in between if net.rack_of[s] in net.link_ends[e]]
        racks = {int(net.rack_of[other]) for other in chosen}
        stays = max(0.0, run["ends"][s] - run["now"]) / run["mean"]
        outlasts = max(0.0, run["duration"] - stays) / run["duration"]
        found[s] = {
            "given": given,
            "completes": float(complete),
            "least left": min(left),
            "most left": max(left),
            "all left": sum(left),
            "least free": min(before),
            "most free": max(before),
            "all free": sum(before),
            "link before": wire,
            "link after": after,
            "usable before": min(*before, wire),
            "usable after": min(*left, after),
            "growth of stranded": max(left) - min(left) - (max(before) - min(before)),
            "needed after": squashed(max((need[r] - min(need[r], there[s, r])) / most[r] for r in resources) / 2),
            "bound before": sum(before) * (1 - wire),
            "bound after": sum(left) * (1 - after),
            "stays": squashed(stays),
            "outlasts": outlasts,
            "outlasts what is there": outlasts * sum(1 - share for share in before),
            "left for longer": outlasts * sum(left),
            "bandwidth": width / widest,
            "needed before": squashed(max(need[r] / most[r] for r in resources) / 2),
            "rack over needed": over([t for t in able if net.rack_of[t] == net.rack_of[s]]),
            "pod over needed": over([t for t in able if pod(t) == pod(s)]),
            "uplinks": sum(max(0, link_free[e]) for e in up) / sum(net.link_capacity[e] for e in up) if up else 1.0,
            "new rack": float(bool(chosen) and int(net.rack_of[s]) not in racks),
            "new pod": float(bool(chosen) and pod(s) not in {pod(other) for other in chosen}),
            "first": float(not chosen),
            "duration": squashed(run["duration"]),
            "in use": run["in use"],
        }
    return found


def scored(weights: Any, x: Any) -> Any:
    straight = x @ weights.server
    return straight[HIDDEN:] + np.maximum(straight[:HIDDEN] + weights.bias, 0) @ weights.out


@pytest.mark.long
@given(shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
@scaled(0.4)
def test_candidates_are_made_like_this(shape: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    capacity = rng.integers(1, 4, (shape.topology.servers, 1, 2))
    view = _view(shape, capacity)
    net, routes, free = view.topology, view.routing.routes, rng.integers(0, capacity + 1)
    link_free = rng.integers(0, view.link_capacity // UNIT * 4 + 1) * UNIT // 4
    demand: Any = rng.integers(0, 8, 2)
    width = int(rng.integers(0, 4)) * UNIT // 4
    seen, weights = sight(view), weights_of(rng.normal(size=SIZE))
    run: dict[str, Any] = {"duration": rng.uniform(0.1, 3), "in use": 0.7, "now": 5.0, "mean": 2.0}
    run["ends"] = seen.ends[:] = rng.uniform(0, 9, net.servers)
    seen.known[4:] = run["duration"], run["in use"], run["now"], run["mean"]
    look(seen, free, link_free, demand, width)
    pods = np.where(net.pod_of < 0, net.racks, net.pod_of)
    for home in range(net.racks):
        if seen.until[home] == seen.until[home + 1]:
            continue
        near = {rack: 0 if rack == home else 1 if pods[rack] == pods[home] else 2 for rack in range(net.racks)}
        before: list[list[int]] = []
        for style in range(STYLES):
            status, cost = fill(seen, weights, free, link_free, demand, width, False, home, style, style)
            if seen.picked[style, : seen.lengths[style]].tolist() in before:
                assert (status, cost) == (GOES_ON, 0.0)
                continue
            room, expected, wanted = filling(view.routing, 1, 2), 0.0, GOES_ON
            begin(room, demand)
            chosen: list[int] = []
            while wanted == GOES_ON:
                works = slow(view, link_free, free, demand, room.need.tolist(), chosen, run, width)
                tier = {s: near[int(net.rack_of[s])] for s in works}
                nearest = min(tier.values(), default=3)
                if nearest == 3 or (nearest > 0 and not chosen):
                    break
                racks = [home] if nearest == 0 else seen.mates.tolist()
                order = [s for rack in racks for s in works if net.rack_of[s] == rack and tier[s] == nearest]
                scores = np.array([scored(weights, np.array(list(works[s].values()))) for s in order])
                best = int(scores[:, style].argmax())
                wanted = choose(routes, link_free, net.link_tier, free, room, order[best], width, False)
                chosen.append(order[best])
                expected += scores[best, -1]
            before.append(chosen)
            assert seen.picked[style, : seen.lengths[style]].tolist() == chosen
            kinds = np.minimum(net.link_tier[room.links[: room.counts[2]]], 1)
            assert status == wanted
            assert cost == pytest.approx(expected + weights.links[kinds].sum() * width / seen.most[-1], abs=1e-9)
            assert [*OWN, *SHARED] == list(FEATURES)
            assert all(list(features) == list(FEATURES) for features in works.values())


@pytest.mark.long
@given(seed=st.integers(0, 2**32), tight=st.sampled_from([0.0, 0.1, 0.5]), weighted=st.booleans())
@scaled(0.6)
def test_racks_are_left_out_where_nobody_is_liked_better(seed: int, tight: float, weighted: bool) -> None:
    """One that knows of no far rack how it is liked, nor of any uplink that it is full, looks at all, as is the rule.

    The others have much room to keep that, or room for one need alone. The second time what is free is different.
    """
    rng = np.random.default_rng(seed)
    view = _view(Routing(fabric(12, 2, 2, 2, 1, (1, 1, 1)), k=2), np.full((24, 1, 2), 3))
    weights = weights_of(np.rint(rng.normal(size=SIZE)))  # whole numbers, so that ties are common
    link_free = view.link_capacity * (rng.random(view.topology.links) >= tight)
    demand: Any = rng.integers(1, 14, 2)
    times, found = rng.integers(0, 3, (2, *view.free.shape)), []
    for kept in (0, 1, 1000):
        seen, said = sight(view), list[object]()
        if kept == 1:
            names = ("far", "leaders", "far_need", "far_look")
            seen = seen._replace(**{name: getattr(seen, name)[:1] for name in names})
        for free in times:
            look(seen, free, link_free, demand, UNIT)
            seen.known[4:] = 1.0, 0.5, 0.0, 1.0
            for home, style in product(range(12), range(STYLES)):
                if kept == 0:
                    seen.far[:], seen.leaders[:], seen.widest[:] = np.inf, -1, 2 * UNIT
                said.append(fill(seen, weights, free, link_free, demand, UNIT, weighted, home, style, style))
                said.append(seen.picked[style, : seen.lengths[style]].tolist())
        found.append(said)
    assert found[0] == found[1] == found[2]


@pytest.mark.long
def test_the_cheapest_candidate_is_taken() -> None:
    view = _view(SHAPES[0], np.full((SHAPES[0].topology.servers, 1, 2), 3))
    seen, rng = sight(view), np.random.default_rng(1)
    weights = weights_of(rng.normal(size=SIZE))
    demand: Any = np.array([5, 4])
    free, link_free = rng.integers(0, 4, view.free.shape), view.link_free.copy()
    assert place(seen, weights, free, link_free, demand, 0, 3.0, 2.0, False, False) == COMPLETE
    chosen = seen.room.servers[: seen.room.counts[0]].tolist()
    ends = np.zeros(view.topology.servers)
    ends[chosen] = 5.0
    assert np.array_equal(seen.ends, ends)
    seen.ends[:] = 0.0
    costs = {}
    for home in range(view.topology.racks):
        for style in range(STYLES):
            status, cost = fill(seen, weights, free, link_free, demand, 0, False, home, style, 0)
            if status == COMPLETE:
                costs[cost] = seen.room.servers[: seen.room.counts[0]].tolist()
    assert len(costs) > 1
    assert costs[min(costs)] == chosen


def _view(shape: Any, capacity: Ints) -> NetworkView:
    cluster = Cluster(("a", "b"), capacity, (NEVER, NEVER), capacity[0])
    return NetworkLedger(cluster, shape).view


def test_it_rejects_by_these_terms() -> None:
    rng = np.random.default_rng(0)
    said = []
    for _ in range(50):
        weights, terms = weights_of(rng.normal(size=SIZE)), rng.random(len(TERMS))
        straight = terms @ weights.reject + weights.reject_bias
        bound = np.exp(weights.decline[1]) + np.exp(weights.decline[2]) * (1 - terms[TERMS.index("in use")])
        above = terms[TERMS.index("volume")] - np.log(bound)
        said.append(rejects(weights, terms))
        assert said[-1] == (above + straight[-1] + np.maximum(straight[:-1], 0) @ weights.reject_out > 0)
    assert 0 < sum(said) < 50


def test_it_begins_with_what_is_good_already() -> None:
    weights = weights_of(beginning(np.random.default_rng(0)))
    assert not weights.out.any()
    assert weights.server[FEATURES.index("completes"), HIDDEN] == 6
    assert [part.base is not None for part in weights] == [True] * len(weights)


# -- in use ----------------------------------------------------------------------------------------------------------


def saved(file: Path, flat: Any) -> Path:
    trainer = FabricTrainer()
    world = build_learning(load_scenario("nara/train-fabric-rl"))
    trainer.begin(world, world, 0, "cpu")
    _, notes = trainer.weights()
    write(file, weights_of(flat)._asdict(), notes)
    return file


@pytest.mark.long
@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("routes", ["hops", "weighted"])
def test_in_the_engine_it_places_as_in_training(tmp_path: Path, reject: bool, routes: str) -> None:
    scenario = load_scenario("nara/train-fabric-rl", ["workload.requests=60", f"cluster.network.routes={routes}"])
    rng = np.random.default_rng(5)
    flat = beginning(rng) + 0.3 * rng.normal(size=SIZE)
    path = saved(tmp_path / "mine.safetensors", flat)
    player = Player(build_learning(scenario))
    for seed in (3, 4):
        agent = AGENTS.load("fabric-rl")(path=str(path), reject=reject)
        simulation = build_world(scenario).simulation(seed)
        agent.start(simulation.view, stream(seed, "agent"))
        play(simulation, agent)
        outcome = simulation.record.outcome[:60]
        found = player.play(flat, build_world(scenario).draw(seed), reject)
        state = player.episodes.state
        assert state.outcome[0, :60].tolist() == outcome.tolist()
        assert found[0] == (outcome == PLACED).mean()
        view = simulation.view
        assert isinstance(view, NetworkView)
        assert np.array_equal(state.free[0], view.free)
        assert np.array_equal(state.link_free[0], view.link_free)


@pytest.mark.long
def test_what_a_failure_interrupted_does_not_stay() -> None:
    """On an empty network it is all the same whether requests placed before would have ended by now."""
    ledger = build_world(load_scenario("nara/train-fabric-rl")).ledger(0)
    rng, view, answers = np.random.default_rng(0), ledger.view, []
    asked = [
        Request(row, 0.0, 100.0, tuple(rng.integers(UNIT, 30 * UNIT, 2).tolist()), False, UNIT // 9)
        for row in range(40)
    ]
    for began in (0.0, -100.0):
        agent = AGENTS.load("fabric-rl")()
        agent.start(view, stream(0, "agent"))
        view.now = began
        for request in asked[:20]:
            agent.decide(view, request)
        view.now = 50.0
        answers.append([agent.decide(view, request) for request in asked[20:]])
    assert answers[0] == answers[1]


def test_it_says_why_it_rejects(tmp_path: Path) -> None:
    scenario = load_scenario("nara/train-fabric-rl", ["workload.requests=60", "workload.bandwidth=[0.9, 1.0]"])
    workload = build_world(scenario).draw(0)
    workload.demand[:5] = 0
    path = saved(tmp_path / "mine.safetensors", beginning(np.random.default_rng(0)))
    reasons = {}
    world = build_world(scenario)
    for reject in (False, True):
        simulation = Simulation(workload, world.ledger(0), pacing=world.pacing)
        agent = AGENTS.load("fabric-rl")(path=str(path), reject=reject)
        agent.start(simulation.view, stream(0, "agent"))
        play(simulation, agent)
        record = simulation.record
        assert (record.outcome[:5] == PLACED).all()
        reasons[reject] = {record.reasons[code] for code in record.reason[record.outcome[:60] != PLACED].tolist()}
    assert reasons[False]
    assert all(reason.startswith("no path: ") for reason in reasons[False])
    assert "agent declined" in reasons[True]


def test_weights_for_something_else_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "mine.safetensors", beginning(np.random.default_rng(0)))
    tensors, notes = read(path)
    kind = AGENTS.load("fabric-rl")
    view = build_world(load_scenario("nara/train-fabric-rl")).ledger(0).view
    other = tmp_path / "other.safetensors"
    for name, wrong, match in (
        ("resources", ["gpu"], "trained with resources "),
        ("features", ["given"], "trained with features "),
        ("agent", "nara", "these are weights of nara, not of fabric-rl"),
    ):
        write(other, tensors, {**notes, name: wrong})
        with pytest.raises(UserError, match=match):
            kind(path=str(other)).start(view, stream(0, "agent"))
    write(other, {**tensors, "bias": np.zeros(7)}, notes)
    with pytest.raises(UserError, match="not the weights of this network"):
        kind(path=str(other)).start(view, stream(0, "agent"))
    with pytest.raises(UserError, match="this cluster has none"):
        kind(path=str(path)).start(build_world(load_scenario("quickstart")).ledger(0).view, stream(0, "agent"))
    with pytest.raises(UserError, match="no weights of that name"):
        kind(weights="alpha-unifrom")


# -- training --------------------------------------------------------------------------------------------------------

LEARN = {
    "agent": {"fabric-rl": {"pairs": 2, "episodes": 2, "annealed": 4}},
    "iterations": 4,
    "validation": {"every": 2, "episodes": 3},
}


@pytest.mark.long
def test_an_interrupted_training_goes_on_exactly(tmp_path: Path) -> None:
    scenario = bw.scenario({**TINY, "train": LEARN})
    log = bw.train(scenario, out=tmp_path / "whole")
    assert {"acceptance", "acceptance_rejecting", "allocation_cpu_rejecting", "spread"} <= set(log.columns)
    with pytest.raises(KeyboardInterrupt):
        bw.train(scenario, out=tmp_path / "parts", watch=interrupted(2))
    bw.train(scenario, out=tmp_path / "parts")
    assert sound(tmp_path / "parts") == sound(tmp_path / "whole")
    path = tmp_path / "parts" / "seed-0" / "best.safetensors"
    results = bw.run(bw.scenario({**TINY, "agents": [{"fabric-rl": {"path": str(path)}}]}), out=tmp_path / "run")
    assert len(results.done) == 1


@pytest.mark.long
def test_the_shipped_weights_beat_best_home() -> None:
    scenario = load_scenario("nara/train-fabric-rl")
    found = dict.fromkeys(("best-home", "fabric-rl"), 0)
    for name in found:
        for seed in range(500, 540):
            simulation = build_world(scenario).simulation(seed)
            agent = AGENTS.load(name)()
            agent.start(simulation.view, stream(seed, "agent"))
            play(simulation, agent)
            found[name] += int((simulation.record.outcome == PLACED).sum())
    assert found["fabric-rl"] > found["best-home"]
