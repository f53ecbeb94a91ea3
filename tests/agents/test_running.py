"""What agents that count on the ends of jobs see of them."""

from collections import Counter
from math import inf, nextafter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.first_fit import FirstFit
from binwright.agents.heuristics.two_stage import TwoStage
from binwright.agents.running import Job, Running
from binwright.agents.solver.online.agent import Solver
from binwright.agents.solver.online.jobs import Jobs
from binwright.simcore.play import play
from binwright.simcore.types import Placement, Request, View
from tests.reference.engine import Case, Demand
from tests.support.properties import scaled
from tests.support.simulations import WatchedLedger, decided, simulate
from tests.support.solving import started


class Looking(FirstFit):
    """First-fit that holds what it sees to what the ledger holds."""

    def __init__(self, ledger: WatchedLedger) -> None:
        self.ledger, self.running = ledger, Running()
        self.jobs: dict[int, Job] = {}

    def decide(self, view: View, request: Request) -> Placement | None:
        """All that runs is seen, and nothing else."""
        seen = Counter(self.running.look(view))
        soon = nextafter(view.now, inf)
        held = [self.jobs[row] for row in self.ledger._held]
        there = Counter(job._replace(end=max(job.end, soon)) for job in held)
        assert seen == there
        placement = super().decide(view, request)
        if placement is not None:
            self.jobs[request.index] = Job(view.now + request.duration, placement.shares)
        return placement


asked = st.lists(
    st.tuples(st.integers(0, 9).map(float), st.sampled_from([0.0, 1.0, 3.0, 8.0]), st.integers(1, 3)), max_size=16
)
failures = st.lists(
    st.tuples(st.integers(0, 12).map(float), st.integers(0, 2), st.sampled_from([0.0, 1.0, 3.0, 20.0])), max_size=5
)


@scaled(1.5)
@given(asked, failures, st.booleans(), st.sampled_from([0, 4]), st.integers(0, 2))
def test_agents_see_the_running_requests_and_their_ends(
    jobs: list[tuple[float, float, int]],
    failures: list[tuple[float, int, float]],
    requeue: bool,
    together: int,
    added: int,
) -> None:
    requests: list[tuple[float, float, Demand]] = [(at, length, (need,)) for at, length, need in sorted(jobs)]
    growth = [(4.0, added)] if added else []
    servers = [[[3]], [[3]]]
    todo = Case(servers, [[3]], (99,), requests, "wait", 1, 0, "stop", growth, failures, requeue, together)
    simulation = simulate(todo)
    ledger = simulation.ledger
    assert isinstance(ledger, WatchedLedger)
    agent = Looking(ledger)
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)


LOST: list[tuple[float, float, Demand]] = [(0, 10, (1,)), (3, 20, (2,)), (4, 5, (2,)), (5, 9, (1,))]
"""The first is interrupted by a failure from 1 to 2."""


def test_interrupted_requests_release_nothing_at_their_old_end() -> None:
    """The third has its turn at 23 and not at 10, so that the fourth need not wait for it."""
    todo = Case([[[3]]], [[3]], (99,), LOST, "wait", failures=[(1.0, 0, 1.0)], together=9)
    assert decided(todo, TwoStage()) == [0, 3, 23, 5]


def test_a_plan_counts_on_what_runs_only() -> None:
    todo = Case([[[3]]], [[3]], (99,), LOST[:2], "wait", failures=[(1.0, 0, 1.0)], together=9)
    simulation = simulate(todo)
    agent = started(simulation.view, slot=1, slots=24)
    assert isinstance(agent, Solver)
    play(simulation, agent)
    assert isinstance(agent._model, Jobs)
    assert agent._model._free(simulation.view)[0, :, 0].tolist() == [1] * 20 + [3] * 4
