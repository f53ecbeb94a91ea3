"""The mover `solver`: its moves are in an order in which each fits, and help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.rules.moving import aim_at, losses, standing
from agents.solver.movers.defragment import SolverMover, ordered, useful
from simcore.errors import UserError
from simcore.types import QUANTUM
from tests.reference import defragment as slow
from tests.support.in_use import as_slow, in_use, made
from tests.support.properties import scaled

SIZE = 8


def in_order(free: Any, requests: list[slow.One], targets: dict[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    """The moves in which always the lowest request that fits is next."""
    found, left = [], dict(targets)
    while fitting := [which for which in sorted(left) if slow.may(free, requests[which], *left[which])]:
        there = left.pop(fitting[0])
        slow.move(free, requests[fitting[0]], *there)
        found.append((fitting[0], *there))
    return found


@given(st.integers(0, 2**32))
@scaled(1)
def test_moves_are_ordered_and_cut_as_the_slow_way_says(seed: int) -> None:
    view, running = in_use(seed)
    rng = np.random.default_rng(seed)
    free, requests = as_slow(view, running)
    nodes = view.free.shape[1]
    targets = {}
    for which, one in enumerate(requests):
        server, node = int(rng.integers(len(free))), 0 if one["spread"] else int(rng.integers(nodes))
        if rng.random() < 0.5 and (server, node) != (one["server"], one["node"]):
            targets[which] = server, node
    codes = {which: server * nodes + node for which, (server, node) in targets.items()}
    plan = ordered(standing(view, running), codes)
    assert [(which, *divmod(place, nodes)) for which, place in plan.tolist()] == in_order(free, requests, targets)
    if not len(running.row):
        return
    free, requests = as_slow(view, running)
    lost = [slow.fragments(free, SIZE)]
    for which, place in plan.tolist():
        slow.move(free, requests[which], *divmod(place, nodes))
        lost.append(slow.fragments(free, SIZE))
    now = standing(view, running)
    kept = useful(now, plan, aim_at("fragments", SIZE / QUANTUM, now))
    assert len(kept) == lost.index(min(lost))


@pytest.mark.long
@given(st.integers(0, 2**32), st.integers(0, 5))
@scaled(0.3)
def test_a_plan_can_be_carried_out_and_helps(seed: int, moves: int) -> None:
    view, running = in_use(seed)
    found = []
    for _ in range(2):
        mover = SolverMover(size=SIZE / QUANTUM, runs=2)
        mover.start(view, np.random.default_rng(0))
        plan = list(mover.plan(view, running, moves))
        after = made(view, running, plan, moves)
        assert not plan or slow.fragments(after, SIZE) < slow.fragments(view.free.tolist(), SIZE)
        found.append(plan)
    assert found[0] == found[1]


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UserError, match="no run of the search"):
        SolverMover(runs=0)
    view, running = in_use(0, requests=0)
    assert not SolverMover().plan(view, running, 5)
    now = standing(*in_use(3))
    assert losses(now.free, aim_at("fragments", SIZE / QUANTUM, now)) == slow.fragments(now.free.tolist(), SIZE)
