"""Every metric of a run against its definition, by replaying the run as plain lists of intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from analysis.measure import ASKED, BUILT_IN, METRICS
from analysis.measure.definition import Asked
from analysis.measure.finished_run import FinishedRun
from analysis.measure.measuring import measure
from analysis.measure.samples import KEPT
from fabric.cluster import NEVER
from simcore.engine import Change
from simcore.errors import RunError
from simcore.rules import Overflow
from simcore.types import QUANTUM
from tests.support.runs import PRICES, RESOURCES, Case, Demand, Run, cases, run

WORDS = ("pending", "placed", "rejected", "impossible", "interrupted")


@dataclass
class Held:
    """A row of the record that got a place."""

    row: int
    start: Fraction
    end: Fraction | float
    demand: Demand


# -- the definitions, one by one -----------------------------------------------------------------------------------


def exact(number: float) -> Fraction | float:
    return Fraction(number) if number < inf else inf


def overlap(a: Any, b: Any, begin: Any, finish: Any) -> Fraction:
    """Seconds that [a, b] and [begin, finish] have in common."""
    return max(Fraction(0), Fraction(min(b, finish)) - Fraction(max(a, begin)))


def by_definition(ran: Run) -> dict[str, Any]:
    """What `measure` promises, from the record's rows and the decisions as they were seen."""
    simulation, first = ran.simulation, ran.first
    record, workload = simulation.record, simulation.workload
    n = len(workload)
    outcome = [WORDS[code] for code in record.outcome[: record.rows].tolist()]
    decided = record.decided[: record.rows].tolist()
    interruption = record.interruption[: record.rows].tolist()
    origin = record.origin[: record.rows].tolist()
    arrival = workload.arrival.tolist()
    duration = workload.duration.tolist()
    demand = [tuple(amounts) for amounts in workload.demand.tolist()]
    root = list(range(n))
    for row in range(n, record.rows):  # what is sent back asks for what was left
        before = origin[row]
        arrival.append(interruption[before])
        duration.append(duration[before] - (interruption[before] - decided[before]))
        demand.append(demand[before])
        root.append(root[before])

    begin = Fraction(float(arrival[first]))
    ours = [d for d in ran.decisions if d.row >= first and d.time >= begin]
    finish: Fraction = max([begin, *(Fraction(d.time) for d in ours)])
    offered = range(first, simulation.offered)
    got = [row for row in offered if outcome[row] in ("placed", "interrupted")]
    held = []
    for row in range(record.rows):
        if outcome[row] in ("placed", "interrupted"):
            end = decided[row] + duration[row] if isnan(interruption[row]) else interruption[row]
            held.append(Held(row, Fraction(decided[row]), exact(end), demand[row]))

    # A holding period that was cut short is lost unless a row that continues it got a place.
    cut = [row for row in range(record.rows) if interruption[row] >= begin]
    continued = {origin[row] for row in range(n, record.rows) if outcome[row] in ("placed", "interrupted")}
    lost = [row for row in cut if row not in continued]
    waits = sorted(Fraction(decided[row]) - Fraction(arrival[row]) for row in got)
    found: dict[str, Any] = {
        "offered": len(offered),
        "scheduled": len(got),
        "acceptance": Fraction(len(got), len(offered) + len(lost)) if offered else 0,
        "rejected": sum(outcome[row] == "rejected" for row in offered),
        "running": 0,
        "running_lost": 0,
        "impossible": sum(outcome[row] == "impossible" for row in offered),
        "interrupted": len(cut),
        "lost": len(lost),
        "hours": (finish - begin) / 3600,
        "wait_total": sum(waits),
        "wait_mean": sum(waits) / len(waits) if waits else 0,
        "wait_max": waits[-1] if waits else 0,
        # The least wait that 95 % of the placed requests did not exceed.
        "wait_p95": waits[ceil(Fraction(95, 100) * len(waits)) - 1] if waits else 0,
        "stopped": int(
            simulation.overflow.mode in ("stop", "expand")
            and (simulation.overflow.mode == "stop" or simulation.overflow.then == "stop")
            and any(outcome[d.row] == "rejected" for d in ran.decisions[ran.warm :])
        ),
        "servers": len(simulation.view.capacity),
        "servers_used": Fraction(sum(ran.samples["in_use"].tolist()), len(ran.samples["in_use"])),
    }
    last = max([begin, *(h.end for h in held)])
    if last < inf:
        found["makespan"] = last - begin
    income = booked = income_held = Fraction(0)
    sold = [h for h in held if root[h.row] >= first]
    for r, name in enumerate(RESOURCES):
        there = installed(ran, r, begin, finish)
        if last < inf:
            until_last = installed(ran, r, begin, last)
            used = sum(overlap(h.start, h.end, begin, last) * h.demand[r] for h in held)
            found[f"utilisation_{name}"] = used / until_last if until_last else 0
        seconds = {h.row: overlap(h.start, h.end, begin, finish) for h in held}
        quanta = sum(seconds[h.row] * h.demand[r] for h in held)
        found[f"allocation_{name}"] = quanta / there if there else 0
        # What would be held if every request that fits somewhere were placed when it arrives; skipped by the warm
        # start, it does not count.
        wanted = sum(
            overlap(arrival[row], arrival[row] + duration[row], begin, finish) * demand[row][r]
            for row in range(simulation.offered)
            if (outcome[row] != "impossible" if row >= first else outcome[row] in ("placed", "interrupted"))
        )
        found[f"load_{name}"] = wanted / there if there else 0
        shares = [Fraction(d.used[r], d.installed[r]) for d in ours]
        found[f"allocation_{name}_decisions"] = sum(shares, Fraction(0)) / len(shares)
        found[f"allocation_{name}_end"] = shares[-1]
        lost, free = ran.samples["stranded"][:, r].tolist(), ran.samples["free"][:, r].tolist()
        found[f"fragmentation_{name}"] = sum(
            Fraction(a, b) if b else Fraction(0) for a, b in zip(lost, free, strict=True)
        ) / len(free)
        # The warm start earns nothing, neither before nor after a failure sent it back.
        earned = sum((seconds[h.row] * h.demand[r] for h in held if root[h.row] >= first), Fraction(0))
        income += Fraction(PRICES[name]) * earned / QUANTUM / 3600
        income_held += Fraction(PRICES[name]) * quanta / QUANTUM / 3600
        wholes = [
            (overlap(h.start, h.end, h.start, h.end) if h.end < inf else seconds[h.row]) * h.demand[r] for h in sold
        ]
        booked += Fraction(PRICES[name]) * sum(wholes, Fraction(0)) / QUANTUM / 3600
    found |= {"income": income, "income_booked": booked}
    if first:
        found["income_held"] = income_held
    return found


def asked_by_definition(ran: Run, since: int) -> dict[str, Any]:
    """What the metrics are that only some scenarios ask for; row `since` is the first after the warm start."""
    simulation, found = ran.simulation, dict[str, Any]()
    got = [WORDS[code] in ("placed", "interrupted") for code in simulation.record.outcome.tolist()]
    so_far = {row: Fraction(sum(got[since : row + 1]), row + 1 - since) for row in range(since, simulation.offered)}
    mine = [so_far[row] for row in range(ran.first, simulation.offered)]
    found["acceptance_cumulative"] = sum(mine) / len(mine)
    return found


def installed(ran: Run, r: int, begin: Fraction, finish: Any) -> Fraction:
    """Quanta installed x seconds."""
    there: Fraction = installed_at_begin(ran, r) * (finish - begin)
    for change in ran.simulation.changes:
        if change.what == "expansion" and begin < change.time:
            per_server = int(ran.simulation.view.capacity[-1, :, r].sum())
            there += change.subject * per_server * overlap(change.time, inf, begin, finish)
    return there


def installed_at_begin(ran: Run, r: int) -> int:
    """Quanta installed when the measured time begins."""
    simulation = ran.simulation
    begin = simulation.workload.arrival[ran.first]
    later = sum(c.subject for c in simulation.changes if c.what == "expansion" and c.time > begin)
    return int(simulation.view.capacity[: len(simulation.view.capacity) - later, :, r].sum())


def agree(ran: Run) -> None:
    expected = by_definition(ran)
    found = ran.metrics()
    assert found.pop("decision_us") == 0
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(float(value), rel=1e-9, abs=1e-12), name
        assert type(found[name]) in (int, float), name  # the journal is JSON


# -- random runs -------------------------------------------------------------------------------------------------------

TIES = [(0.0, inf, (4, 4)), (0.0, inf, (4, 4)), (0.0, inf, (2, 2)), (3.0, inf, (4, 4))]
BACK = [(0.0, 9.0, (4, 4)), (0.0, 9.0, (2, 2)), (1.0, 3.0, (2, 2)), (2.0, 6.0, (4, 4)), (3.0, 1.0, (1, 1))]
WARM = Case(  # what the failure sends back is rejected by the last decision of the warm start
    [(1, 2), (1, 1)],
    [(0.0, 2.0, (0, 2)), *3 * [(0.0, 0.5, (0, 1))], (0.0, 0.5, (0, 3)), (1.0, 0.5, (0, 1))],
    overflow=Overflow("stop"),
    failures=[(1.0, 0, 1.0)],
    requeue=True,
    warm=5,
)


@given(cases())
@example(Case([(4, 4)], TIES, overflow=Overflow("expand", 1, 3, "drop")))
@example(Case([(4, 4), (2, 2), (2, 2)], BACK, failures=[(1.0, 1, 9.0), (2.0, 0, 3.0)], requeue=True))
@example(Case([(4, 4), (4, 4)], BACK, failures=[(2.0, 1, 9.0), (4.0, 0, 3.0)], requeue=True, overflow=Overflow("wait")))
@example(WARM)
def test_every_metric_is_what_it_says(case: Case) -> None:
    ran = run(case)
    assume(any(d.row >= ran.first for d in ran.decisions))
    assume(ran.first < len(ran.simulation.workload))
    assume(any(d.row >= ran.first and d.time >= case.requests[ran.first][0] for d in ran.decisions))
    agree(ran)


@given(cases(), st.integers(1, 100))
@example(Case([(4, 4)], TIES, overflow=Overflow("expand", 1, 3, "drop")), 50)
@example(Case([(4, 4), (2, 2), (2, 2)], BACK, failures=[(1.0, 1, 9.0), (2.0, 0, 3.0)], requeue=True), 60)
@example(WARM, 100)
def test_metrics_of_the_last_part_are_those_of_a_run_that_begins_there(case: Case, percent: int) -> None:
    ran = run(case)
    assume(ran.first < ran.simulation.offered)
    last = max(1, (ran.simulation.offered - ran.first) * percent // 100)
    part = replace(ran, first=ran.simulation.offered - last)
    begin = part.simulation.workload.arrival[part.first]
    part.samples = {name: column[ran.samples["time"] >= begin] for name, column in ran.samples.items()}
    assume(len(part.samples["time"]))  # as it ended is looked at in whole runs only
    assume(any(d.row >= part.first and d.time >= begin for d in ran.decisions))
    expected = by_definition(part) | asked_by_definition(part, ran.first)
    whole = FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices=PRICES)
    names = [name for name in (*BUILT_IN, *ASKED) if METRICS.load(name).in_parts]
    found = measure(whole, [Asked(name, percent / 100) for name in names])
    compared = 0
    for name, value in expected.items():
        if (column := f"{name}_last_{percent}") in found:
            assert found[column] == pytest.approx(float(value), rel=1e-9, abs=1e-12), name
            compared += 1
    assert compared == sum("_last_" in column for column in found)


@given(cases())
def test_shares_are_shares_and_counts_add_up(case: Case) -> None:
    ran = run(case)
    try:
        found = ran.metrics()
    except RunError:
        return
    for name, value in found.items():
        assert value >= 0, name
        if name.startswith(("allocation", "fragmentation")) or name == "acceptance":
            assert value <= 1 + 1e-12, name
    assert found["lost"] <= found["interrupted"]
    assert found["scheduled"] + found["rejected"] + found["impossible"] <= found["offered"]
    assert found["wait_mean"] <= found["wait_max"] <= found["wait_total"] + 1e-12
    assert found["wait_p95"] <= found["wait_max"]
    assert found["servers_used"] <= found["servers"]


# -- one definition at a time, by numbers that a reader can check ------------------------------------------------------


def test_a_run_by_hand() -> None:
    """One server of 4 cpu: 3 of them held from 10 to 14 s, then 2 from 14 s on; what comes at 12 s does not fit."""
    ran = run(Case([(4, 4)], [(10, 4, (3, 1)), (12, 9, (2, 1)), (14, 9, (2, 2)), (20, 9, (9, 9))]))
    found = ran.metrics({"cpu": 900.0}, thought=6_000_000)
    assert (found["offered"], found["scheduled"], found["rejected"], found["impossible"]) == (4, 2, 1, 1)
    assert found["acceptance"] == 0.5
    assert found["hours"] == pytest.approx(4 / 3600)  # to the last decision: nobody was asked about the last request
    assert found["allocation_cpu"] == pytest.approx(0.75)
    assert found["allocation_cpu_decisions"] == pytest.approx((0.75 + 0.75 + 0.5) / 3)
    assert found["allocation_cpu_end"] == 0.5
    assert found["allocation_mem"] == pytest.approx(0.25)
    assert found["income"] == pytest.approx(900 * 3 * 4 / 3600)
    assert found["decision_us"] == 2000


def test_without_prices_there_is_no_income() -> None:
    assert not {"income", "income_held", "income_booked"} & set(run(Case([(4, 4)], [(0, 1, (1, 1))])).metrics({}))


def test_what_a_burst_at_the_end_brings_is_booked_but_not_earned() -> None:
    """Two agents, of which one places three requests of the last instant and the other one: both have earned the same.

    What is held beyond the last decision is in `income` up to then, and in `income_booked` to its end.
    """
    burst: list[tuple[float, float, Demand]] = [(0, 8, (1, 1)), *3 * [(4.0, 10.0, (1, 1))]]
    two, four = (run(Case([server], burst)).metrics({"cpu": 3600.0}) for server in ((2, 2), (4, 4)))
    assert (two["scheduled"], four["scheduled"]) == (2, 4)
    assert two["income"] == four["income"] == pytest.approx(4)
    assert (two["income_booked"], four["income_booked"]) == pytest.approx((18, 38))


def test_what_never_ends_is_booked_to_the_end_of_the_run() -> None:
    case = Case([(4, 4)], [(0, inf, (1, 1)), (4, 1, (1, 1)), (6, 3, (1, 1))], warm=1)
    found = run(case).metrics({"cpu": 3600.0})
    assert found["income"] == pytest.approx(1)
    assert found["income_held"] == pytest.approx(2 + 1)  # the first one earns from 4 to 6 s, too
    assert found["income_booked"] == pytest.approx(1 + 3)
    case.warm = 0
    found = run(case).metrics({"cpu": 3600.0})
    assert found["income"] == pytest.approx(6 + 1)
    assert found["income_booked"] == pytest.approx(6 + 1 + 3)
    assert "income_held" not in found


def test_a_scheduled_expansion_counts_from_its_time() -> None:
    """4 of 4 in use for 5 s, then 4 of 8 for 5 s."""
    ran = run(Case([(4, 4)], [(0, inf, (4, 4)), (10, 1, (4, 4))], expansion=[(5, 1), (11, 7)]))
    found = ran.metrics()
    assert found["allocation_cpu"] == pytest.approx(40 / 60)
    assert (found["allocation_cpu_decisions"], found["allocation_cpu_end"]) == (1.0, 1.0)
    assert found["servers"] == 2


def test_servers_added_by_a_decision_are_not_installed_before_it() -> None:
    """Two requests of one instant: the first fills the only server, the second makes the cluster grow."""
    overflow = Overflow("expand", by=3, limit=4)
    found = run(Case([(4, 4)], [(0, inf, (4, 4)), (0, inf, (4, 4))], overflow=overflow)).metrics()
    assert found["allocation_cpu_decisions"] == pytest.approx((4 / 4 + 8 / 16) / 2)
    assert found["allocation_cpu_end"] == 0.5


def test_the_request_that_stops_the_run_is_offered_but_not_scheduled() -> None:
    requests = [(0.0, inf, (1, 1)), (1.0, inf, (1, 1)), (2.0, inf, (4, 4)), (3.0, inf, (1, 1))]
    found = run(Case([(4, 4)], requests, overflow=Overflow("stop"))).metrics()
    assert (found["scheduled"], found["offered"], found["rejected"]) == (2, 3, 1)


def test_waits_are_of_the_placed_only() -> None:
    """Nineteen that need not wait and one that waits 8 s; the last one waits in vain."""
    requests = [(0.0, 0.25, (1, 1))] * 18 + [(1.0, 9.0, (4, 4)), (2.0, inf, (4, 4)), (20.0, 1.0, (1, 1))]
    found = run(Case([(18, 18), (4, 4)], requests[:-1], overflow=Overflow("wait"))).metrics()
    assert found["scheduled"] == 20
    found = run(Case([(18, 18)], [*requests[:18], *[(1.0, 9.0, (18, 18)), (2.0, inf, (18, 18))], requests[-1]],
                     overflow=Overflow("wait"))).metrics()  # fmt: skip
    assert (found["scheduled"], found["rejected"], found["offered"]) == (20, 1, 21)
    assert (found["wait_total"], found["wait_max"], found["wait_mean"]) == (8.0, 8.0, 0.4)


@pytest.mark.parametrize("waiting", [1, 2, 5])
def test_no_more_than_a_twentieth_waits_longer_than_p95(waiting: int) -> None:
    """Of `20 - waiting` and `waiting` requests, the latter wait until the first batch is gone."""
    requests = [(0.0, 10.0, (1, 1))] * (20 - waiting) + [(1.0, 10.0, (1, 1))] * waiting
    ran = run(Case([(20 - waiting, 20)], requests, overflow=Overflow("wait")))
    waits = [0.0] * (20 - waiting) + [9.0] * waiting
    found = ran.metrics()
    assert found["wait_total"] == sum(waits)
    assert sum(wait <= found["wait_p95"] for wait in waits) >= 19
    assert found["wait_p95"] == (0.0 if waiting == 1 else 9.0)


def test_what_a_failure_cuts_short_stops_counting() -> None:
    """Held from 0 to 4 s of 10 s; lost, as nothing is offered again."""
    ran = run(Case([(4, 4)], [(0, 8, (4, 4)), (10, 1, (1, 1))], failures=[(4, 0, 1.0)]))
    found = ran.metrics({"cpu": 3600.0})
    assert (found["interrupted"], found["lost"], found["scheduled"]) == (1, 1, 2)
    assert found["allocation_cpu"] == pytest.approx(0.4)
    assert found["income"] == pytest.approx(16)
    assert found["income_booked"] == pytest.approx(16 + 1)


def test_what_goes_on_elsewhere_is_interrupted_but_not_lost() -> None:
    ran = run(Case([(4, 4), (4, 4)], [(0, 8, (4, 4)), (10, 1, (1, 1))], failures=[(4, 0, 1.0)], requeue=True))
    found = ran.metrics({"cpu": 3600.0})
    assert (found["interrupted"], found["lost"], found["scheduled"], found["offered"]) == (1, 0, 2, 2)
    assert found["allocation_cpu"] == pytest.approx(0.4)  # 8 of 10 s on one of two servers
    assert found["income"] == pytest.approx(32)
    assert found["wait_total"] == 0


def test_interrupted_twice_and_then_lost() -> None:
    requests = [(0.0, 20.0, (4, 4)), (10.0, 1.0, (1, 1))]
    ran = run(Case([(4, 4), (4, 4)], requests, failures=[(2, 0, inf), (3, 1, 1.0)], requeue=True))
    found = ran.metrics()
    assert (found["interrupted"], found["lost"]) == (2, 1)


def test_the_warm_start_counts_as_load_but_neither_as_scheduled_nor_as_income() -> None:
    case = Case([(4, 4)], [(0, 8, (2, 2)), (4, 8, (1, 1)), (12, 1, (1, 1))], warm=1)
    ran = run(case)
    assert ran.first == 1
    found = ran.metrics({"cpu": 3600.0})
    assert (found["offered"], found["scheduled"]) == (2, 2)
    assert found["hours"] == pytest.approx(8 / 3600)
    assert found["allocation_cpu"] == pytest.approx((4 * 2 + 8 * 1) / 32)
    assert found["income"] == pytest.approx(8)


def test_a_warm_request_that_a_failure_sends_back_still_earns_nothing() -> None:
    case = Case([(4, 4), (4, 4)], [(0, inf, (2, 2)), (4, 1, (4, 4)), (12, 1, (1, 1))], warm=1, requeue=True)
    without = run(case).metrics({"cpu": 3600.0})["income"]
    case.failures = [(6, 0, 1.0)]
    with_failure = run(case).metrics({"cpu": 3600.0})
    assert with_failure["interrupted"] == 1
    assert with_failure["lost"] == 0
    assert with_failure["income"] == without == pytest.approx(4)


def test_lost_is_never_negative() -> None:
    """Two warm requests are sent back before the run, the second finds a place in it: nothing was cut short in it."""
    requests = [(0.0, 3.0, (4, 4)), (0.0, 3.0, (4, 4)), (0.0, 12.0, (4, 4)), (10.0, 1.0, (1, 1)), (20.0, 1.0, (1, 1))]
    case = Case([(8, 8), (4, 4)], requests, failures=[(1, 0, 1000.0)], requeue=True, warm=4, overflow=Overflow("wait"))
    ran = run(case)
    found = ran.metrics()
    assert found["lost"] == by_definition(ran)["lost"] >= 0
    assert found["lost"] <= found["interrupted"]


@pytest.mark.parametrize(
    ("requests", "warm"),
    [
        ([(0.0, 1.0, (9, 9))], 0),  # larger than any server
        ([(0.0, inf, (1, 1)), (1.0, inf, (1, 1))], 2),  # the warm start took them all
        ([(0.0, inf, (1, 1)), (1.0, inf, (9, 9))], 1),  # what it left is larger than any server
    ],
)
def test_a_run_in_which_nobody_was_asked_says_so(requests: list[tuple[float, float, Demand]], warm: int) -> None:
    ran = run(Case([(4, 4)], requests, warm=warm))
    with pytest.raises(RunError, match="there is nothing to measure"):
        ran.metrics()


def test_the_time_of_a_decision_is_over_the_decisions_of_the_run() -> None:
    case = Case([(4, 4)], [(0, 1, (1, 1)), (4, 1, (1, 1)), (8, 1, (1, 1)), (9, 1, (9, 9))], warm=1)
    assert run(case).metrics(thought=5000)["decision_us"] == 2.5


# -- samples -----------------------------------------------------------------------------------------------------------


def stranded_by_rule(free: list[list[list[int]]], flavours: list[tuple[int, ...]], spread: list[bool]) -> list[int]:
    """What is free on a node counts as stranded unless a whole flavour fits there, or a spread one on the server."""
    lost = [0] * len(free[0][0])
    for server in free:
        nodes = len(server)
        evenly = False
        for flavour, spreads in zip(flavours, spread, strict=True):
            if spreads:
                parts = [
                    [amount // nodes + (1 if n < amount % nodes else 0) for amount in flavour] for n in range(nodes)
                ]
                evenly |= all(h >= p for node, part in zip(server, parts, strict=True)
                              for h, p in zip(node, part, strict=True))  # fmt: skip
        for node in server:
            whole = any(
                all(has >= amount for has, amount in zip(node, flavour, strict=True))
                for flavour, spreads in zip(flavours, spread, strict=True)
                if not spreads
            )
            if not (evenly or whole):
                lost = [a + b for a, b in zip(lost, node, strict=True)]
    return lost


@given(cases())
@example(Case([(4, 4), (2, 4)], [(0, 9, (2, 1)), (1, 9, (2, 1)), (2, 9, (3, 9))], failures=[(1, 1, 9.0)]))
def test_samples_say_what_is_there(case: Case) -> None:
    """A look before the first decision and after each: with so few requests, no decision is skipped."""
    ran = run(case)
    samples, simulation = ran.samples, ran.simulation
    cluster = simulation.view.capacity
    above = [amount if amount == NEVER else amount * QUANTUM for amount in case.above]
    flavours = sorted({tuple(amounts) for amounts in simulation.workload.demand.tolist()})
    spread = [
        case.nodes > 1 and any(amount > most for amount, most in zip(flavour, above, strict=True))
        for flavour in flavours
    ]
    assert (samples["used"] >= 0).all()
    assert (samples["stranded"] >= 0).all()
    assert (samples["stranded"] <= samples["free"]).all()
    assert (np.diff(samples["time"]) >= 0).all()
    for row in range(len(samples["time"])):
        there = samples["servers"][row]
        installed = cluster[:there].sum(axis=(0, 1))
        happened, free = ran.looks[row]
        down = down_after(simulation.changes[:happened])
        assert len(down) <= there
        out = cluster[sorted(down)].sum(axis=(0, 1)) if down else 0
        assert (samples["used"][row] + samples["free"][row] + out == installed).all()
        up = [server for server in range(there) if server not in down]
        assert samples["in_use"][row] == sum(free[server] != cluster[server].tolist() for server in up)
        assert (samples["in_use"][row] == 0) == (samples["used"][row] == 0).all()
        assert samples["stranded"][row].tolist() == stranded_by_rule(free, flavours, spread)
    seen = {tuple(used) for used in samples["used"].tolist()}
    for decision in ran.decisions[case.warm :]:  # of the warm start, what a failure sent back may have a later row
        if decision.row >= ran.first and simulation.record.server[decision.row] >= 0:
            assert tuple(decision.used) in seen


def down_after(changes: list[Change]) -> set[int]:
    """The servers out of service after some changes."""
    down: set[int] = set()
    for change in changes:
        if change.what == "failure":
            down.add(change.subject)
        elif change.what == "repair":
            down.remove(change.subject)
    return down


@pytest.mark.parametrize("n", [1, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT, 10 * KEPT + 7])
def test_runs_of_any_length_are_looked_at_about_as_often(n: int) -> None:
    ran = run(Case([(4, 4)], [(float(i), 1.0, (1, 1)) for i in range(n)]))
    looks = len(ran.samples["time"])
    assert min(n, KEPT // 2) <= looks <= KEPT + 1
    gaps = np.diff(ran.samples["time"])[1:]  # the first look is before all decisions, at 0 like the first of them
    assert len(set(gaps.tolist())) <= 1
    assert ran.metrics()["servers_used"] == pytest.approx((looks - 1) / looks)


def test_nan_is_not_a_metric() -> None:
    found = run(Case([(1, 1)], [(0, nan_free, (1, 1)) for nan_free in (1.0, 2.0)])).metrics()
    assert not [name for name, value in found.items() if isnan(value) or value in (inf, -inf, nan)]
