"""What metrics take of memory, and that no number depends on which arrays are kept for the next metric."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from analysis.measure import finished
from analysis.measure.finished import FinishedRun
from analysis.measure.measuring import built_in, measure
from analysis.measure.samples import Sampler
from fabric.cluster import NEVER, Cluster
from fabric.ledger import Ledger
from simcore.engine import Simulation
from simcore.errors import RunError
from simcore.play import play
from simcore.vocabulary import QUANTUM, Agent, Placement, Request, View, Workload
from tests.support.properties import scaled
from tests.support.runs import Case, Run, cases, run

REQUESTS = 30_000
BYTES = 56
"""Of a request, that computing metrics may take at once beside the run: 49 are needed, and 120 if all was kept."""


def measured(of: Run) -> Any:
    try:
        return of.metrics()
    except RunError as error:
        return str(error)


@given(cases())
@scaled(3)
def test_metrics_are_the_same_when_nothing_is_kept(case: Case) -> None:
    ran = run(case)
    kept = measured(ran)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finished, "LARGE", 1)
        assert repr(measured(ran)) == repr(kept)


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
    monkeypatch.setattr(finished, "LARGE", 1)
    tracemalloc.start()
    try:
        measure(over)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < BYTES * REQUESTS
