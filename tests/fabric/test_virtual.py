"""Virtual networks: what links need, what the ledger refuses, and the heuristics against slow references."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.heuristics.virtual import matched
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import FAILED
from binwright.fabric.routing import Routing
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.topology import Topology, topology
from binwright.fabric.virtual import hosed, route_pairs, routed, tree
from binwright.simcore.errors import InfeasiblePlacement, UserError, WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent, Embedding, Placement, Request, VirtualNetwork
from binwright.simcore.workload import Workload
from tests.reference.virtual import Oktopus, matchings, reservation, shortest_widest
from tests.support.kinds import ANYWHERE, EMBEDDING
from tests.support.properties import scaled
from tests.support.recount import recount

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

NAMES = sorted(EMBEDDING - ANYWHERE)
ONE_SLOT = np.array([1, 0])
TREES: dict[str, list[int]] = {"flat": [3], "two": [2, 3], "three": [2, 2, 2], "odd": [3, 1, 2]}


def ledger_of(name: str, nodes: int = 1, slots: int = 3, wide: float = 1.0) -> Ledger:
    if name in TREES:
        network = topology("tree", fanouts=TREES[name], capacities=[wide] * len(TREES[name]))
    else:
        network = topology("fat-tree", k=4, capacities=[wide] * 3) if name == "fat-tree" else topology(name)
    capacity = np.full((network.servers, nodes, 2), (slots, 8), np.int64)
    return Ledger(Cluster(("slots", "mem"), capacity, (NEVER, NEVER), capacity[0]), routing=Routing(network))


def request_of(row: int, network: VirtualNetwork) -> Request:
    return Request(row, 0.0, 1.0, tuple(network.machines.sum(axis=0).tolist()), False, 0, network)


def started(name: str, ledger: Ledger, form: str) -> Agent:
    agent: Agent = AGENTS.load(name)()
    ledger.view.virtual = form
    agent.start(ledger.view, stream(0, "agent"))
    return agent


@st.composite
def hoses(draw: st.DrawFn, most: int = 7, alike: bool = True) -> VirtualNetwork:
    n = draw(st.integers(1, most))
    machines = np.ones((n, 2), np.int64)
    if not alike:
        machines[:, 1] = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    hose = draw(st.sampled_from([100_000, 250_000, 400_000]))
    return VirtualNetwork(machines, hose=hose)


@st.composite
def matrices(draw: st.DrawFn, most: int = 6) -> VirtualNetwork:
    n = draw(st.integers(1, most))
    machines = np.array(draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=n, max_size=n)))
    every = [(a, b) for a in range(n) for b in range(a + 1, n)]
    pairs = sorted(draw(st.sets(st.sampled_from(every), max_size=8))) if every else []
    rates = draw(st.lists(st.sampled_from([100_000, 250_000, 600_000]), min_size=len(pairs), max_size=len(pairs)))
    return VirtualNetwork(
        machines.astype(np.int64), np.array(pairs, np.int64).reshape(-1, 2), np.array(rates, np.int64).reshape(-1)
    )


# -- what links need -----------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(TREES)), hoses(), st.data())
def test_reservations_agree_with_cutting_every_link(name: str, network: VirtualNetwork, data: st.DataObject) -> None:
    net = ledger_of(name).network.topology
    servers = data.draw(st.lists(st.integers(0, net.servers - 1), min_size=len(network), max_size=len(network)))
    answer = hosed(net, network, np.array(servers), 1)
    assert dict(zip(answer.links, answer.amounts, strict=True)) == reservation(net, network, servers)


def test_a_network_that_is_no_tree_is_refused() -> None:
    for name in ("fat-tree", "alpha"):
        with pytest.raises(UserError, match="need a tree"):
            tree(ledger_of(name).network.topology)


def test_as_many_links_as_a_tree_has_make_none_where_some_lie_twice() -> None:
    net = ledger_of("three").network.topology
    ends = net.link_ends.copy()
    ends[0] = ends[1]
    with pytest.raises(UserError, match="need a tree"):
        tree(Topology(net.name, net.names, net.rack_of, net.pod_of, ends, net.link_capacity, net.level))


# -- paths ---------------------------------------------------------------------------------------------------------


@given(st.sampled_from(["fat-tree", "alpha", "three"]), st.integers(0, 2**32), st.sampled_from([0, 1, 2, 3]))
@scaled(0.6)
def test_paths_are_the_widest_of_the_shortest(name: str, seed: int, rate: int) -> None:
    ledger = ledger_of(name)
    net, rng = ledger.network.topology, np.random.default_rng(seed)
    free = rng.integers(-1, 5, net.links)
    each, other = rng.integers(0, net.servers, 2)
    pairs, order = np.array([[0, 1]]), np.array([0])
    left = free.copy()
    lacking, first, links = route_pairs(
        ledger.view.routing.routes, left, np.array([each, other]), pairs, np.array([rate]), order, True
    )
    expected = shortest_widest(net, free, net.switches + each, net.switches + other, rate)
    if expected is None:
        assert lacking == 0
        return
    assert lacking == -1
    assert first.tolist() == [0, len(links)]
    assert (len(links), min(free[links].tolist(), default=10**18)) == expected
    assert (free - left).tolist() == [rate * (link in links) for link in range(net.links)]


# -- the ledger ----------------------------------------------------------------------------------------------------


def pairs_embedding(ledger: Ledger) -> tuple[Request, Embedding]:
    """Three machines on servers 0, 0 and 4 of a fat-tree."""
    network = VirtualNetwork(np.ones((3, 2), np.int64), np.array([[0, 1], [0, 2], [1, 2]]), np.array([5, 7, 9]))
    hosts = np.array([0, 0, 4])
    assert network.pairs is not None
    assert network.rates is not None
    routes, left = ledger.view.routing.routes, ledger.view.link_free.copy()
    _, first, links = route_pairs(routes, left, hosts, network.pairs, network.rates, np.arange(3), True)
    return request_of(0, network), routed(network, hosts, 1, first, links)


WRONG_PAIRS: list[tuple[str, Any]] = [
    ("answer an Embedding", lambda e: Placement(e.shares, e.links)),
    ("hosts are not", lambda e: replace(e, hosts=np.array([0, 0, 99]))),
    ("hosts are not a one-dimensional array", lambda e: replace(e, hosts=[0, 0, 4])),
    ("does not lead", lambda e: replace(e, hosts=np.array([0, 4, 4]))),
    ("route_first are not a one-dimensional array", lambda e: replace(e, route_first=None)),
    ("path of each pair begins", lambda e: replace(e, route_first=np.array([0, 9, 5, len(e.route_links)]))),
    ("path of pair 1 does not lead", lambda e: replace(e, route_links=e.route_links + 10**4)),
    (
        "does not lead from server 0 to server 4",
        lambda e: replace(e, route_links=e.route_links[::-1].copy()[[1, 0, *range(2, len(e.route_links))]]),
    ),
]


@pytest.mark.parametrize(("problem", "change"), WRONG_PAIRS)
def test_embeddings_that_do_not_carry_the_matrix_are_refused_without_change(problem: str, change: Any) -> None:
    ledger = ledger_of("fat-tree")
    request, answer = pairs_embedding(ledger)
    with pytest.raises(InfeasiblePlacement, match=problem):
        ledger.apply(request, change(answer))
    recount(ledger)
    assert (ledger.view.link_free == ledger.view.link_capacity).all()
    assert (ledger.view.free == ledger.view.capacity).all()
    ledger.apply(request, answer)
    recount(ledger)
    assert ledger.network.topology.link_capacity.sum() - ledger.view.link_free.sum() == sum(answer.amounts) > 0


# -- the heuristics ------------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(TREES)), hoses(), st.integers(1, 2), st.integers(0, 2**32))
@scaled(1.5)
def test_oktopus_agrees_with_its_reference(name: str, network: VirtualNetwork, nodes: int, seed: int) -> None:
    ledger, rng = ledger_of(name, nodes), np.random.default_rng(seed)
    ledger._free[:, :, 0] = rng.integers(0, 4, ledger._free.shape[:2])
    ledger.network._link_free[:] = rng.choice(
        [FAILED, 100_000, 250_000, 400_000, 800_000, 10**6], len(ledger.network._link_free)
    )
    agent = started("oktopus", ledger, "hose")
    answer = agent.decide(ledger.view, request_of(0, network))
    expected = Oktopus(ledger.network.topology, ledger.view.free, ledger.view.link_free, network).decide()
    assert isinstance(answer, Embedding) == (expected is not None)
    if isinstance(answer, Embedding) and expected is not None:
        assert sorted((answer.hosts // nodes).tolist()) == sorted(server for server, _ in expected)
        ledger.apply(request_of(0, network), answer)


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_a_matching_has_the_most_rows_at_the_least_cost(rows: int, columns: int, data: st.DataObject) -> None:
    fits = data.draw(
        st.lists(st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    cost = data.draw(st.lists(st.integers(0, 5), min_size=columns, max_size=columns))
    taken, where = matched(np.array(fits), np.array(cost))
    assert all(fits[row][column] for row, column in zip(taken, where, strict=True))
    assert len(set(where.tolist())) == len(where)
    assert (len(taken), sum(cost[column] for column in where)) == matchings(fits, cost)


def test_secondnet_takes_the_smallest_cluster_and_goes_on_when_it_fails() -> None:
    ledger = ledger_of("fat-tree", slots=2)  # two servers a rack, four a pod
    agent = started("secondnet", ledger, "pairs")
    spread = []
    for row, n in enumerate((3, 5, 12)):
        pairs = np.array([(a, b) for a in range(n) for b in range(a + 1, n)])
        network = VirtualNetwork(np.tile(ONE_SLOT, (n, 1)), pairs, np.full(len(pairs), 1000))
        answer = agent.decide(ledger.view, request_of(row, network))
        assert isinstance(answer, Embedding)
        ledger.apply(request_of(row, network), answer)
        spread.append(int(ledger.network.spans(np.array([row]))[0, 1]))
    assert spread == [1, 2, 3]
    # A rack has the slots for these two, and one of its servers' links does not: they go on to the next.
    ledger = ledger_of("fat-tree", slots=1)
    ledger.network._link_free[0] = 0
    agent = started("secondnet", ledger, "pairs")
    network = VirtualNetwork(np.tile(ONE_SLOT, (2, 1)), np.array([[0, 1]]), np.array([1000]))
    answer = agent.decide(ledger.view, request_of(0, network))
    assert isinstance(answer, Embedding)
    assert sorted(answer.hosts.tolist()) == [2, 3]


def servers_only() -> Ledger:
    capacity = np.ones((2, 1, 1), np.int64)
    return Ledger(Cluster(("slots",), capacity, (NEVER,), capacity[0]))


def test_servers_without_a_network_take_none() -> None:
    networks = [VirtualNetwork(np.ones((1, 1), np.int64), hose=1)]
    workload = Workload(("slots",), np.zeros(1), np.ones(1), np.ones((1, 1), np.int64), np.arange(1), None, networks)
    with pytest.raises(WorkloadError, match="need a network"):
        Simulation(workload, servers_only())


@pytest.mark.parametrize("name", NAMES)
def test_without_a_network_it_says_so(name: str) -> None:
    view = servers_only().view
    view.virtual = AGENTS.load(name).embeds[0]
    with pytest.raises(UserError, match="network"):
        AGENTS.load(name)().start(view, stream(0, "agent"))
