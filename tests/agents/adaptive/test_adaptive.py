"""What `adaptive` sees, plays and chooses, against slow Python and the engine."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.adaptive.agent import Adaptive
from binwright.agents.adaptive.lifetimes import Lifetimes
from binwright.agents.adaptive.race import Race
from binwright.agents.adaptive.resampling import Resampling
from binwright.agents.heuristics.servers.best_fit import best_fit
from binwright.agents.rules.scan import ScanAgent
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.compiled.numa_futures import Future, Futures
from binwright.fabric.compiled.numa_run import CompiledSimulation, play_compiled
from binwright.fabric.ledger import Ledger
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.past import Past
from binwright.simcore.play import play
from binwright.simcore.record import PLACED, SPREAD
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled, Placement, Request, View, Workload
from tests.support.compiled import Case, cases

COLUMNS = ("gaps", "demand", "stayed", "ended", "ages", "held", "spread", "server", "node")


class Reviewer(ScanAgent):
    """Keeps the past that it is shown at its marks."""

    scan = staticmethod(best_fit)
    reviews = True

    def __init__(self, steps: list[int], most: int) -> None:
        self._steps, self._most, self._left = steps, most, 0
        self.seen: list[Any] = []

    def decide(self, view: View, request: Request) -> Placement | None:
        if not self._left:
            self._left = self.review(view)
        self._left -= 1
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled:
        return Compiled(self.scan)

    def review(self, view: View) -> int:
        assert view.past
        past = view.past(self._most)
        columns = [getattr(past, name).tolist() for name in COLUMNS]
        self.seen.append((view.now, past.answered, past.overflow, view.free.tolist(), *columns))
        return self._steps[len(self.seen) % len(self._steps)]


def watched(case: Case, most: int) -> list[Any]:
    """Play a case on SimPy's clock, and list what slow Python says of the past at every decision."""
    simulation = Simulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    record, load, seen = simulation.record, case.workload, []
    agent = ScanAgent()
    agent.scan = best_fit
    while (request := simulation.advance()) is not None:
        now, answered = simulation.now, list(record.sequence)
        rows = sorted(answered[-most:])
        past: list[Any] = [[], [], [], []]
        for before, row in zip([rows[0] if rows else 0, *rows], rows, strict=False):
            stays = load.duration[row] if record.outcome[row] == PLACED else 0.0
            so_far = min(stays, now - record.decided[row])
            ended = record.outcome[row] == PLACED and stays <= so_far
            values = load.arrival[row] - load.arrival[before], load.demand[row].tolist(), so_far, bool(ended)
            for column, value in zip(past, values, strict=True):
                column.append(value)
        runs = [row for row in answered if row in simulation.ledger.running]
        nodes = [int(record.node[row]) for row in runs]
        held = [now - record.decided[row] for row in runs], [load.demand[row].tolist() for row in runs]
        where = [node == SPREAD for node in nodes], [int(record.server[row]) for row in runs], nodes
        mode = case.overflow.mode
        if mode == "expand" and len(simulation.view.capacity) >= case.overflow.limit:
            mode = case.overflow.then
        seen.append((now, len(answered), mode, simulation.view.free.tolist(), *past, *held, *where))
        simulation.answer(agent.decide(simulation.view, request))
    return seen


@given(cases(), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 50))
def test_both_engines_show_the_past_and_nothing_else(case: Case, steps: list[int], most: int) -> None:
    reviewers = Reviewer(steps, most), Reviewer(steps, most)
    every = Reviewer([1], most)
    for agent in (reviewers[0], every):
        play(Simulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion), agent)
    compiled = CompiledSimulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    play_compiled(compiled, reviewers[1])
    assert every.seen == watched(case, most)
    assert reviewers[0].seen == reviewers[1].seen


@given(cases())
def test_the_true_future_is_played_as_the_run_goes_on(case: Case) -> None:
    mode = case.overflow.mode if case.overflow.mode in ("drop", "stop") else "drop"
    simulation = CompiledSimulation(case.workload, Ledger(case.cluster), Overflow("drop"))
    simulation.go(Compiled(case.rules[0]), case.warm)
    simulation.go(Compiled(case.rules[0]), 0, ahead=True)
    simulation.overflow = Overflow(mode)
    view, load, record = simulation.view, case.workload, simulation.record
    assert view.past
    past, now, answered = view.past(1000), view.now, len(record.sequence)
    done = np.array(record.sequence, np.int64)
    rows = np.setdiff1d(simulation.requests.rows, done)
    on = [
        row for row in done.tolist() if record.outcome[row] == PLACED and record.decided[row] + load.duration[row] > now
    ]
    rest = np.array([record.decided[row] + load.duration[row] - now for row in on])
    truth = Future(
        load.arrival[rows] - now, load.duration[rows], load.demand[rows], past.spreads(load.demand[rows]), rest
    )
    futures = Futures(view.capacity, view.free, past, mode, len(rows))
    futures.take(truth)
    rule = Compiled(case.rules[1])
    played = [futures.play(rule) for _ in range(2)]
    simulation.go(rule)
    later = np.array(record.sequence, np.int64)[answered:]
    assert played[0] == played[1]
    assert played[0].placed == (record.outcome[later] == PLACED).sum()
    assert played[0].decisions == len(later)


def test_waiting_is_counted() -> None:
    """Two requests for the whole server, the second of which waits until the first has gone."""
    past = past_like([1.0], [[2]], [1.0], [True])
    futures = Futures(np.full((1, 1, 1), 2), np.full((1, 1, 1), 2), past, "wait", 2)
    flat = np.zeros(2, np.bool_)
    futures.take(Future(np.array([1.0, 2.0]), np.array([5.0, inf]), np.full((2, 1), 2), flat, np.zeros(0)))
    assert futures.play(Compiled(best_fit)) == (2, 4.0, 3)


def past_like(gaps: list[float], demand: list[list[int]], stayed: list[float], ended: list[bool]) -> Past:
    """Make a past in which nothing runs any more, on servers of 8."""
    cluster = Cluster(("a",), np.full((1, 1, 1), 8), (NEVER,), np.full((1, 1), 8))
    asked, none = np.array(demand, np.int64), np.zeros(0, np.int64)
    return Past(
        np.array(gaps),
        asked,
        np.array(stayed),
        np.array(ended),
        len(gaps),
        np.zeros(0),
        asked[:0],
        np.zeros(0, np.bool_),
        none,
        none,
        "stop",
        cluster.spreads,
        cluster.possible,
    )


def test_lifetimes_are_estimated_from_what_still_runs() -> None:
    rng = np.random.default_rng(1)
    true = rng.exponential(100.0, 400)
    watched = rng.uniform(0, 150.0, 400)
    stayed, ended = np.minimum(true, watched), true <= watched
    drawn = Lifetimes(stayed, ended)
    totals = np.concatenate([drawn.draw(np.zeros(0), rng)[0] for _ in range(20)])
    assert np.median(stayed) < 45  # what was seen is too short
    assert np.median(totals) == pytest.approx(np.median(true), rel=0.15)
    assert np.mean(np.minimum(totals, 150)) == pytest.approx(np.mean(np.minimum(true, 150)), rel=0.1)


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_a_drawn_lifetime_is_what_was_seen_or_longer(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    stayed, ended = rng.choice([0.0, 0.5, 3.0, 1e5], n), rng.random(n) < 0.5
    ended &= stayed > 0
    ages = rng.choice([0.0, 1.0, 1e6], 3)
    totals, of_ages = Lifetimes(stayed, ended).draw(ages, rng)
    assert (totals[ended] == stayed[ended]).all()
    assert (totals >= stayed).all()
    assert (of_ages >= ages).all()
    assert not np.isnan(of_ages).any()


def test_what_never_ended_may_never_end() -> None:
    rng = np.random.default_rng(0)
    never = Lifetimes(np.full(50, 1e4), np.zeros(50, np.bool_))
    assert any((never.draw(np.zeros(1), rng)[0] == inf).all() for _ in range(20))
    ending = Lifetimes(np.full(50, 1e4), np.arange(50) < 25)
    assert all((ending.draw(np.zeros(1), rng)[0] < inf).all() for _ in range(20))


def test_futures_resemble_the_past_and_know_larger_requests() -> None:
    rng = np.random.default_rng(0)
    kinds = [[1], [5]] * 20
    rng.shuffle(kinds)
    past = past_like([1.0, 3.0] * 20, kinds, [5.0] * 40, [True] * 40)
    futures = [Resampling(past, 200).draw(rng) for _ in range(30)]
    demand = np.concatenate([one.demand[:, 0] for one in futures])
    assert set(demand.tolist()) == {1, 5, 2}  # and not 10, which no server could hold
    assert 0.005 < (demand == 2).mean() < 0.03  # one in 81
    assert np.mean([one.arrival[-1] for one in futures]) == pytest.approx(400, rel=0.1)
    shares = [float((one.demand == 5).mean()) for one in futures]
    assert min(shares) < 0.45 < 0.5 < max(shares)  # how typical the past was is not known


def test_a_race_ends_when_it_is_told_who_is_ahead() -> None:
    rng = np.random.default_rng(0)
    luck = rng.normal(size=10_000) * 5
    worth = np.array([0.0, -3.0, 0.5])

    def play(future: int, rule: int) -> tuple[float, int]:
        return luck[future] + worth[rule] + rng.normal() * 0.5, 10

    race = Race(3, 0.5)
    left, futures, decisions = race.run(0, play, 100_000)
    assert (left, race.best(left)) == ([0, 2], 2)
    assert futures < 200
    assert decisions == 10 * int((~np.isnan(race.scores)).sum())
    ahead, error = race.ahead(2, 0)
    assert 2.5 * error <= ahead == pytest.approx(0.5, abs=4 * error)
    assert Race(3, 0.5).run(0, play, 100)[1:] == (8, 240)  # a round is finished
    assert Race(1, 0.5).run(0, play, 100) == ([0], 0, 0)
    race.run(2, play, 1)
    assert race.weights.min() == 0.5
    for _ in range(4):
        race.run(2, play, 1)
    assert race.weights.min() >= 0.05
    ties = Race(2, 0.5)
    assert ties.run(1, lambda future, rule: (1.0, 1), 10_000) == ([0, 1], 8, 16)


SCENARIO: dict[str, Any] = {
    "workload.requests": 400,
    "agents": [{"adaptive": {"candidates": ["best-fit", "-server_free_cpu"], "safe": "worst-fit", "budget": 5000}}],
}


def world_of(**changes: Any) -> Any:
    return build_world(load_scenario("regimes/shapes", [SCENARIO | changes]))


@pytest.mark.parametrize("overflow", ["drop", "stop", {"expand": {"by": 1, "limit": 12}}, "wait"])
def test_it_is_the_same_in_both_engines_and_leaves_the_worst_rule(overflow: Any) -> None:
    world = world_of(overflow=overflow)
    found = []
    for compiled, play_on in ((False, play), (True, play_compiled)):
        simulation: Any = world.simulation(3, compiled=compiled)
        agent = Adaptive(["best-fit", "-server_free_cpu"], "worst-fit", budget=5000)
        agent.start(simulation.view, stream(3, "agent"))
        play_on(simulation, agent)
        record = simulation.record
        found.append((list(record.sequence), record.server.tolist(), agent.choices))
    assert found[0] == found[1]
    choices = found[0][2]
    assert choices[-1].rule in ("best-fit", "-server_free_cpu")
    assert [one.requests for one in choices] == sorted({one.requests for one in choices})
    times = [one.time for one in choices]
    assert times == sorted(times)


def test_what_it_remembers_is_all_that_it_goes_on_with() -> None:
    from binwright.simcore.agent_state import memory

    agent = Adaptive(["random-top"])
    simulation = world_of().simulation(0)
    agent.start(simulation.view, stream(0, "agent"))
    arrays, words = memory(agent)
    assert set(words) == set(agent.remembers or ())
    assert arrays


def test_it_refuses_what_it_cannot_play() -> None:
    view = world_of().simulation(0).view
    cases: tuple[tuple[list[Any], str], ...] = (
        ([{"nilas": {}}], "does not decide by one kernel"),
        (["time"], "does not decide by one kernel"),
        (["adaptive"], "does not decide by one kernel"),
        ([{"best-fit": {"knot": "loose"}}], "best-fit: "),
        ([{"a": {}, "b": {}}], "is not an agent"),
        (["best fit"], "best fit"),
    )
    for candidates, word in cases:
        with pytest.raises(UserError, match=word):
            Adaptive(candidates).start(view, stream(0, "agent"))
    for options in ({"first": 1}, {"budget": 0}, {"hysteresis": -0.1}):
        with pytest.raises(UserError, match="too little"):
            Adaptive(**options)
    view.past = None
    with pytest.raises(UserError, match="servers only"):
        Adaptive().start(view, stream(0, "agent"))
    cells = build_world(
        load_scenario("regimes/shapes", [SCENARIO | {"cluster.cells": {"count": 2}, "overflow": "drop"}])
    )
    assert "keep theirs" in str(cells.not_compiled(Adaptive(), None))


def test_learned_candidates_that_cannot_run_are_left_out() -> None:
    cluster = Cluster(("a",), np.full((2, 1, 1), 8), (NEVER,), np.full((1, 1), 8))
    load = Workload(("a",), np.arange(40.0), np.ones(40) * 9, np.ones((40, 1), np.int64), np.arange(40))
    simulation = CompiledSimulation(load, Ledger(cluster))
    agent = Adaptive(budget=1000)
    agent.start(simulation.view, stream(0, "agent"))
    play_compiled(simulation, agent)
    assert agent.choices
    assert (simulation.record.outcome == PLACED).sum() > 16
