"""The solver with several requests at once: a batch on servers and in networks, jobs with their slots, residents."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.online.jobs import Jobs
from binwright.agents.solver.online.template import Setup
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Ints, Placement, Request, View
from tests.reference.agents import Room, feasible
from tests.support.properties import scaled
from tests.support.simulations import workload_of
from tests.support.solving import started
from tests.support.views import view_of

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

# -- on servers --------------------------------------------------------------------------------------------------------

room = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=2), min_size=3, max_size=3
)
asked = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=9)


@scaled(0.2)
@given(room, asked)
def test_a_batch_fits_and_leaves_nobody_out_who_fits(free: Room, wanted: list[tuple[int, int, bool]]) -> None:
    """All answers together fit, and with them in place nobody else does."""
    view = view_of([[list(node) for node in server] for server in free], [[[10, 10]] * 2] * 3)
    requests = [Request(number, 0.0, 1.0, (a, b), spread) for number, (a, b, spread) in enumerate(wanted)]
    left = view.free.copy()
    answered = list(started(view, attempts=8).decide_line(view, requests))
    assert len({published.index for published, _ in answered}) == len(answered)
    for _, placement in answered:
        assert isinstance(placement, Placement)
        for server, node, amounts in placement.shares:
            left[server, node] -= amounts
    assert (left >= 0).all()
    for published in requests:
        if all(other is not published for other, _ in answered):
            assert not feasible(left.tolist(), published.demand, published.spread)


def test_early_and_large_requests_are_worth_more() -> None:
    """The first of two equal ones; a large one rather than a small one before it, and than two behind it."""
    view = view_of([[[4]]], [[[4]]])
    for demands, winner in (((4, 4), 0), ((1, 4, 4), 1), ((3, 2, 2), 0)):
        requests = [Request(number, 0.0, 1.0, (amount,), False) for number, amount in enumerate(demands)]
        answers = started(view, attempts=64).decide_line(view, requests)
        assert min(each.index for each, _ in answers) == winner


# -- jobs --------------------------------------------------------------------------------------------------------------


def jobs_on(capacity: list[int], jobs: list[tuple[float, float, int]], **options: Any) -> tuple[Simulation, Jobs]:
    """A run of jobs (arrival, duration, demand) on servers of one resource."""
    rooms = np.array(capacity, np.int64).reshape(-1, 1, 1)
    ledger = Ledger(Cluster(("a",), rooms, (NEVER,), rooms[-1]))
    workload = workload_of([(arrival, duration, (demand,)) for arrival, duration, demand in jobs])
    simulation = Simulation(workload, ledger, Overflow("wait", together=16))
    agent = started(simulation.view, slot=1, slots=24, **options)
    play(simulation, agent)
    model = agent._formulation  # type: ignore[attr-defined]
    assert isinstance(model, Jobs)
    return simulation, model


@scaled(0.1)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from([1.0, 2.0, 2.5, 5.0]), st.integers(1, 4)), min_size=1, max_size=12
    )
)
def test_every_job_runs(jobs: list[tuple[int, float, int]]) -> None:
    """Whatever arrives, at whatever times, gets its place: the engine refuses what does not fit."""
    ordered = sorted((float(arrival) / 2, duration, demand) for arrival, duration, demand in jobs)
    simulation, model = jobs_on([4, 5], ordered, attempts=4)
    assert (simulation.record.server >= 0).all()
    assert not model.plan or simulation.waiting == 0


def slots_free(free: Ints, plan: list[tuple[Request, int]], lengths: list[int]) -> list[int]:
    """Where each job of a plan starts, step by step, -1 for nowhere; `free` is changed."""
    starts = []
    for (job, server), length in zip(plan, lengths, strict=True):
        fits = [
            start
            for start in range(free.shape[1] - length + 1)
            if all((free[server, slot] >= job.demand).all() for slot in range(start, start + length))
        ]
        starts.append(fits[0] if fits else -1)
        if fits:
            free[server, fits[0] : fits[0] + length] -= job.demand
    return starts


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_moves_up(seed: int) -> None:
    """Each as early as its server has room, in the plan's order."""
    chance = np.random.default_rng(seed)
    view: View = view_of([[[4]], [[6]]], [[[6]], [[6]]])
    model = Jobs(Setup(None, {}, 32), view, 1.0, 9)
    free = np.sort(chance.integers(0, 7, (2, 9, 1)), axis=1)
    plan = [
        (Request(n, 0.0, float(chance.integers(1, 5)), (int(chance.integers(1, 6)),), False), int(chance.integers(2)))
        for n in range(6)
    ]
    timed, end = model._timed(plan, free)
    expected = slots_free(free.copy(), plan, [int(job.duration) for job, _ in plan])
    present = {job: start for (job, _), start in zip(plan, expected, strict=True) if start >= 0}
    assert {job: start for start, job, _ in timed} == present
    assert [start for start, _, _ in timed] == sorted(present.values())
    assert end == max((start + int(job.duration) for job, start in present.items()), default=0)


def test_failures_and_growth(tmp_path: Any) -> None:
    scenario = {
        "cluster": {
            "servers": 2,
            "node": {"cpu": 4},
            "expansion": [{"at": "6 s", "by": 1}],
            "failures": {"scheduled": [{"at": "3 s", "server": 0, "repair_after": "4 s"}], "on_failure": "requeue"},
        },
        "workload": {
            "requests": 20,
            "arrivals": {"bursty": {"every": "4 s", "size": 6}},
            "flavours": [{"cpu": 1}, {"cpu": 3}],
            "lifetimes": {"empirical": {"values": ["1 s", "3 s", "4 s"]}},
        },
        "overflow": {"wait": {"together": 8}},
        "knowledge": {"lifetimes": "known"},
        "agents": [{"solver": {"slot": "1 s", "attempts": 8}}],
    }
    results = Batch(scenario_from(scenario), tmp_path).run()
    assert not len(results.failed), results.failed["error"][0]
    assert results.runs["interrupted"].sum() > 0
    assert results.runs["lost"].sum() == 0
