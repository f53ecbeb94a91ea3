"""The ledger of a network: links and servers together, all or nothing, and everything comes back exactly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import FAILED, Provisioned
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.topology import topology
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError, ScenarioError
from binwright.simcore.faults import Faults
from binwright.simcore.jit import kernel
from binwright.simcore.rng import stream
from binwright.simcore.rules import Pacing
from binwright.simcore.types import QUANTUM, Ints, Placement, Refusal, Request
from binwright.simcore.workload import Workload
from tests.reference.ledger import accepts, joined, span
from tests.support.networks import NETWORKS, ledger_of, request
from tests.support.properties import scaled
from tests.support.recount import recount
from tests.support.scenarios import first_run

steps = st.lists(
    st.one_of(
        st.tuples(st.just("place"), st.integers(1, 9), st.integers(0, 7), st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0])),
        st.tuples(st.just("release"), st.integers(0, 30), st.just(0), st.just(0.0)),
        st.tuples(st.sampled_from(["server", "link"]), st.integers(0, 30), st.just(0), st.just(0.0)),
        st.tuples(st.just("repair"), st.integers(0, 30), st.just(0), st.just(0.0)),
    ),
    max_size=40,
)


@given(
    st.sampled_from(sorted(NETWORKS)), st.sampled_from(["tetris", "nulb", "nalb", "random"]), st.integers(1, 2), steps
)
def test_free_servers_and_links_return_exactly(name: str, agent_name: str, nodes: int, todo: list[Any]) -> None:
    """Random sequences of place, release, fail and repair, against sums kept by hand."""
    ledger = ledger_of(name, nodes)
    network, view = ledger.network.topology, ledger.view
    agent = AGENTS.load(agent_name)()
    agent.start(view, stream(0, "agent"))
    held: dict[int, tuple[Request, Placement]] = {}
    down: list[tuple[Any, int]] = []
    for row, (what, a, b, bandwidth) in enumerate(todo):
        if what == "place":
            requested = request(row, a, b, bandwidth)
            answer = agent.decide(view, requested)
            if isinstance(answer, Placement):
                ledger.apply(requested, answer)
                held[row] = requested, answer
        elif what == "release" and held:
            gone = sorted(held)[a % len(held)]
            ledger.release(gone)
            del held[gone]
        elif what == "repair" and down:
            kind, part = down.pop(a % len(down))
            ledger.repair(part, kind)
        elif what in ("server", "link"):
            part = a % ledger.parts(what)
            if (what, part) not in down:
                down.append((what, part))
                hit = ledger.fail(part, what)
                servers, links = ({part}, set()) if what == "server" else (set(), {part})
                expected = [
                    row
                    for row, (_, placed) in held.items()
                    if links & set(placed.links) or servers & {share[0] for share in placed.shares}
                ]
                assert hit == sorted(expected)
                for gone in hit:
                    del held[gone]
        recount(ledger)
        cut = {part for kind, part in down if kind == "link"}
        for link in range(network.links):
            used = sum(requested.bandwidth for requested, placed in held.values() if link in placed.links)
            present = FAILED if link in cut else int(network.link_capacity[link])
            assert view.link_free[link] == present - used
    for kind, part in down:
        ledger.repair(part, kind)
    for row in held:
        ledger.release(row)
    assert (view.free == view.capacity).all()
    assert (view.link_free == view.link_capacity).all()


def two_servers(ledger: Ledger) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Shares and links that are right for (6, 4) at .5: servers 0 and 1, which hang on one rack."""
    return (((0, 0, (4 * QUANTUM, 3 * QUANTUM)), (1, 0, (2 * QUANTUM, 1 * QUANTUM))), (0, 1))


def test_a_placement_of_too_few_shares_of_floats_or_made_twice_changes_nothing() -> None:
    ledger = ledger_of("fabric")
    (first, second), links = two_servers(ledger)
    before = state(ledger)
    for wrong, problem in ((None, None), (((0.0, *first[1:]), second), None), ((first,), "give 4 cpu, 3 GB mem of 6")):
        with pytest.raises(InfeasiblePlacement, match=problem):
            ledger.apply(request(0, 6, 4, 0.5), Placement(wrong, links))  # type: ignore[arg-type]
        assert state(ledger) == before
    ledger.apply(request(0, 6, 4, 0.5), Placement((first, second), links))
    recount(ledger)
    with pytest.raises(LedgerError):
        ledger.apply(request(0, 6, 4, 0.5), Placement((first, second), links))


def test_where_placements_lay_is_remembered() -> None:
    ledger = ledger_of("fabric")
    ledger.apply(request(3, 6, 4, 0.5), Placement(*two_servers(ledger)))
    ledger.release(3)
    ledger.apply(request(1, 2, 0, 0.5), Placement(((5, 0, (2 * QUANTUM, 0)),)))
    row, server, _, amounts = ledger.network.places(np.array([1, 3]), np.zeros(2, np.int64))
    assert (row.tolist(), server.tolist()) == ([0, 1, 1], [5, 0, 1])
    assert (amounts // QUANTUM).tolist() == [[2, 0], [4, 3], [2, 1]]
    row, server, _, amounts = ledger.network.places(*np.zeros((2, 0), np.int64))
    assert (len(row), len(server), amounts.shape) == (0, 0, (0, 2))


NUMBERS = [-(2**63), -1, 0, 1, 2, 7, 99, QUANTUM, 2**62, 2**64, 1.5, "1", None, True, np.int8(1), np.int64(2)]
"""What a careless or hostile agent writes for a server, a link or an amount."""
CORRUPTIONS = [
    "nothing", "a number of a share", "an amount moved to another share", "a share left out", "a share twice",
    "a share cut in two", "a link left out", "a link twice", "another link", "no links", "a server more",
    "servers left out", "too short",
]  # fmt: skip


def corrupted(data: st.DataObject, placement: Provisioned) -> tuple[Any, Any, Any]:
    """Shares, links and servers of a right answer, with one thing changed in it."""
    shares: list[Any] = [(server, node, list(part)) for server, node, part in placement.shares]
    links: list[Any] = list(placement.links)
    chosen: list[Any] = list(placement.chosen)
    number = st.sampled_from(NUMBERS)
    place = data.draw(st.integers(0, len(shares) - 1))
    match data.draw(st.sampled_from(CORRUPTIONS)):
        case "a number of a share":
            server, node, part = shares[place]
            change = data.draw(st.integers(0, 1 + len(part)))
            numbers = [server, node, *part]
            numbers[change] = data.draw(number)
            shares[place] = (*numbers[:2], numbers[2:])
        case "an amount moved to another share":
            other, amount = data.draw(st.integers(0, len(shares) - 1)), data.draw(st.integers(-9, 9)) * QUANTUM
            shares[place][2][0] -= amount
            shares[other][2][0] += amount
        case "a share left out":
            del shares[place]
        case "a share twice":
            shares.append(shares[place])
        case "a share cut in two":
            shares.append((*shares[place][:2], [0] * len(shares[place][2])))
        case "a link left out" if links:
            del links[data.draw(st.integers(0, len(links) - 1))]
        case "a link twice" if links:
            links.append(links[0])
        case "another link":
            links.append(data.draw(number))
        case "no links":
            links = []
        case "a server more":
            chosen.append(data.draw(number))
        case "servers left out":
            chosen = []
        case "too short":
            shares[place] = data.draw(st.sampled_from([(), shares[place][:2], (*shares[place][:2], [0]), None, 5]))
    return shares, links, chosen


def state(ledger: Ledger) -> tuple[Any, ...]:
    """All that a placement may change."""
    shown = ledger.view.free.tobytes(), ledger.view.link_free.tobytes()
    network: Any = ledger.network
    own = ledger._free.tobytes(), network._link_free.tobytes()
    return *shown, *own, len(network.last)


@pytest.mark.parametrize("kind", ["Placement", "Provisioned"])
@given(st.sampled_from([*sorted(NETWORKS), "uneven"]), st.integers(1, 2), st.integers(0, 2**32), st.data())
@scaled(4)
def test_network_ledger_accepts_what_the_slow_rule_accepts(
    kind: str, name: str, nodes: int, seed: int, data: st.DataObject
) -> None:
    """Right answers with something changed, and random ones, whoever says that he has proven them."""
    ledger, rng = ledger_of(name, nodes), np.random.default_rng(seed)
    agent = AGENTS.load("random")()
    agent.start(ledger.view, stream(seed, "agent"))
    net = ledger.network.topology
    for row in range(6):
        requested = request(row, int(rng.integers(0, 10)), int(rng.integers(0, 8)), float(rng.choice([0, 0.3, 0.6, 1])))
        if rng.random() < 0.2:
            ledger.fail(int(rng.integers(net.links)), "link")
        answer = agent.decide(ledger.view, requested)
        shares: Any = ()
        links: Any = ()
        chosen: Any = ()
        if isinstance(answer, Provisioned):
            shares, links, chosen = corrupted(data, answer)
        elif net.links:
            servers = data.draw(st.lists(st.integers(-1, net.servers), min_size=1, max_size=3))
            shares = [(servers[0], 0, requested.demand), *((server, 0, (0, 0)) for server in servers[1:])]
            links = data.draw(st.lists(st.integers(-1, net.links), max_size=net.links, unique=True))
        placement = Placement(shares, links) if kind == "Placement" else Provisioned(shares, links, chosen)
        right = accepts(ledger, requested, shares, links, chosen if kind == "Provisioned" else ())
        before = state(ledger)
        if right:
            assert ledger.apply(requested, placement) == tuple(map(int, shares[0][:2]))
            more = chosen if kind == "Provisioned" else ()
            mine = {*(int(share[0]) for share in shares), *map(int, more)}
            rows = np.array([row])
            [noted], [reserved] = ledger.network.spans(rows), ledger.network.reserved(rows, np.array([0]))
            assert noted.tolist() == [len(mine), span(net, sorted(mine)), len(links)]
            assert reserved.sum() == len(links) * requested.bandwidth
        else:
            with pytest.raises(InfeasiblePlacement):
                ledger.apply(requested, placement)
            assert state(ledger) == before
        recount(ledger)


@given(st.data())
@scaled(4)
def test_connected_is_what_the_slow_rule_says(data: st.DataObject) -> None:
    """For any servers and any links."""
    ledger = ledger_of(data.draw(st.sampled_from([*sorted(NETWORKS), "uneven"])))
    net = ledger.network.topology
    servers = data.draw(st.lists(st.integers(0, net.servers - 1), min_size=1, max_size=4, unique=True))
    links = data.draw(st.lists(st.integers(0, net.links - 1), unique=True))
    if data.draw(st.booleans()):  # most of the links: else hardly anything is connected
        links = [link for link in range(net.links) if link not in links[:3]]
    requested, placement = (
        request(0, 0, 0, 0.1),
        Provisioned(tuple((server, 0, (0, 0)) for server in servers), tuple(links)),
    )
    if joined(net, servers, links):
        ledger.apply(requested, placement)
        assert ledger.network.spans(np.array([0])).tolist() == [[len(servers), span(net, servers), len(links)]]
    else:
        with pytest.raises(InfeasiblePlacement, match="do not connect"):
            ledger.apply(requested, placement)


@kernel
def scribble(array: Ints) -> None:
    """Write to what it is given."""
    for place in range(len(array)):
        array[place] += 1


def test_writes_to_what_servers_of_a_network_have_free_are_reported() -> None:
    ledger = ledger_of("fabric")
    ledger.apply(request(0, 1, 1, 0.1), Placement(((0, 0, (QUANTUM, QUANTUM)),)))
    scribble(ledger.view.free.reshape(-1))
    with pytest.raises(AgentError, match="written to what it was shown"):
        ledger.confirm()


def workload_of(rows: list[tuple[int, int, int]]) -> Workload:
    """(cpu, mem, steps) per request, one a second, at a bandwidth of .1."""
    demand = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2) * QUANTUM
    n = len(rows)
    return Workload(
        ("cpu", "mem"),
        np.arange(n, dtype=np.float64),
        np.array([float(row[2]) for row in rows]),
        demand,
        np.arange(n),
        np.full(n, QUANTUM // 10),
    )


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 20), st.integers(1, 6)), min_size=1, max_size=25))
def test_pacing_waits_for_room(rows: list[tuple[int, int, int]]) -> None:
    """Against the obvious loop: one step, then as many more as it takes, releasing."""
    ledger = ledger_of("fabric")
    simulation = Simulation(workload_of(rows), ledger, pacing=Pacing(step=1.0, await_room=True))
    agent = AGENTS.load("tetris")()
    play(simulation, _started(agent, ledger))
    total = ledger.view.capacity.sum(axis=(0, 1)) // QUANTUM
    held: list[tuple[float, int, int]] = []
    now = -1.0
    for row, (cpu, mem, duration) in enumerate(rows):
        if cpu > total[0] or mem > total[1]:
            continue
        now = now + 1 if now >= 0 else 0.0
        while True:
            held = [stay for stay in held if stay[0] > now]
            if sum(s[1] for s in held) + cpu <= total[0] and sum(s[2] for s in held) + mem <= total[1]:
                break
            now += 1
        assert simulation.record.decided[row] == now
        assert simulation.as_workload().arrival[row] == now
        if simulation.record.server[row] >= 0:
            held.append((now + duration, cpu, mem))
    recount(ledger)


def _started(agent: Any, ledger: Ledger) -> Any:
    agent.start(ledger.view, stream(0, "agent"))
    return agent


def test_link_failures_send_requests_back() -> None:
    ledger = ledger_of("fabric")
    faults = Faults(scheduled=((2.0, 0, 0.5), (2.75, 0, 9.0)), requeue=True, kind="link")
    simulation = Simulation(workload_of([(6, 4, 10), (1, 1, 10), (1, 1, 10), (1, 1, 10)]), ledger, faults=[faults])
    play(simulation, _started(AGENTS.load("feasible")("tetris"), ledger))
    changes = [(change.what, change.kind, change.time) for change in simulation.changes]
    assert changes[:3] == [("failure", "link", 2.0), ("repair", "link", 2.5), ("failure", "link", 2.75)]
    assert simulation.record.interruption[0] == 2.0
    assert simulation.record.origin[4] == 0
    assert simulation.record.decided[4] == 2.0
    assert 0 not in dict(ledger.held[4].links)
    recount(ledger)


out: list[set[int]] = []


def looks(simulation: Simulation) -> Iterator[Any]:
    """Note every second which links are out of service."""
    out.clear()
    for _ in range(5):
        yield simulation.env.timeout(1)
        recount(simulation.ledger)
        out.append(set(simulation.ledger.network.down))


def test_links_of_a_failed_switch_are_back_when_they_and_all_their_switches_are(tmp_path: Path) -> None:
    switches = [{"part": 0, "at": 1.5, "repair_after": 2}, {"part": 4, "at": 2.5, "repair_after": 2}]
    failures = {
        "on_failure": "requeue",
        "links": {"scheduled": [{"part": 0, "at": 0.5, "repair_after": 4}]},
        "switches": {"scheduled": switches},
    }
    scenario = {
        "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}, "failures": failures},
        "workload": {"demand": "uniform", "requests": 60, "holding": 31, "bandwidth": [0.1, 1.0], "step": "100 ms"},
        "agents": ["tetris"],
        "processes": [f"{__name__}:looks"],
    }
    _, requests = first_run(scenario, tmp_path)
    ends = topology("alpha").link_ends.tolist()
    each, other = ({link for link, pair in enumerate(ends) if switch in pair} for switch in (0, 4))
    assert each & other
    assert 0 in each - other
    assert out == [{0}, each, each | other, other | {0}, set()]
    assert requests.filter(outcome="interrupted").height


NETWORKED: dict[str, Any] = {
    "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
    "workload": {"demand": "uniform", "requests": 10, "holding": 5},
    "agents": ["tetris"],
}


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        ({"overflow": {"expand": {"by": 1, "limit": 50}}}, "overflow.expand", "Take it out, or cluster.network."),
        ({"failures": {"links": {"scheduled": [{"at": "1 s", "part": 52}]}}}, "part", "0 to 51"),
        ({"failures": {"switches": {"scheduled": [{"at": "1 s", "part": 10}]}}}, "part", "0 to 9"),
        (
            {"network": None, "servers": 3, "failures": {"links": {"mtbf": "1 h", "mttr": "1 s"}}},
            "links",
            "Give the cluster a network",
        ),
    ],
)
def test_unsupported_keys_of_networks_are_refused(change: dict[str, Any], key: str, remedy: str) -> None:
    overflow = {"overflow": change.pop("overflow")} if "overflow" in change else {}
    with pytest.raises(ScenarioError) as caught:
        scenario_from({**NETWORKED, **overflow, "cluster": {**NETWORKED["cluster"], **change}})
    assert str(caught.value.key).endswith(key)
    assert remedy in caught.value.remedy


def test_a_failed_link_carries_nothing_not_even_a_request_without_bandwidth() -> None:
    for name in ("tetris", "nulb", "nalb", "random", "best-home"):
        ledger = ledger_of("fabric")
        agent = AGENTS.load(name)()
        agent.start(ledger.view, stream(0, "agent"))
        for server in range(ledger.network.topology.servers):
            ledger.fail(server, "link")
        assert agent.decide(ledger.view, request(0, 6, 4, 0.0)) == Refusal("no path: server-rack")
        with pytest.raises(InfeasiblePlacement, match="link 0 has failed"):
            ledger.apply(request(0, 6, 4, 0.0), Placement(*two_servers(ledger)))
        for server in range(ledger.network.topology.servers):
            ledger.repair(server, "link")
        assert isinstance(agent.decide(ledger.view, request(0, 6, 4, 0.0)), Placement)
        full = Placement(*two_servers(ledger))
        ledger.apply(request(1, 6, 4, 1.0), full)
        recount(ledger)
