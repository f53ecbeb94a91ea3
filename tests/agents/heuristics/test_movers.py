"""Movers that follow simple rules: against their slow versions, and every plan can be carried out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.movers.by_agent import ByAgent
from binwright.agents.heuristics.movers.defragment import Defragment
from binwright.agents.heuristics.movers.empty import Empty, Lars
from binwright.agents.heuristics.movers.make_room import MakeRoom
from binwright.agents.rules.moving import aim_at, fragment_rate, standing
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.simcore import rng
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Mover, Running
from binwright.simcore.types import Request, View
from tests.reference import defragment as slow
from tests.reference.engine import SPREAD, Demand, Where, feasible
from tests.reference.movers import make_room
from tests.reference.moving import Runs
from tests.support.in_use import as_slow, in_use, made
from tests.support.properties import scaled
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
    return Running(rows, where[:, 0], where[:, 1], demand, np.full(len(rows), np.nan), requests.__getitem__)


def planned(
    mover: Mover, ledger: Ledger, running: Running, moves: int, wanted: Request | None
) -> list[tuple[int, Where]]:
    """Ask for a plan, and rehearse it."""
    mover.start(ledger.view, rng.stream(0, "movers"))
    plan = mover.plan(ledger.view, running, moves, wanted)
    assert len(plan) <= moves
    ledger.rehearse((running.request(move.row), move.placement) for move in plan)
    found = []
    for row, placement in plan:
        server, node, _ = placement.shares[0]
        found.append((row, (server, SPREAD if running.request(row).spread else node)))
    return found


@scaled(3)
@given(packed(), st.tuples(st.integers(1, 8), st.integers(0, 4)), st.integers(1, 3))
def test_the_fewest_moves_make_room(drawn: tuple[Ledger, Runs, dict[int, Request]], demand: Demand, moves: int) -> None:
    ledger, runs, requests = drawn
    spread = bool(ledger.spreads(np.array([demand]))[0])
    wanted = Request(99, 0.0, 9.0, demand, spread)
    free = ledger.view.free.tolist()
    if runs and not feasible(free, demand, spread):
        found = planned(MakeRoom(), ledger, listed(runs, requests), moves, wanted)
        assert found == make_room(free, runs, moves, demand, spread)


@given(packed(), st.integers(1, 9))
def test_an_agents_moves_pack_more_tightly_and_end(drawn: tuple[Ledger, Runs, dict[int, Request]], moves: int) -> None:
    ledger, runs, requests = drawn
    free, total = ledger.view.free.tolist(), np.maximum(ledger.view.capacity.sum(axis=1), 1)

    def packing() -> float:
        held = 1 - (np.array(free).sum(axis=1) / total).mean(axis=1)
        return float((held**2).sum())

    for _ in range(40):
        before = packing()
        found = planned(ByAgent("first-fit"), ledger, listed(runs, requests), moves, None)
        if not found:
            return
        at = dict(found)
        for row, where in found:
            ledger.begin_move(requests[row], place(requests[row], where, 2))
            ledger.end_move(row, arrived=True)
        runs = [(row, at.get(row, where), demand, spread) for row, where, demand, spread in runs]
        ledger.check()
        free = ledger.view.free.tolist()
        uniform = (total == total[0]).all()
        assert packing() > before or not uniform
    raise AssertionError("moves to and fro")


SIZE = 8


def goal_of(name: str, view: View, running: Running) -> Any:
    """Return a goal as a slow function, and its name with the options that say the same."""
    aim = aim_at("stranded", None, standing(view, running))
    kinds = zip(aim.demands.tolist(), aim.spread.tolist(), aim.times.tolist(), strict=True)
    usual = [({"demand": demand, "spread": bool(spread)}, times) for demand, spread, times in kinds]
    return partial(slow.fragments, size=SIZE) if name == "fragments" else partial(slow.stranded, usual=usual)


def places(plan: Any, running: Running) -> list[tuple[int, int, int]]:
    """Return a plan as numbers: which of the running, server, node."""
    rows = running.row.tolist()
    return [(rows.index(row), *placement.shares[0][:2]) for row, placement in plan]


@pytest.mark.long
@given(st.integers(0, 2**32), st.sampled_from(["fragments", "stranded"]), st.integers(0, 6))
@scaled(1)
def test_single_moves_are_as_the_slow_one_says(seed: int, goal: Any, moves: int) -> None:
    compare(seed, goal, 1, moves)


@pytest.mark.long
@given(st.integers(0, 2**32), st.sampled_from(["fragments", "stranded"]), st.sampled_from([2, 3]), st.integers(0, 6))
@scaled(1)
def test_groups_are_as_the_slow_one_says(seed: int, goal: Any, together: int, moves: int) -> None:
    compare(seed, goal, together, moves)


def compare(seed: int, goal: Any, together: int, moves: int) -> None:
    """Defragment a cluster, fast and slowly."""
    view, running = in_use(seed)
    mover = Defragment(goal, SIZE / 1e6, together)
    plan = list(mover.plan(view, running, moves))
    free, requests = as_slow(view, running)
    least = goal_of(goal, view, running)
    assert places(plan, running) == slow.defragment(free, requests, least, moves, together)
    after = made(view, running, plan, moves)
    assert after == free
    assert least(after) < least(view.free.tolist()) or not plan


def lying(demand: list[int], server: list[int], left: list[float]) -> tuple[View, Running]:
    """Put requests of so many cores on servers of one node with 32 cores."""
    quanta = np.array(demand)[:, None] * 1_000_000
    capacity = np.full((max(server) + 1, 1, 1), 32_000_000, np.int64)
    free = capacity.copy()
    for one, amounts in zip(server, quanta, strict=True):
        free[one, 0] -= amounts
    asked = [Request(i, 0.0, 1.0, tuple(amounts), False) for i, amounts in enumerate(quanta.tolist())]
    rows, nodes = np.arange(len(demand)), np.zeros(len(demand), np.int64)
    running = Running(rows, np.array(server), nodes, quanta, np.array(left), asked.__getitem__)
    return View(("cpu",), capacity, free), running


@pytest.mark.long
def test_two_leave_together_where_neither_helps_alone() -> None:
    """Two requests of 4 cores leave a node that has 8 of 16 free; those that take them have just so much to spare."""
    view, running = lying([4, 4, 16, 28, 28], [0, 0, 0, 1, 2], [1.0] * 5)
    assert fragment_rate(view.free, 16_000_000) == 1
    assert not Defragment(size=16, together=1).plan(view, running, 50)
    plan = Defragment(size=16).plan(view, running, 50)
    assert places(plan, running) == [(0, 1, 0), (1, 2, 0)]
    assert not Defragment(size=16).plan(view, running, 1)
    assert fragment_rate(np.array(made(view, running, list(plan), 2)), 16_000_000) == 0


@pytest.mark.long
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.integers(0, 8))
@scaled(1)
def test_emptying_is_as_the_slow_one_says(seed: int, long_first: bool, ruled: bool, moves: int) -> None:
    view, running = in_use(seed, servers=5, requests=12)
    rng = np.random.default_rng(seed)
    if len(running.row) > 1 and rng.random() < 0.3:  # one that is not to move
        row, server, node = running.row[1:], running.server[1:], running.node[1:]
        running = Running(row, server, node, running.demand[1:], running.left[1:], running.request)
    allowed = rng.random((len(running.row), 5)) < 0.8
    if ruled:
        rows = running.row.tolist()
        running = replace(running, may=lambda row: allowed[rows.index(row)])
    mover = Lars() if long_first else Empty()
    plan = list(mover.plan(view, running, moves))
    free, requests = as_slow(view, running)
    order = np.argsort(mover.key(running), kind="stable").tolist() if len(running.row) else []
    said = allowed.tolist() if ruled else None
    expected = slow.empty(free, view.capacity.tolist(), requests, order, not long_first, moves, said)
    assert places(plan, running) == expected
    after = np.array(made(view, running, plan, moves))
    in_use_of = [(part != view.capacity).any(axis=(1, 2)).sum() for part in (after, view.free)]
    assert in_use_of[0] <= in_use_of[1] or ruled


@pytest.mark.long
def test_the_longest_moves_first_and_a_server_is_emptied_bit_by_bit() -> None:
    view, running = lying([1, 1, 8, 8, 8], [0, 0, 1, 1, 1], [10.0, 100.0, 50.0, 50.0, 50.0])
    assert places(Lars().plan(view, running, 1), running) == [(1, 1, 0)]
    assert places(Lars().plan(view, running, 9), running) == [(1, 1, 0), (0, 1, 0)]
    assert not Empty().plan(view, running, 1)
    assert places(Empty().plan(view, running, 2), running) == [(0, 1, 0), (1, 1, 0)]


@pytest.mark.parametrize("mover", [Defragment(), Empty(), Lars()])
def test_nothing_moves_where_nothing_runs(mover: Mover) -> None:
    view, running = in_use(0, requests=0)
    assert not mover.plan(view, running, 5)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"goal": "fragment"}, "goal"), ({"size": -1}, "size"), ({"together": 0}, "together")],
)
def test_options_that_make_no_sense_are_refused(options: Any, said: str) -> None:
    view, running = in_use(1)
    with pytest.raises(UserError, match=r"no such goal|takes something|leaves alone") as error:
        Defragment(**options).plan(view, running, 1)
    assert error.value.key == said
