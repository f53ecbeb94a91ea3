"""Movers on servers with devices, against what they say that they do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.movers.by_agent import ByAgent
from binwright.fabric.device_ledger import DeviceLedger
from binwright.simcore.moves import Mover
from binwright.simcore.rng import stream
from binwright.simcore.types import OnDevices, Request
from tests.reference.devices import UNIT, Held, Server
from tests.support.devices import ask_of, filled, request_of, running_of

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


seeds = st.integers(0, 10_000)


@pytest.mark.long
@pytest.mark.parametrize("agent", ["best-fit", "fgd"])
@given(seed=seeds, gpu=st.sampled_from([600_000, UNIT, 2 * UNIT, 4 * UNIT]), moves=st.integers(1, 6))
def test_an_agents_moves_make_room_for_a_request_with_devices(agent: str, seed: int, gpu: int, moves: int) -> None:
    case = filled(seed)
    ledger = case[0]
    wanted = request_of(ask_of(4, 16, gpu, frozenset()), 99)
    if not ledger.fitting(wanted).any() and made(ByAgent(agent), case, moves, wanted):
        assert ledger.fitting(wanted).any()
