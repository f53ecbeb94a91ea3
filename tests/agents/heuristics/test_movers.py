"""Movers that follow simple rules: against their slow versions, and every plan can be carried out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.heuristics.movers.defragment import Defragment
from agents.rules.moving import aim_at, fragment_rate, standing
from simcore.errors import UserError
from simcore.moves import Mover, Running
from simcore.vocabulary import View
from tests.reference import movers as slow
from tests.support.moving import as_slow, in_use, made
from tests.support.properties import scaled

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


@given(st.integers(0, 2**32), st.sampled_from(["fragments", "stranded"]), st.sampled_from([1, 3]), st.integers(0, 6))
@scaled(1)
def test_defragmenting_is_as_the_slow_one_says(seed: int, goal: Any, together: int, moves: int) -> None:
    view, running = in_use(seed)
    mover = Defragment(goal, SIZE / 1e6, together)
    plan = list(mover.plan(view, running, moves))
    free, requests = as_slow(view, running)
    least = goal_of(goal, view, running)
    assert places(plan, running) == slow.defragment(free, requests, least, moves, together)
    after = made(view, running, plan, moves)
    assert after == free
    assert least(after) < least(view.free.tolist()) or not plan


def test_two_leave_together_where_neither_helps_alone() -> None:
    """Two requests of 4 cores leave a node that has 8 of 16 free; those that take them have just so much to spare."""
    capacity = np.full((3, 1, 1), 32_000_000, np.int64)
    demand = np.array([[4], [4], [16], [28], [28]]) * 1_000_000
    server = np.array([0, 0, 0, 1, 2])
    free = capacity.copy()
    np.subtract.at(free, (server, 0), demand)
    from simcore.vocabulary import Request

    asked = [Request(i, 0.0, 1.0, tuple(amounts), False) for i, amounts in enumerate(demand.tolist())]
    running = Running(np.arange(5), server, np.zeros(5, np.int64), demand, np.ones(5), asked.__getitem__)
    view = View(("cpu",), capacity, free)
    assert fragment_rate(free, 16_000_000) == 1
    assert not Defragment(size=16, together=1).plan(view, running, 50)
    plan = Defragment(size=16).plan(view, running, 50)
    assert places(plan, running) == [(0, 1, 0), (1, 2, 0)]
    assert not Defragment(size=16).plan(view, running, 1)
    assert fragment_rate(np.array(made(view, running, list(plan), 2)), 16_000_000) == 0


@pytest.mark.parametrize("mover", [Defragment()])
def test_nothing_moves_where_nothing_runs(mover: Mover) -> None:
    view, running = in_use(0, requests=0)
    assert not mover.plan(view, running, 5)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"goal": "fragment"}, "goal"), ({"size": -1}, "size"), ({"together": 0}, "together")],
)
def test_options_that_make_no_sense_are_refused(options: Any, said: str) -> None:
    view, running = in_use(1)
    with pytest.raises(UserError, match="no such goal|takes something|leaves alone") as error:
        Defragment(**options).plan(view, running, 1)
    assert error.value.key == said
