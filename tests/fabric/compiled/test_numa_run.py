"""Compiled runs against the engine, decision by decision."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.compiled.numa_decisions import as_argument, placement_of
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.placement.rules import AtMost
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.errors import AgentError, InfeasiblePlacement, KernelError
from binwright.simcore.jit import kernel
from binwright.simcore.roles import Roles
from binwright.simcore.types import Amounts, Compiled, Floats, Ints
from binwright.simcore.workload import Workload
from tests.support.compiled import Case, agent_of, assert_same, busy, cases, played, wrong
from tests.support.kinds import ON_ANY_SERVERS
from tests.support.placement import ROLES, labelled, rule_book, rules
from tests.support.properties import scaled
from tests.support.recount import recount


@given(cases())
@scaled(3)
def test_a_compiled_run_is_the_engines(case: Case) -> None:
    ledger = Ledger(case.cluster)
    engine = Simulation(case.workload, ledger, case.overflow, expansion=case.expansion)
    expected = played(case, engine, lambda scan, watch: play(engine, agent_of(scan), watch))
    recount(ledger)
    compiled = Simulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    placement = played(case, compiled, lambda scan, watch: play_compiled(compiled, agent_of(scan), watch))
    assert placement == expected
    assert_same(compiled, engine)


@pytest.mark.long
@given(cases(most=5), st.data())
@scaled(1)
def test_a_compiled_run_keeps_rules_as_the_engine(case: Case, data: st.DataObject) -> None:
    servers = len(case.cluster.capacity)
    labels, written = data.draw(labelled(servers, servers)), data.draw(rules(servers))
    of = np.array(data.draw(st.lists(st.integers(0, 5), min_size=40, max_size=40)))[: len(case.workload)]
    requested = np.maximum(case.workload.demand, 1)  # where nothing is free, a demand for nothing fits
    case.workload = replace(case.workload, demand=requested, roles=Roles(ROLES, of))
    ledger = Ledger(case.cluster, rules=rule_book(labels, written))
    engine = Simulation(case.workload, ledger, case.overflow, expansion=case.expansion)
    expected = played(case, engine, lambda scan, watch: play(engine, agent_of(scan), watch))
    recount(ledger)
    other = Ledger(case.cluster, rules=rule_book(labels, written))
    compiled = Simulation(case.workload, other, case.overflow, expansion=case.expansion, compiled=True)
    result = played(case, compiled, lambda scan, watch: play_compiled(compiled, agent_of(scan), watch))
    assert result == expected
    assert_same(compiled, engine)


SCANS = [name for name in ON_ANY_SERVERS if hasattr(AGENTS.load(name), "scan") and name != "random-top"]


@pytest.mark.long
def test_the_first_rule_is_named_where_it_refuses() -> None:
    capacity = np.full((1, 1, 1), 4)
    cluster = Cluster(("cpu",), capacity, (NEVER,), capacity[0])
    workload = Workload(cluster.resources, np.arange(2.0), np.full(2, 9.0), np.ones((2, 1), np.int64), np.arange(2))
    workload = replace(workload, roles=Roles.of_texts(2, ["web", "web"]))
    ledger = Ledger(cluster, rules=rule_book(ServerLabels(1), [AtMost(at_most=1, of="web", per="server")]))
    simulation = Simulation(workload, ledger, compiled=True)
    play_compiled(simulation, AGENTS.load("first-fit")())
    assert simulation.record.reasons[simulation.record.reason[1]] == "rule: at most 1 of web per server"


@pytest.mark.parametrize("name", ["best-fit", *SCANS])
def test_every_rule_decides_as_its_agent(name: str) -> None:
    workload, cluster = busy(1500)
    agent = AGENTS.load(name)()
    engine = Simulation(workload, ledger := Ledger(cluster))
    expected = Sampler(engine, ledger)
    play(engine, agent, expected)
    compiled = Simulation(workload, ledger := Ledger(cluster))
    result = Sampler(compiled, ledger)
    play_compiled(compiled, agent, result)
    assert_same(compiled, engine)
    assert 0 < (engine.record.outcome == 2).sum() < 1500
    for key, column in expected.columns().items():
        np.testing.assert_array_equal(result.columns()[key], column, key)


def test_a_place_that_cannot_be_taken_is_refused_in_the_engines_words() -> None:
    workload, cluster = busy(50)
    engine = Simulation(workload, Ledger(cluster))
    with pytest.raises(InfeasiblePlacement) as expected:
        play(engine, agent_of(wrong))
    compiled = Simulation(workload, Ledger(cluster))
    with pytest.raises(InfeasiblePlacement) as error:
        compiled.loop.go(Compiled(wrong))
    assert str(error.value) == str(expected.value)
    assert error.value.args == expected.value.args
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


def test_weights_are_arrays_in_c_order() -> None:
    with pytest.raises(KernelError, match="not arrays in C order"):
        as_argument(told, 2, (np.zeros((2, 3))[:, 0],))


hostile = st.one_of(st.integers(-3, 25), st.sampled_from([-(2**62), -1, 2**31, 2**32, 2**52]))


@pytest.mark.long
@given(st.lists(hostile, max_size=30), st.booleans())
@scaled(2)
def test_whatever_a_rule_answers_nothing_holds_more_than_it_has(codes: list[int], spread: bool) -> None:
    workload, cluster = busy(30)
    if spread:
        cluster = replace(cluster, spread_above=(10**7, 10**7))
    compiled, refused = Simulation(workload, Ledger(cluster)), ""
    engine = Simulation(workload, Ledger(cluster))
    try:
        compiled.loop.go(Compiled(told, (np.array([0.0, *codes]),)))
    except InfeasiblePlacement as error:
        refused = str(error)
    answers, expected = iter(codes), ""
    try:
        while (requested := engine.advance()) is not None:
            code = next(answers, -1)
            engine.answer(None if code < 0 else placement_of(code, requested, 2))
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
def test_a_rule_that_writes_to_what_it_sees_is_found_out(run: str, requests: int) -> None:
    workload, cluster = busy(200)
    some = replace(workload, **{name: getattr(workload, name)[:requests] for name in COLUMNS})
    ledger = Ledger(cluster)
    simulation = Simulation(some, ledger)
    play_one = play_compiled if run == "compiled" else play
    with pytest.raises(AgentError, match="written to what it was shown"):
        play_one(simulation, agent_of(generous))
