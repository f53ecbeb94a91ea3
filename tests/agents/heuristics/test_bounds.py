"""What Best-Home leaves out, against what it would have found there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fabric.ledger
from agents.heuristics.networks import homes as homes_module
from agents.heuristics.networks.best_home import BestHome, fill
from agents.heuristics.networks.bounds import at_least, bound_plain, plain_enough
from agents.heuristics.networks.far import far_row
from agents.heuristics.networks.homes import FAR_KEPT, MOST, Homes, level_of, see, want, worth
from fabric.cluster import NEVER, Cluster
from fabric.filling import COMPLETE, begin
from fabric.network import NetworkLedger, Provisioned
from fabric.routing import Routing
from fabric.shapes import fabric as pods
from fabric.topology import Topology
from simcore.jit import kernel
from simcore.rng import stream
from simcore.vocabulary import QUANTUM, Amounts, Floats, Ints, Refusal, Request
from tests.support.networks import homes, lone
from tests.support.networks import ledger_of as ledger
from tests.support.properties import forms, scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

NETWORKS = [pods(4, 5, 2, 2, 1, (1, 2, 2)), pods(12, 6, 3, 2, 2, (1, 1, 1)), homes(), lone()]
WEIGHTS = st.fixed_dictionaries(
    {},
    optional={
        "links": st.sampled_from([0.0, 0.25, 3.0]),
        "uplinks": st.sampled_from([0.0, 2.0]),
        "stranded": st.sampled_from([0.0, 1.0, 3.0]),
        "cut_off": st.sampled_from([0.25, 2.5]),
        "leftover": st.sampled_from([0.25, 2.5]),
    },
)


@kernel
def judged(
    homes: Homes,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    weighted: bool,
    limit: float,
    found: Floats,
) -> float:
    """Write to `found` float64 [racks, 3] what homes cost at least, what they cost, and when that is just allowed.

    It is MOST where the request can't be placed. Returns how much given plainly makes a home cost the limit.
    """
    see(homes, free, link_free)
    begin(homes.network.room, demand)
    want(homes.wanted, homes.network.room.need, homes.most)
    bound_plain(homes, bandwidth)
    enough = plain_enough(homes, bandwidth, float(limit))
    for home in range(len(found)):
        begin(homes.network.room, demand)
        want(homes.wanted, homes.network.room.need, homes.most)
        found[home, 0] = at_least(homes, home, bandwidth)
        homes.asked[0] = 0
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home, False, np.inf)
        found[home, 1] = found[home, 2] = cost if status == COMPLETE else MOST
        if status == COMPLETE:
            status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home, False, cost + 1.0)
            found[home, 2] = cost if status == COMPLETE else MOST
    return enough


@kernel
def best_anywhere(homes: Homes, demand: Amounts, bandwidth: int, servers: Ints, worths: Ints) -> None:
    """Write the servers that `far_row` keeps, and of every place whether it completes, and what it is worth; or -1."""
    begin(homes.network.room, demand)
    want(homes.wanted, homes.network.room.need, homes.most)
    homes.asked[0] = 0
    row = far_row(homes, bandwidth, level_of(len(homes.tree), bandwidth, homes.most[-1]))
    for one in range(len(servers)):
        servers[one] = homes.far[row, one, 0]
    for place in range(len(worths)):
        given, cost, completes = worth(homes, place, bandwidth, False)
        worths[place, 0] = -1
        if homes.there[place, len(demand)] > 0 and homes.wires[place] >= bandwidth and (given > 0 or completes):
            worths[place, 0], worths[place, 1] = completes, 1000 * given - cost


def drawn(network: Topology, weights: dict[str, float], rng: np.random.Generator, resources: int) -> Any:
    """Draw what servers and links have free, and a request; returns `Homes`, both, demand and bandwidth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fabric.ledger, "SERVERS_WORTH_IT", 1)
        size = np.full((network.servers, 1, resources), 10 * QUANTUM) // rng.choice([1, 3])
        cluster = Cluster(("cpu", "mem", "gpu")[:resources], size, (NEVER,) * resources, size[0])
        made = NetworkLedger(cluster, Routing(network))
        patch.setattr(homes_module, "RACKS_WORTH_IT", 1)
        agent = BestHome(**weights)
        agent.start(made.view, stream(0, "agent"))
    part = rng.choice([1, 4, 10])
    made._shown[:] = rng.integers(0, part + 1, size.shape) * size // part
    made._shown[rng.random(network.servers) < 0.3] = 0
    made._links_shown[:] = made.topology.link_capacity * rng.integers(0, 9, network.links) // 8
    made._links_shown[rng.random(network.links) < 0.05] = -1
    demand = tuple((rng.integers(0, 31, resources) * size[0, 0] // 10).tolist())
    return agent._scratch, made.view.free, made.view.link_free, demand, int(rng.integers(0, 9) * QUANTUM // 8)


@given(st.sampled_from(NETWORKS), WEIGHTS, st.integers(0, 2**32), forms(2, 3))
@example(NETWORKS[0], {"links": 0.25}, 270994581737, 2)  # a detour through another pod
@example(NETWORKS[0], {}, 967233098810, 2)  # many servers pay for themselves
@scaled(4)
def test_no_home_costs_less_than_its_bound(
    network: Topology, weights: dict[str, float], seed: int, resources: int
) -> None:
    rng = np.random.default_rng(seed)
    known, free, link_free, demand, bandwidth = drawn(network, weights, rng, resources)
    weighted, found = bool(seed % 2 == 0), np.zeros((network.racks, 3))
    judged(known, free, link_free, demand, bandwidth, weighted, 0, found)
    least, cost, again = found.T
    assert (least <= cost).all()
    assert (cost == again).all()
    limit = int(rng.choice(cost))
    if limit < MOST:
        enough = judged(known, free, link_free, demand, bandwidth, weighted, limit, found)
        assert (cost[known.plain >= enough] >= limit).all()


@given(st.sampled_from(NETWORKS), WEIGHTS, st.integers(0, 2**32), forms(2, 3))
@scaled(2)
def test_the_best_far_away_are_the_best_of_all(
    network: Topology, weights: dict[str, float], seed: int, resources: int
) -> None:
    known, free, link_free, demand, bandwidth = drawn(network, weights, np.random.default_rng(seed), resources)
    judged(known, free, link_free, demand, bandwidth, False, 0, np.zeros((network.racks, 3)))
    servers, worths = np.zeros(FAR_KEPT, np.int64), np.zeros((network.servers, 2), np.int64)
    best_anywhere(known, demand, bandwidth, servers, worths)
    places = [place for place in range(network.servers) if worths[place, 0] >= 0]
    expected = known.order[sorted(places, key=lambda place: (-worths[place, 0], -worths[place, 1]))[:FAR_KEPT]].tolist()
    assert servers[: len(expected)].tolist() == expected
    assert (servers[len(expected) : len(expected) + 1] == -1).all()


@pytest.mark.parametrize("bandwidth", [2, 1000, 10**6])
@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_no_bound_hides_who_is_to_blame(weight: float, bandwidth: int) -> None:
    """However dear a placement would be, there is none for want of bandwidth."""
    view = ledger("alpha").view
    agent = BestHome(links=weight, uplinks=weight)
    agent.start(view, stream(0, "agent"))
    wide = Request(0, 0.0, 1.0, (20 * QUANTUM, 15 * QUANTUM), False, bandwidth * QUANTUM)
    assert agent.decide(view, wide) == Refusal("no path: server-rack")


@pytest.mark.parametrize("bounds", [1, 100])
@pytest.mark.parametrize("cut_off", [0.0, 1000.0])
def test_huge_requests_are_placed_whatever_the_weights(
    bounds: int, cut_off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they cost is beyond what floats hold exactly."""
    monkeypatch.setattr(homes_module, "RACKS_WORTH_IT", bounds)
    network = pods(4, 650, 2, 1, 1, (1, 650, 1300))
    size = np.full((network.servers, 1, 2), 10 * QUANTUM)
    view = NetworkLedger(Cluster(("cpu", "mem"), size, (NEVER, NEVER), size[0]), Routing(network, 1)).view
    agent = BestHome(stranded=1000.0, cut_off=cut_off)
    agent.start(view, stream(0, "agent"))
    answer = agent.decide(view, Request(0, 0.0, 1.0, (23_000 * QUANTUM, 23_000 * QUANTUM), False, QUANTUM // 2))
    assert isinstance(answer, Provisioned)
    assert len(answer.chosen) == 2300
