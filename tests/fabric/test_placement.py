"""Rules of placement against slow ones: what the view shows, what is refused and why, and what is counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.costs import BestFit, FirstFit
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.devices import on_devices
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.placement.rules import Apart, AtMost, Drain, Near, Rule, Spread, Together
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.errors import AgentError, InfeasiblePlacement, WorkloadError
from binwright.simcore.gangs import Gangs, PartRules
from binwright.simcore.record import PLACED
from binwright.simcore.roles import NO_ROLE, Role, Roles, where_of
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent, Request
from binwright.simcore.workload import Workload
from tests.reference.devices import Ask
from tests.reference.placement import Lies, refused_by
from tests.support.devices import ledger_of, request_of
from tests.support.placement import ROLES, labelled, rule_book, rules
from tests.support.properties import scaled
from tests.support.recount import recount

CORES = 3


def cluster_of(servers: int) -> Cluster:
    """So many servers of one node of 3 cores."""
    capacity = np.full((servers, 1, 1), CORES * QUANTUM)
    return Cluster(("cpu",), capacity, (NEVER,), capacity[0])


def asking(roles: tuple[Role, ...], of: list[int], lifetime: float = 1e9, cores: float = 1) -> Workload:
    """A request a second, with these roles."""
    workload = Workload.of_units(np.arange(float(len(of))), lifetime, {"cpu": np.full(len(of), float(cores))})
    return replace(workload, roles=Roles(roles, np.array(of, np.int64)))


def request(row: int, role: int, cores: int = 1) -> Request:
    """A request for some cores."""
    return Request(row, 0.0, 1.0, (cores * QUANTUM,), False, role=role)


step = st.tuples(
    st.sampled_from(["apply", "apply", "apply", "release", "fail", "grow", "drain"]),
    st.integers(0, 7),
    st.integers(0, len(ROLES) - 1),
    st.integers(1, 2),
)


@given(labelled(), st.data())
@scaled(3)
def test_a_ledger_keeps_the_slow_rules(labels: ServerLabels, data: st.DataObject) -> None:
    """After every event: what is shown, refused and counted; and of a refusal, which rule it names."""
    written = data.draw(rules(labels.servers))
    keep_the_slow_rules(labels, written, data)


def keep_the_slow_rules(labels: ServerLabels, written: list[Rule], data: st.DataObject) -> None:
    """Draw events, and hold the ledger to the slow rules after each."""
    ledger = Ledger(cluster_of(labels.servers), rules=rule_book(labels, written))
    ledger.roles_of(asking(ROLES, []))
    held: dict[int, Lies] = {}
    down: set[int] = set()
    now = 0.0
    for row, (what, server, role, cores) in enumerate(data.draw(st.lists(step, max_size=12))):
        if what == "release" and held:
            gone = sorted(held)[server % len(held)]
            ledger.release(gone)
            del held[gone]
        elif what == "fail" and server < labels.servers:
            assert ledger.fail(server) == sorted(each for each, lies in held.items() if server in lies.servers)
            held = {each: lies for each, lies in held.items() if server not in lies.servers}
            down.add(server)
        elif what == "grow" and labels.servers < 9:
            ledger.grow(1 + server % 2)
            labels = labels.grown(1 + server % 2)
        elif what == "drain":
            for since, call, number in ledger.rules.planned:
                if now < since <= now + 5.0:
                    call(number)
            now += 5.0
        requested = request(row, role, cores)
        reasons = [
            refused_by(labels, written, list(held.values()), ROLES[role], each, now) for each in range(labels.servers)
        ]
        ledger.rules.offer(requested)
        free = ledger.view.everything_free
        shown = np.where((np.array(reasons) < 0)[:, None, None], free, 0)
        assert ledger.view.free.tolist() == shown.tolist()
        room = [reasons[each] for each in range(labels.servers) if free[each, 0, 0] >= cores * QUANTUM]
        reason = ledger.reasons[ledger.why_not(requested)]
        if not room:
            assert reason in ("no server has enough cpu", "fits no single node")
        elif min(room) < 0:
            assert reason == "agent declined"
        else:
            names = ["the labels that it asks for", "a taint that it does not tolerate", *map(str, written)]
            assert reason == f"rule: {names[max(room)]}"
        if what == "apply" and server < labels.servers:
            before = ledger.view.everything_free.tolist()
            if reasons[server] < 0 and free[server, 0, 0] >= cores * QUANTUM:
                assert ledger.apply(requested, requested.on(server, 0)) == (server, 0)
                held[row] = Lies((server,), ROLES[role])
            else:
                with pytest.raises(InfeasiblePlacement):
                    ledger.apply(requested, requested.on(server, 0))
                assert ledger.view.everything_free.tolist() == before
        recount(ledger)


def played(written: list[Rule], roles: tuple[Role, ...], of: list[int], agent: Agent, **more: Any) -> Simulation:
    """Play requests of a core each on six servers in three zones of two."""
    labels = ServerLabels(6, {"zone": np.array(list("aabbcc"))}, {"spot": np.arange(6) == 0})
    ledger = Ledger(cluster_of(6), rules=rule_book(labels, written))
    simulation = Simulation(asking(roles, of, more.pop("lifetime", 1e9)), ledger, **more)
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    recount(ledger)
    return simulation


WEB, DB = Role("web"), Role("db")
IN_B = where_of({"zone": ["b"]})


@pytest.mark.parametrize(
    ("written", "roles", "of", "where"),
    [
        ([], (NO_ROLE, Role("", (), ("spot",))), [0, 1, 0], [1, 0, 1]),
        ([], (Role("", where_of({"zone": ["b", "c"]})),), [0] * 4, [2, 2, 2, 3]),
        ([AtMost(at_most=1, of="web", per="zone")], (WEB,), [0] * 4, [1, 2, 4, -1]),
        ([AtMost(at_most=1, of="web", per="server")], (WEB, DB), [0, 0, 1, 1], [1, 2, 1, 1]),
        ([Spread(spread="web", over="zone")], (WEB,), [0] * 6, [1, 2, 4, 1, 2, 4]),
        ([Spread(spread="web", over="zone", skew=2)], (WEB,), [0] * 6, [1, 1, 2, 2, 4, 1]),
        ([Apart(apart=("web", "db"), per="zone")], (WEB, DB), [0, 1, 1, 0], [1, 2, 2, 1]),
        ([Together(together=("web",), per="zone")], (WEB,), [0] * 4, [1, 1, 1, -1]),
        ([Near(of="web", near=("db",), per="zone")], (WEB, DB), [0, 1, 0], [-1, 1, 1]),
        ([Drain(drain=(1, 2))], (WEB,), [0] * 2, [3, 3]),
        ([Drain(drain={"zone": ["b"]}, at=2.0)], (Role("", IN_B),), [0] * 4, [2, 2, -1, -1]),
        ([Drain(drain={"zone": ["b"]}, at=1.0, until=3.0)], (Role("", IN_B),), [0] * 4, [2, -1, -1, 2]),
        ([Drain(drain=(2, 3), until=1.0), Drain(drain=(2, 3), at=2.0)], (Role("", IN_B),), [0] * 3, [-1, 2, -1]),
    ],
)
def test_each_rule_on_a_few_servers(
    written: list[Rule], roles: tuple[Role, ...], of: list[int], where: list[int]
) -> None:
    assert played(written, roles, of, FirstFit()).record.server.tolist() == where


def test_on_many_servers_agents_see_what_rules_forbid() -> None:
    """What is shown differs from request to request, so that looking at what changed would not do."""
    many, workload = 300, asking((WEB, DB), [0, 0, 1, 1, 0])
    ledger = Ledger(cluster_of(many), rules=rule_book(ServerLabels(many), [AtMost(at_most=1, of="web", per="server")]))
    simulation, agent = Simulation(workload, ledger, expansion=[(2.5, 900)]), BestFit()
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    assert simulation.record.server.tolist() == [0, 1, 0, 0, 2]


def test_waiting_requests_are_offered_again_when_a_rule_allows_it() -> None:
    for overflow in (Overflow("wait"), Overflow("wait", together=3)):
        done = played(
            [AtMost(at_most=1, of="web", per="zone")],
            (WEB, DB),
            [0, 0, 0, 0, 1],
            BestFit(),
            overflow=overflow,
            lifetime=9,
        )
        waited = [0.0, 1.0, 2.0, 9.0, 4.0 if overflow.together else 9.0]
        assert done.record.decided.tolist() == waited


def test_requeued_requests_keep_their_role() -> None:
    labels = ServerLabels(3, {"zone": np.array(list("aab"))})
    ledger = Ledger(cluster_of(3), rules=rule_book(labels, [AtMost(at_most=1, of="web", per="zone")]))
    simulation = Simulation(asking((NO_ROLE, WEB), [1, 0, 1]), ledger, Overflow("wait"))
    agent = FirstFit()
    agent.start(simulation.view, np.random.default_rng(0))
    simulation.clock.at(1.5, lambda _: simulation.fail(0, requeue=True), 0)
    play(simulation, agent)
    workload = simulation.as_workload()
    assert workload.roles is not None
    assert workload.roles.of.tolist() == [1, 0, 1, 1, 0]
    assert simulation.record.server[:5].tolist() == [0, 0, 2, 1, 1]
    assert (simulation.record.outcome[2:5] == PLACED).all()
    recount(ledger)


def test_devices_and_rules_hold_together() -> None:
    plain = ledger_of([2, 2, 1], [0, 1, 0])
    labels = ServerLabels(3, {"zone": np.array(list("aab"))})
    ledger = Ledger(plain.cluster, rules=rule_book(labels, [AtMost(at_most=1, of="web", per="zone")]))
    ledger.roles_of(asking((WEB,), []))
    ask = Ask(QUANTUM, QUANTUM, 500_000)
    first, second = request_of(ask, 1), request_of(ask, 2)
    ledger.apply(first, on_devices(first, 0, 1))
    before = ledger.view.devices.free.tolist()
    with pytest.raises(InfeasiblePlacement, match="not on server 1: rule: at most 1 of web per zone"):
        ledger.apply(second, on_devices(second, 1, 1))
    assert ledger.view.devices.free.tolist() == before
    recount(ledger)
    ledger.apply(second, on_devices(second, 2, 1))
    assert ledger.reasons[ledger.why_not(request_of(ask, 3))] == "rule: at most 1 of web per zone"
    ledger.grow(1)  # one more in zone b, as the last one
    assert ledger.reasons[ledger.why_not(request_of(ask, 3))] == "rule: at most 1 of web per zone"
    ledger.release(1)
    assert ledger.why_not(request_of(ask, 3)) == 0
    recount(ledger)


def test_miscounting_is_found_and_so_is_who_writes() -> None:
    ledger = Ledger(cluster_of(2), rules=rule_book(ServerLabels(2), [AtMost(at_most=1, of="web", per="server")]))
    ledger.roles_of(asking((WEB,), []))
    ledger.apply(request(0, 0), request(0, 0).on(0, 0))
    recount(ledger)
    ledger.rules.mask.counts[0] += 1
    with pytest.raises(AssertionError, match="count"):
        recount(ledger)
    ledger.rules.mask.counts[0] -= 1
    recount(ledger)
    ledger._free[1] = 0
    with pytest.raises(AgentError):
        ledger.confirm()


def test_without_labels_nobody_may_ask_for_them() -> None:
    ledger = Ledger(cluster_of(2))
    assert ledger.roles_of(asking((WEB,), [0])) is None
    with pytest.raises(WorkloadError, match=r"requests say .* the servers have no labels"):
        Simulation(asking((Role("", where_of({"zone": ["a"]})),), [0]), ledger)
    gangs = Gangs.of_parts([2], PartRules(together="zone"))
    with pytest.raises(WorkloadError, match=r"gangs say .* the servers have no labels"):
        Simulation(replace(asking((WEB,), [0]), gangs=gangs), ledger)
