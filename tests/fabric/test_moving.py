"""Moves in ledgers with rules of placement and with devices: both places are held, and counted at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.cluster import NEVER, Cluster, DevicesOf
from fabric.device_ledger import DeviceLedger
from fabric.ledger import Ledger
from fabric.placement import Apart, AtMost, Drain, ServerLabels, Spread
from fabric.ruled_ledger import Ruled
from simcore.errors import InfeasiblePlacement, LedgerError
from simcore.roles import Role, Roles
from simcore.vocabulary import QUANTUM, OnDevices, Request, Workload
from tests.support.properties import scaled

STEPS = ["apply", "begin", "begin", "arrive", "call off", "release", "fail", "repair"]
RULES = [AtMost(1, "a", "server"), Apart(("a", "b"), "server"), Spread("b", "zone"), Drain((0,))]


def ruled(rules: list[Any], servers: int = 4) -> Ruled:
    """Make servers of four cores in two zones, for requests of groups a and b, and of none."""
    capacity = np.full((servers, 1, 1), 4)
    labels = ServerLabels(servers, {"zone": np.array(["x", "y"] * (servers // 2))})
    ledger = Ruled(Cluster(("cpu",), capacity, (NEVER,), capacity[0]), labels, rules)
    roles = Roles((Role("a"), Role("b"), Role()), np.arange(3))
    nothing = np.zeros(3)
    ledger.roles_of(Workload(("cpu",), nothing, nothing, np.ones((3, 1), np.int64), np.arange(3), roles=roles))
    return ledger


def asked(row: int, role: int) -> Request:
    return Request(row, 0.0, 9.0, (1,), False, role=role)


def test_a_rule_does_not_count_a_request_at_its_old_place_and_counts_it_at_both_on_the_way() -> None:
    ledger = ruled([AtMost(1, "a", "zone")])
    first, second = asked(0, 0), asked(1, 0)
    ledger.apply(first, first.on(0, 0))
    assert ledger.may_lie(first).all()  # also in its own zone
    ledger.begin_move(first, first.on(2, 0))
    ledger.check()
    with pytest.raises(InfeasiblePlacement, match="at most 1 of a per zone"):
        ledger.apply(second, second.on(0, 0))
    ledger.end_move(0, arrived=True)
    ledger.check()
    ledger.apply(second, second.on(1, 0))
    assert ledger.may_lie(first).tolist() == [True, False, True, False]
    with pytest.raises(InfeasiblePlacement, match="not on server 3: rule: at most 1 of a per zone"):
        ledger.begin_move(first, first.on(3, 0))
    ledger.check()


def test_what_is_called_off_goes_back_to_where_it_still_counts() -> None:
    ledger = ruled([AtMost(1, "a", "server")])
    first, second = asked(0, 0), asked(1, 0)
    ledger.apply(first, first.on(0, 0))
    ledger.begin_move(first, first.on(1, 0))
    for server in (0, 1):
        with pytest.raises(InfeasiblePlacement):
            ledger.apply(second, second.on(server, 0))
    ledger.end_move(0, arrived=False)
    ledger.apply(second, second.on(1, 0))
    ledger.check()
    with pytest.raises(LedgerError, match="holds nothing"):
        ledger.begin_move(asked(7, 0), first.on(1, 0))


@scaled(1)
@given(st.data(), st.lists(st.sampled_from(RULES), max_size=3, unique_by=str))
def test_conservation_and_counts_hold_whatever_is_moved(data: st.DataObject, rules: list[Any]) -> None:
    ledger, flying = ruled(rules), set()
    placed: dict[int, Request] = {}
    for step in range(data.draw(st.integers(1, 40))):
        what = data.draw(
            st.sampled_from(["apply", "begin", "begin", "arrive", "call off", "release", "fail", "repair"])
        )
        server = data.draw(st.integers(0, 3))
        row = data.draw(st.sampled_from(sorted(placed))) if placed else -1
        if what == "apply":
            request = asked(step, data.draw(st.integers(0, 2)))
            try:
                ledger.apply(request, request.on(server, 0))
                placed[step] = request
            except InfeasiblePlacement:
                pass
        elif what == "begin" and row >= 0 and row not in flying:
            may = ledger.may_lie(placed[row])
            room = ledger.view.everything_free[server, 0, 0] > 0
            try:
                ledger.begin_move(placed[row], placed[row].on(server, 0))
                flying.add(row)
                assert may[server]
            except InfeasiblePlacement:
                assert not (may[server] and room)
        elif what in ("arrive", "call off") and flying:
            row = min(flying)
            flying.remove(row)
            ledger.end_move(row, arrived=what == "arrive")
        elif what == "release" and row >= 0:
            ledger.release(row)
            del placed[row]
            if row in flying:
                flying.remove(row)
                ledger.end_move(row, arrived=False)
        elif what == "fail" and server not in ledger._down:
            for row in ledger.fail(server):
                del placed[row]
                if row in flying:
                    flying.remove(row)
                    ledger.end_move(row, arrived=False)
        elif what == "repair":
            ledger.repair(server)
        ledger.check()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=10),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=4),
    st.integers(0, 2),
    st.lists(st.sampled_from(RULES), max_size=3, unique_by=str),
)
def test_where_one_that_waits_may_lie_after_moves_is_where_it_may_lie_then(
    lying: list[tuple[int, int]], moves: list[tuple[int, int]], role: int, rules: list[Any]
) -> None:
    ledger, waiting, there = ruled(rules), asked(99, role), {}
    for row, (server, own) in enumerate(lying):
        try:
            ledger.apply(asked(row, own), asked(row, own).on(server, 0))
            there[row] = server, own
        except InfeasiblePlacement:
            pass
    made: dict[int, int] = {}
    planned = {row: server for row, server in moves if row in there}
    for row, server in planned.items():
        one = asked(row, there[row][1])
        before = ledger.may_lie(waiting, {row: server})
        try:
            ledger.begin_move(one, one.on(server, 0))
            ledger.end_move(row, arrived=True)
            made[row] = server
            np.testing.assert_array_equal(before, ledger.may_lie(waiting))
        except InfeasiblePlacement:
            continue
    back = {row: there[row][0] for row in made}
    fresh = ruled(rules)
    for row, (server, own) in there.items():
        fresh.apply(asked(row, own), asked(row, own).on(server, 0))
    np.testing.assert_array_equal(fresh.may_lie(waiting, made), ledger.may_lie(waiting))
    np.testing.assert_array_equal(fresh.may_lie(waiting), ledger.may_lie(waiting, back))
    for server, may in enumerate(ledger.may_lie(waiting)):
        if ledger.view.everything_free[server, 0, 0] > 0:
            try:
                ledger.apply(waiting, waiting.on(server, 0))
                assert may
                ledger.release(99)
            except InfeasiblePlacement:
                assert not may
    ledger.check()
    fresh.check()


def test_devices_of_both_places_are_held() -> None:
    capacity = np.full((2, 1, 2), 2 * QUANTUM)
    cluster = Cluster(
        ("cpu", "gpu"),
        capacity,
        (NEVER, NEVER),
        capacity[0],
        DevicesOf(1, np.full(2, 2), np.zeros(2, np.int64), ("m",), (2, 0)),
    )
    ledger = DeviceLedger(cluster)
    request = Request(0, 0.0, 9.0, (QUANTUM, QUANTUM), False)

    def on(server: int, device: int) -> OnDevices:
        return OnDevices(((server, 0, request.demand),), devices=(device,))

    ledger.apply(request, on(0, 0))
    ledger.begin_move(request, on(1, 1))
    ledger.check()
    assert ledger.view.devices.free.tolist() == [[0, QUANTUM], [QUANTUM, 0]]
    ledger.end_move(0, arrived=True)
    ledger.check()
    assert ledger.view.devices.free.tolist() == [[QUANTUM, QUANTUM], [QUANTUM, 0]]
    assert ledger.taken[0] == 2
    ledger.begin_move(request, on(1, 0))  # another device of the same server
    ledger.end_move(0, arrived=False)
    ledger.begin_move(request, on(0, 0))
    ledger.release(0)
    ledger.end_move(0, arrived=False)
    ledger.check()
    assert isinstance(ledger, Ledger)
    assert (ledger.view.free == ledger.view.capacity).all()
