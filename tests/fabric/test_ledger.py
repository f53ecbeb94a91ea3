"""The ledger against a slow model, and what fits where against obvious rules."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.fabric.array_kernels import ascending
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.servers import look, why_not
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError
from binwright.simcore.types import Amounts, Placement, Request, Share
from tests.reference import engine as reference
from tests.reference.engine import SPREAD, Demand, Room, feasible, fits, shares, spreads
from tests.reference.looks import looked, stranded
from tests.support.properties import forms, scaled
from tests.support.recount import recount


@dataclass
class Model:
    """What the ledger should be: `free` is never kept, always worked out from what is held."""

    capacity: Room
    growth: list[list[int]]
    held: dict[int, tuple[Share, ...]] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)

    def free(self) -> Room:
        free = [
            [[0 if s in self.down else amount for amount in node] for node in server]
            for s, server in enumerate(self.capacity)
        ]
        for taken in self.held.values():
            for server, node, amounts in taken:
                free[server][node] = [has - amount for has, amount in zip(free[server][node], amounts, strict=True)]
        return free

    def used(self) -> list[int]:
        held = [amounts for taken in self.held.values() for _, _, amounts in taken]
        return [sum(amounts) for amounts in zip([0] * len(self.growth[0]), *held, strict=True)]

    def accepts(self, request: Request, taken: tuple[Share, ...]) -> bool:
        where = (taken[0][0], SPREAD if request.spread else taken[0][1]) if taken else (-1, -1)
        if not 0 <= where[0] < len(self.capacity) or not (request.spread or 0 <= where[1] < len(self.growth)):
            return False
        right = shares(request.demand, request.spread, where, len(self.growth))
        return list(taken) == right and fits(self.free(), request.demand, request.spread, where)

    def fail(self, server: int) -> list[int]:
        hit = sorted(i for i, taken in self.held.items() if taken[0][0] == server)
        for i in hit:
            del self.held[i]
        self.down.add(server)
        return hit


small = st.integers(0, 4)
roomy = st.sampled_from([0, 2, 4, 9])


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to three servers of up to three nodes and two resources."""
    nodes, resources = draw(st.integers(1, 3)), draw(forms(2, 1))
    server = st.lists(st.lists(roomy, min_size=resources, max_size=resources), min_size=nodes, max_size=nodes)
    capacity = draw(st.lists(server, min_size=1, max_size=3))
    above = draw(st.lists(st.sampled_from([0, 2, 4, NEVER]), min_size=resources, max_size=resources))
    growth = np.array(draw(server), np.int64)
    return Cluster(tuple("ab"[:resources]), np.array(capacity, np.int64), tuple(above), growth)


Step = tuple[str, int, int, int, tuple[int, int], int]
step = st.tuples(
    st.sampled_from(["apply"] * 6 + ["release"] * 3 + ["fail", "repair", "grow"]),
    st.integers(0, 7),  # request
    st.integers(-1, 3),  # server
    st.integers(-1, 2),  # node
    st.tuples(small, small),  # demand
    st.integers(0, 12),  # how to get it wrong
)
steps = st.integers(1, 40).flatmap(lambda length: st.lists(step, min_size=length, max_size=length))


def answer(request: Request, server: int, node: int, nodes: int, mistake: int) -> Placement:
    """Mostly right in form, sometimes not."""
    right = request.across(server, nodes) if request.spread else request.on(server, node)
    match mistake:
        case 0:
            return request.on(server, node)
        case 1:
            return request.across(server, nodes)
        case 2:
            return Placement(right.shares[:-1])
        case 3:
            return Placement(tuple((s, n, tuple(amount - 1 for amount in amounts)) for s, n, amounts in right.shares))
        case 4:
            return Placement((*right.shares[::-1], (server, node, (0,) * len(request.demand))))
    return right


def snapshot(ledger: Ledger) -> tuple[Any, ...]:
    """All that can be seen of a ledger."""
    view = ledger.view
    return view.free.tobytes(), view.capacity.tobytes(), view.free.shape, ledger.used().tolist(), {*ledger.down}


TWO_NODES = Cluster(("a",), np.full((1, 2, 1), 4, np.int64), (9,), np.full((2, 1), 4, np.int64))
EVICTED = [(what, 5, 0, 1, (3, 0), 5) for what in ("apply", "apply", "fail", "fail", "repair", "release", "release")]
"""The clock still has the release of a request that a failure took away: it counts once."""


@scaled(4)
@given(clusters(), steps)
@example(TWO_NODES, EVICTED)
@example(TWO_NODES, [EVICTED[0], *EVICTED[-2:]])
def test_ledger_equals_its_slow_model(cluster: Cluster, script: list[Step]) -> None:
    ledger = Ledger(cluster)
    model = Model(cluster.capacity.tolist(), cluster.growth.tolist())
    nodes, resources = cluster.growth.shape
    for what, index, server, node, amounts, mistake in script:
        before = snapshot(ledger)
        if what == "apply":
            demand = amounts[:resources]
            request = Request(index, 0.0, 1.0, demand, spreads(demand, nodes, cluster.spread_above))
            placement = answer(request, server, node, nodes, mistake)
            if index in model.held:
                with pytest.raises(LedgerError, match=f"request {index} is placed already"):
                    ledger.apply(request, placement)
                assert snapshot(ledger) == before
            elif model.accepts(request, placement.shares):
                ledger.apply(request, placement)
                model.held[index] = placement.shares
            else:
                with pytest.raises(InfeasiblePlacement):
                    ledger.apply(request, placement)
                assert snapshot(ledger) == before
        elif what == "release":
            if index in model.held:
                ledger.release(index)
                del model.held[index]
            else:
                with pytest.raises(LedgerError, match=f"request {index} holds nothing"):
                    ledger.release(index)
                assert snapshot(ledger) == before
        elif what == "grow":
            ledger.grow(mistake % 3)
            model.capacity += [model.growth] * (mistake % 3)
        elif 0 <= server < len(model.capacity):
            if what == "fail":
                assert ledger.fail(server) == ([] if server in model.down else model.fail(server))
            else:
                ledger.repair(server)
                model.down.discard(server)
        assert ledger.view.free.tolist() == model.free()
        assert ledger.view.capacity.tolist() == model.capacity
        assert ledger.used().tolist() == model.used()
        assert ledger.down == model.down
        recount(ledger)


def two_nodes() -> tuple[Ledger, Request]:
    """One server of two nodes of 4, and a whole request of 3."""
    capacity = np.full((1, 2, 1), 4, np.int64)
    ledger = Ledger(Cluster(("cpu",), capacity, (9,), capacity[0]))
    return ledger, Request(5, 0.0, 1.0, (3,), False)


def test_ledger_messages_name_what_is_wrong() -> None:
    ledger, request = two_nodes()
    ledger.apply(request, request.on(0, 1))
    more = Request(6, 0.0, 1.0, (3,), False)
    spread = Request(7, 0.0, 1.0, (4,), True)
    for requested, placement, message in (
        (more, more.on(0, 1), r"does not fit on node 1 of server 0, which has 1e-06 cpu free"),
        (more, more.on(0, 2), "no node 2 of server 0"),
        (more, more.on(1, 0), "no node 0 of server 1"),
        (more, more.across(0, 2), r"answer request.on\(server, node\)"),
        (spread, spread.on(0, 0), r"answer request.across\(server, 2\)"),
        (spread, spread.across(0, 2), r"does not fit on node 1 of server 0, which has 1e-06 cpu free"),
        (more, Placement(()), "nothing at all"),
        (more, (0, 0), "neither a Placement nor None"),
    ):
        with pytest.raises(InfeasiblePlacement, match=message):
            ledger.apply(requested, placement)  # type: ignore[arg-type]
        assert ledger.view.free.tolist() == [[[4], [1]]]
    ledger.fail(0)
    with pytest.raises(InfeasiblePlacement, match="server 0 has failed"):
        ledger.apply(more, more.on(0, 0))


def test_check_notices_a_lost_quantum() -> None:
    ledger, request = two_nodes()
    ledger.apply(request, request.on(0, 1))
    recount(ledger)
    ledger._free[0, 0, 0] -= 1
    with pytest.raises(AgentError, match="has written"):
        recount(ledger)


def test_view_arrays_are_read_only() -> None:
    ledger, request = two_nodes()
    for change in (lambda: None, lambda: ledger.grow(1), lambda: ledger.fail(0), lambda: ledger.repair(0)):
        change()
        for array in (ledger.view.free, ledger.view.capacity):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0, 0] = 9
            with pytest.raises(ValueError, match="read-only"):
                array.reshape(-1)[0] = 9
    ledger.apply(request, request.on(1, 0))
    assert ledger.view.free.tolist() == [[[4], [4]], [[1], [4]]]


# -- what fits where -----------------------------------------------------------------------------------------------

demands = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6)


def cut(actual: list[tuple[int, int]], resources: int) -> list[Amounts]:
    return [amounts[:resources] for amounts in actual]


@given(clusters(), demands)
def test_spread_and_possible_requests_follow_the_plain_rules(cluster: Cluster, actual: list[tuple[int, int]]) -> None:
    nodes, resources = cluster.growth.shape
    requested = cut(actual, resources)
    array = np.array(requested, np.int64).reshape(len(requested), resources)
    ledger = Ledger(cluster)
    spread = [spreads(demand, nodes, cluster.spread_above) for demand in requested]
    assert ledger.spreads(array).tolist() == spread
    case = reference.Case(cluster.capacity.tolist(), cluster.growth.tolist(), cluster.spread_above, [])
    assert ledger.possible(array).tolist() == [reference.possible(case, demand) for demand in requested]


@scaled(3)
@given(clusters(), st.tuples(small, small), st.booleans(), st.booleans())
def test_why_not(cluster: Cluster, amounts: tuple[int, int], spread: bool, failed: bool) -> None:
    ledger = Ledger(cluster)
    if failed:
        ledger.fail(0)
    free: Room = ledger.view.free.tolist()
    demand: Demand = amounts[: len(cluster.resources)]
    code = ledger.why_not(Request(0, 0.0, 1.0, demand, spread))
    assert code == reference.why_not(free, demand, spread)
    assert 0 <= code < len(ledger.reasons)


def test_reasons_for_refusals_are_named() -> None:
    """One server with a lot of a, one with a lot of b; the second has its a in two halves."""
    capacity = np.array([[[9, 1], [0, 0]], [[2, 9], [2, 0]]], np.int64)
    ledger = Ledger(Cluster(("a", "b"), capacity, (NEVER, NEVER), capacity[0]))
    for demand, reason in (
        ((9, 1), "agent declined"),
        ((3, 5), "fits no single node"),
        ((5, 5), "no server has enough of everything at once"),
        ((10, 1), "no server has enough a"),
        ((10, 10), "no server has enough a"),
        ((1, 10), "no server has enough b"),
    ):
        assert ledger.reasons[ledger.why_not(Request(0, 0.0, 1.0, demand, False))] == reason
    whole, even = (Request(0, 0.0, 1.0, (4, 1), spread) for spread in (False, True))
    ledger.fail(0)
    assert ledger.reasons[ledger.why_not(whole)] == "fits no single node"
    assert why_not(ledger.view.free, whole.demand, False) == 1
    assert feasible(ledger.view.free.tolist(), even.demand, True) == [(1, SPREAD)]
    assert ledger.reasons[ledger.why_not(even)] == "agent declined"


def unusable(free: Room, flavours: list[tuple[Demand, bool]]) -> list[int]:
    """Free on nodes where neither some whole flavour fits, nor some spread one on their server."""
    lost = [0] * len(free[0][0])
    for s, server in enumerate(free):
        for n, node in enumerate(server):
            useful = [fits(free, demand, spread, (s, SPREAD if spread else n)) for demand, spread in flavours]
            if not any(useful):
                lost = [total + amount for total, amount in zip(lost, node, strict=True)]
    return lost


@given(clusters(), st.lists(st.tuples(st.tuples(small, small), st.booleans()), max_size=3))
def test_stranded(cluster: Cluster, actual: list[tuple[tuple[int, int], bool]]) -> None:
    free = cluster.capacity
    resources = free.shape[2]
    flavours = [(demand[:resources], spread) for demand, spread in actual]
    array = np.array([demand for demand, _ in flavours], np.int64).reshape(len(flavours), resources)
    spread = np.array([spread for _, spread in flavours], np.bool_)
    before = free.copy()
    counts, total = np.zeros((len(free), 1 + 2 * resources), np.int64), np.zeros(1 + 2 * resources, np.int64)
    look(free, free, array, spread.astype(np.int64), np.zeros(1, np.int64), -1, counts, total)
    in_use, whole, lost = np.split(total, (1, 1 + resources))
    assert lost.tolist() == stranded(free, array, spread.tolist()).tolist() == unusable(free.tolist(), flavours)
    assert (in_use.tolist(), whole.tolist()) == ([0], free.sum(axis=(0, 1)).tolist())
    assert np.array_equal(free, before)


# -- what is free, used and stranded -----------------------------------------------------------------------------------


FLAVOURS = np.array([[1, 3], [2, 1], [3, 2]])
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "give", "fail", "repair", "grow"]), st.integers(0, 299), st.integers(1, 70)),
    max_size=25,
)


@given(st.sampled_from([7, 256]), STEPS)
@scaled(1)
def test_updated_stranded_amounts_equal_a_full_count(servers: int, steps: list[tuple[str, int, int]]) -> None:
    capacity = np.full((servers, 2, 2), 4)
    ledger = Ledger(Cluster(("cpu", "mem"), capacity, (10**18, 2), capacity[0]))
    row, held = 0, set()
    for what, server, times in steps:
        for number in range(times if what in ("take", "give") else 1):
            if what == "take":
                demand = tuple(FLAVOURS[number % 3].tolist())
                spread = bool(ledger.spreads(np.array([demand]))[0])
                request = Request(row, 0.0, 1.0, demand, spread)
                server %= servers
                place = request.across(server, 2) if spread else request.on((server + number) % servers, number % 2)
                with suppress(InfeasiblePlacement):
                    ledger.apply(request, place)
                    held.add(row)
                row += 1
            elif what == "give" and held:
                ledger.release(held.pop())
            elif what == "fail":
                ledger.fail(server % len(ledger.view.free))
                held = set(ledger.running)
            elif what == "repair":
                ledger.repair(server % len(ledger.view.free))
            elif what == "grow":
                ledger.grow(times)
        expected = looked(ledger, FLAVOURS)
        for result, wanted in zip(ledger.look(FLAVOURS), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


# -- arrays ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 5), max_size=70))
def test_places_are_sorted_as_numpy_does(keys: list[int]) -> None:
    array = np.array(keys, np.int64)
    assert ascending(array).tolist() == np.argsort(array, kind="stable").tolist()
    assert array.tolist() == keys
