"""Every metric of a run against its definition, at the borders of the measured time, and what it takes of memory."""

from dataclasses import dataclass, replace
from fractions import Fraction
from json import loads
from math import ceil, inf, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from binwright.analysis.measure import BUILT_IN, ON_DEMAND
from binwright.analysis.measure.costs.bill import Costs
from binwright.analysis.measure.definition import MetricSpec, definition_of, measure
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import MOST
from binwright.fabric.cluster import NEVER
from binwright.fabric.run.cluster_events import Change
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute, refusals
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore import memmap
from binwright.simcore.errors import RunError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM
from binwright.simcore.workload import Workload
from tests.reference import engine
from tests.reference.looks import stranded
from tests.reference.moving import Rules
from tests.support.moving import Told, move_in
from tests.support.properties import scaled
from tests.support.runs import PRICES, RESOURCES, Case, Demand, Run, cases, run
from tests.support.simulations import drive, first_fit, simulate
from tests.support.tariffs import costs as costs_of
from tests.support.tariffs import tariff

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
    result: dict[str, Any] = {
        "offered": len(offered),
        "scheduled": len(got),
        "acceptance": Fraction(len(got), len(offered) + len(lost)) if offered else 0,
        "rejected": sum(outcome[row] == "rejected" for row in offered),
        "running_lost": 0,
        "impossible": sum(outcome[row] == "impossible" for row in offered),
        "interrupted": len(cut),
        "lost": len(lost),
        "hours": (finish - begin) / 3600,
        "wait_total": sum(waits),
        "wait_mean": sum(waits) / len(waits) if waits else 0,
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
        result["makespan"] = last - begin
    income = income_held = Fraction(0)
    for r, name in enumerate(RESOURCES):
        present = installed(ran, r, begin, finish)
        requested = sum(demand[row][r] for row in offered)
        result[f"acceptance_{name}"] = Fraction(sum(demand[row][r] for row in got), requested) if requested else 0
        if last < inf:
            until_last = installed(ran, r, begin, last)
            used = sum(overlap(h.start, h.end, begin, last) * h.demand[r] for h in held)
            result[f"utilisation_{name}"] = used / until_last if until_last else 0
        seconds = {h.row: overlap(h.start, h.end, begin, finish) for h in held}
        quanta = sum(seconds[h.row] * h.demand[r] for h in held)
        result[f"allocation_{name}"] = quanta / present if present else 0
        shares = [Fraction(d.used[r], d.installed[r]) for d in ours]
        result[f"allocation_{name}_decisions"] = sum(shares, Fraction(0)) / len(shares)
        result[f"allocation_{name}_end"] = shares[-1]
        lost, free = ran.samples["stranded"][:, r].tolist(), ran.samples["free"][:, r].tolist()
        result[f"fragmentation_{name}"] = sum(
            Fraction(a, b) if b else Fraction(0) for a, b in zip(lost, free, strict=True)
        ) / len(free)
        # The warm start earns nothing, neither before nor after a failure sent it back.
        earned = sum((seconds[h.row] * h.demand[r] for h in held if root[h.row] >= first), Fraction(0))
        income += Fraction(PRICES[name]) * earned / QUANTUM / 3600
        income_held += Fraction(PRICES[name]) * quanta / QUANTUM / 3600
    result["income"] = income
    if finish > begin:
        result["income_month"] = income / (finish - begin) * 30 * 86_400
    if first:
        result["income_held"] = income_held
    return result


def asked_by_definition(ran: Run, since: int) -> dict[str, Any]:
    """What the metrics are that only some scenarios ask for; row `since` is the first after the warm start."""
    simulation, result = ran.simulation, dict[str, Any]()
    got = [WORDS[code] in ("placed", "interrupted") for code in simulation.record.outcome.tolist()]
    so_far = {row: Fraction(sum(got[since : row + 1]), row + 1 - since) for row in range(since, simulation.offered)}
    mine = [so_far[row] for row in range(ran.first, simulation.offered)]
    result["acceptance_cumulative"] = sum(mine) / len(mine)
    rows = [row for row in range(ran.first, simulation.offered) if got[row]]
    workload = simulation.as_workload()
    stays = {row: time for row in rows if (time := stayed(simulation, workload, row)) is not None}
    for name, values in {
        "turnaround": [Fraction(time) for time in stays.values() if time < inf],
        "slowdown": [
            max(Fraction(1), Fraction(time) / max(Fraction(workload.duration[row]), Fraction(10)))
            if time < inf
            else Fraction(1)
            for row, time in stays.items()
        ],
    }.items():
        if values:
            result[f"{name}_mean"] = sum(values) / len(values)
    return result


def stayed(simulation: Simulation, workload: Workload, row: int) -> Fraction | float | None:
    """The time from arrival to end of a request, wherever failures sent it; None if one ended it for good."""
    record, last = simulation.record, row
    for other in range(len(simulation.workload), record.rows):
        if record.origin[other] == last:
            last = other
    if WORDS[record.outcome[last]] != "placed":
        return None
    if workload.duration[last] == inf:
        return inf
    return Fraction(record.decided[last]) + Fraction(workload.duration[last]) - Fraction(workload.arrival[row])


def installed(ran: Run, r: int, begin: Fraction, finish: Any) -> Fraction:
    """Quanta installed x seconds."""
    present: Fraction = installed_at_begin(ran, r) * (finish - begin)
    for change in ran.simulation.changes:
        if change.what == "expansion" and begin < change.time:
            per_server = int(ran.simulation.view.capacity[-1, :, r].sum())
            present += change.subject * per_server * overlap(change.time, inf, begin, finish)
    return present


def installed_at_begin(ran: Run, r: int) -> int:
    """Quanta installed when the measured time begins."""
    simulation = ran.simulation
    begin = simulation.workload.arrival[ran.first]
    later = sum(c.subject for c in simulation.changes if c.what == "expansion" and c.time > begin)
    return int(simulation.view.capacity[: len(simulation.view.capacity) - later, :, r].sum())


def agree(ran: Run) -> None:
    expected = by_definition(ran)
    result = ran.metrics()
    assert result.pop("decision_us") == 0
    assert result.keys() == expected.keys()
    for name, value in expected.items():
        assert result[name] == pytest.approx(float(value), rel=1e-9, abs=1e-12), name
        assert type(result[name]) in (int, float), name  # the journal is JSON


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
CUT: list[tuple[float, float, Demand]] = [(0.0, 8.0, (4, 4)), (10.0, 1.0, (1, 1))]
CASES = (
    Case([(4, 4)], TIES, overflow=Overflow("expand", 1, 3, "drop")),
    Case([(4, 4), (2, 2), (2, 2)], BACK, failures=[(1.0, 1, 9.0), (2.0, 0, 3.0)], requeue=True),
    Case([(4, 4), (4, 4)], BACK, failures=[(2.0, 1, 9.0), (4.0, 0, 3.0)], requeue=True, overflow=Overflow("wait")),
    WARM,
    # Servers that are added at a time, also after the last decision; by a decision, at the instant of another one.
    Case([(4, 4)], [(0.0, inf, (4, 4)), (10.0, 1.0, (4, 4))], expansion=[(5, 1), (11, 7)]),
    Case([(4, 4)], [(0.0, inf, (4, 4))] * 2, overflow=Overflow("expand", by=3, limit=4)),
    # The third of four stops the run.
    Case([(4, 4)], [(float(n), inf, (4, 4) if n == 2 else (1, 1)) for n in range(4)], overflow=Overflow("stop")),
    # One waits long and the last one in vain; of twenty one waits, or more do.
    Case([(18, 18)], [*[(0.0, 0.25, (1, 1))] * 18, (1.0, 9.0, (18, 18)), (2.0, inf, (18, 18)), (20.0, 1.0, (1, 1))],
         overflow=Overflow("wait")),
    *(Case([(20 - n, 20)], [(0.0, 10.0, (1, 1))] * (20 - n) + [(1.0, 10.0, (1, 1))] * n, overflow=Overflow("wait"))
      for n in (1, 2, 5)),
    # A failure cuts it short, for ever; it goes on elsewhere; it is cut short there, too, and is lost.
    Case([(4, 4)], CUT, failures=[(4, 0, 1.0)]),
    Case([(4, 4), (4, 4)], CUT, failures=[(4, 0, 1.0)], requeue=True),
    Case([(4, 4), (4, 4)], [(0.0, 20.0, (4, 4)), CUT[1]], failures=[(2, 0, inf), (3, 1, 1.0)], requeue=True),
    # The warm start is held for a time; for ever; and a failure sends it back.
    Case([(4, 4)], [(0.0, 8.0, (2, 2)), (4.0, 8.0, (1, 1)), (12.0, 1.0, (1, 1))], warm=1),
    Case([(4, 4)], [(0.0, inf, (1, 1)), (4.0, 1.0, (1, 1)), (6.0, 3.0, (1, 1))], warm=1),
    Case([(4, 4), (4, 4)], [(0.0, inf, (2, 2)), (4.0, 1.0, (4, 4)), (12.0, 1.0, (1, 1))], warm=1, requeue=True,
         failures=[(6, 0, 1.0)]),
    # Two of the warm start are sent back, and the second finds a place in the run: nothing was cut short in it.
    Case([(8, 8), (4, 4)], [*[(0.0, 3.0, (4, 4))] * 2, (0.0, 12.0, (4, 4)), (10.0, 1.0, (1, 1)), (20.0, 1.0, (1, 1))],
         failures=[(1, 0, 1000.0)], requeue=True, warm=4, overflow=Overflow("wait")),
)  # fmt: skip
"""Runs in which one thing happens that a drawn one seldom has."""


def all_of_them(test: Any) -> Any:
    """Try these runs in a property of runs, before those that are drawn."""
    for case in CASES:
        test = example(case)(test)
    return test


@given(cases())
@all_of_them
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
    names = [name for name in (*BUILT_IN, *ON_DEMAND) if definition_of(name).in_parts]
    comparison = measure(whole, [MetricSpec(name=name, last=percent / 100) for name in names])
    compared = 0
    for name, value in expected.items():
        if (column := f"{name}_last_{percent}") in comparison:
            assert comparison[column] == pytest.approx(float(value), rel=1e-9, abs=1e-12), name
            compared += 1
    assert compared == sum("_last_" in column for column in comparison)


# -- one definition at a time, by numbers that a reader can check ------------------------------------------------------


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


def test_decision_time_is_averaged_over_the_decisions_of_the_run() -> None:
    case = Case([(4, 4)], [(0, 1, (1, 1)), (4, 1, (1, 1)), (8, 1, (1, 1)), (9, 1, (9, 9))], warm=1)
    assert run(case).metrics(thought=5000)["decision_us"] == 2.5


# -- samples -----------------------------------------------------------------------------------------------------------


@given(cases())
@example(Case([(4, 4), (2, 4)], [(0, 9, (2, 1)), (1, 9, (2, 1)), (2, 9, (3, 9))], failures=[(1, 1, 9.0)]))
def test_samples_say_what_is_there(case: Case) -> None:
    """A look before the first decision and after each that ends an instant: with so few requests, none is skipped."""
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
        present = samples["servers"][row]
        installed = cluster[:present].sum(axis=(0, 1))
        happened, free = ran.looks[row]
        down = down_after(simulation.changes[:happened])
        assert len(down) <= present
        out = cluster[sorted(down)].sum(axis=(0, 1)) if down else 0
        assert (samples["used"][row] + samples["free"][row] + out == installed).all()
        up = [server for server in range(present) if server not in down]
        assert samples["in_use"][row] == sum(free[server] != cluster[server].tolist() for server in up)
        assert (samples["in_use"][row] == 0) == (samples["used"][row] == 0).all()
        assert samples["stranded"][row].tolist() == stranded(np.array(free), np.array(flavours), spread).tolist()
    seen = {tuple(used) for used in samples["used"].tolist()}
    for decision in ran.decisions[case.warm :]:  # of the warm start, what a failure sent back may have a later row
        if decision.row >= ran.first and not decision.within and simulation.record.server[decision.row] >= 0:
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


@pytest.mark.parametrize("n", [1, MOST - 1, MOST, MOST + 1, 3 * MOST, 10 * MOST + 7])
def test_runs_of_any_length_are_looked_at_about_as_often(n: int) -> None:
    ran = run(Case([(4, 4)], [(float(i), 1.0, (1, 1)) for i in range(n)]))
    looks = len(ran.samples["time"])
    assert min(n, MOST // 2) <= looks <= MOST + 1
    gaps = np.diff(ran.samples["time"])[1:]  # the first look is before all decisions, at 0 like the first of them
    assert len(set(gaps.tolist())) <= 1
    assert ran.metrics()["servers_used"] == pytest.approx((looks - 1) / looks)


BEGIN, FINISH = 10.0, 20.0
TIMES = [(BEGIN - 1, 0), (BEGIN, 1), (FINISH, 1)]
"""Times, and whether what happens then is measured; after the last decision nothing happens any more."""


def costs(servers: int, **more: Any) -> Costs:
    return costs_of(tariff((9.0, 9.0)), kinds=[0] * servers, **more)


@pytest.mark.parametrize(("time", "measured"), TIMES)
@pytest.mark.parametrize(("lifetime", "downtime", "arrives"), [(99.0, 0.0, 1), (99.0, 1.0, 1), (0.0, 99.0, 0)])
def test_moves(time: float, measured: int, lifetime: float, downtime: float, arrives: int) -> None:
    """A move ends at that time: it arrives, or its request ends before."""
    stays = lifetime or time
    requests: list[tuple[float, float, engine.Demand]]
    requests = [(0.0, stays, (3,)), (0.0, 99.0, (1,)), (BEGIN, 1.0, (1,)), (FINISH, 1.0, (1,))]
    simulation = simulate(engine.Case([[[9]], [[9]]], [[9]], (9,), requests))
    begins = int(time - downtime) if arrives else int(time) - 1
    moving = move_in(
        simulation,
        Rules(begins, 1, downtime=downtime),
        Told(lambda *_: [(0, (1, 0))] if simulation.now == begins else []),
    )
    drive(simulation, first_fit)
    assert [(moved.end, moved.outcome) for moved in moving.log] == [(time, "done" if arrives else "ended")]
    over = FinishedRun(simulation, 2, {}, 0, prices={}, costs=costs(2, move=2.0))
    assert definition_of("moves")(over) == measured * arrives
    assert definition_of("moves_failed")(over) == measured * (1 - arrives)
    assert over.bill is not None
    assert over.bill.moves == 2.0 * measured * arrives


@pytest.mark.parametrize(
    ("times", "warm", "woken"),
    [([0, BEGIN - 1, BEGIN, FINISH], 2, 1), ([0, BEGIN, FINISH], 1, 2), ([0, BEGIN, BEGIN + 1], 1, 1)],
)
def test_servers_that_are_woken(times: list[float], warm: int, woken: int) -> None:
    """The only server is off once it has been empty for a second, as before each of these times but the next second."""
    ran = run(Case([(4, 4)], [(float(time), 1.0, (1, 1)) for time in times], warm=warm))
    energy = []
    for waking in (0.0, 7.0):
        terms = costs(1, off_after=1.0, waking=waking)
        over = FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices={}, costs=terms)
        assert over.begin == BEGIN
        energy.append(definition_of("energy")(over))
    assert 1000 * (energy[1] - energy[0]) == pytest.approx(7 * woken)


@pytest.mark.long
@pytest.mark.parametrize(("time", "measured"), [(FINISH - 1, True), (FINISH, True), (FINISH + 1, False)])
def test_drains(time: float, measured: bool, tmp_path: Path) -> None:
    """One that would begin after the last decision has not; a server that is empty by then is drained."""
    for lifetime in (FINISH, FINISH + 1):
        rows = ["id,arrival,lifetime,cpu,disk", f"0,0,{lifetime:g},4,1", f"1,{FINISH:g},1,1,1"]
        (tmp_path / "few.csv").write_text("\n".join(rows) + "\n")
        data = {
            "cluster": {"servers": 2, "node": {"cpu": 4, "disk": 4}},  # two resources: kernels are those of other tests
            "workload": {"trace": "table", "path": str(tmp_path / "few.csv"), "units": {"disk": "1"}},
            "placement": [{"drain": [0], "at": time}],
            "agents": ["first-fit"],
        }
        [each] = plan(scenario_from(data))
        actual = execute(each, tmp_path)
        assert actual.get("undrained") == (int(lifetime > FINISH) if measured else None)
        assert actual.get("drained") == (max(lifetime - time, 0.0) if measured else None)


@pytest.mark.parametrize(("time", "measured"), TIMES)
def test_refusals(time: float, measured: int) -> None:
    """A failure sends back a request of the warm start; nobody has room for it, as for the two that are measured."""
    requests = [(0.0, 99.0, (4, 4)), (0.0, 99.0, (4, 4)), (BEGIN, 1.0, (1, 1)), (FINISH, 1.0, (1, 1))]
    case = Case([(4, 4), (4, 4)], requests, failures=[(time, 0, inf)], requeue=True, warm=2)
    ran = run(case)
    actual = {name: loads(reason) for name, reason in refusals(ran.simulation, ran.first).items()}
    assert sum(actual["reasons"].values()) == 2 + measured


@pytest.mark.parametrize(("running", "message"), [(1, ""), (2, "fits nowhere")])
def test_a_run_that_ends_before_its_first_arrival(running: int, message: str) -> None:
    """The second request finds no place: it arrives, or it is the last one that runs already."""
    requests = [(0.0, inf, (4, 4)), (0.0, inf, (4, 4)), (1.0, inf, (1, 1))]
    ran = run(Case([(4, 4)], requests, overflow=Overflow("stop")))
    ran.simulation.workload = replace(ran.simulation.workload, age=np.ones(running))
    if message:
        with pytest.raises(RunError, match=message):
            FinishedRun(ran.simulation, 0, ran.samples, 0, prices={})
    else:
        assert FinishedRun(ran.simulation, 1, ran.samples, 0, prices={}).finish == 0.0


def measured(of: Run) -> Any:
    try:
        return of.metrics()
    except RunError as error:
        return str(error)


@given(cases(), st.integers(1, 5))
@scaled(3)
def test_metrics_are_the_same_block_by_block(case: Case, rows: int) -> None:
    ran = run(case)
    whole = measured(ran)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memmap, "BLOCK", rows)
        patch.setattr("binwright.analysis.measure.finished_run.LARGE", 1)
        result = measured(ran)
    assert result == (whole if isinstance(whole, str) else pytest.approx(whole, rel=1e-12, abs=1e-12))
