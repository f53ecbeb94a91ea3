"""Compiled runs against the engine, decision by decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import AGENTS
from agents.heuristics.servers.best_fit import best_fit
from agents.heuristics.servers.first_fit import first_fit
from agents.rules.scan import ScanAgent
from analysis.measure.samples import Sampler
from fabric.cluster import NEVER, Cluster
from fabric.compiled import numa_loop, numa_run
from fabric.compiled.numa_loop import placement_of
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from fabric.servers import fits_node, fits_spread
from simcore.engine import Simulation, play
from simcore.errors import AgentError, InfeasiblePlacement
from simcore.jit import kernel
from simcore.record import PLACED, Record
from simcore.rules import Overflow
from simcore.vocabulary import Amounts, Compiled, Floats, Ints, Workload
from tests.support.kinds import ON_ANY_SERVERS
from tests.support.properties import forms, scaled


@kernel
def moody(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan` that takes any place or none: at random, but always the same in the same situation."""
    chance = 12345
    for place in range(free.size):
        chance = (chance * 31 + int(free.ravel()[place]) + demand[0]) % 1_000_003
    best, nodes = -1, free.shape[1]
    for place in range(len(free) * nodes):
        server, node = place // nodes, place % nodes
        if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
            if best < 0 or chance % 3 == 0:
                best = server * nodes if spread else place
            chance = (chance * 31 + 7) % 1_000_003
    return -1 if chance % 5 == 0 else best


@kernel
def wrong(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan` that takes the second node whatever is free there."""
    return 1


RULES = [first_fit, best_fit, moody]


@dataclass
class Case:
    """A run, in two parts as with a warm start: `looks` are the answers between one look and the next."""

    workload: Workload
    cluster: Cluster
    overflow: Overflow
    expansion: list[tuple[float, int]]
    warm: int
    rules: tuple[Any, Any]
    looks: list[int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small clusters, full most of the time, and many things at one instant."""
    resources, nodes, servers = draw(forms(2, 1)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 40))
    capacity = rng.integers(0, 6, (servers, nodes, resources))
    workload = Workload(
        ("a", "b")[:resources],
        np.sort(rng.integers(0, 1 + n // draw(st.integers(1, 4)), n) / 2),
        rng.choice([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, inf], n),
        rng.integers(0, 7, (n, resources)),
        np.arange(n),
    )
    above = tuple(rng.choice([2, 4, NEVER], resources).tolist())
    expand = draw(st.tuples(st.integers(1, 2), st.integers(0, 6), st.sampled_from(["drop", "stop"])))
    mode = draw(st.sampled_from(["drop", "wait", "stop", "expand"]))
    return Case(
        workload,
        Cluster(workload.resources, capacity, above, rng.integers(0, 6, (nodes, resources))),
        Overflow("expand", *expand) if mode == "expand" else Overflow(mode),  # type: ignore[arg-type]
        draw(st.lists(st.tuples(st.integers(0, 20).map(lambda half: half / 2), st.integers(1, 2)), max_size=3)),
        draw(st.integers(0, 10)),
        (draw(st.sampled_from(RULES)), draw(st.sampled_from(RULES))),
        draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)),
    )


@dataclass
class Looker:
    """A `watch` that keeps what there is to see, and ends the play after so many answers."""

    simulation: Simulation
    looks: list[int]
    last: int = -1
    seen: list[Any] = field(default_factory=list)

    def __call__(self) -> int:
        one = self.simulation
        counts = one.offered, one.stopped, one.waiting, list(one.record.sequence), len(one.changes)
        self.seen.append((one.now, *counts, one.view.free.tolist(), one.view.capacity.tolist()))
        return 0 if len(self.seen) == self.last else self.looks[len(self.seen) % len(self.looks)]


def agent_of(scan: Any) -> ScanAgent:
    agent = ScanAgent()
    agent.scan = scan
    return agent


def played(case: Case, simulation: Simulation, play_one: Callable[[Any, Looker], object]) -> list[Any]:
    """All that was seen on the way."""
    warm = Looker(simulation, [1], last=case.warm + 1)
    simulation.overflow = Overflow("drop")
    play_one(case.rules[0], warm)
    simulation.overflow = case.overflow
    rest = Looker(simulation, case.looks)
    play_one(case.rules[1], rest)
    rest()
    return warm.seen + rest.seen


def assert_same(one: Simulation, other: Simulation) -> None:
    assert one.changes == other.changes
    assert one.record.sequence == other.record.sequence
    assert one.record.reasons == other.record.reasons
    for name in Record.COLUMNS:
        np.testing.assert_array_equal(getattr(one.record, name), getattr(other.record, name), name)


@given(cases())
@scaled(3)
def test_a_compiled_run_is_the_engines(case: Case) -> None:
    ledger = Ledger(case.cluster)
    engine = Simulation(case.workload, ledger, case.overflow, expansion=case.expansion)
    expected = played(case, engine, lambda scan, watch: play(engine, agent_of(scan), watch))
    ledger.check()
    compiled = CompiledSimulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    found = played(case, compiled, lambda scan, watch: play_compiled(compiled, agent_of(scan), watch))
    assert found == expected
    assert_same(compiled, engine)


def busy(n: int, resources: int = 2) -> tuple[Workload, Cluster]:
    """Ten double-NUMA machines that are full half of the time."""
    rng = np.random.default_rng(5)
    demand = rng.integers(1, 16, (n, resources)) * 1_000_000
    times = np.cumsum(rng.exponential(1, n)), rng.exponential(90, n)
    capacity = np.full((10, 2, resources), 40_000_000)
    names = ("cpu", "mem", "disk")[:resources]
    cluster = Cluster(names, capacity, (NEVER,) * (resources - 1) + (10_000_000,), capacity[0])
    return Workload(names, *times, demand, np.arange(n)), cluster


SCANS = [name for name in ON_ANY_SERVERS if hasattr(AGENTS.load(name), "scan") and name != "random-top"]


@pytest.mark.parametrize("name", ["best-fit", *SCANS])
def test_every_rule_decides_as_its_agent(name: str) -> None:
    workload, cluster = busy(1500)
    agent = AGENTS.load(name)()
    engine = Simulation(workload, ledger := Ledger(cluster))
    expected = Sampler(engine, ledger)
    play(engine, agent, expected)
    compiled = CompiledSimulation(workload, ledger := Ledger(cluster))
    found = Sampler(compiled, ledger)
    play_compiled(compiled, agent, found)
    assert_same(compiled, engine)
    assert 0 < (engine.record.outcome == 2).sum() < 1500
    for key, column in expected.columns().items():
        np.testing.assert_array_equal(found.columns()[key], column, key)


@pytest.mark.long
def test_three_resources() -> None:
    workload, cluster = busy(400, 3)
    engine = Simulation(workload, Ledger(cluster))
    play(engine, agent_of(first_fit))
    compiled = CompiledSimulation(workload, Ledger(cluster))
    assert compiled.go(Compiled(first_fit)) == 400
    assert_same(compiled, engine)


def test_a_place_that_cannot_be_taken_is_refused_in_the_engines_words() -> None:
    workload, cluster = busy(50)
    engine = Simulation(workload, Ledger(cluster))
    with pytest.raises(InfeasiblePlacement) as expected:
        play(engine, agent_of(wrong))
    compiled = CompiledSimulation(workload, Ledger(cluster))
    with pytest.raises(InfeasiblePlacement) as found:
        compiled.go(Compiled(wrong))
    assert str(found.value) == str(expected.value)
    assert found.value.args == expected.value.args
    np.testing.assert_array_equal(compiled.view.free, engine.view.free)


@kernel
def told(free: Ints, capacity: Ints, demand: Amounts, spread: bool, codes: Floats) -> int:
    """A `Scan` that answers whatever is next in a list, after its length."""
    codes[0] += 1
    return int(codes[int(codes[0])]) if codes[0] < len(codes) else -1


@kernel
def generous(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan` that gives itself what is not there."""
    for place in range(len(free) * free.shape[1]):
        server, node = place // free.shape[1], place % free.shape[1]
        for r in range(len(demand)):
            free[server, node, r] = capacity[server, node, r] + 1
    return 0


hostile = st.one_of(st.integers(-3, 25), st.sampled_from([-(2**62), -1, 2**31, 2**32, 2**52]))


@given(st.lists(hostile, max_size=30), st.booleans())
@scaled(2)
def test_whatever_a_rule_answers_nothing_holds_more_than_it_has(codes: list[int], spread: bool) -> None:
    workload, cluster = busy(30)
    if spread:
        cluster = replace(cluster, spread_above=(10**7, 10**7))
    compiled, refused = CompiledSimulation(workload, Ledger(cluster)), ""
    engine = Simulation(workload, Ledger(cluster))
    try:
        compiled.go(Compiled(told, (np.array([0.0, *codes]),)))
    except InfeasiblePlacement as error:
        refused = str(error)
    answers, expected = iter(codes), ""
    try:
        while (asked := engine.advance()) is not None:
            code = next(answers, -1)
            engine.answer(None if code < 0 else placement_of(code, asked, 2))
    except InfeasiblePlacement as error:
        expected = str(error)
    assert refused == expected
    if not refused:
        assert_same(compiled, engine)
    np.testing.assert_array_equal(compiled.view.free, engine.view.free)
    assert (compiled.view.free >= 0).all()


COLUMNS = ("arrival", "duration", "demand", "id")


@pytest.mark.parametrize("run", ["compiled", "engine"])
@pytest.mark.parametrize("requests", [200, 2])
def test_a_rule_that_writes_to_what_it_sees_gets_nothing_for_it(run: str, requests: int) -> None:
    """Two requests fit, and then it is told; of 200 there is one that does not fit."""
    workload, cluster = busy(200)
    some = replace(workload, **{name: getattr(workload, name)[:requests] for name in COLUMNS})
    ledger = Ledger(cluster)
    simulation = CompiledSimulation(some, ledger) if run == "compiled" else Simulation(some, ledger)
    play_one = play_compiled if isinstance(simulation, CompiledSimulation) else play
    with pytest.raises(AgentError, match="written to what it was shown" if requests == 2 else "written|does not fit"):
        play_one(simulation, agent_of(generous))  # type: ignore[arg-type]
    assert int((simulation.record.outcome == PLACED).sum()) < 10


def test_compiling_is_no_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first run of a process waits for is not a part of its decisions' time."""
    clock, known, real = [0], set[Any](), numa_loop.as_argument

    def slow(*rule: Any) -> Any:
        clock[0] += 0 if rule in known else 10**9
        known.add(rule)
        return real(*rule)

    monkeypatch.setattr(numa_run, "as_argument", slow)
    monkeypatch.setattr(numa_run, "perf_counter_ns", lambda: clock[0])
    workload, cluster = busy(50)
    simulation = CompiledSimulation(workload, Ledger(cluster))
    assert play_compiled(simulation, AGENTS.load("best-fit")()) == 0
    assert clock == [10**9]
    assert len(simulation.record.sequence) == 50
