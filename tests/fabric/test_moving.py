"""Moves in ledgers with rules of placement and with devices: both places are held, and counted at each step."""

from contextlib import nullcontext
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.cluster import NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.scenarios.features.placement.rules import Apart, AtMost, Drain, Near, Rule, Spread, Together
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.roles import Role, Roles
from binwright.simcore.types import QUANTUM, OnDevices, Request
from binwright.simcore.workload import Workload
from tests.reference.placement import Lies, refused_by
from tests.support.placement import rule_book
from tests.support.properties import scaled
from tests.support.recount import recount

STEPS = ["apply", "begin", "begin", "arrive", "call off", "release", "fail", "repair"]
RULES = [
    AtMost(at_most=1, of="a", per="server"),
    AtMost(at_most=2, of="a", per="zone"),
    Apart(apart=("a", "b"), per="server"),
    Apart(apart=("*",), per="zone"),
    Together(together=("a",), per="server"),
    Together(together=("*",), per="zone"),
    Spread(spread="b", over="zone"),
    Near(of="b", near=("a",), per="zone"),
    Drain(drain=(0,)),
]
ROLES = (Role("a"), Role("b"), Role())


LABELS = ServerLabels(4, {"zone": np.array(["x", "y", "x", "y"])})


def ruled(rules: list[Rule]) -> Ledger:
    """Make servers of four cores in two zones, for requests of groups a and b, and of none."""
    capacity = np.full((4, 1, 1), 4)
    ledger = Ledger(Cluster(("cpu",), capacity, (NEVER,), capacity[0]), rules=rule_book(LABELS, rules))
    roles = Roles(ROLES, np.arange(3))
    nothing = np.zeros(3)
    ledger.roles_of(Workload(("cpu",), nothing, nothing, np.ones((3, 1), np.int64), np.arange(3), roles=roles))
    return ledger


def request_of(row: int, role: int) -> Request:
    return Request(row, 0.0, 9.0, (1,), False, role=role)


def test_a_rule_does_not_count_a_request_at_its_old_place_and_counts_it_at_both_on_the_way() -> None:
    ledger = ruled([AtMost(at_most=1, of="a", per="zone")])
    first, second = request_of(0, 0), request_of(1, 0)
    ledger.apply(first, first.on(0, 0))
    assert ledger.open_to(first).all()  # also in its own zone
    ledger.begin_move(first, first.on(2, 0))
    recount(ledger)
    with pytest.raises(InfeasiblePlacement, match="at most 1 of a per zone"):
        ledger.apply(second, second.on(0, 0))
    ledger.end_move(0, arrived=True)
    recount(ledger)
    ledger.apply(second, second.on(1, 0))
    assert ledger.open_to(first).tolist() == [True, False, True, False]
    with pytest.raises(InfeasiblePlacement, match="not on server 3: rule: at most 1 of a per zone"):
        ledger.begin_move(first, first.on(3, 0))
    recount(ledger)


@scaled(3)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(RULES), max_size=3, unique_by=str))
def test_conservation_and_rules_hold_whatever_is_moved(seed: int, rules: list[Rule]) -> None:
    """What is allowed is what the slow rules allow; those that say how things are, not only how they begin, hold."""
    rng, ledger, held = Random(seed), ruled(rules), dict[int, tuple[Request, Lies]]()
    lasting = [rule for rule in rules if isinstance(rule, AtMost | Apart | Together)]
    flying: set[int] = set()
    for step in range(40):
        what, server = rng.choice(STEPS), rng.randint(0, 3)
        row = rng.choice(sorted(held)) if held else -1
        others = [lies for each, (_, lies) in held.items() if each != row or what == "apply"]
        role = held[row][0].role if what != "apply" and held else rng.randint(0, 2)
        room = ledger.view.everything_free[server, 0, 0] > 0
        may = room and refused_by(LABELS, rules, others, ROLES[role], server) < 0
        if what == "apply":
            request = request_of(step, role)
            assert ledger.open_to(request)[server] or not may
            with nullcontext() if may else pytest.raises(InfeasiblePlacement):
                ledger.apply(request, request.on(server, 0))
                held[step] = request, Lies((server,), ROLES[role])
        elif what == "begin" and row >= 0 and not held[row][1].goes:
            request, lies = held[row]
            assert ledger.open_to(request)[server] or not may
            with nullcontext() if may else pytest.raises(InfeasiblePlacement):
                ledger.begin_move(request, request.on(server, 0))
                held[row] = request, lies._replace(goes=(server,))
                flying.add(row)
        elif what in ("arrive", "call off") and flying:
            row = min(flying)
            request, lies = held[row]
            held[row] = request, Lies(lies.goes if what == "arrive" else lies.servers, lies.role)
            ledger.end_move(row, arrived=what == "arrive")
            flying.remove(row)
        elif what in ("release", "fail") and row >= 0:
            gone = [row]
            if what == "release":
                ledger.release(row)
            else:
                gone = [each for each, (_, lies) in held.items() if server in lies.servers + lies.goes]
                assert ledger.fail(server) == sorted(gone)
            for row in gone:
                del held[row]
                if row in flying:
                    flying.remove(row)
                    ledger.end_move(row, arrived=False)
        elif what == "repair":
            ledger.repair(server)
        recount(ledger)
        where = [lies for _, lies in held.values()]
        for ends in (where, [Lies(lies.goes or lies.servers, lies.role) for lies in where]):
            for lies in ends:  # as they are now, and as they will be
                others = [other._replace(goes=()) for other in ends if other is not lies]
                assert refused_by(LABELS, lasting, others, lies.role, lies.servers[0]) < 0


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=10),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=4),
    st.integers(0, 2),
    st.lists(st.sampled_from(RULES), max_size=3, unique_by=str),
)
def test_where_one_that_waits_may_lie_after_moves_is_where_it_may_lie_then(
    lying: list[tuple[int, int]], moves: list[tuple[int, int]], role: int, rules: list[Rule]
) -> None:
    ledger, waiting, present = ruled(rules), request_of(99, role), {}
    for row, (server, own) in enumerate(lying):
        try:
            ledger.apply(request_of(row, own), request_of(row, own).on(server, 0))
            present[row] = server, own
        except InfeasiblePlacement:
            pass
    made: dict[int, list[int]] = {}
    planned = {row: server for row, server in moves if row in present}
    for row, server in planned.items():
        each = request_of(row, present[row][1])
        before = ledger.open_to(waiting, {row: [server]})
        try:
            ledger.begin_move(each, each.on(server, 0))
            ledger.end_move(row, arrived=True)
            made[row] = [server]
            np.testing.assert_array_equal(before, ledger.open_to(waiting))
        except InfeasiblePlacement:
            continue
    back = {row: [present[row][0]] for row in made}
    fresh = ruled(rules)
    for row, (server, own) in present.items():
        fresh.apply(request_of(row, own), request_of(row, own).on(server, 0))
    np.testing.assert_array_equal(fresh.open_to(waiting, made), ledger.open_to(waiting))
    np.testing.assert_array_equal(fresh.open_to(waiting), ledger.open_to(waiting, back))
    for server, may in enumerate(ledger.open_to(waiting)):
        if ledger.view.everything_free[server, 0, 0] > 0:
            try:
                ledger.apply(waiting, waiting.on(server, 0))
                assert may
                ledger.release(99)
            except InfeasiblePlacement:
                assert not may
    recount(ledger)
    recount(fresh)


def test_devices_of_both_places_are_held() -> None:
    capacity = np.full((2, 1, 2), 2 * QUANTUM)
    cluster = Cluster(
        ("cpu", "gpu"),
        capacity,
        (NEVER, NEVER),
        capacity[0],
        DevicesOf(1, np.full(2, 2), np.zeros(2, np.int64), ("m",), (2, 0)),
    )
    ledger = Ledger(cluster)
    request = Request(0, 0.0, 9.0, (QUANTUM, QUANTUM), False)

    def on(server: int, device: int) -> OnDevices:
        return OnDevices(((server, 0, request.demand),), devices=(device,))

    ledger.apply(request, on(0, 0))
    ledger.begin_move(request, on(1, 1))
    recount(ledger)
    assert ledger.view.devices.free.tolist() == [[0, QUANTUM], [QUANTUM, 0]]
    ledger.end_move(0, arrived=True)
    recount(ledger)
    assert ledger.view.devices.free.tolist() == [[QUANTUM, QUANTUM], [QUANTUM, 0]]
    assert ledger.devices.taken[0] == 2
    ledger.begin_move(request, on(1, 0))  # another device of the same server
    ledger.end_move(0, arrived=False)
    ledger.begin_move(request, on(0, 0))
    ledger.release(0)
    ledger.end_move(0, arrived=False)
    recount(ledger)
    assert isinstance(ledger, Ledger)
    assert (ledger.view.free == ledger.view.capacity).all()
