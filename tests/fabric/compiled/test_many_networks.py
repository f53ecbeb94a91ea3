"""Compiled episodes against the engine and its ledger, choice by choice."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.fabric.compiled.numa_loop import NOW
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import NetworkView
from binwright.fabric.routing import Routing
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.shapes import fabric
from binwright.simcore.record import PENDING
from binwright.simcore.rules import Pacing
from binwright.simcore.types import Ints
from binwright.simcore.workload import Workload
from tests.support.networks import SHAPES, UNIT
from tests.support.properties import forms, scaled
from tests.support.recording import Choice, Recorder

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


@dataclass
class Case:
    """A cluster, and the requests of two simulations on it."""

    routing: Routing
    capacity: Ints
    pacing: Pacing | None
    feasible: bool
    workloads: list[Workload]
    seed: int

    def ledger(self) -> Ledger:
        resources = tuple("abc"[: self.capacity.shape[2]])
        cluster = Cluster(resources, self.capacity, (NEVER,) * len(resources), self.capacity[0])
        return Ledger(cluster, routing=self.routing)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small networks, full most of the time."""
    routing = draw(st.sampled_from(SHAPES))
    servers, nodes, resources = routing.topology.servers, draw(st.integers(1, 2)), draw(forms(2, 1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    capacity = rng.integers(0 if draw(st.booleans()) else 3, 4, (servers, nodes, resources))
    capacity[0] = 3
    workloads = []
    for _ in range(2):
        n = draw(st.integers(0, 25))
        most = int(capacity.sum(axis=(0, 1)).min()) + 1
        workloads.append(
            Workload(
                tuple("abc"[:resources]),
                np.sort(np.round(rng.random(n) * n, 1)) - 0.0,
                rng.choice([0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 7.0, np.inf], n),
                rng.integers(0, rng.integers(2, most + 1), (n, resources)),
                np.arange(n),
                rng.integers(0, 4, n) * UNIT // 4,
            )
        )
    pacing = draw(
        st.sampled_from(
            [
                None,
                Pacing(step=1.0, await_room=True),
                Pacing(step=0.1, await_room=True),
                Pacing(step=0.5, await_room=False),
            ]
        )
    )
    return Case(routing, capacity, pacing, draw(st.booleans()), workloads, draw(st.integers(0, 9)))


def played(case: Case, workload: Workload, seed: int) -> tuple[Simulation, Recorder]:
    """By the engine."""
    simulation = Simulation(workload, case.ledger(), pacing=case.pacing)
    recorder = Recorder(np.random.default_rng(seed), case.feasible)
    play(simulation, recorder)
    return simulation, recorder


def same_end(episodes: NetworkEpisodes, i: int, simulation: Simulation) -> None:
    """Are outcomes, times of the offers, and what is free the same?"""
    many, state, n = episodes.many, episodes.state, len(simulation.workload)
    view = simulation.view
    assert isinstance(view, NetworkView)
    outcome = simulation.record.outcome[:n]
    assert many.state.outcome[i, :n].tolist() == outcome.tolist()
    offered = np.isin(np.arange(n), simulation.record.sequence)
    assert np.array_equal(many.requests.arrival[i, :n][offered], simulation.as_workload().arrival[offered])
    assert np.array_equal(many.state.free[i], view.free)
    assert np.array_equal(state.link_free[i], view.link_free)
    assert np.array_equal(state.room[i], view.free.sum(axis=(0, 1)))
    assert many.state.answers[i, 0] == len(simulation.record.sequence)
    assert not state.mask[i].any()


@given(case=cases())
@scaled(1.2)
def test_compiled_episodes_give_the_outcomes_of_the_engine(case: Case) -> None:
    runs = [played(case, workload, case.seed + i) for i, workload in enumerate(case.workloads)]
    episodes = NetworkEpisodes(case.ledger(), case.pacing, len(runs), feasible=case.feasible)
    for _ in "first", "again":
        for i, workload in enumerate(case.workloads):
            episodes.reset(i, workload)
        queues = [list(recorder.choices) for _, recorder in runs]
        while any(queues):
            assert (~episodes.over).tolist() == [bool(queue) for queue in queues]
            servers = np.zeros(len(runs), np.int64)
            for i, queue in enumerate(queues):
                if queue:
                    expected = queue.pop(0)
                    seen(episodes, i, expected)
                    servers[i] = expected.server
            episodes.step(servers)
        assert episodes.over.all()
        for i, (simulation, _) in enumerate(runs):
            same_end(episodes, i, simulation)


def seen(episodes: NetworkEpisodes, i: int, expected: Choice) -> None:
    """Is what may be chosen, and all that it depends on, the same?"""
    many, state = episodes.many, episodes.state
    assert (many.row[i], many.state.clock[i, NOW]) == (expected.row, expected.now)
    assert np.array_equal(many.state.free[i], expected.free)
    assert np.array_equal(state.link_free[i], expected.link_free)
    assert episodes.state.filling.need[i].tolist() == expected.need
    assert state.mask[i].tolist() == expected.mask


def small(count: int = 1, **options: Any) -> NetworkEpisodes:
    """Two racks of two servers with three of two things each: kernels have a form for every number of things."""
    capacity = np.full((4, 1, 2), 3)
    cluster = Cluster(("a", "b"), capacity, (NEVER, NEVER), capacity[0])
    ledger = Ledger(cluster, routing=Routing(fabric(2, 2, 1, 1, 1, (1, 1, 1))))
    return NetworkEpisodes(ledger, Pacing(step=1.0, await_room=True), count, **options)


def asking(*demands: int, bandwidth: int = 0) -> Workload:
    n = len(demands)
    demand = np.repeat(demands, 2).reshape(n, 2)
    return Workload(("a", "b"), np.arange(float(n)), np.ones(n), demand, np.arange(n), np.full(n, bandwidth))


def test_masked_choices_fail_the_request() -> None:
    episodes = small()
    for wrong in (0, 4, 99, -1):
        episodes.reset(0, asking(4, 4))
        episodes.step(np.array([0]))
        assert episodes.state.mask[0].tolist() == [False, True, True, True]
        episodes.step(np.array([wrong]))
        assert episodes.many.result[0].tolist() == [0, 1]
        assert episodes.row[0] == 1
        assert episodes.many.state.answers[0] == 1
        assert episodes.many.state.free.sum() == 24


def test_resetting_one_leaves_the_others_alone() -> None:
    episodes = small(2)
    for i in range(2):
        episodes.reset(i, asking(4, 4))
    episodes.step(np.array([1, 1]))
    episodes.reset(1, asking(*range(1, 9)))
    assert episodes.many.possible.tolist() == [2, 8]
    assert episodes.state.filling.need.tolist() == [[1, 1], [1, 1]]
    episodes.step(np.array([2, 2]))
    assert episodes.many.result.tolist() == [[1, 0], [1, 0]]
    assert episodes.many.state.outcome[1, 1:].tolist() == [PENDING] * 7
