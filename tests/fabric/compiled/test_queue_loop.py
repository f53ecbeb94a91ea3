"""Compiled queues against the engine, job by job."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.agents.heuristics.movers import ByAgent
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import Watchers, play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.moves import MovesSpec, Rescheduling
from binwright.scenarios.features.moves.run import Moving
from binwright.scenarios.features.queues import Queue, QueueBook
from binwright.scenarios.features.quotas import QuotaBook, Quotas
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.gangs import Gangs
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.rng import stream
from binwright.simcore.roles import Roles
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Floats
from binwright.simcore.workload import Workload
from tests.support.compiled import RULES, agent_of, assert_same, wrong
from tests.support.properties import first, forms, scaled
from tests.support.simulations import drawn_quotas, quota_of

BACKFILLING = ["none", "any", "easy", "conservative"]
ORDERS = ["fcfs", "fcfs", "sjf", "longest", "f1", "wfp3", "unicep", "wfp3-slip", "unicep-slip"]


@st.composite
def queues(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draw small clusters on which many jobs wait, some of which run longer than expected, and some shorter.

    Servers fail in some, and servers are added; jobs have quotas in some, several queues, and are moved.
    """
    nodes, servers = draw(st.sampled_from([(1, 1), (1, 1), (1, 3), (2, 1), (2, 3)]))
    resources = draw(forms(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, scale = draw(st.integers(1, 50)), draw(st.sampled_from([1.0, 0.1]))
    least, ends = draw(st.sampled_from([(0, []), (1, [inf])]))
    duration = rng.choice([0.0, 1.0, 2.0, 3.0, 7.0, 7.5, *ends], n) * scale
    workload = Workload(
        ("a", "b")[:resources],
        np.sort(rng.integers(0, 1 + n // draw(st.integers(1, 4)), n)).astype(np.float64) * scale,
        duration.astype(np.float64),
        rng.integers(least, 5, (n, resources)) * 1_000_000,
        np.arange(n),
        origin=draw(st.sampled_from([0.0, 7e6])),
    )
    if draw(st.booleans()):
        expected = np.round(duration * rng.choice(draw(st.sampled_from([[1.0, 1.5, 3.0], [0.3, 1.0, 2.0]])), n), 1)
        workload = replace(workload, foresight=LifetimeInfo(expected, lambda row, first, elapsed: first))
    quotas, lines = None, dict[str, Queue]()
    if draw(forms(0, 1)):
        groups = rng.choice(["a", "b", "c", ""], n).tolist()
        workload = replace(workload, roles=Roles.of_texts(n, groups), labels={"user": rng.choice([*"xyz"], n)})
    if workload.roles is not None and draw(st.booleans()):
        for number in range(rng.integers(1, 4)):
            lines[str(number)] = Queue.model_construct(
                of={"group": [rng.choice([*"abc"])]} if rng.random() < 0.8 else {},
                priority=int(rng.integers(0, 3)),
                longest=5.0 if rng.random() < 0.5 else None,
                running=[{}, {"requests": 3}, {"a": 7.0}, {"a": 6.0, "requests": 2}][rng.integers(0, 4)],
                each={"user": {"requests": 1}} if rng.random() < 0.3 else {},
            )
    if workload.roles is not None and draw(st.booleans()):
        of = {name: quota_of(queue) for name, queue in drawn_quotas(Random(int(rng.integers(2**32))), 12).items()}
        reclaim, full = draw(st.sampled_from(["never", "any"])), draw(st.sampled_from(["wait", "wait", "refuse"]))
        quotas = Quotas.model_construct(of=of, reclaim=reclaim, above=full)
    if draw(forms(0, 1)):  # jobs in parts have a loop of their own
        gangs = Gangs.of_parts(rng.choice(draw(st.sampled_from([[1, 2, 4], [3, 9]])), n))
        workload = replace(workload, gangs=gangs).in_parts
    capacity = rng.integers(2, 7, (servers, nodes, resources)) * 1_000_000
    above = tuple(rng.choice([2_000_000, NEVER], resources).tolist())
    cluster = Cluster(workload.resources, capacity, above, capacity[0])
    overflow = Overflow("wait", together=draw(st.sampled_from([99, 99, 2, 5])))
    agent = InLine("first-fit", draw(st.sampled_from(ORDERS)), draw(st.sampled_from(BACKFILLING)))
    agent.agent = agent_of(draw(st.sampled_from(RULES)))
    faults = []
    if draw(st.booleans()):
        scheduled = tuple(
            (float(rng.integers(0, 40)) / 2, int(rng.integers(0, servers)), rng.choice([0.5, 3.0, 9.0, inf]))
            for _ in range(rng.integers(1, 5))
        )
        mtbf = draw(st.sampled_from([inf, 20.0]))
        faults = [Faults(mtbf, 2.0, scheduled, requeue=bool(rng.random() < 0.8), seed=int(rng.integers(9)))]
    growth = draw(st.sampled_from([[], [(2.0, 1)], [(0.5, 1), (5.0, 2), (60.0, 1)]]))
    moves = draw(st.sampled_from([None, None, {}, {"downtime": 0.7, "at_once": 2}]))
    return workload, cluster, overflow, agent, growth, faults, quotas, lines, moves


def both(
    workload: Workload,
    cluster: Cluster,
    overflow: Overflow,
    agent: Agent,
    expansion: Sequence[tuple[float, int]] = (),
    faults: Sequence[Faults] = (),
    quotas: Quotas | None = None,
    lines: Mapping[str, Queue] = MappingProxyType({}),
    moves: dict[str, Any] | None = None,
) -> tuple[Simulation, Simulation]:
    """Play a queue with decisions in Python and in machine code, and compare what was seen on the way."""
    seen: list[Any] = []
    ledgers = Ledger(cluster), Ledger(cluster)
    engine, compiled = (
        Simulation(workload, ledger, overflow, expansion=expansion, faults=faults, compiled=way)
        for ledger, way in zip(ledgers, (False, True), strict=True)
    )
    for simulation, ledger, way in (engine, ledgers[0], play), (compiled, ledgers[1], play_compiled):
        if lines:
            QueueBook(simulation, lines, "queues")
        if quotas:
            QuotaBook(simulation, quotas)
        if moves is not None:
            schedule = Rescheduling.model_validate({"every": 1.5, "moves": 3}), ByAgent()
            schedule[1].start(simulation.view, stream(0, "mover"))
            Moving(simulation, MovesSpec.model_validate(moves), schedule=schedule)
        sampler = Sampler(simulation, ledger)
        agent.start(simulation.view, stream(0, "agent"))
        way(simulation, agent, Watchers(simulation, sampler))
        sampler.look()
        seen.append((sampler.columns(), simulation.now, simulation.offered, simulation.waiting))
    assert_same(compiled, engine)
    for name, column in seen[0][0].items():
        np.testing.assert_array_equal(seen[1][0][name], column, name)
    assert seen[0][1:] == seen[1][1:]
    return engine, compiled


@given(queues())
@scaled(8)
def test_a_compiled_queue_is_the_engines(case: Any) -> None:
    both(*case)


def test_a_promise_of_whom_a_limit_holds_back_meanwhile_is_forgotten() -> None:
    cluster = Cluster(("a",), np.full((1, 1, 1), 4_000_000), (NEVER,), np.full((1, 1), 4_000_000))
    times = np.array([1.0, 3.0, 4.0, 6.0, 7.0]), np.array([7.0, 3.0, 5.0, 2.0, 2.0])
    demand = np.array([[3], [2], [4], [1], [1]]) * 1_000_000
    workload = Workload(("a",), *times, demand, np.arange(5), roles=Roles.of_texts(5, ["b", "a", "b", "a", "a"]))
    lines = {"one": Queue(of={"group": ["a"]}, running={"requests": 1}), "all": Queue()}
    both(workload, cluster, Overflow("wait", together=99), InLine(backfilling="conservative"), lines=lines)


@pytest.mark.long
@pytest.mark.parametrize("name", first(1, ["best-fit", "worst-fit", "dot-product"]))
def test_rules_and_many_servers(name: str) -> None:
    rng, n = np.random.default_rng(1), 120
    demand = rng.integers(1, 16, (n, 1)) * 1_000_000
    times: Floats = np.round(rng.exponential(30, n), 1).astype(np.float64)
    capacity = np.full((5, 2, 1), 20_000_000)
    cluster = Cluster(("cpu",), capacity, (10_000_000,), capacity[0])
    workload = Workload(("cpu",), np.cumsum(rng.integers(0, 2, n)).astype(np.float64), times, demand, np.arange(n))
    for backfilling in BACKFILLING[1:]:
        engine, _ = both(workload, cluster, Overflow("wait", together=1000), InLine(name, backfilling=backfilling))  # type: ignore[arg-type]
        assert (engine.record.decided > workload.arrival + 60).any()
    both(workload, cluster, Overflow("wait", together=1000), agent_of(RULES[1]))


@pytest.mark.parametrize("backfilling", ["easy", "conservative"])
def test_requests_are_offered_together_while_others_run_that_the_same_rule_has_placed(backfilling: Any) -> None:
    rng, n = np.random.default_rng(1), 40
    cluster = Cluster(("a",), np.full((2, 1, 1), 6_000_000), (NEVER,), np.full((1, 1), 6_000_000))
    times = np.sort(rng.integers(0, 12, n)).astype(np.float64), rng.choice([1.0, 2.0, 3.0, 7.0], n)
    workload = Workload(("a",), *times, rng.integers(1, 5, (n, 1)) * 1_000_000, np.arange(n))
    runs = [Simulation(workload, Ledger(cluster), Overflow("drop"), compiled=way) for way in (False, True)]
    for run, way in zip(runs, (play, play_compiled), strict=True):
        agent, looks = InLine("first-fit", backfilling=backfilling), iter([10, 0])
        agent.start(run.view, stream(0, "agent"))
        way(run, agent, looks.__next__)
        run.overflow = Overflow("wait", together=99)
        way(run, agent)
    assert_same(runs[1], runs[0])


@pytest.mark.parametrize(
    ("seed", "above", "backfilling"),
    [(8, NEVER, "easy"), (75, NEVER, "conservative"), (22, 2_000_000, "conservative")],
)
def test_promises_count_what_moves_where_it_was_placed_and_then_where_it_arrives(
    seed: int, above: int, backfilling: Any
) -> None:
    rng, n = np.random.default_rng(seed), 20
    capacity = rng.integers(3, 6, (3, 2, 1)) * 1_000_000
    times = np.sort(rng.integers(0, 9, n)).astype(np.float64), rng.choice([1.0, 2.0, 3.0, 7.0], n)
    workload = Workload(("a",), *times, rng.integers(1, 5, (n, 1)) * 1_000_000, np.arange(n))
    cluster, moves = Cluster(("a",), capacity, (above,), capacity[0]), {"downtime": 0.7, "at_once": 2}
    both(workload, cluster, Overflow("wait", together=99), InLine(backfilling=backfilling), moves=moves)


def test_a_place_that_cannot_be_taken_is_refused_in_the_engines_words() -> None:
    cluster = Cluster(("cpu",), np.full((1, 1, 1), 4), (NEVER,), np.full((1, 1), 4))
    workload = Workload(("cpu",), np.arange(3.0), np.ones(3), np.ones((3, 1), np.int64), np.arange(3))
    errors = []
    for compiled, way in (False, play), (True, play_compiled):
        with pytest.raises(InfeasiblePlacement) as error:
            way(Simulation(workload, Ledger(cluster), Overflow("wait", together=9), compiled=compiled), agent_of(wrong))
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_orders_that_need_python_are_not_compiled() -> None:
    assert InLine(order="random").compiled is None
    assert InLine(commit=True).compiled is None
    assert InLine("random").compiled is None
