"""Where there are many servers, those that changed are counted again: as all of them would be."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabric.cluster import Cluster
from fabric.ledger import Ledger
from simcore.errors import InfeasiblePlacement
from simcore.types import Request
from tests.reference.looks import looked
from tests.support.properties import scaled

FLAVOURS = np.array([[1, 3], [2, 1], [3, 2]])
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "give", "fail", "repair", "grow"]), st.integers(0, 299), st.integers(1, 70)),
    max_size=25,
)


@given(st.sampled_from([7, 256]), STEPS)
@scaled(1)
def test_what_changed_is_counted_as_everything_is(servers: int, steps: list[tuple[str, int, int]]) -> None:
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
        for found, wanted in zip(ledger.look(FLAVOURS), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
