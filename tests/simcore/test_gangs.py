"""Tests gangs: their parts get places at once or not at all, as a slow reference says."""

import hashlib
from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.cluster import Cluster
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.preemption import Preemption
from binwright.scenarios.features.server_labels import ServerLabels, numbered
from binwright.simcore.faults import Faults
from binwright.simcore.gangs import Gangs, PartRules
from binwright.simcore.record import OUTCOMES
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Placement, Request, View
from binwright.simcore.workload import Workload
from tests.reference.engine import Demand, Preempt, Room, Where, feasible, spreads
from tests.reference.gangs import Ask, Became, Pick, Reference
from tests.support.placement import rule_book
from tests.support.properties import scaled
from tests.support.simulations import VICTIMS, WatchedLedger, place, preempt_of

RULES = (
    ("", ()),
    ("", (("server", 2),)),
    ("rack", ()),
    ("", (("rack", 1),)),
    ("zone", (("rack", 2), ("server", 1))),
    ("rack", (("zone", 3),)),
)


class Picks(Agent):
    """Takes what a function picks."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick

    def decide(self, view: View, request: Request) -> Placement | None:
        where = self.pick(view.free.tolist(), request.demand, request.spread)
        return None if where is None else place(request, where, view.free.shape[1])


def picks(salt: int) -> Pick:
    """Make an agent that takes any place, and now and then none, always the same in the same situation."""

    def pick(free: Room, demand: Demand, spread: bool) -> Where | None:
        places = feasible(free, demand, spread)
        if not places or salt < 2:
            return (places[-salt] if places else None) if salt < 2 else None
        digest = hashlib.blake2b(repr((salt, free)).encode(), digest_size=2).digest()
        return places[digest[0] % len(places)] if digest[1] % 8 else None

    return pick


@st.composite
def references(draw: st.DrawFn) -> Reference:
    """Draw servers in racks and zones, gangs and failures."""
    servers, nodes = draw(st.integers(2, 7)), draw(st.sampled_from([1, 2]))
    sizes = draw(st.lists(st.integers(2, 6), min_size=servers, max_size=servers))
    labels = {
        name: [server // size for server in range(servers)] for name, size in (("server", 1), ("rack", 2), ("zone", 4))
    }
    asks, now = [], 0.0
    ruled = draw(st.booleans())
    for _ in range(draw(st.integers(1, 10))):
        now += draw(st.integers(0, 2))
        parts = draw(st.integers(1, 6))
        together, at_most = draw(st.sampled_from(RULES)) if ruled and parts > 1 else ("", ())
        demand = (draw(st.integers(1, 4)),)
        stays = draw(st.integers(1, 12)) / 2
        asks.append(Ask(now, stays, demand, spreads(demand, nodes, (3,)), parts, parts, together, at_most, False))
    moments = draw(st.lists(st.integers(0, 9), max_size=2, unique=True))
    failures = [(moment + 0.25, draw(st.integers(0, servers - 1)), 0.125) for moment in moments]
    capacity = [[[size] for _ in range(nodes)] for size in sizes]
    waits, requeue = draw(st.booleans()), draw(st.booleans())
    return Reference(capacity, labels, asks, waits, requeue, failures, picks(draw(st.integers(0, 6))))


def workload_of(asks: list[Ask]) -> Workload:
    """Build the workload of gangs; a gang of one part without rules is an ordinary request."""
    rules = [PartRules(ask.together, ask.at_most) for ask in asks]
    known = tuple(dict.fromkeys(rules))
    parts = np.array([ask.parts for ask in asks], np.int64)
    return Workload(
        ("a",),
        np.array([ask.arrival for ask in asks]),
        np.array([ask.duration for ask in asks]),
        np.array([ask.demand for ask in asks], np.int64),
        np.arange(len(asks)),
        priority=np.array([ask.priority for ask in asks], np.int64),
        gangs=Gangs(parts, np.array([known.index(rule) for rule in rules]), known),
    )


def simulation_of(case: Reference, **options: object) -> Simulation:
    """Put a case on the engine, on a ledger that checks itself."""
    capacity = np.array(case.capacity, np.int64)
    cluster = Cluster(("a",), capacity, (3,), capacity[0])
    workload = workload_of(case.asks)
    assert workload.gangs is not None
    ledger = WatchedLedger(cluster)
    if workload.gangs.ruled:
        servers = len(capacity)
        labels = ServerLabels(servers, {"rack": numbered(servers, 2), "zone": numbered(servers, 4)})
        ledger = WatchedLedger(cluster, rules=rule_book(labels, ()))
    faults, reported = Faults(scheduled=tuple(case.failures), requeue=case.requeue), case.preempt
    overflow = Overflow("wait" if case.waits else "drop", preempt=reported is not None, **options)  # type: ignore[arg-type]
    simulation = Simulation(workload, ledger, overflow, faults=[faults])
    if reported:
        Preemption(simulation, preempt_of(reported))
    return simulation


def became(simulation: Simulation) -> list[tuple[object, ...]]:
    """Say of every gang its outcome, when it was decided, where its parts lie, and when it ends or was interrupted."""
    record, workload = simulation.record, simulation.as_workload()
    assert workload.gangs is not None
    assert workload.gangs.first is not None
    result: list[tuple[object, ...]] = []
    for first in workload.leads(np.arange(record.rows)).tolist():
        rows = np.flatnonzero(workload.gangs.first == first)
        outcome = OUTCOMES[record.outcome[first]]
        if outcome not in ("placed", "interrupted"):
            result.append((outcome,))
            assert (record.outcome[rows] == record.outcome[first]).all()
            continue
        rows = rows[record.outcome[rows] == record.outcome[first]]
        end = float(record.decided[first] + workload.duration[first])
        cut = float(record.interruption[first])
        places = list(zip(record.server[rows].tolist(), record.node[rows].tolist(), strict=True))
        assert len(set(record.decided[rows].tolist())) == 1
        result.append((outcome, float(record.decided[first]), places, None if isnan(cut) else cut, end))
    return result


def expected(gangs: list[Became]) -> list[tuple[object, ...]]:
    """Say the same of the reference."""
    return [
        (each.outcome, each.decided, each.places, each.interruption, each.end) if each.places else (each.outcome,)
        for each in gangs
    ]


@scaled(3)
@given(references())
def test_gangs_become_what_the_reference_says(case: Reference) -> None:
    simulation = simulation_of(case)
    play(simulation, Picks(case.pick))
    assert became(simulation) == expected(case.run())


@st.composite
def preempting(draw: st.DrawFn) -> Reference:
    """Draw gangs of several priorities, and how others give way to them."""
    case = draw(references())
    asks = [replace(ask, priority=draw(st.integers(0, 3))) for ask in case.asks]
    rule, requeue = draw(st.sampled_from([*VICTIMS])), draw(st.booleans())
    return replace(case, asks=asks, preempt=Preempt(rule, 0.0, requeue, draw(st.sampled_from([inf, 1.0]))))


@scaled(3)
@given(preempting())
def test_gangs_evict_and_are_evicted_as_the_reference_says(case: Reference) -> None:
    simulation = simulation_of(case)
    play(simulation, Picks(case.pick))
    assert became(simulation) == expected(case.run())
    assert simulation.preempting
    heads = simulation.as_workload().leads(np.arange(simulation.record.rows)).tolist()
    log = [(each.row, each.by) for each in simulation.preempting.log if each.row in heads]
    assert log == [(heads[victim], heads[by]) for victim, by in case.evicted]


@scaled(1)
@given(preempting(), st.sampled_from([1, 3, 99]), st.sampled_from([0.0, 0.75]))
def test_nobody_gives_way_to_an_equal_and_nothing_is_lost(case: Reference, together: int, grace: float) -> None:
    """Also where gangs are offered together, and have notice: what work there was is done, lost or never began."""
    assert case.preempt
    case = replace(case, waits=True, requeue=True, preempt=replace(case.preempt, grace=grace, requeue=True))
    simulation = simulation_of(case, together=together)
    play(simulation, Picks(case.pick))
    record, workload, preempts = simulation.record, simulation.as_workload(), simulation.preempting
    assert isinstance(preempts, Preemption)
    assert workload.priority is not None
    assert workload.gangs is not None
    assert workload.gangs.first is not None
    lost = {each.row: each.lost for each in preempts.log if each.outcome == "evicted"}
    for each in preempts.log:
        assert workload.priority[each.row] < workload.priority[each.by]
        gang = np.flatnonzero(workload.gangs.first == workload.gangs.first[each.row])
        ran = gang[~np.isnan(record.interruption[gang])]
        assert each.outcome != "evicted" or {*ran.tolist()} <= {*lost}
    for row in range(len(simulation.workload), record.rows):
        before = int(record.origin[row])
        done = record.interruption[before] - record.decided[before] - lost.get(before, 0.0)
        assert workload.duration[row] == pytest.approx(workload.duration[before] - done)


@scaled(1)
@given(references())
def test_gangs_offered_together_fare_as_when_offered_alone(case: Reference) -> None:
    case = replace(case, waits=True, failures=[])
    alone, together = simulation_of(case), simulation_of(case, together=1)
    play(alone, Picks(case.pick))
    play(together, Picks(case.pick))
    assert became(together) == became(alone)


def cluster(*free: int) -> Cluster:
    capacity = np.array(free, np.int64).reshape(-1, 1, 1)
    return Cluster(("a",), capacity, (10,), capacity[0])


def gangs(parts: list[int]) -> Workload:
    workload = Workload.of_units(np.arange(len(parts)), 5.0, {"a": 1e-6})
    return replace(workload, gangs=Gangs.of_parts(parts))
