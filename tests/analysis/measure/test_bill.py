"""What servers cost: by hand, and against a walk through every server's time."""

from dataclasses import asdict, replace
from math import inf, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from binwright.analysis.measure.costs.bill import Bill, Costs
from binwright.analysis.measure.costs.tariffs import Tariff
from binwright.analysis.measure.costs.time_series import TimeSeries
from binwright.analysis.measure.definition import measure
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import RunError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent, Placement, Request, View
from binwright.simcore.workload import Workload
from tests.reference import bill as reference
from tests.support.networks import ledger_of
from tests.support.runs import Case, Run, cases, run
from tests.support.tariffs import costs as costs_of
from tests.support.tariffs import tariff

HOUR = 3600.0
LINEAR = tariff((100.0, 300.0), 0.5)


def finished(ran: Run, costs: Costs, prices: dict[str, float] | None = None) -> FinishedRun:
    return FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices=prices or {}, costs=costs)


def costs(*tariffs: Tariff, kinds: tuple[int, ...] = (0,), **more: Any) -> Costs:
    return costs_of(*(tariffs or (LINEAR,)), kinds=kinds, **more)


def bill(case: Case, terms: Costs) -> Bill:
    return billed(finished(run(case), terms))


def billed(over: FinishedRun) -> Bill:
    assert over.bill is not None
    return over.bill


# -- by hand -----------------------------------------------------------------------------------------------------------

HALF = [(0.0, HOUR, (2, 0)), (2 * HOUR, 1.0, (1, 0))]
"""On 4 cpu: half of them for an hour, nothing for an hour, and a decision that ends the measured time."""


def test_carbon_that_ends_before_the_run_is_refused_or_repeated() -> None:
    case, each = Case([(4, 4)], HALF), np.array([100.0, 400.0, 700.0])
    with pytest.raises(RunError, match=r"ends after 1\.5 hours, and the run needs 2:"):
        bill(case, costs(carbon=TimeSeries(each, HOUR / 2, repeats=False, source="the file x.csv")))
    bill(case, costs(carbon=TimeSeries(each, HOUR * 2 / 3, repeats=False)))  # which ends as the run does
    ends = np.array([0.0, 2 * HOUR])
    assert TimeSeries(each, HOUR * 2 / 3, repeats=False).at(ends).tolist() == [100, 700]
    assert TimeSeries(each, HOUR * 2 / 3).at(ends).tolist() == [100, 100]
    twice = bill(case, costs(carbon=TimeSeries(each[:2], HOUR / 2)))
    assert twice.carbon == pytest.approx(0.2 * 0.25 + 0.1 * 0.25)


def test_net_per_month_is_income_less_cost() -> None:
    ran = run(Case([(4, 4)], HALF))
    over = finished(ran, costs(), {"cpu": 3.0})
    contention, months = measure(over), (over.finish - over.begin) / (30 * 24 * HOUR)
    assert (contention["income"], contention["cost"], contention["energy"]) == pytest.approx((6, 1, 0.3))
    money = [contention[f"{what}_month"] * months for what in ("income", "cost", "net")]
    assert money == pytest.approx([6, 1, 5])
    assert "net_month" not in measure(finished(ran, costs()))
    assert "net_month" not in measure(finished(ran, costs(tariff()), {"cpu": 3.0}))
    assert measure(finished(ran, costs(tariff())))["server_hours_on"] == pytest.approx(2)


class Across(Agent):
    """Places 6 cpu on servers 0 and 1 of a network, and 1 cpu on server 7."""

    def decide(self, view: View, request: Request) -> Placement:
        if request.demand[0] == QUANTUM:
            return request.on(7, 0)
        return Placement(((0, 0, (4 * QUANTUM, 0)), (1, 0, (2 * QUANTUM, 0))), (0, 1))


def test_a_request_may_lie_on_several_servers_of_a_network() -> None:
    """For an hour 300 W, 200 W, and six times 100 W; for another one eight times 100 W, or 0 where they are off."""
    ledger = ledger_of("fabric")
    demand = np.array([[6, 0], [1, 0]]) * QUANTUM
    bandwidth = np.full(2, QUANTUM // 2)
    arrival, length = np.array([0.0, 2 * HOUR]), np.array([HOUR, 1.0])
    simulation = Simulation(Workload(("cpu", "mem"), arrival, length, demand, np.arange(2), bandwidth), ledger)
    sampler = Sampler(simulation, ledger)
    play(simulation, Across(), sampler)
    for terms, energy, on in ((costs(), 1.1 + 0.8, 16), (costs(off_after=0.0, waking=7.0), 0.5 + 0.007, 2)):
        result = billed(FinishedRun(simulation, 0, sampler.columns(), 0, prices={}, costs=terms))
        assert (result.energy, result.on) == pytest.approx((energy, on))


# -- random runs -------------------------------------------------------------------------------------------------------

WATTS = st.sampled_from([0.0, 10.0, 70.0, 300.0])
TARIFFS = st.builds(
    tariff,
    st.lists(WATTS, min_size=2, max_size=4).map(tuple),
    st.sampled_from([0.0, 0.5, 2.0]),
)
COURSES = st.builds(
    TimeSeries,
    st.lists(st.sampled_from([0.0, 100.0, 400.0, -20.0]), min_size=1, max_size=4).map(np.array),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([0.0, 0.5, 2.0]),
)


@st.composite
def terms(draw: st.DrawFn) -> Costs:
    tariffs = tuple(draw(st.lists(TARIFFS, min_size=1, max_size=3)))
    kinds = draw(st.lists(st.integers(0, len(tariffs) - 1), min_size=3, max_size=3))
    return costs_of(
        *tariffs,
        kinds=kinds,
        added=kinds[0],
        resource=draw(st.integers(0, 1)),
        activity=draw(st.sampled_from([1.0, 0.5])),
        off_after=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, inf])),
        off_power=draw(st.sampled_from([0.0, 3.0])),
        waking=draw(st.sampled_from([0.0, 4.0])),
        pue=draw(st.sampled_from([1.0, 1.5])),
        electricity=draw(st.none() | COURSES),
        carbon=draw(st.none() | COURSES),
    )


def walked(over: FinishedRun, terms: Costs) -> dict[str, Any]:
    """Tell the reference what happened, from the record and the changes alone."""
    simulation, record = over.simulation, over.simulation.record
    capacity = simulation.view.capacity.sum(axis=1)[:, terms.resource].tolist()
    grown = [change for change in simulation.changes if change.what == "expansion"]
    first = len(capacity) - sum(change.subject for change in grown)
    added = [0.0] * first + [change.time for change in grown for _ in range(change.subject)]
    kinds = [*terms.kinds.tolist()[:first], *[terms.added] * (len(capacity) - min(first, len(terms.kinds)))]
    servers = [
        reference.Server(time, amount, terms.tariffs[kind])
        for time, amount, kind in zip(added, capacity, kinds, strict=True)
    ]
    for change in simulation.changes:
        if change.what == "failure":
            servers[change.subject].outages.append((change.time, inf))
        elif change.what == "repair":
            since, _ = servers[change.subject].outages.pop()
            servers[change.subject].outages.append((since, change.time))
    workload = simulation.as_workload()
    for row in np.flatnonzero(record.server[: record.rows] >= 0).tolist():
        start, cut = float(record.decided[row]), float(record.interruption[row])
        end = start + float(workload.duration[row]) if isnan(cut) else cut
        spell = (start, end, int(workload.demand[row, terms.resource]))
        if workload.demand[row].any():
            servers[record.server[row]].held.append(spell)
    return reference.bill(servers, terms, over.begin, over.finish)


SWITCHED = costs(off_after=0.5, off_power=3.0, waking=4.0, carbon=TimeSeries(np.array([1.0, 100.0]), 1.0))
TWICE = Case(
    [(4, 4), (2, 2)],
    [(0.0, 1.0, (2, 0)), (0.0, 0.0, (1, 1)), (2.0, 0.0, (1, 1)), (3.0, 2.0, (4, 4)), (9.0, 1.0, (1, 1))],
    failures=[(3.0, 0, 2.0), (5.0, 0, 1.0)],
    requeue=True,
    overflow=Overflow("wait"),
)


LOADED = Case([(4, 4)], HALF)
COURSE, PRICE = TimeSeries(np.array([100.0, 400.0])), TimeSeries(np.array([0.25]))
HAPPENINGS = (
    (TWICE, SWITCHED),
    (LOADED, costs(activity=0.5)),
    # It is switched off after a while and woken; it is empty for just so long, or for a second longer.
    *((LOADED, costs(off_after=after, off_power=8.0, waking=20.0)) for after in (HOUR / 4, HOUR, HOUR - 1)),
    # One of two is never used, and on at first.
    *((Case([(4, 4), (4, 4)], HALF), costs(off_after=after)) for after in (HOUR / 2, 0.0)),
    # Another one is added after an hour; one fails and is back; one fails for ever.
    (Case([(4, 4)], HALF, expansion=[(HOUR, 1)]), costs()),
    (Case([(4, 4)], HALF, failures=[(HOUR / 2, 0, HOUR / 2)]), costs()),
    (Case([(4, 4)], HALF, failures=[(HOUR / 2, 0, inf)]), costs(off_after=0.0)),
    # Carbon goes by the hour, from the beginning or from half an hour before.
    (LOADED, costs(carbon=COURSE, electricity=PRICE, pue=1.5)),
    (LOADED, costs(carbon=replace(COURSE, start=HOUR / 2))),
    # Added servers are like the second one.
    (Case([(4, 4), (4, 4)], HALF, expansion=[(HOUR, 2)]), costs(LINEAR, tariff((10.0, 20.0), 0.0), kinds=(0, 1))),
    (Case([(4, 4)] * 3, HALF), costs(tariff((3e8, 9e8)))),  # they draw a power station
    # A request for nothing of the resource uses its server.
    (Case([(4, 4)], [(0.0, HOUR, (0, 1)), (2 * HOUR, 1.0, (1, 0))]), costs(off_after=0.0)),
)


def happening(test: Any) -> Any:
    """Try these cases and terms, before those that are drawn: in each one thing happens that seldom does."""
    for case, terms in HAPPENINGS:
        test = example(case, terms)(test)
    return test


@given(cases(), terms())
@happening
def test_every_number_is_that_of_a_walk_through_time(case: Case, terms: Costs) -> None:
    ran = run(case)
    assume(ran.first < len(ran.simulation.workload))
    servers = len(case.servers)
    terms = replace(terms, kinds=np.resize(terms.kinds, servers), site=np.zeros(servers, np.int64))
    over = finished(ran, terms)
    actual, expected = asdict(billed(over)), walked(over, terms)
    [energy] = terms.energy
    for name, course in (("carbon", energy.carbon), ("electricity", energy.price)):
        assert (actual[name] is None) == (course is None)
    for name, value in actual.items():
        if value is not None:
            assert value == pytest.approx(float(expected[name]), rel=1e-9, abs=1e-12), name
            assert type(value) in (int, float)
