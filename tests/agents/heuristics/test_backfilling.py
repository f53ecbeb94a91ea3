"""Orders and backfilling of In-line: against seconds written out, and what is promised."""

from dataclasses import replace
from math import log2, log10
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import Backfilling, InLine
from binwright.agents.heuristics.orders import ORDERS
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore import rng
from binwright.simcore.errors import UserError
from binwright.simcore.gangs import Gangs
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Request
from tests.reference.backfilling import Backfilled, Job
from tests.reference.engine import Case
from tests.support.properties import scaled
from tests.support.simulations import WatchedLedger, cluster_of, workload_of
from tests.support.views import view_of

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def played(servers: list[int], jobs: list[Job], agent: InLine, before: int = 0) -> list[float]:
    """Start each job when the engine does; agents know what jobs asked for.

    The first decisions, `before` of them or some more, are another agent's, of the same kind.
    """
    case = Case([[[amount]] for amount in servers], [[0]], (99,), [(j.arrival, j.ran, (j.need,)) for j in jobs])
    info = LifetimeInfo(np.array([job.asked for job in jobs], np.float64), lambda row, first, elapsed: first)
    gangs = Gangs.of_parts([job.parts for job in jobs])
    workload = replace(workload_of(case.requests), foresight=info, gangs=gangs).in_parts
    simulation = Simulation(workload, WatchedLedger(cluster_of(case)), Overflow("wait", together=99))
    agent.start(simulation.view, rng.stream(0, "agent"))
    if before:
        decisions = iter([before])
        play(simulation, agent, lambda: next(decisions, 0))
        agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    starts: list[float] = simulation.record.decided[workload.leads(np.arange(len(workload)))].tolist()
    return starts


jobs = st.lists(
    st.builds(
        lambda arrival, ran, more, need, parts: Job(arrival, ran, ran + more, max(1, need // parts), parts),
        st.integers(0, 12),
        st.integers(1, 8),
        st.sampled_from([0, 0, 1, 5]),
        st.integers(1, 4),
        st.sampled_from([1, 1, 2, 3]),
    ),
    min_size=1,
    max_size=12,
).map(lambda found: sorted(found, key=lambda job: job.arrival))
servers = st.sampled_from([[4], [4], [5], [4, 4], [2, 4], [4, 1, 3]])


@scaled(3)
@given(servers, jobs, st.sampled_from(["none", "easy", "conservative"]), st.booleans())
def test_jobs_start_as_seconds_written_out_say(
    servers: list[int], jobs: list[Job], backfilling: Backfilling, shortest_first: bool
) -> None:
    agent = InLine(order="sjf" if shortest_first else "fcfs", backfilling=backfilling)
    starts = played(servers, jobs, agent)
    reference = Backfilled(servers, jobs, backfilling, shortest_first)
    assert starts == [reference.starts[i] for i in range(len(jobs))]
    if backfilling == "conservative" or (backfilling == "easy" and not shortest_first):
        assert all(starts[i] <= time for i, time in reference.promised.items()), "what was promised is kept"
    if backfilling == "none" and not shortest_first:
        assert starts == sorted(starts), "nobody overtakes"


@scaled(2)
@given(jobs)
def test_processors_of_many_servers_are_as_those_of_one(jobs: list[Job]) -> None:
    gangs = [job._replace(need=1, parts=job.need) for job in jobs]
    together = [job._replace(parts=1) for job in jobs]
    assert played([1, 2, 1], gangs, InLine()) == played([4], together, InLine())


@scaled(2)
@given(servers, jobs, st.sampled_from(["none", "easy"]), st.integers(1, 12))
def test_jobs_placed_by_another_agent_count(
    servers: list[int], jobs: list[Job], backfilling: Backfilling, before: int
) -> None:
    agent = InLine(backfilling=backfilling)
    assert played(servers, jobs, agent, before) == played(servers, jobs, agent)


# -- small ones, by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [False, True])
def test_a_job_of_no_time_is_not_passed(commit: bool) -> None:
    todo = [Job(0, 10, 10, 3), Job(1, 0, 0, 4), Job(2, 100, 100, 1)]
    for backfilling in ("easy", "conservative")[: 2 - commit]:
        assert played([4], todo, InLine(backfilling=backfilling, commit=commit)) == [0, 10, 10]  # type: ignore[arg-type]


def test_commit_keeps_the_chosen_job_first_though_a_shorter_one_arrives() -> None:
    """A shorter job comes while the first waits; whoever passes must be over before the first could start."""
    todo = [Job(0, 6, 6, 3), Job(1, 5, 5, 2), Job(2, 1, 1, 2), Job(3, 3, 3, 1), Job(3, 2, 2, 1)]
    assert played([4], todo, InLine(order="sjf")) == [0, 7, 6, 6, 6]
    assert played([4], todo, InLine(order="sjf", commit=True)) == [0, 6, 6, 7, 7]
    assert played([4], todo, InLine(order="sjf", backfilling="easy", commit=True)) == [0, 6, 6, 7, 3]


# -- orders ------------------------------------------------------------------------------------------------------------


def test_orders_are_as_published() -> None:
    view = view_of([[[0]]], [[[1]]])
    view.now, view.origin = 500.0, 1000.0
    request = Request(0, 100.0, 50.0, (8 * QUANTUM,), False)
    result = {name: ORDERS.load(name)(view, request) for name in ORDERS}
    since = log10(1100)
    assert result == pytest.approx(
        {
            "fcfs": 0,
            "priority": 0,
            "sjf": 50,
            "longest": -50,
            "f1": log10(50) * 8 + 870 * since,
            "wfp3": -(8**3) * 8,
            "unicep": -400 / (log2(8) * 50),
            "wfp3-slip": (1101 / 50) ** 3 * 8,
            "unicep-slip": 1101 / (log2(8) * 50),
        }
    )
    for name in ORDERS:  # whatever comes: no time, or none that ends, a part of a processor, at once
        for time in (0.0, float("inf")):
            assert ORDERS.load(name)(view, Request(0, 500.0, time, (QUANTUM // 2,), False)) is not None


def test_an_order_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def widest(view, request):\n    return -request.demand[0]\n")
    order = f"{tmp_path}/mine.py:widest"
    assert played([4], [Job(0, 5, 5, 4), Job(1, 2, 2, 1), Job(2, 2, 2, 4)], InLine(order=order)) == [0, 7, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backfilling": "any", "commit": True}, "backfilling: does not go with commit"),
        ({"order": "randon"}, "order: unknown order (got 'randon')\n  Did you mean 'random'"),
        ({"order": "mine.py:nowhere"}, "order: cannot import this order"),
        ({"agent": "best-home", "options": {"stranded": -1}}, "options.stranded: expected 0 or more, got -1"),
        ({"agent": "best-fit", "options": {"nodes": "loose"}}, "options.nodes: unknown option\n  Did you mean 'node'"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as error:
        InLine(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


# -- what users ask for ------------------------------------------------------------------------------------------------


def jobs_log(tmp_path: Path, *jobs: tuple[int, int, int, int]) -> Path:
    """Write a log of jobs: when each came, how long it ran, its processors, and for how long it asked."""
    path = tmp_path / "log.swf"
    lines = (f"{n} {at} -1 {ran} {of} -1 -1 {of} {wanted}" for n, (at, ran, of, wanted) in enumerate(jobs, 1))
    path.write_text("".join(f"{line} -1 1 1 1 1 1 1 -1 -1\n" for line in lines))
    return path


def queue(path: Path) -> Scenario:
    return scenario_from(
        {
            "cluster": {"servers": 1, "node": {"cpu": 4}},
            "workload": {"trace": "swf", "path": str(path)},
            "overflow": {"wait": {"together": 99}},
            "knowledge": {"lifetimes": {"predicted": {"requested": {}}}},
            "agents": [{"in-line": {"backfilling": "easy"}}],
            "replications": 1,
            "metrics": ["slowdown_mean"],
        }
    )


def test_requested_times_are_apart_from_real_ones(tmp_path: Path) -> None:
    """The second waits for the first, which runs for longer than it asked for. The third would be over in time to pass,
    but asked for more; the fourth passes.
    """
    path = jobs_log(tmp_path, (0, 9, 3, 6), (1, 2, 4, 2), (2, 1, 1, 50), (2, 1, 1, 3))
    frame = Batch(queue(path), tmp_path / "out").run().done
    assert [frame["wait_p95"].item(), frame["wait_total"].item()] == [9, 17]
