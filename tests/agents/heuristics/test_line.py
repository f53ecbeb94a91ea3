"""In-line and Two-Stage: who is asked when, whose turn it is, and what they see of requests that run."""

from collections import Counter
from math import inf, nextafter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.availability import AvailabilityProfile, Job, RunningJobs
from binwright.agents.heuristics.in_line import InLine, TwoStage
from binwright.agents.heuristics.servers.costs import FirstFit
from binwright.fabric.run.play import play
from binwright.simcore.types import Placement, Request, View
from tests.reference.engine import Case, Demand
from tests.support.properties import scaled
from tests.support.simulations import WatchedLedger, decided, simulate


def case(capacity: list[int], *requests: tuple[float, float, int]) -> Case:
    """Servers of one resource; requests are (arrival, duration, demand)."""
    servers = [[[amount]] for amount in capacity]
    requested: list[tuple[float, float, Demand]] = [(at, duration, (demand,)) for at, duration, demand in requests]
    return Case(servers, [[1]], (99,), requested, "wait", together=9)


TIGHT = case([2], (0, 4, 1), (0, 4, 2), (0, 2, 1), (0, 9, 1))


def test_in_line_stops_at_the_first_that_gets_nothing() -> None:
    assert decided(TIGHT, InLine("first-fit")) == [0, 4, 8, 8]
    assert decided(TIGHT, InLine("first-fit", backfilling="any")) == [0, 11, 0, 2]
    assert decided(TIGHT, InLine("first-fit", order="longest")) == [0, 9, 13, 0]
    assert decided(TIGHT, InLine("best-fit", "longest", "any", False, {"node": "loose"})) == [0, 9, 4, 0]


def test_a_random_order_is_the_streams() -> None:
    todo = case([1], *[(0.0, 1.0, 1)] * 8)
    orders = [decided(todo, InLine("first-fit", "random")) for _ in range(2)]
    assert orders[0] == orders[1] != list(range(8))
    assert sorted(when for when in orders[0] if when is not None) == list(range(8))


# -- two stages --------------------------------------------------------------------------------------------------------


def test_whose_turn_it_is_may_fit_nowhere() -> None:
    """Two servers with 1 free each: the job of 2 has its turn and waits; the next one has none until it ran."""
    todo = case([2, 2], (0, 4, 1), (0, 4, 2), (0, 6, 1), (1, 2, 2), (1, 9, 1))
    # Best-fit: 1 and 1 on the first, 2 on the second. Then 2 at 4, where the total has room, and 1 beside it.
    assert decided(todo, TwoStage()) == [0, 0, 0, 4, 4]
    apart = case([2, 2], (0, 9, 2), (0, 4, 1), (0, 9, 1))
    assert decided(apart, TwoStage()) == [0, 0, 0]
    split = case([3, 3], (0, 8, 2), (0, 8, 2), (0, 3, 2), (0, 3, 1))
    # In total 2 are free: the third has its turn, fits nowhere, and keeps the fourth from starting.
    assert decided(split, TwoStage()) == [0, 0, 8, 8]
    assert decided(split, InLine("best-fit", backfilling="any")) == [0, 0, 8, 0]


changes = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(1, 6)), max_size=6)


@scaled(2)
@given(st.integers(0, 6), changes, st.integers(1, 5), st.integers(0, 6))
def test_turns_are_as_early_as_the_total_allows(
    free: int, holds: list[tuple[int, int, int]], duration: int, demand: int
) -> None:
    turns = AvailabilityProfile(0.0, np.array([free]))
    levels = [free] * 40
    for start, amount, length in holds:
        turns.take(start, length, [((), amount)])
        for time in range(start, start + length):
            levels[time] -= amount
    expected = next((t for t in range(30) if min(levels[t : t + duration]) >= demand), inf)
    assert turns.earliest(duration, (demand,)) == expected


class Looking(FirstFit):
    """First-fit that holds what it sees to what the ledger holds."""

    def __init__(self, ledger: WatchedLedger) -> None:
        self.ledger, self.running = ledger, RunningJobs()
        self.jobs: dict[int, Job] = {}

    def decide(self, view: View, request: Request) -> Placement | None:
        """All that runs is seen, and nothing else."""
        seen = Counter(self.running.look(view))
        soon = nextafter(view.now, inf)
        held = [self.jobs[row] for row in self.ledger.running]
        counter = Counter(job._replace(end=max(job.end, soon)) for job in held)
        assert seen == counter
        placement = super().decide(view, request)
        if placement is not None:
            self.jobs[request.index] = Job(view.now + request.duration, placement.shares, request)
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
