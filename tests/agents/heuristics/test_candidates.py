"""cheapest-candidate: its features, its candidates and its choice against plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.heuristics.candidates.observation import Sight, look, sight
from binwright.agents.heuristics.candidates.scoring import FEATURES, STYLES, likes
from binwright.agents.heuristics.candidates.search import fill, place
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.multi_server import COMPLETE, GOES_ON, begin, choose, filling
from binwright.fabric.network import NetworkLedger, NetworkView
from binwright.fabric.routing import Routing, find_route
from binwright.fabric.shapes import fabric
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.play import play
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import Ints, Request
from tests.support.networks import SHAPES, UNIT
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


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
        stays = max(0.0, run["ends"][s] - run["now"]) / run["mean"]
        outlasts = max(0.0, run["duration"] - stays) / run["duration"]
        found[s] = {
            "given": given,
            "completes": float(complete),
            "growth of stranded": max(left) - min(left) - (max(before) - min(before)),
            "bound before": sum(before) * (1 - wire),
            "bound after": sum(left) * (1 - after),
            "all left": sum(left),
            "outlasts what is there": outlasts * sum(1 - share for share in before),
            "left for longer": outlasts * sum(left),
        }
    return found


def drawn(view: NetworkView, rng: np.random.Generator, whole: bool = False) -> Sight:
    """A look at a network whose styles like features at random."""
    seen = sight(view)
    seen.likes[:] = rng.normal(size=seen.likes.shape)
    if whole:  # so that ties are common
        seen.likes[:] = np.rint(seen.likes)
    return seen


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
    seen = drawn(view, rng)
    run: dict[str, Any] = {"duration": rng.uniform(0.1, 3), "now": 5.0, "mean": 2.0}
    run["ends"] = seen.ends[:] = rng.uniform(0, 9, net.servers)
    seen.known[2:] = run["duration"], run["now"], run["mean"]
    look(seen, free, link_free, demand, width)
    pods = np.where(net.pod_of < 0, net.racks, net.pod_of)
    for home in range(net.racks):
        if seen.until[home] == seen.until[home + 1]:
            continue
        near = {rack: 0 if rack == home else 1 if pods[rack] == pods[home] else 2 for rack in range(net.racks)}
        before: list[list[int]] = []
        for style in range(STYLES):
            status, cost = fill(seen, free, link_free, demand, width, False, home, style, style)
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
                scores = np.array([list(works[s].values()) for s in order]) @ seen.likes
                # Where rounding alone tells two servers apart, either is right: go on with the one that was picked.
                liked = scores[:, style]
                best = int(liked.argmax())
                picked = int(seen.picked[style, len(chosen)])
                if picked in order and liked[order.index(picked)] >= liked[best] - 1e-9:
                    best = order.index(picked)
                wanted = choose(routes, link_free, net.link_tier, free, room, order[best], width, False)
                chosen.append(order[best])
                expected += scores[best, -1]
            before.append(chosen)
            assert seen.picked[style, : seen.lengths[style]].tolist() == chosen
            assert status == wanted
            assert cost == pytest.approx(expected + room.counts[2] * width / seen.most[-1], abs=1e-9)
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
    liked = drawn(view, rng, whole=True).likes
    link_free = view.link_capacity * (rng.random(view.topology.links) >= tight)
    demand: Any = rng.integers(1, 14, 2)
    times, found = rng.integers(0, 3, (2, *view.free.shape)), []
    for kept in (0, 1, 1000):
        seen, said = sight(view)._replace(likes=liked), list[object]()
        if kept == 1:
            names = ("far", "leaders", "far_need", "far_look")
            seen = seen._replace(**{name: getattr(seen, name)[:1] for name in names})
        for free in times:
            look(seen, free, link_free, demand, UNIT)
            seen.known[2:] = 1.0, 0.0, 1.0
            for home, style in product(range(12), range(STYLES)):
                if kept == 0:
                    seen.far[:], seen.leaders[:], seen.widest[:] = np.inf, -1, 2 * UNIT
                said.append(fill(seen, free, link_free, demand, UNIT, weighted, home, style, style))
                said.append(seen.picked[style, : seen.lengths[style]].tolist())
        found.append(said)
    assert found[0] == found[1] == found[2]


@pytest.mark.long
def test_the_cheapest_candidate_is_taken() -> None:
    view = _view(SHAPES[0], np.full((SHAPES[0].topology.servers, 1, 2), 3))
    rng = np.random.default_rng(1)
    seen = drawn(view, rng)
    demand: Any = np.array([5, 4])
    free, link_free = rng.integers(0, 4, view.free.shape), view.link_free.copy()
    assert place(seen, free, link_free, demand, 0, 3.0, 2.0, False) == COMPLETE
    chosen = seen.room.servers[: seen.room.counts[0]].tolist()
    ends = np.zeros(view.topology.servers)
    ends[chosen] = 5.0
    assert np.array_equal(seen.ends, ends)
    seen.ends[:] = 0.0
    costs = {}
    for home in range(view.topology.racks):
        for style in range(STYLES):
            status, cost = fill(seen, free, link_free, demand, 0, False, home, style, 0)
            if status == COMPLETE:
                costs[cost] = seen.room.servers[: seen.room.counts[0]].tolist()
    assert len(costs) > 1
    assert costs[min(costs)] == chosen


def _view(shape: Any, capacity: Ints) -> NetworkView:
    cluster = Cluster(("a", "b"), capacity, (NEVER, NEVER), capacity[0])
    return NetworkLedger(cluster, shape).view


def test_the_first_style_is_the_tuned_best_homes() -> None:
    by_name = dict(zip(FEATURES, likes().tolist(), strict=True))
    assert by_name["completes"][0] == 6
    assert by_name["outlasts what is there"] == [0.0, -1.2, -0.5, 0.0, 0.6]
    assert likes().shape == (len(FEATURES), STYLES + 1)


# -- in use ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_a_failure_interrupted_does_not_stay() -> None:
    """On an empty network it is all the same whether requests placed before would have ended by now."""
    ledger = build_world(load_scenario("nara/table1")).ledger(0)
    rng, view, answers = np.random.default_rng(0), ledger.view, []
    asked = [
        Request(row, 0.0, 100.0, tuple(rng.integers(UNIT, 30 * UNIT, 2).tolist()), False, UNIT // 9)
        for row in range(40)
    ]
    for began in (0.0, -100.0):
        agent = AGENTS.load("cheapest-candidate")()
        agent.start(view, stream(0, "agent"))
        view.now = began
        for request in asked[:20]:
            agent.decide(view, request)
        view.now = 50.0
        answers.append([agent.decide(view, request) for request in asked[20:]])
    assert answers[0] == answers[1]


def test_it_says_why_it_rejects() -> None:
    scenario = load_scenario("nara/table1", ["workload.requests=60", "workload.bandwidth=[0.9, 1.0]"])
    workload = build_world(scenario).draw(0)
    workload.demand[:5] = 0
    world = build_world(scenario)
    simulation = Simulation(workload, world.ledger(0), pacing=world.pacing)
    agent = AGENTS.load("cheapest-candidate")()
    agent.start(simulation.view, stream(0, "agent"))
    play(simulation, agent)
    record = simulation.record
    assert (record.outcome[:5] == PLACED).all()
    reasons = {record.reasons[code] for code in record.reason[record.outcome[:60] != PLACED].tolist()}
    assert reasons
    assert all(reason.startswith("no path: ") for reason in reasons)


def test_it_needs_a_network() -> None:
    view = build_world(load_scenario("quickstart")).ledger(0).view
    with pytest.raises(UserError, match="this cluster has none"):
        AGENTS.load("cheapest-candidate")().start(view, stream(0, "agent"))


@pytest.mark.long
def test_it_accepts_more_than_best_home() -> None:
    scenario = load_scenario("nara/table1")
    found = dict.fromkeys(("best-home", "cheapest-candidate"), 0)
    for name in found:
        for seed in range(500, 540):
            simulation = build_world(scenario).simulation(seed)
            agent = AGENTS.load(name)()
            agent.start(simulation.view, stream(seed, "agent"))
            play(simulation, agent)
            found[name] += int((simulation.record.outcome == PLACED).sum())
    assert found["cheapest-candidate"] > found["best-home"]
