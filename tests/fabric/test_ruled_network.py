"""Rules of placement in a network against slow ones: what is shown, refused, counted, and taken by agents."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import Provisioned
from binwright.fabric.routing import Routing
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.topology import Topology, topology
from binwright.scenarios.features.placement.rules import Apart, AtMost, Drain, Near, Rule, Spread, Together
from binwright.scenarios.features.server_labels import ServerLabels, labels_of
from binwright.scenarios.schema.workload import MultiServer, Tenants
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.roles import Role, Roles
from binwright.simcore.types import QUANTUM, Placement, Request
from binwright.simcore.workload import Workload
from tests.reference.placement import Lies, broken_by, refused_by
from tests.support.networks import NETWORKS, uneven
from tests.support.placement import ROLES, rule_book, rules
from tests.support.properties import scaled
from tests.support.recount import recount

FABRIC = topology("fabric", **NETWORKS["fabric"])
"""Four racks of two servers."""
UNITS = 3
WEB, DB = Role("web"), Role("db")


def ledger_of(network: Topology, labels: ServerLabels, written: list[Rule]) -> Ledger:
    """A ledger of a network whose servers have 3 cpu and 3 mem each."""
    capacity = np.full((network.servers, 1, 2), UNITS * QUANTUM)
    cluster = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])
    return Ledger(cluster, rules=rule_book(labels, written), routing=Routing(network))


def asking(roles: tuple[Role, ...], of: list[int]) -> Workload:
    """A request a second, with these roles, for a unit of each."""
    each = np.ones(len(of))
    workload = Workload.of_units(np.arange(float(len(of))), 1e9, {"cpu": each, "mem": each})
    return replace(workload, roles=Roles(roles, np.array(of, np.int64)))


def request(row: int, role: int, units: int) -> Request:
    """A request for so many cpu, and as many mem."""
    return Request(row, 0.0, 1.0, (units * QUANTUM, units * QUANTUM), False, QUANTUM // 4, role=role)


def on(network: Topology, servers: list[int], more: tuple[int, ...] = ()) -> Provisioned:
    """A unit on each of these servers, nothing on `more`, and ways from the first to all others."""
    ends = network.link_ends.tolist()
    graph = networkx.Graph()
    for link, (each, other) in enumerate(ends):
        graph.add_edge(each, other, link=link)
    first, *others = [network.switches + server for server in (*servers, *more)]
    ways = [networkx.shortest_path(graph, first, other) for other in others]
    links = {graph.edges[pair]["link"] for way in ways for pair in pairwise(way)}
    shares = tuple((server, 0, (QUANTUM, QUANTUM)) for server in servers)
    return Provisioned(shares, tuple(sorted(links)), (*servers, *more))


@st.composite
def labelled(draw: st.DrawFn) -> ServerLabels:
    """The servers of the fabric, in racks that the topology gives by other names, with zones and taints drawn."""
    zones = draw(st.lists(st.sampled_from("abc"), min_size=FABRIC.servers, max_size=FABRIC.servers))
    spot = draw(st.lists(st.sampled_from([False, False, True]), min_size=FABRIC.servers, max_size=FABRIC.servers))
    racks = FABRIC.rack_of.astype(np.str_)
    return ServerLabels(FABRIC.servers, {"zone": np.array(zones), "rack": racks}, {"spot": np.array(spot)})


step = st.tuples(
    st.sampled_from(["apply", "apply", "apply", "apply", "release", "fail", "cut", "drain"]),
    st.lists(st.integers(0, FABRIC.servers - 1), min_size=1, max_size=4, unique=True),
    st.integers(0, len(ROLES) - 1),
)


@pytest.mark.long
@given(labelled(), st.data())
@scaled(3)
def test_a_ledger_keeps_the_slow_rules(labels: ServerLabels, data: st.DataObject) -> None:
    """After every event: what is shown, refused and counted; and of a refusal, which rule it names."""
    written = data.draw(rules(labels.servers))
    ledger = ledger_of(FABRIC, labels, written)
    ledger.roles_of(asking(ROLES, []))
    held: dict[int, Lies] = {}
    now = 0.0
    for row, (what, servers, role) in enumerate(data.draw(st.lists(step, max_size=12))):
        if what == "release" and held:
            gone = sorted(held)[servers[0] % len(held)]
            ledger.release(gone)
            del held[gone]
        elif what in ("fail", "cut"):
            part = servers[0] if what == "fail" else FABRIC.links - 1 - servers[0]  # more links than there are servers
            hit = ledger.fail(part, "server" if what == "fail" else "link")
            if what == "fail":
                assert hit == sorted(each for each, lies in held.items() if part in lies.servers)
            held = {each: lies for each, lies in held.items() if each not in hit}
        elif what == "drain":
            for since, call, number in ledger.rules.planned:
                if now < since <= now + 5.0:
                    call(number)
            now += 5.0
        requested, lie = request(row, role, len(servers)), list(held.values())
        reasons = [refused_by(labels, written, lie, ROLES[role], each, now) for each in range(labels.servers)]
        ledger.rules.offer(requested)
        free = ledger.view.everything_free
        assert ledger.view.free.tolist() == np.where((np.array(reasons) < 0)[:, None, None], free, 0).tolist()
        assert ledger.reasons[ledger.why_not(requested)] == reason(
            free[:, 0, 0].tolist(), reasons, written, requested.demand[0]
        )
        assert ledger.excluded(requested).keys() == ledger.down | {each for each, by in enumerate(reasons) if by >= 0}
        if what == "apply":
            answer = on(FABRIC, servers)
            wired = all(ledger.view.link_free[link] >= requested.bandwidth for link in answer.links)
            before = free.tolist(), ledger.view.link_free.tolist(), dict(ledger.network.last)
            if wired and all(free[each, 0, 0] >= QUANTUM and reasons[each] < 0 for each in servers):
                assert ledger.apply(requested, answer) == (servers[0], 0)
                held[row] = Lies(tuple(servers), ROLES[role])
                assert broken_by(labels, written, lie, held[row], now) == []
            else:
                with pytest.raises(InfeasiblePlacement):
                    ledger.apply(requested, answer)
                after = ledger.view.everything_free.tolist(), ledger.view.link_free.tolist(), ledger.network.last
                assert after == before
        recount(ledger)


def reason(free: list[int], refusing: list[int], written: list[Rule], wanted: int) -> str:
    """Why a request is out: as rules are looked at in order, the first one that leaves less than it needs."""
    if sum(free) < wanted:
        return "not enough cpu in the cluster"
    names = ["the labels that it asks for", "a taint that it does not tolerate", *map(str, written)]
    for number, name in enumerate(names):
        if sum(present for present, by in zip(free, refusing, strict=True) if not 0 <= by <= number) < wanted:
            return f"rule: {name}"
    return "agent declined"


RACKS = labels_of(FABRIC)


@pytest.mark.parametrize(
    ("rule", "before", "new", "refused"),
    [
        (AtMost(at_most=1, of="web", per="rack"), [("web", [0])], [2, 4], None),
        (AtMost(at_most=1, of="web", per="rack"), [("web", [0])], [2, 1], 1),
        (AtMost(at_most=2, of="web", per="rack"), [("web", [0, 1])], [0, 1], None),  # one of two servers counts once
        (AtMost(at_most=1, of="web", per="pod"), [("web", [0, 2])], [4], None),
        (AtMost(at_most=1, of="web", per="pod"), [("web", [0, 4])], [2], 2),
        (Apart(apart=("db", "web"), per="server"), [("db", [0, 2])], [1, 3], None),
        (Apart(apart=("db", "web"), per="server"), [("db", [0, 2])], [1, 2], 2),
        (Spread(spread="web", over="pod"), [("web", [0])], [4, 6], None),
        (Spread(spread="web", over="pod"), [("web", [0])], [4, 1], 1),
        (Spread(spread="web", over="pod"), [("web", [0, 4])], [1, 5], None),
        (Together(together=("web",), per="rack"), [], [0, 4], None),  # the first one chooses its racks
        (Together(together=("web",), per="rack"), [("web", [0, 4])], [1, 5], None),
        (Together(together=("web",), per="rack"), [("web", [0, 4])], [1, 2], 2),
        (Near(of="web", near=("db",), per="rack"), [("db", [0, 4])], [1, 4], None),
        (Near(of="web", near=("db",), per="rack"), [("db", [0, 4])], [1, 6], 6),
        (Drain(drain=(6,)), [], [1, 6], 6),
    ],
)
def test_each_rule_on_a_few_servers(
    rule: Rule, before: list[tuple[str, list[int]]], new: list[int], refused: int | None
) -> None:
    ledger = ledger_of(FABRIC, RACKS, [rule])
    ledger.roles_of(asking((WEB, DB), [0, 1]))
    for row, (group, servers) in enumerate(before):
        ledger.apply(request(row, int(group == "db"), len(servers)), on(FABRIC, servers))
    newcomer = request(9, 0, len(new))
    if refused is None:
        ledger.apply(newcomer, on(FABRIC, new))
        assert ledger.network.places(np.array([9]), np.array([0]))[1].tolist() == new
    else:
        with pytest.raises(InfeasiblePlacement, match=f"not on server {refused}: rule: {rule}"):
            ledger.apply(newcomer, on(FABRIC, new))
        ledger.apply(request(9, 1, 1), on(FABRIC, [7]))  # it left nothing behind
        assert ledger.network.places(np.array([9]), np.array([0]))[1].tolist() == [7]
    recount(ledger)
    for row in sorted(ledger.running):
        ledger.release(row)
    recount(ledger)
    assert (ledger.view.everything_free == ledger.view.capacity).all()


def test_a_server_that_gives_only_its_link_counts() -> None:
    ledger = ledger_of(FABRIC, RACKS, [AtMost(at_most=1, of="web", per="server")])
    ledger.roles_of(asking((WEB,), [0]))
    ledger.apply(request(0, 0, 1), on(FABRIC, [0], (1,)))
    with pytest.raises(InfeasiblePlacement, match="not on server 1: rule: at most 1 of web per server"):
        ledger.apply(request(1, 0, 1), on(FABRIC, [1]))
    ledger.rules.mask.counts[1] += 1
    with pytest.raises(AssertionError, match="count"):
        recount(ledger)


def test_labels_that_a_topology_gives() -> None:
    assert RACKS.labels["rack"].tolist() == [f"rack-{number}" for number in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert RACKS.labels["pod"].tolist() == ["pod-0"] * 4 + ["pod-1"] * 4
    labels = labels_of(uneven())  # a file says nothing of pods
    assert labels.labels["rack"].tolist() == ["p", "p", "q", "q", "r"]
    assert list(labels.labels) == ["rack"]


class Watched(Ledger):
    """Holds every placement that is accepted to what the rules mean, as said slowly."""

    lies: dict[int, Lies]

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take what the placement says, and judge it."""
        actual = super().apply(request, placement)
        servers = {share[0] for share in placement.shares} | {*getattr(placement, "chosen", ())}
        new = Lies(tuple(sorted(servers)), self.rules._roles[request.role])
        now = 1e9 if self.rules._draining else 0.0
        assert broken_by(self.rules.labels, self.rules.written, list(self.lies.values()), new, now) == []
        self.lies[request.index] = new
        return actual

    def release(self, row: int) -> None:
        """Give back what the request holds."""
        super().release(row)
        self.lies.pop(row, None)


WRITTEN: list[Rule] = [
    Spread(spread="db", over="pod", skew=2),
    AtMost(at_most=2, of="web", per="rack"),
    Apart(apart=("db", "job"), per="server"),
    Apart(apart=("*",), per="rack"),
    Together(together=("job",), per="pod"),
    Near(of="cache", near=("db",), per="rack"),
    Drain(drain=(3,), at=60.0),
]
FOUR = tuple(Role(group, (), ("spot",) if group == "job" else ()) for group in ("web", "db", "job", "cache"))


def watched(network: Topology, servers: int, resources: tuple[str, ...], each: int) -> Watched:
    """A ledger of a network that watches; a fifth of its servers is tainted."""
    labels = replace(labels_of(network), taints={"spot": np.arange(servers) % 5 == 0})
    capacity = np.full((servers, 1, len(resources)), each * QUANTUM)
    cluster = Cluster(resources, capacity, (NEVER,) * len(resources), capacity[0])
    ledger = Watched(cluster, rules=rule_book(labels, WRITTEN), routing=Routing(network))
    ledger.lies = {}
    return ledger


def played(ledger: Watched, workload: Workload, agent: str, **options: Any) -> Simulation:
    """Play an agent that knows nothing of rules, while servers fail and what they held comes again."""
    simulation = Simulation(workload, ledger)
    for time, part in ((20.0, 1), (40.0, 7)):
        simulation.clock.at(time, lambda server: simulation.fail(server, requeue=True), part)
    decides = AGENTS.load(agent)(**options)
    decides.start(simulation.view, np.random.default_rng(0))
    play(simulation, decides)
    recount(ledger)
    assert (simulation.record.server >= 0).sum() > 20
    return simulation


@pytest.mark.long
@pytest.mark.parametrize("agent", ["random", "tetris", "nulb", "nalb", "feasible", "best-home", "nara", "solver"])
def test_whatever_an_agent_takes_breaks_no_rule(agent: str) -> None:
    network = topology("alpha")
    workload = MultiServer.model_validate({"demand": "uniform", "requests": 150, "holding": 20}).draw(("cpu", "mem"), 0)
    workload = replace(workload, roles=Roles(FOUR, np.arange(150) % 4))
    simulation = played(watched(network, network.servers, ("cpu", "mem"), 10), workload, agent)
    assert any(reason.startswith("rule: ") for reason in simulation.record.reasons)


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "agent"),
    [("hose", "oktopus"), ("hose", "vm-first-fit"), ("pairs", "secondnet"), ("pairs", "vm-first-fit")],
)
def test_machines_of_virtual_networks_break_no_rule(form: str, agent: str) -> None:
    network = topology("tree", fanouts=[4, 4, 2], capacities=[1, 4, 8])
    networks = {form: {"machines": {"uniform": [1, 8]}, "machine": {"slots": 1}, "bandwidth": [0.05, 0.2]}}
    tenants = {"networks": networks, "requests": 120, "lifetimes": {"exponential": {"mean": "20 s"}}}
    workload = Tenants.model_validate(tenants).draw(("slots",), 0)
    workload = replace(workload, roles=Roles(FOUR, np.arange(120) % 4))
    played(watched(network, network.servers, ("slots",), 4), workload, agent)
