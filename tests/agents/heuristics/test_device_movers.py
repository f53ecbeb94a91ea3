"""Movers on servers with devices, against what they say that they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.agents.heuristics.movers.by_agent import ByAgent
from binwright.agents.heuristics.movers.deschedule import Deschedule
from binwright.fabric.device_ledger import DeviceLedger
from binwright.fabric.devices import Usual
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Mover
from binwright.simcore.rng import stream
from binwright.simcore.types import OnDevices, Request
from tests.reference import devices as reference
from tests.reference.devices import UNIT, Ask, Held, Server
from tests.support.devices import CPU, ask_of, asks, filled, ledger_of, request_of, running_of
from tests.support.properties import scaled

Case = tuple[DeviceLedger, list[Server], list[Held]]


def made(mover: Mover, case: Case, moves: int, wanted: Request | None = None) -> list[tuple[int, int, tuple[int, ...]]]:
    """Ask for a plan and make its moves, each of which the ledger must take beside the old place."""
    ledger, _, held = case
    mover.start(ledger.view, stream(0, "movers"))
    running = running_of(held)
    plan = mover.plan(ledger.view, running, moves, wanted)
    assert len({move.row for move in plan}) == len(plan) <= moves
    found = []
    for row, placement in plan:
        ledger.begin_move(running.request(row), placement)
        ledger.end_move(row, arrived=True)
        devices = placement.devices if isinstance(placement, OnDevices) else ()
        found.append((row, placement.shares[0][0], devices))
    ledger.check()
    return found


def all_usual(ledger: DeviceLedger, kinds: list[Ask]) -> reference.Typical:
    """Have 1, 2 or 4 kinds be equally usual, so that sums of their shares are exact; returns them."""
    ones = np.ones(len(kinds), np.int64)
    demand = np.array([request_of(ask).demand for ask in kinds], np.int64)
    ledger.view.usual = Usual(demand, np.array([request_of(ask).models for ask in kinds], np.int64), ones)
    merged: dict[tuple[int, int, int, frozenset[int]], float] = {}
    for ask in kinds:
        kind = ask.cpu, ask.each, ask.count, ask.models
        merged[kind] = merged.get(kind, 0.0) + 1 / len(kinds)
    return [(*kind, share) for kind, share in merged.items()]


seeds = st.integers(0, 10_000)
few_kinds = st.sampled_from([1, 2, 4]).flatmap(lambda n: st.lists(asks(), min_size=n, max_size=n, unique=True))


@pytest.mark.long
@pytest.mark.parametrize("agent", ["gpu-clustering", "gpu-best-fit"])
@given(seed=seeds, kinds=few_kinds, moves=st.integers(1, 8), per_server=st.sampled_from([0, 1, 2]))
@example(seed=620, kinds=[ask_of(0, 1, UNIT, frozenset())], moves=2, per_server=0)  # first from device to device
@scaled(3)
def test_descheduling_agrees_with_its_reference(
    agent: str, seed: int, kinds: list[Ask], moves: int, per_server: int
) -> None:
    ledger, servers, held = case = filled(seed)
    usual = all_usual(ledger, kinds)
    most = max(1, int(ledger.view.capacity[:, 0, 2].max()))
    expected = reference.deschedule(
        servers,
        held,
        moves,
        usual,
        per_server,
        lambda servers, ask: reference.choose(agent, servers, ask, CPU, most),
    )
    assert made(Deschedule(per_server=per_server, agent=agent, top=1.0), case, moves) == expected


@pytest.mark.long
def test_what_takes_the_cores_from_idle_devices_goes_to_a_server_without_any() -> None:
    ledger, hog = ledger_of([2, 0], [0, 0]), ask_of(16, 16, 0, frozenset())
    ledger.apply(request_of(hog, 1000), OnDevices(((0, 0, request_of(hog).demand),), devices=()))
    all_usual(ledger, [ask_of(4, 4, UNIT, frozenset())])
    case: Case = ledger, [], [(1000, 0, (), hog)]
    assert made(Deschedule(agent="gpu-best-fit"), case, 3) == [(1000, 1, ())]


@given(seed=seeds, moves=st.integers(1, 8), per_server=st.sampled_from([0, 1]))
def test_descheduling_by_chance_moves_what_fits_elsewhere(seed: int, moves: int, per_server: int) -> None:
    case = filled(seed)
    before = {row: (server, set(devices)) for row, server, devices, _ in case[2]}
    plan = made(Deschedule("random", per_server, "gpu-random"), case, moves)
    for row, server, devices in plan:
        assert server != before[row][0] or (devices and not before[row][1] & set(devices))
    left = [before[row][0] for row, _, _ in plan]
    assert not per_server or len(set(left)) == len(left)


@pytest.mark.long
@pytest.mark.parametrize("agent", ["best-fit", "fgd"])
@given(seed=seeds, gpu=st.sampled_from([600_000, UNIT, 2 * UNIT, 4 * UNIT]), moves=st.integers(1, 6))
def test_an_agents_moves_make_room_for_a_request_with_devices(agent: str, seed: int, gpu: int, moves: int) -> None:
    case = filled(seed)
    ledger = case[0]
    wanted = request_of(ask_of(4, 16, gpu, frozenset()), 99)
    if not ledger.fitting(wanted).any() and made(ByAgent(agent), case, moves, wanted):
        assert ledger.fitting(wanted).any()


@pytest.mark.parametrize(
    ("options", "key"), [({"victims": "all"}, "victims"), ({"per_server": -1}, "per_server"), ({"top": 0}, "top")]
)
def test_wrong_options_are_refused_by_name(options: dict[str, object], key: str) -> None:
    with pytest.raises(UserError) as error:
        Deschedule(**options)  # type: ignore[arg-type]
    assert error.value.key == key
