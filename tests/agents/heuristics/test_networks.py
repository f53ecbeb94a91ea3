"""Every agent for networks against its reference, ties included, and the rules of the published experiments."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.heuristics.networks.best_home import BestHome
from binwright.agents.heuristics.random_fit import DRAWS
from binwright.fabric.book import Holding
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import FAILED, NetworkView, Provisioned
from binwright.fabric.routing import Routing
from binwright.fabric.shapes import fabric, tree
from binwright.fabric.topology import Topology
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Refusal, Request, View
from tests.reference.ledger import joined, span
from tests.reference.network_agents import (
    Answer,
    Case,
    best_home,
    nalb,
    nulb,
    random_servers,
    tetris,
)
from tests.support.networks import ledger_of as ledger
from tests.support.networks import of_links
from tests.support.properties import first, forms, scaled
from tests.support.recount import recount

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

UNIT = 1_000_000
NAMES = ("random", "tetris", "nulb", "nalb", "best-home")
RULES: dict[str, Callable[..., Answer | None]] = {"tetris": tetris, "nulb": nulb, "nalb": nalb, "best-home": best_home}


def make(name: str, masked: bool = False, **options: Any) -> Agent:
    """A fresh agent, or the one that is kept from choosing what it can't connect."""
    agent: Agent = AGENTS.load("feasible")(name, options) if masked else AGENTS.load(name)(**options)
    return agent


def odd() -> Topology:
    """Racks of unequal size, links of several widths, and paths of different lengths."""
    homes = {"a": "p", "b": "p", "c": "p", "d": "q", "e": "r", "f": "q"}
    links = {(server, home): UNIT * (2 if server == "c" else 1) for server, home in homes.items()}
    links |= {(ends[0], ends[1]): UNIT * (1 + n % 2) for n, ends in enumerate(("pm", "mq", "qr", "pr", "mr"))}
    return of_links(links, "odd")


SHAPES = [
    Routing(found)
    for found in (
        fabric(4, 2, 2, 2, 1, (1, 1, 1)),
        fabric(4, 3, 2, 1, 2, (1, 2, 1), "one plane"),
        fabric(2, 3, 1, 2, 2, (1, 1, 2), "pods of one rack"),
        tree((3, 2), (1, 2)),
        tree((5,), (1,), "one rack"),
        odd(),
    )
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[NetworkView, Request, Case]:
    """Small networks and small numbers, so that ties are common."""
    routing = draw(st.sampled_from(SHAPES))
    topology, nodes, resources = routing.topology, draw(st.integers(1, 2)), draw(forms(2, 1, 3))
    size = draw(st.lists(st.sampled_from([2, 3, 5, 10]), min_size=resources, max_size=resources))
    alike = draw(st.booleans())
    sizes = st.just(size) if alike else st.tuples(*(st.sampled_from([0, s]) for s in size)).map(list)
    capacity = [[list(draw(sizes)) for _ in range(nodes)] for _ in range(topology.servers)]
    capacity[0] = [list(size) for _ in range(nodes)]
    free = [[[draw(st.integers(0, most)) for most in node] for node in server] for server in capacity]
    tight = draw(st.booleans())
    quarters = st.sampled_from([0, 1, 2, 3, 4] if tight else [3, 4])
    link_free = [draw(quarters) * most // 4 for most in topology.link_capacity.tolist()]
    for failed in draw(st.sets(st.integers(0, topology.links - 1), max_size=draw(st.sampled_from([0, 0, 2])))):
        link_free[failed] = FAILED
    demand = tuple(draw(st.integers(0, 3 * most)) for most in size)
    bandwidth = draw(st.sampled_from([0, 1, 2, 3, 4, 8])) * UNIT // 4
    view = view_of(routing, capacity, free, link_free)
    case = Case(topology, capacity, free, link_free, demand, bandwidth, weighted=False, masked=draw(st.booleans()))
    return view, Request(0, 0.0, 1.0, demand, False, bandwidth), case


def view_of(routing: Routing, capacity: Any, free: Any, link_free: Any) -> NetworkView:
    """Read-only, as agents get it."""
    arrays = [np.array(values, np.int64) for values in (capacity, free, link_free)]
    for array in arrays:
        array.flags.writeable = False
    net = routing.topology
    return NetworkView(
        tuple("abc"[: arrays[0].shape[2]]),
        arrays[0],
        arrays[1],
        topology=net,
        routing=routing,
        link_capacity=net.link_capacity,
        link_free=arrays[2],
        holding=lambda row: Holding(0, (), ()),
    )


def same(answer: object, expected: Answer | None) -> None:
    """Is what the agent says what the rule says?"""
    if expected is None:
        assert answer is None
    elif expected.tier:
        assert answer == Refusal(f"no path: {expected.tier}")
    else:
        assert isinstance(answer, Provisioned)
        assert list(answer.shares) == expected.shares
        assert sorted(answer.links) == sorted(expected.links)
        assert list(answer.chosen) == expected.servers


def rack_of(free: list[list[int]], link_free: list[float], size: int = 10) -> NetworkView:
    """One rack of servers with one node; links have a capacity of 1."""
    capacity = [[[size * UNIT, size * UNIT]] for _ in free]
    routing = Routing(tree((len(free),), (1,)))
    return view_of(routing, capacity, [[[a * UNIT, b * UNIT]] for a, b in free], [round(f * UNIT) for f in link_free])


def by_hand(
    free: list[list[int]], link_free: list[float], requested: tuple[int, int, float], masked: bool = False
) -> tuple[NetworkView, Request, Case]:
    """One rack, and a request for so much cpu, memory and bandwidth."""
    view, (cpu, mem, bandwidth) = rack_of(free, link_free), requested
    request = Request(0, 0.0, 1.0, (cpu * UNIT, mem * UNIT), False, round(bandwidth * UNIT))
    present = view.capacity.tolist(), view.free.tolist(), view.link_free.tolist()
    return view, request, Case(view.topology, *present, request.demand, request.bandwidth, False, masked)


CASES = (
    # One server alone reserves nothing.
    *(by_hand([[0, 0], [10, 10]], [1, 0], (10, 10, 0.9), masked) for masked in (False, True)),
    # Bandwidth is counted as of before the request, and reserved once: each link is on the routes to two others.
    by_hand([[10, 10]] * 3, [0.6, 0.6, 0.6], (30, 30, 0.6)),
    by_hand([[10, 10]] * 3, [0.6, 0.5, 0.6], (30, 30, 0.6)),
    # Capacity runs out.
    by_hand([[10, 0], [10, 10]], [1, 1], (20, 11, 0.5)),
    by_hand([[0, 0], [0, 0]], [1, 1], (1, 1, 0.5)),
    # A server with anything free is taken though it has nothing that is needed, and its route reserved all the same.
    by_hand([[0, 10], [1, 0], [9, 0], [9, 0]], [1, 1, 1, 1], (9, 10, 0.1)),
    by_hand([[0, 10], [0, 1], [9, 0]], [1, 1, 1], (9, 10, 0.1)),
    # Only with the mask it is passed over what cannot be connected.
    *(by_hand([[10, 10], [9, 9], [8, 8]], [1, 0.4, 1], (18, 18, 0.5), masked) for masked in (False, True)),
)


def and_by_hand(test: Any) -> Any:
    """Try these cases before those that are drawn."""
    for case in CASES:
        test = example(drawn=case)(test)
    return test


@pytest.mark.parametrize("name", first(2, RULES))
@given(drawn=cases())
@and_by_hand
@scaled(3)
def test_agrees_with_its_reference(name: str, drawn: tuple[NetworkView, Request, Case]) -> None:
    view, request, case = drawn
    agent = make(name, case.masked)
    agent.start(view, stream(0, "agent"))
    before = view.free.copy(), view.link_free.copy()
    for _ in "first", "again":
        same(agent.decide(view, request), RULES[name](case))
    assert np.array_equal(view.free, before[0])
    assert np.array_equal(view.link_free, before[1])


@pytest.mark.long
@given(drawn=cases())
@scaled(3)
def test_random_agrees_with_its_reference(drawn: tuple[NetworkView, Request, Case]) -> None:
    view, request, case = drawn
    agent = make("random", case.masked)
    agent.start(view, stream(3, "agent"))
    draws = iter(stream(3, "agent").random(DRAWS))
    for _ in range(3):
        same(agent.decide(view, request), random_servers(case, draws))


@pytest.mark.long
@given(drawn=cases())
@scaled(2)
def test_tetris_does_what_the_publications_program_does(drawn: tuple[NetworkView, Request, Case]) -> None:
    """Its second answer depends on its first."""
    view, request, case = drawn
    agent = make("tetris", case.masked, links="misplaced")
    agent.start(view, stream(0, "agent"))
    same(answer := agent.decide(view, request), tetris(case, links="misplaced"))
    if chosen := answer.chosen if isinstance(answer, Provisioned) else ():
        same(agent.decide(view, request), tetris(case, links="misplaced", latest=case.rack[chosen[-1]]))


WEIGHTS = st.fixed_dictionaries(
    {"stranded": st.sampled_from(["0", "0.5", "1", "0.125", "3"])},
    optional={"cut_off": st.sampled_from(["0.25", "1", "2.5"])},
)


@pytest.mark.long
@given(drawn=cases(), weights=WEIGHTS)
@scaled(1)
def test_best_home_takes_weights_as_options(drawn: tuple[NetworkView, Request, Case], weights: dict[str, str]) -> None:
    view, request, case = drawn
    options: dict[str, Any] = {name: float(weight) for name, weight in weights.items()}
    agent = make("best-home", **options)
    agent.start(view, stream(0, "agent"))
    same(agent.decide(view, request), best_home(case, **{name: Fraction(weight) for name, weight in weights.items()}))


# -- through the ledger ------------------------------------------------------------------------------------------------


def ledger_of(routing: Routing, nodes: int = 1) -> Ledger:
    """Servers of 10 and 10, split over the nodes."""
    capacity = np.full((routing.topology.servers, nodes, 2), 10 * UNIT // nodes)
    return Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0]), routing=routing)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", NAMES)
@given(shape=st.sampled_from(SHAPES), nodes=st.integers(1, 2), seed=st.integers(0, 2**32))
@scaled(0.15)
@example(shape=SHAPES[0], nodes=2, seed=1)
def test_all_or_nothing(name: str, masked: bool, shape: Routing, nodes: int, seed: int) -> None:
    """What is placed fits and is connected; what is not changes nothing; what is released leaves nothing behind."""
    ledger = ledger_of(shape, nodes)
    view, topology = ledger.view, shape.topology
    agent, rng = make(name, masked), np.random.default_rng(seed)
    agent.start(view, stream(seed, "agent"))
    held: list[int] = []
    for index in range(40):
        demand = tuple((rng.integers(1, 26, 2) * UNIT).tolist())
        request = Request(index, 0.0, 1.0, demand, False, int(rng.integers(1, UNIT)))
        before = view.free.copy(), view.link_free.copy()
        placement = agent.decide(view, request)
        if isinstance(placement, Provisioned):
            assert {server for server, _, _ in placement.shares} <= set(placement.chosen)
            assert joined(topology, placement.chosen, placement.links)
            assert placement.links or len(placement.chosen) == 1
            ledger.apply(request, placement)
            [spans] = ledger.network.spans(np.array([index]))
            assert spans[:2].tolist() == [len(placement.chosen), span(topology, placement.chosen)]
            held.append(index)
        assert isinstance(placement, Provisioned) or (
            np.array_equal(view.free, before[0]) and np.array_equal(view.link_free, before[1])
        )
        while held and rng.random() < 0.4:
            ledger.release(held.pop(int(rng.integers(len(held)))))
        recount(ledger)
    for index in held:
        ledger.release(index)
    assert np.array_equal(view.free, view.capacity)
    assert np.array_equal(view.link_free, view.link_capacity)


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*RULES, "feasible"])
def test_needs_a_network(name: str) -> None:
    view = View(("cpu",), np.ones((1, 1, 1), np.int64), np.ones((1, 1, 1), np.int64))
    with pytest.raises(UserError, match="this cluster has none\n  Give the cluster a network"):
        make(name).start(view, stream(0, "agent"))


@pytest.mark.parametrize("bandwidth", [2, 1000, 10**6])
def test_best_home_names_the_tier_without_bandwidth(bandwidth: int) -> None:
    """However dear a placement would be, there is none for want of bandwidth."""
    view = ledger("alpha").view
    agent = BestHome()
    agent.start(view, stream(0, "agent"))
    wide = Request(0, 0.0, 1.0, (20 * QUANTUM, 15 * QUANTUM), False, bandwidth * QUANTUM)
    assert agent.decide(view, wide) == Refusal("no path: server-rack")


@pytest.mark.parametrize("cut_off", [0.0, 1000.0])
def test_huge_requests_are_placed_whatever_the_weights(cut_off: float) -> None:
    """What they cost is beyond what floats hold exactly."""
    network = fabric(4, 650, 2, 1, 1, (1, 650, 1300))
    size = np.full((network.servers, 1, 2), 10 * QUANTUM)
    view = Ledger(Cluster(("cpu", "mem"), size, (NEVER, NEVER), size[0]), routing=Routing(network, 1)).view
    agent = BestHome(stranded=1000.0, cut_off=cut_off)
    agent.start(view, stream(0, "agent"))
    answer = agent.decide(view, Request(0, 0.0, 1.0, (23_000 * QUANTUM, 23_000 * QUANTUM), False, QUANTUM // 2))
    assert isinstance(answer, Provisioned)
    assert len(answer.chosen) == 2300
