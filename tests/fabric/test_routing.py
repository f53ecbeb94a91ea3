"""Paths against the slow rule and against networkx; what kernels answer against what the lists of paths say."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice, pairwise
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.routing import Order, Routing, find_path, find_route
from binwright.fabric.shapes import fabric as pods_and_planes
from binwright.fabric.shapes import fat_tree, tree
from binwright.fabric.topology import Topology, topology
from tests.reference.routes import turn, way
from tests.support.networks import links_between, of_links, paths_between
from tests.support.properties import scaled


def switches_only(net: Topology, a: int, b: int) -> Any:
    """What networkx may walk on."""
    graph = nx.Graph(
        (each, other) for each, other in net.link_ends.tolist() if each < net.switches and other < net.switches
    )
    graph.add_nodes_from((a, b))
    return graph


def slow_paths(net: Topology, a: int, b: int, k: int, order: str = "even") -> list[tuple[int, ...]]:
    """The rule: all simple paths from the lower rack, sorted by (hops, turn, vertices), the first K."""
    paths = nx.all_simple_paths(switches_only(net, a, b), min(a, b), max(a, b))
    ordered = sorted(map(tuple, paths), key=lambda path: (len(path), turn(net, path, order), path))[:k]
    return ordered if a < b else [path[::-1] for path in ordered]


def as_links(net: Topology, path: tuple[int, ...]) -> tuple[int, ...]:
    number = {tuple(sorted(ends)): link for link, ends in enumerate(net.link_ends.tolist())}
    return tuple(number[tuple(sorted(hop))] for hop in pairwise(path))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("order", get_args(Order))
def test_small_presets_by_the_slow_rule(name: str, k: int, order: Order) -> None:
    net = topology(name)
    routing = Routing(net, k, order)
    for a in range(net.racks):
        for b in range(net.racks):
            if a != b:
                expected = slow_paths(net, a, b, k, order)
                assert paths_between(routing, a, b) == expected
                assert links_between(routing, a, b) == [as_links(net, path) for path in expected]


def entered(net: Topology) -> Any:
    """A graph for networkx whose switches and links are entered by their numbers."""
    return nx.Graph(ends for ends in net.link_ends.tolist() if max(ends) < net.switches)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
@scaled(1)
def test_shortest_paths_of_fabrics_are_in_the_order_of_networkx(
    pods: int, per_pod: int, planes: int, uplinks: int
) -> None:
    net = pods_and_planes(pods * per_pod, 1, per_pod, planes, uplinks, (1, 1, 1))
    graph = entered(net)
    for a, b in combinations(range(net.racks), 2):
        k = planes if net.pod_of[a] == net.pod_of[b] else planes * uplinks
        expected = list(map(tuple, islice(nx.shortest_simple_paths(graph, a, b), k)))
        assert paths_between(Routing(net, k, "networkx"), a, b) == expected


@pytest.mark.parametrize("name", ["alpha", "beta", "gamma", "delta"])
@pytest.mark.parametrize("k", [1, 3])
def test_even_routes_load_all_planes_and_spines_alike(name: str, k: int) -> None:
    """Every rack's planes have as many of the first, or of the K, routes as one another, but for the odd ones of pairs
    within its pod; and all spines have as many."""
    net = topology(name)
    routing = Routing(net, k)
    inside: dict[int, Counter[int]] = {rack: Counter() for rack in range(net.racks)}
    across: dict[int, Counter[int]] = {rack: Counter() for rack in range(net.racks)}
    spines: Counter[tuple[int, int]] = Counter()
    most = min(k, net.planes)
    for a, b in combinations(range(net.racks), 2):
        near = net.pod_of[a] == net.pod_of[b]
        for path in paths_between(routing, a, b)[:most]:
            plane, spine = way(net, path)
            for rack in (a, b):
                (inside if near else across)[rack][plane] += 1
            if not near:
                spines[plane, spine] += 1
    every = [inside[rack] for rack in inside] + [across[rack] for rack in across]
    for counted in every:
        counts = [counted[plane] for plane in range(net.planes)]
        assert max(counts) - min(counts) <= 2
    counts = [spines[plane, spine] for plane in range(net.planes) for spine in range(net.uplinks)]
    assert min(counts) == max(counts) > 0


@pytest.mark.parametrize("name", ["gamma", "delta"])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_arithmetic_finds_what_a_search_finds(name: str, k: int) -> None:
    net = topology(name)
    graph = entered(net)
    pairs = list(combinations(range(net.racks), 2))
    for order in get_args(Order):
        routing = Routing(net, k, order)
        for a, b in random.Random(7).sample(pairs, 40):
            assert set(paths_between(routing, a, b)) <= set(map(tuple, nx.all_shortest_paths(graph, a, b)))
            assert len(set(links_between(routing, a, b))) == k
            assert links_between(routing, b, a) == [links[::-1] for links in links_between(routing, a, b)]


def test_a_hundred_thousand_servers_need_200_megabytes() -> None:
    net = pods_and_planes(2504, 40, 8, 4, 4, (1, 2, 2))
    routing = Routing(net)
    assert sum(array.nbytes for array in routing.routes) < 200_000_000
    names = [[net.names[vertex] for vertex in path] for path in paths_between(routing, 9, 2503)]
    assert names[2] == ["rack-9", "fabric-1-2", "spine-2-2", "fabric-312-2", "rack-2503"]
    assert links_between(routing, 9, 2503)[2] == as_links(net, paths_between(routing, 9, 2503)[2])


@pytest.mark.long
@scaled(0.4)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]),
    st.integers(1, 7),
    st.sampled_from(get_args(Order)),
)
def test_fabrics_by_the_slow_rule(pods: int, per_pod: int, ways: tuple[int, int], k: int, order: Order) -> None:
    net = pods_and_planes(pods * per_pod, 2, per_pod, *ways, (1, 1, 1))
    routing = Routing(net, k, order)
    for a, b in combinations(range(net.racks), 2):
        assert paths_between(routing, a, b) == slow_paths(net, a, b, k, order)


@st.composite
def graphs(draw: st.DrawFn) -> Topology:
    """Connected switches, servers on some: on all that would have one link."""
    count = draw(st.integers(1, 8))
    links = {(draw(st.integers(0, new - 1)), new) for new in range(1, count)}
    every = list(combinations(range(count), 2))
    links |= set(draw(st.lists(st.sampled_from(every), max_size=12))) if every else set()
    order = draw(st.permutations(sorted(links)))
    homes = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5))
    for switch in range(count):
        homes += [switch] * (2 - homes.count(switch) - sum(switch in link for link in links))
    own = {(f"s{server}", f"v{home}"): 1 + server for server, home in enumerate(homes)}
    return of_links(own | {(f"v{each}", f"v{other}"): draw(st.integers(1, 5)) for each, other in order}, "drawn")


@given(graphs(), st.integers(1, 6))
def test_random_graphs_by_the_slow_rule(net: Topology, k: int) -> None:
    routing = Routing(net, k)
    for a, b in combinations(range(net.racks), 2):
        expected = slow_paths(net, a, b, k)
        assert expected, "connected"
        assert paths_between(routing, a, b) == expected
        assert paths_between(routing, b, a) == [path[::-1] for path in expected]
        hops = [len(path) for path in islice(nx.shortest_simple_paths(switches_only(net, a, b), a, b), k)]
        assert [len(path) for path in expected] == hops


def ring(count: int) -> Topology:
    own = {(f"s{vertex}", f"v{vertex}"): 1 for vertex in range(count)}
    return of_links(own | {(f"v{vertex}", f"v{(vertex + 1) % count}"): 1 for vertex in range(count)}, "ring")


def test_paths_may_be_long() -> None:
    result = ring(20)
    routing = Routing(result)
    assert [len(links) for links in links_between(routing, 0, 7)] == [7, 13]
    assert [len(links) for links in links_between(Routing(result, 1), 0, 7)] == [7]


def networks() -> Iterator[Topology]:
    yield from map(topology, ("alpha", "beta", "gamma"))
    yield from (fat_tree(4), tree((2, 3, 2), (1, 2, 4)), ring(9))


@pytest.mark.parametrize("net", list(networks()), ids=lambda net: net.name)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_kernels_answer_by_the_lists_of_paths(net: Topology, k: int) -> None:
    rng = np.random.default_rng(5)
    routing = Routing(net, k)
    out = np.empty(routing.longest, np.int32)
    for _ in range(150):
        free = rng.integers(0, 6, net.links)
        s, t = (int(server) for server in rng.choice(net.servers, 2, replace=False))
        a, b = int(net.rack_of[s]), int(net.rack_of[t])
        bandwidth = int(rng.integers(1, 6))
        least = [min((int(free[link]) for link in links), default=9) for links in links_between(routing, a, b)]
        first = next((k for k, free in enumerate(least) if free >= bandwidth), -1)
        assert find_path(routing.routes, free, a, b, bandwidth) == first
        count = find_route(routing.routes, free, s, t, bandwidth, out)
        if first >= 0 and min(free[s], free[t]) >= bandwidth:
            assert out[:count].tolist() == [s, *links_between(routing, a, b)[first], t]
        else:
            assert count == -1
        assert find_route(routing.routes, free, s, s, 99, out) == 0
