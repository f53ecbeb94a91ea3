"""What metrics take of memory, and that no number depends on which arrays are kept for the next metric."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.measure.definition import built_in, measure
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore import memmap
from binwright.simcore.errors import RunError
from binwright.simcore.types import QUANTUM, Agent, Placement, Request, View, Workload
from tests.support.properties import scaled
from tests.support.runs import Case, Run, cases, run

REQUESTS = 100_000
BYTES = 4
"""Of a request, that computing metrics may take at once beside the run: 3 are needed, and 59 if all are looked at."""


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
        found = measured(ran)
    assert found == (whole if isinstance(whole, str) else pytest.approx(whole, rel=1e-12, abs=1e-12))


class Only(Agent):
    """Takes the only node there is."""

    def decide(self, view: View, request: Request) -> Placement | None:
        return request.on(0, 0)


def test_metrics_of_large_runs_take_little(monkeypatch: pytest.MonkeyPatch) -> None:
    capacity = np.full((1, 1, 2), REQUESTS * QUANTUM)
    ledger = Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0]))
    demand = np.full((REQUESTS, 2), QUANTUM)
    times = np.arange(REQUESTS, dtype=np.float64)
    workload = Workload(("cpu", "mem"), times, times[::-1] + 1, demand, np.arange(REQUESTS))
    simulation = Simulation(workload, ledger)
    sampler = Sampler(simulation, ledger)
    play(simulation, Only(), sampler)
    over = FinishedRun(simulation, 0, sampler.columns(), 0, prices={})
    built_in()  # imported
    monkeypatch.setattr("binwright.analysis.measure.finished_run.LARGE", 1)
    monkeypatch.setattr(memmap, "BLOCK", 1000)
    tracemalloc.start()
    try:
        measure(over)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < BYTES * REQUESTS
