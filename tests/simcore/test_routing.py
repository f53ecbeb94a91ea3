"""Requests are sent to sites: as the reference sends them, and never elsewhere."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.agents.heuristics.servers.costs import FirstFit
from binwright.analysis.measure.costs.bill import SiteEnergy
from binwright.analysis.measure.costs.time_series import TimeSeries
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.scenarios.features.sites.run import ROUTERS, SiteRouting, Sites
from binwright.simcore.errors import InfeasiblePlacement, RunError
from binwright.simcore.rules import Overflow
from binwright.simcore.workload import Workload
from tests.reference import sites as reference
from tests.support.placement import rule_book

COURSES = [([5.0, 1.0, 3.0], 2.0, 0.0), ([3.0, 4.0], 1.0, 0.5), ([2.0], 1.0, 0.0)]
PUE = np.array([1.0, 1.25, 2.0])
LATENCY = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]])


def simulated(case: dict[str, Any], *routers: str) -> Simulation:
    """Play a case."""
    simulation = built(case, *routers)
    agent = InLine() if simulation.overflow.together else FirstFit()
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    simulation.ledger.confirm()
    return simulation


def built(case: dict[str, Any], *routers: str) -> Simulation:
    count, n, of = max(case["site"]) + 1, len(case["arrival"]), np.array(case["site"])
    capacity = np.array(case["capacity"], np.int64)[:, None, :]
    labels = ServerLabels(len(of), {"site": of.astype(np.str_)}, {}, {}, 0)
    ledger = Ledger(Cluster(("cpu", "mem"), capacity, (10**18,) * 2, capacity[0]), rules=rule_book(labels, []))
    times = np.array(case["arrival"]), np.array(case["duration"])
    workload = Workload(("cpu", "mem"), *times, np.array(case["demand"], np.int64).reshape(n, 2), np.arange(n))
    overflow = Overflow("wait", together=case["together"]) if case["wait"] else Overflow("drop")
    simulation = Simulation(workload, ledger, overflow)
    series = tuple(TimeSeries(np.array(values), every, start) for values, every, start in COURSES[:count])
    home = np.array(case["home"])
    sites = Sites(
        energy=tuple(map(SiteEnergy, "abc", PUE, series, series[::-1])),
        of=of,
        routers=tuple((name, ROUTERS.load(name)) for name in routers),
        home=np.where(home < count, home, -1),
        latency=LATENCY[np.arange(n) % 2, :count],
    )
    SiteRouting(simulation, sites, np.random.default_rng(0))
    return simulation


def score(simulation: Simulation, name: str) -> Callable[[int, float, list[Fraction]], list[Any]]:
    """Score the sites as a router does, in plain numbers."""
    routing: Any = simulation.routing
    count = routing.count

    def now(series: list[Any], time: float) -> list[Any]:
        return [
            Fraction(float(PUE[each])) * Fraction(values[int((start + time) // every) % len(values)])
            for each, (values, every, start) in enumerate(series)
        ]

    scores: dict[str, Callable[[int, float, list[Fraction]], list[Any]]] = {
        "load": lambda row, time, loads: loads,
        "price": lambda row, time, loads: now(COURSES[:count], time),
        "carbon": lambda row, time, loads: now(COURSES[:count][::-1], time),
        "latency": lambda row, time, loads: LATENCY[row % 2, :count].tolist(),
        "home": lambda row, time, loads: [each != routing.sites.home[row] for each in range(count)],
        "random": lambda row, time, loads: routing.chances[row].tolist(),
        "round-robin": lambda row, time, loads: [(each - row) % count for each in range(count)],
    }
    return scores[name]


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    n = draw(st.integers(1, 14))
    small = st.lists(st.integers(0, 4), min_size=2, max_size=2)
    site = [*range(count), *draw(st.lists(st.integers(0, count - 1), max_size=3))]
    return {
        "site": site,
        "capacity": [[4, 4]] + [draw(small) for _ in site[1:]],
        "arrival": sorted(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5, 4.0]), min_size=n, max_size=n))),
        "duration": draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, np.inf]), min_size=n, max_size=n)),
        "demand": draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=n, max_size=n)),
        "home": draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)),
        "wait": draw(st.booleans()),
        "together": draw(st.sampled_from([0, 1, 20])),
    }


@given(cases(), st.lists(st.sampled_from(sorted(ROUTERS)), min_size=1, max_size=2, unique=True))
def test_requests_go_where_the_reference_sends_them(case: dict[str, Any], routers: list[str]) -> None:
    # Who waits is offered again when others arrive, if they are offered together: by then prices may have changed.
    assume(not (case["wait"] and case["together"] and {"price", "carbon"} & {*routers}))
    simulation = simulated(case, *routers)
    scores = [score(simulation, name) for name in routers]

    def order(row: int, time: float, loads: list[Fraction]) -> list[int]:
        costs = [item(row, time, loads) for item in scores]
        return sorted(range(len(loads)), key=lambda site: [*(cost[site] for cost in costs), site])

    times, present = (case["arrival"], case["duration"]), (case["capacity"], case["site"])
    server, since, spilled = reference.play(*times, case["demand"], *present, order, case["wait"])
    record, routing = simulation.record, simulation.routing
    assert isinstance(routing, SiteRouting)
    assert record.server[: record.rows].tolist() == server
    placed = [row for row in range(len(server)) if server[row] >= 0]
    assert record.decided[placed].tolist() == [since[row] for row in placed]
    assert sorted(routing.spilled) == [row for row in placed if spilled[row]]


FULL: dict[str, Any] = {
    "site": [0, 1], "capacity": [[2, 2], [4, 4]], "arrival": [0.0] * 4, "duration": [9.0] * 4, "demand": [[2, 1]] * 4,
    "home": [0, 0, 1, 1], "wait": False, "together": 0,
}  # fmt: skip


def test_requests_without_room_at_their_site_spill() -> None:
    record = simulated(FULL, "home").record
    assert record.server[:4].tolist() == [0, 1, 1, -1]
    assert record.reasons[record.reason[3]] != "only other sites have room"


def test_no_agent_places_at_another_site() -> None:
    simulation = built(FULL, "home")
    request: Any = simulation.advance()
    with pytest.raises(InfeasiblePlacement, match="not at the site"):
        simulation.answer(request.on(1, 0))


def test_a_request_that_a_router_keeps_from_all_sites_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROUTERS, "load", lambda name: lambda routing, request: np.full(2, np.inf))
    record = simulated(FULL, "mine").record
    assert (record.server[:4] == -1).all()
    assert {record.reasons[reason] for reason in record.reason[:4].tolist()} == {"only other sites have room"}


@pytest.mark.parametrize("returned", [None, [1.0], [1.0, np.nan]])
def test_a_router_returns_a_number_per_site(returned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROUTERS, "load", lambda name: lambda routing, request: returned)
    with pytest.raises(RunError, match="which is not a number per site"):
        simulated(FULL, "mine")


def test_servers_that_failed_are_named_before_rules_and_rules_before_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROUTERS, "load", lambda name: lambda routing, request: [0.0, np.inf])
    simulation = built(FULL, "mine")
    ledger, request = simulation.ledger, simulation.request(0)
    ledger.fail(1)
    assert ledger.excluded(request) == {1: "has failed"}
    ledger.drain([0])
    assert ledger.reasons[ledger.why_not(request)] == "rule: the server is drained"
    ledger.repair(1)
    assert ledger.excluded(request) == {0: "rule: the server is drained", 1: "is at another site"}
    assert ledger.reasons[ledger.why_not(request)] == "only other sites have room"
