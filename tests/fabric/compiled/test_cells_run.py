"""A run in cells is what the slow rule says, however many cells go on at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.best_fit import best_fit
from binwright.agents.rules.scan import ScanAgent
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import Cluster
from binwright.fabric.compiled.cells_run import CellSimulation, play_cells
from binwright.fabric.compiled.numa_run import CompiledSimulation, play_compiled
from binwright.fabric.ledger import Ledger
from binwright.simcore.errors import AgentError, UserError
from binwright.simcore.jit import kernel
from binwright.simcore.record import IMPOSSIBLE, PLACED, Record
from binwright.simcore.run_options import Cells
from binwright.simcore.types import Amounts, Ints
from tests.reference import cells as reference
from tests.reference.agents import best_fit as slow_best_fit
from tests.reference.looks import looked
from tests.support.cells import CASES, drawn
from tests.support.compiled import agent_of, busy
from tests.support.properties import scaled


@given(
    **CASES,
    threads=st.integers(1, 3),
)
@scaled(3)
def test_a_run_in_cells_is_the_slow_one(
    seed: int, n: int, servers: int, count: int, router: Any, window: float, threads: int
) -> None:
    count = min(count, servers)
    workload, cluster, chances = drawn(seed, n, servers, count)
    ledger = Ledger(cluster)
    cells = Cells(count=count, router=router, by="tenant" if router == "affinity" else None, window=window)
    simulation = CellSimulation(workload, ledger, cells, chances, threads=threads)
    simulation.play(agent_of(best_fit), Sampler(simulation, ledger))

    bounds = [servers * number // count for number in range(count + 1)]
    every = [cluster.capacity[a:b].tolist() for a, b in pairwise(bounds)]
    words = sorted({*workload.labels["tenant"].tolist()})
    candidates: dict[str, Any] = {
        "least-loaded": lambda row: (),
        "two-choices": lambda row: tuple(chances[row].tolist()),
        "affinity": lambda row: (words.index(workload.labels["tenant"][row]) % count,),
    }
    rows = np.flatnonzero(simulation.record.outcome != IMPOSSIBLE).tolist()
    spreads = cluster.spreads(workload.demand)
    asked = [
        reference.Request(
            float(workload.arrival[row]),
            float(workload.duration[row]),
            tuple(workload.demand[row].tolist()),
            bool(spreads[row]),
            candidates[router](row),
        )
        for row in rows
    ]

    def decide(free: reference.Free, demand: reference.Demand, spread: bool) -> tuple[int, int] | None:
        where = slow_best_fit(free, free, demand, spread)
        return where and (where[0], -1 if spread else where[1])

    expected = reference.play(asked, every, window, decide)
    record = simulation.record
    found = [
        (int(record.server[row]), int(record.node[row])) if record.outcome[row] == PLACED else None for row in rows
    ]
    assert found == expected
    assert record.sequence.tolist() == rows
    held = np.zeros_like(cluster.capacity)
    last = simulation.now
    for row, place in zip(rows, expected, strict=True):
        stays = row == rows[-1] or workload.arrival[row] + workload.duration[row] > last
        if place and stays:
            request = asked[rows.index(row)]
            reference.take(held[place[0]], place[1], request, 1)
    np.testing.assert_array_equal(ledger.view.free, cluster.capacity - held)


@given(seed=CASES["seed"], n=CASES["n"], servers=CASES["servers"], window=CASES["window"], kept=st.integers(2, 30))
@scaled(2)
def test_one_cell_is_no_cell(seed: int, n: int, servers: int, window: float, kept: int) -> None:
    """Nor is it looked at at other times."""
    workload, cluster, _ = drawn(seed, n, servers, 1)
    ledgers = Ledger(cluster), Ledger(cluster)
    plain, celled = (
        CompiledSimulation(workload, ledgers[0]),
        CellSimulation(workload, ledgers[1], Cells(count=1, window=window)),
    )
    samplers = Sampler(plain, ledgers[0]), Sampler(celled, ledgers[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("binwright.analysis.measure.samples.KEPT", kept)
        play_compiled(plain, agent_of(best_fit), samplers[0])
        play_cells(celled, agent_of(best_fit), samplers[1])
    assert celled.record.sequence == plain.record.sequence
    for name in Record.COLUMNS:
        np.testing.assert_array_equal(getattr(celled.record, name), getattr(plain.record, name), name)
    columns = samplers[0].columns(), samplers[1].columns()
    for name in columns[0]:
        np.testing.assert_array_equal(columns[0][name], columns[1][name], name)


def test_many_servers_are_looked_at_as_few_are() -> None:
    """Samples count what changed only, from the logs of the cells."""
    workload, cluster = busy(3000)
    many = Cluster(cluster.resources, np.repeat(cluster.capacity, 60, axis=0), cluster.spread_above, cluster.growth)
    ledger = Ledger(many)
    simulation = CellSimulation(workload, ledger, Cells(count=3, window=40.0))
    seen = []

    def look() -> int:
        flavours = workload.flavours[0][:4]
        seen.append((ledger.look(flavours), looked(ledger, flavours)))
        return 7

    agent: ScanAgent = agent_of(best_fit)
    simulation.play(agent, look)
    assert len(seen) > 20
    for found, expected in seen:
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@kernel
def beyond(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Answer, as a `Scan`, with a place that is not there, once the first one is full."""
    return 10_000 if free[0, 0, 0] < demand[0] else int(best_fit(free, capacity, demand, spread))


@kernel
def scribbling(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Place nothing, as a `Scan`, and write to what is shown."""
    free[0, 0, 0] = 7
    return -1


@pytest.mark.parametrize(("rule", "said"), [(beyond, "does not fit at 10000 of the cell"), (scribbling, "has written")])
def test_what_a_rule_does_wrong_is_said(rule: Any, said: str) -> None:
    workload, cluster = busy(200)
    simulation = CellSimulation(workload, Ledger(cluster), Cells(count=3, window=25.0))
    with pytest.raises(AgentError, match=said):
        play_cells(simulation, agent_of(rule))


def test_a_label_that_no_request_has_is_refused() -> None:
    workload, cluster = busy(5)
    with pytest.raises(UserError, match="requests have no such label"):
        CellSimulation(workload, Ledger(cluster), Cells(count=2, router="affinity", by="tenant"))
