"""RLScheduler's published slowdowns, to the last digit; and its program on logs that are drawn."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.fabric.cluster import Cluster
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore import rng
from binwright.simcore.errors import WorkloadError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM
from binwright.simcore.workload import Workload
from binwright.workloads.traces.library import FOLDER, find
from tests.reference import rlscheduler
from tests.reference.rlscheduler import Job
from tests.support import ROOT
from tests.support.properties import scaled
from tests.support.simulations import WatchedLedger

SHARED = ROOT.parent / "shared" / "traces"


def played(jobs: Sequence[Job], agent: InLine, processors: int) -> list[float]:
    """Start each job when the engine does."""
    first = jobs[0].submitted
    workload = Workload.of_units(
        [job.submitted - first for job in jobs], [job.ran for job in jobs], {"cpu": [job.processors for job in jobs]}
    )
    workload = Workload(**{**vars(workload), "origin": float(first)})
    capacity = np.full((1, 1, 1), processors * QUANTUM)
    ledger = WatchedLedger(Cluster(("cpu",), capacity, (10**18,), capacity[0]))
    simulation = Simulation(workload, ledger, Overflow("wait", together=len(jobs), one_by_one=True))
    agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    result: list[float] = (simulation.record.decided + first).tolist()
    return result


logs = st.lists(st.builds(Job, st.integers(1, 15), st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=16).map(
    sorted
)

ORDERS = {"fcfs": "fcfs", "wfp3": "wfp3-slip", "unicep": "unicep-slip", "sjf": "sjf", "f1": "f1"}
"""What agents are called there, and the orders of ours that do the same."""


@scaled(2)
@given(logs, st.sampled_from(sorted(ORDERS)), st.booleans())
def test_engine_starts_jobs_as_rlscheduler_does(jobs: list[Job], rule: str, backfilling: bool) -> None:
    jobs = sorted(jobs, key=lambda job: job.submitted)
    agent = InLine(order=ORDERS[rule], backfilling="easy" if backfilling else "none", commit=True)
    assert played(jobs, agent, 8) == rlscheduler.starts(jobs, rule, backfilling, 8)


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Find both logs."""
    if SHARED.is_dir():
        monkeypatch.setenv(FOLDER, str(SHARED))
    try:
        return [find(f"lublin-{log}", None) for log in (1, 2)]
    except WorkloadError as error:
        pytest.skip(str(error))


def check(jobs: list[Job], tmp_path: Path, *overrides: str) -> None:
    """Hold the shipped scenario to that program."""
    runs = Batch(load_scenario("rlscheduler/lublin", overrides), tmp_path).run(jobs=1).done
    for seed in runs["seed"].unique():
        own = runs.filter(pl.col("seed") == seed)
        first, last = map(int, own["windows"][0].split("-"))
        sequence = jobs[first : last + 1]
        for number, result in enumerate(own["slowdown_mean"].to_list()):
            rule, backfilling = list(ORDERS)[number % 5], number >= 5
            starts = rlscheduler.starts(sequence, rule, backfilling, 256)
            assert result == pytest.approx(rlscheduler.slowdown(sequence, starts), rel=1e-12), (seed, rule, backfilling)


def test_beginning_of_a_sequence_equals_rlschedulers(traces: list[Path], tmp_path: Path) -> None:
    check(rlscheduler.log(traces[0]), tmp_path, "seed=2", "replications=1", "workload.requests=150")


@pytest.mark.long
def test_a_whole_sequence_of_the_second_log_is_rlschedulers(traces: list[Path], tmp_path: Path) -> None:
    check(rlscheduler.log(traces[1]), tmp_path, "workload.trace=lublin-2", "seed=1", "replications=1")
