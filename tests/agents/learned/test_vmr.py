"""vmr: what it sees against plain Python, the network with and without torch, its plans, its weights, and training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.learned.common.tensors import write
from binwright.agents.learned.vmr.agent import CONTROLS, Vmr, described, untrained
from binwright.agents.learned.vmr.form import Forward, shapes
from binwright.agents.learned.vmr.observation import look, look_there, sight_of
from binwright.agents.learned.vmr.planning import follow
from binwright.agents.rules.moving import standing
from binwright.scenarios.learn.training import train
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Running
from binwright.simcore.types import QUANTUM, View
from tests.reference import defragment as slow
from tests.support.in_use import as_slow, in_use, made
from tests.support.learning import going_on, small
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")

SIZE = 8


def gain(free: Any, one: slow.One, server: int, node: int, sign: int) -> int:
    """How much less is lost where a request leaves or comes, both counted as alone."""
    after = [[list(part) for part in nodes] for nodes in free]
    slow.change(after, one, server, node, sign)
    return slow.fragments(free, SIZE) - slow.fragments(after, SIZE)


def fewest(requests: list[slow.One], server: int, node: int, nodes: int, need: int) -> int:
    """How many requests must leave a node so that so much more of its first resource is free; 0: all are too few."""
    on = [one for one in requests if one["server"] == server and (one["spread"] or one["node"] == node)]
    given, count = 0, 0
    for amount in sorted((slow.taken(one, node, nodes)[0] for one in on), reverse=True):
        if given < need:
            given, count = given + amount, count + 1
    return count if given >= need else 0


@pytest.mark.long
@given(st.integers(0, 2**32), st.integers(1, 30))
@scaled(1)
def test_what_is_seen_is_what_is_there(seed: int, left: int) -> None:
    view, running = in_use(seed)
    if not len(running.row):
        return
    now = standing(view, running)
    sight = sight_of(now)
    look(now, SIZE, left, sight)
    free, requests = as_slow(view, running)
    nodes = view.free.shape[1]
    for place, (server, node) in enumerate(slow.places(free)):
        have = free[server][node][0]
        away = fewest(requests, server, node, nodes, SIZE - have % SIZE)
        expected = [have % SIZE / SIZE, have % SIZE == 0, min(have / SIZE, 3) / 3]
        np.testing.assert_allclose(sight.nodes[place, :3], expected, rtol=1e-6)
        np.testing.assert_allclose(sight.nodes[place, 6:8], [1 / away if away else 0, 0 < away <= left], rtol=1e-6)
    for which, one in enumerate(requests):
        there = [gain(free, one, *at, -1) for at in slow.places(free) if slow.may(free, one, *at)]
        assert sight.movable[which] == bool(there)
        leaving = gain(free, one, one["server"], one["node"], 1)
        assert sight.requests[which, 3] == leaving / SIZE
        if there:
            np.testing.assert_allclose(sight.requests[which, 4:6], [max(there) / SIZE, (leaving + max(there)) / SIZE])
            look_there(now, SIZE, left, which, sight)
            may = [slow.may(free, one, *at) for at in slow.places(free)]
            assert sight.fitting.tolist() == may
            seen = [gain(free, one, *at, -1) / SIZE if ok else 0 for at, ok in zip(slow.places(free), may, strict=True)]
            np.testing.assert_allclose(sight.places[:, 0], seen)


@pytest.mark.long
def test_numpy_prefers_what_torch_prefers() -> None:
    torch = pytest.importorskip("torch")
    from binwright.agents.learned.vmr.network import Policy

    policy = Policy()
    policy.put(untrained(4))
    forward = Forward(policy.tensors())
    now = standing(*in_use(5))
    sight = sight_of(now)
    look(now, SIZE, 3, sight)
    which = int(np.flatnonzero(sight.movable)[0])
    look_there(now, SIZE, 3, which, sight)
    first, second = forward.which(sight, now.place), forward.where(sight, which)
    parts = [torch.from_numpy(part)[None] for part in (sight.nodes, sight.requests, now.place, sight.places)]
    with torch.inference_mode():
        node, request, pooled, _ = policy.see(parts[0], parts[1], torch.ones(1, len(now.kind)))
        one = policy.which(node, request, pooled, parts[2])[0].numpy()
        other = policy.where(node, request, parts[3], torch.tensor([which]))[0].numpy()
    np.testing.assert_allclose(first[sight.movable], one[sight.movable], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second[sight.fitting], other[sight.fitting], rtol=1e-4, atol=1e-5)
    assert np.isneginf(first[~sight.movable]).all()
    assert np.isneginf(second[~sight.fitting]).all()


@pytest.mark.long
@given(st.integers(0, 2**32), st.integers(0, 8), st.sampled_from([0, 2]))
@scaled(1)
def test_a_plan_can_be_carried_out_and_never_harms(seed: int, moves: int, samples: int) -> None:
    view, running = in_use(seed)
    found = []
    for weights in CONTROLS:
        for _ in range(2):
            mover = Vmr(weights, size=SIZE / QUANTUM, samples=samples)
            mover.start(view, np.random.default_rng(seed))
            plan = list(mover.plan(view, running, moves))
            after = made(view, running, plan, moves)
            assert slow.fragments(after, SIZE) < slow.fragments(view.free.tolist(), SIZE) or not plan
            found.append(plan)
    assert found[::2] == found[1::2]


@pytest.mark.long
def test_what_is_left_after_a_plan_is_what_it_says() -> None:
    view, running = in_use(8, requests=20)
    now = standing(view, running)
    plan = follow(Forward(untrained(1)), now, SIZE, 9, None)
    again = standing(view, running)
    nodes = view.free.shape[1]
    free, requests = as_slow(view, running)
    for which, place in plan.tolist():
        slow.move(free, requests[which], *divmod(place, nodes))
    assert now.free.tolist() == free
    assert not np.array_equal(again.free, now.free) or not len(plan)


def test_nothing_moves_where_nothing_runs() -> None:
    view, running = in_use(0, requests=0)
    mover = Vmr("untrained")
    mover.start(view, np.random.default_rng(0))
    assert not mover.plan(view, running, 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: Vmr("none"), "no weights of that name"),
        (lambda: Vmr("random", samples=-1), "fewer than none"),
        (lambda: Vmr("random", size=0), "takes something"),
    ],
)
def test_options_that_make_no_sense_are_refused(change: Callable[[], Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        change()


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    view, _ = in_use(1)
    file = tmp_path / "other.safetensors"
    write(file, untrained(), {**described(), "agent": "padrl"})
    with pytest.raises(UserError, match="these are weights of padrl, not of vmr"):
        Vmr(path=str(file)).start(view, np.random.default_rng(0))
    write(file, {name: array for name, array in untrained().items() if name != "which.bias"}, described())
    with pytest.raises(UserError, match="not the weights of this network"):
        Vmr(path=str(file)).start(view, np.random.default_rng(0))


def learning(**changed: Any) -> dict[str, Any]:
    settings = {"moves": [1, 4], "limit": 5, "size": 4, "pool": 2, "snapshots": 2, "episodes": 4, "epochs": 2}
    train = {"agent": {"vmr": settings}, "iterations": 4, "validation": {"every": 2, "episodes": 2}}
    return small(overflow="drop", train=train) | changed


@pytest.mark.long
def test_training_that_is_interrupted_goes_on_as_if_it_was_not(tmp_path: Path) -> None:
    log = going_on(learning(), tmp_path)
    judged = log.filter(log["split"] == "validation")
    falls = judged["fall"].to_numpy()
    np.testing.assert_allclose(falls, (judged["before"] - judged["after"]).to_numpy())
    assert falls.min() >= 0
    path = str(next(tmp_path.glob("whole/*/best.safetensors")))
    view, running = in_use(6)
    mover = Vmr(path=path)
    mover.start(view, np.random.default_rng(0))
    assert mover._quanta == 4 * QUANTUM
    made(view, running, list(mover.plan(view, running, 5)), 5)


def test_a_range_that_is_backwards_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    backwards = learning()
    backwards["train"]["agent"]["vmr"]["moves"] = [5, 2]
    with pytest.raises(UserError, match="the fewest moves come first"):
        train(scenario_from(backwards), tmp_path)


@pytest.mark.long
def test_shipped_weights_beat_their_controls() -> None:
    """On clusters that they were not trained on, of 10 servers: they leave fewer fragments."""
    rest = dict.fromkeys(["generated", *CONTROLS], 0)
    for seed in range(5):
        view, running = crowded(seed)
        for name in rest:
            mover = Vmr(name)
            mover.start(view, np.random.default_rng(seed))
            now = made(view, running, list(mover.plan(view, running, 10)), 10)
            rest[name] += slow.fragments(now, 16 * QUANTUM)
    assert rest["generated"] < min(rest[name] for name in CONTROLS)


def crowded(seed: int) -> tuple[View, Running]:
    """Fill servers of two nodes with 44 cores at random."""
    view, running = in_use(seed, servers=10, requests=120, most=44)
    scaled_up = Running(
        running.row,
        running.server,
        running.node,
        running.demand * QUANTUM,
        running.left,
        lambda row: running.request(row)._replace(
            demand=tuple(amount * QUANTUM for amount in running.request(row).demand)
        ),
    )
    return View(view.resources, view.capacity * QUANTUM, view.free * QUANTUM), scaled_up


def test_untrained_weights_have_the_shapes_of_trained_ones() -> None:
    assert {name: array.shape for name, array in untrained().items()} == shapes()
