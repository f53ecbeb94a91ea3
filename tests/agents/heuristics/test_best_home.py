"""Best-Home gives up no home that might have been the cheapest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright import fabric
from binwright.agents.heuristics.networks.best_home import BestHome, fill
from binwright.agents.heuristics.networks.homes import MOST, Homes, see
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.multi_server import COMPLETE
from binwright.fabric.network import NetworkLedger, Provisioned
from binwright.fabric.routing import Routing
from binwright.fabric.shapes import fabric as pods
from binwright.fabric.topology import Topology
from binwright.simcore.jit import kernel
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Amounts, Ints, Refusal, Request
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
def costs(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, found: Ints
) -> None:
    """Write to `found` int64 [racks, 2] what each home costs, without a limit and where that is just below it.

    It is MOST where the request cannot be placed.
    """
    see(homes, free, link_free)
    for home in range(len(found)):
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home, False, np.inf)
        found[home, 0] = found[home, 1] = cost if status == COMPLETE else MOST
        if status == COMPLETE:
            status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home, False, cost + 1.0)
            found[home, 1] = cost if status == COMPLETE else MOST


def drawn(network: Topology, weights: dict[str, float], rng: np.random.Generator, resources: int) -> Any:
    """Draw what servers and links have free, and a request; returns `Homes`, both, demand and bandwidth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fabric.ledger, "SERVERS_WORTH_IT", 1)
        size = np.full((network.servers, 1, resources), 10 * QUANTUM) // rng.choice([1, 3])
        cluster = Cluster(("cpu", "mem", "gpu")[:resources], size, (NEVER,) * resources, size[0])
        made = NetworkLedger(cluster, Routing(network))
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
def test_no_home_is_given_up_that_costs_less_than_the_limit(
    network: Topology, weights: dict[str, float], seed: int, resources: int
) -> None:
    known, free, link_free, demand, bandwidth = drawn(network, weights, np.random.default_rng(seed), resources)
    found = np.zeros((network.racks, 2), np.int64)
    costs(known, free, link_free, demand, bandwidth, seed % 2 == 0, found)
    assert (found[:, 0] == found[:, 1]).all()


@pytest.mark.parametrize("bandwidth", [2, 1000, 10**6])
@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_no_bound_hides_who_is_to_blame(weight: float, bandwidth: int) -> None:
    """However dear a placement would be, there is none for want of bandwidth."""
    view = ledger("alpha").view
    agent = BestHome(links=weight, uplinks=weight)
    agent.start(view, stream(0, "agent"))
    wide = Request(0, 0.0, 1.0, (20 * QUANTUM, 15 * QUANTUM), False, bandwidth * QUANTUM)
    assert agent.decide(view, wide) == Refusal("no path: server-rack")


@pytest.mark.parametrize("cut_off", [0.0, 1000.0])
def test_huge_requests_are_placed_whatever_the_weights(cut_off: float) -> None:
    """What they cost is beyond what floats hold exactly."""
    network = pods(4, 650, 2, 1, 1, (1, 650, 1300))
    size = np.full((network.servers, 1, 2), 10 * QUANTUM)
    view = NetworkLedger(Cluster(("cpu", "mem"), size, (NEVER, NEVER), size[0]), Routing(network, 1)).view
    agent = BestHome(stranded=1000.0, cut_off=cut_off)
    agent.start(view, stream(0, "agent"))
    answer = agent.decide(view, Request(0, 0.0, 1.0, (23_000 * QUANTUM, 23_000 * QUANTUM), False, QUANTUM // 2))
    assert isinstance(answer, Provisioned)
    assert len(answer.chosen) == 2300
