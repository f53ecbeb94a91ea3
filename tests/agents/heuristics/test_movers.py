"""Movers that follow simple rules: against their slow versions, and every plan can be carried out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.agents.heuristics.movers import ByAgent, Empty, MakeRoom
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.simcore import rng
from binwright.simcore.moves import Mover, Running
from binwright.simcore.types import Request
from tests.reference import emptying as slow
from tests.reference.engine import SPREAD, Demand, Where, feasible
from tests.reference.movers import make_room
from tests.reference.moving import Runs
from tests.support.in_use import as_slow, in_use, made
from tests.support.properties import scaled
from tests.support.recount import recount
from tests.support.simulations import place


@st.composite
def packed(draw: st.DrawFn) -> tuple[Ledger, Runs, dict[int, Request]]:
    """Draw servers of two nodes with requests on them, so many that there is little room."""
    servers = draw(st.integers(1, 4))
    capacity = np.array(draw(st.lists(st.sampled_from([6, 4, 3, 8]), min_size=servers * 4, max_size=servers * 4)))
    ledger = Ledger(Cluster(("a", "b"), capacity.reshape(servers, 2, 2), (5, 99), capacity.reshape(-1, 2, 2)[0]))
    runs: Runs = []
    requests = {}
    for row, demand in enumerate(
        draw(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 3)), min_size=1, max_size=20))
    ):
        spread = bool(ledger.spreads(np.array([demand]))[0])
        request = Request(row, 0.0, 9.0, demand, spread)
        if where := feasible(ledger.view.free.tolist(), demand, spread):
            to = where[draw(st.integers(0, 3)) % len(where)]
            ledger.apply(request, place(request, to, 2))
            runs.append((row, to, demand, spread))
            requests[row] = request
    return ledger, runs, requests


def listed(runs: Runs, requests: dict[int, Request]) -> Running:
    """Make what a mover sees."""
    rows = np.array([row for row, _, _, _ in runs], np.int64)
    where = np.array([at for _, at, _, _ in runs], np.int64).reshape(-1, 2)
    demand = np.array([demand for _, _, demand, _ in runs], np.int64).reshape(-1, 2)
    places = {row: place(requests[row], at, 2) for row, at, _, _ in runs}
    return Running(rows, where[:, 0], where[:, 1], demand, requests.__getitem__, places.__getitem__)


def planned(
    mover: Mover, ledger: Ledger, running: Running, moves: int, wanted: Request | None
) -> list[tuple[int, Where]]:
    """Ask for a plan, and rehearse it."""
    mover.start(ledger.view, rng.stream(0, "movers"))
    plan = mover.plan(ledger.view, running, moves, wanted)
    assert len(plan) <= moves
    ledger.rehearse((running.request(move.row), move.placement) for move in plan)
    result = []
    for row, placement in plan:
        server, node, _ = placement.shares[0]
        result.append((row, (server, SPREAD if running.request(row).spread else node)))
    return result


@pytest.mark.long
@scaled(3)
@given(packed(), st.tuples(st.integers(1, 8), st.integers(0, 4)), st.integers(1, 3))
def test_make_room_takes_fewest_moves(
    drawn: tuple[Ledger, Runs, dict[int, Request]], demand: Demand, moves: int
) -> None:
    ledger, runs, requests = drawn
    spread = bool(ledger.spreads(np.array([demand]))[0])
    wanted = Request(99, 0.0, 9.0, demand, spread)
    free = ledger.view.free.tolist()
    if runs and not feasible(free, demand, spread):
        result = planned(MakeRoom(), ledger, listed(runs, requests), moves, wanted)
        assert result == make_room(free, runs, moves, demand, spread)


@given(packed(), st.integers(1, 9))
def test_an_agents_moves_pack_more_tightly_and_end(drawn: tuple[Ledger, Runs, dict[int, Request]], moves: int) -> None:
    ledger, runs, requests = drawn
    free, total = ledger.view.free.tolist(), np.maximum(ledger.view.capacity.sum(axis=1), 1)

    def packing() -> float:
        held = 1 - (np.array(free).sum(axis=1) / total).mean(axis=1)
        return float((held**2).sum())

    for _ in range(40):
        before = packing()
        evaluation = planned(ByAgent("first-fit"), ledger, listed(runs, requests), moves, None)
        if not evaluation:
            return
        at = dict(evaluation)
        for row, where in evaluation:
            ledger.begin_move(requests[row], place(requests[row], where, 2))
            ledger.end_move(row, arrived=True)
        runs = [(row, at.get(row, where), demand, spread) for row, where, demand, spread in runs]
        recount(ledger)
        free = ledger.view.free.tolist()
        uniform = (total == total[0]).all()
        assert packing() > before or not uniform
    raise AssertionError("moves to and fro")


def places(plan: Any, running: Running) -> list[tuple[int, int, int]]:
    """Return a plan as numbers: which of the running, server, node."""
    rows = running.row.tolist()
    return [(rows.index(row), *placement.shares[0][:2]) for row, placement in plan]


@pytest.mark.long
@given(st.integers(0, 2**32), st.booleans(), st.integers(0, 8))
@example(60454, False, 1)  # two servers with as little left
@scaled(1)
def test_emptying_is_as_the_slow_one_says(seed: int, ruled: bool, moves: int) -> None:
    view, running = in_use(seed, servers=5, requests=12)
    rng = np.random.default_rng(seed)
    if len(running.row) > 1 and rng.random() < 0.3:  # one that is not to move
        row, server, node = running.row[1:], running.server[1:], running.node[1:]
        running = Running(row, server, node, running.demand[1:], running.request, running.at)
    allowed = rng.random((len(running.row), 5)) < 0.8
    if ruled:
        rows = running.row.tolist()
        running = replace(running, may=lambda row: allowed[rows.index(row)])
    mover = Empty()
    mover.start(view, rng)
    plan = list(mover.plan(view, running, moves))
    free, requests = as_slow(view, running)
    order = np.argsort(-running.demand[:, 0], kind="stable").tolist()
    movable = allowed.tolist() if ruled else None
    expected = slow.empty(free, view.capacity.tolist(), requests, order, moves, movable)
    assert places(plan, running) == expected
    after = np.array(made(view, running, plan, moves))
    in_use_of = [(part != view.capacity).any(axis=(1, 2)).sum() for part in (after, view.free)]
    assert in_use_of[0] <= in_use_of[1] or ruled
