"""Runs that are played again and again, against the engine from the beginning each time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.learned.numa import Replay
from binwright.fabric.compiled.numa_decisions import placement_of
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.record import PLACED
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Compiled, Ints, Request
from tests.support.compiled import Case, cases
from tests.support.properties import scaled


class Again:
    """Plays a case from its beginning, with every answer from the engine's own view."""

    def __init__(self, case: Case, ledger: Ledger, warm: int) -> None:
        self.case, self.answered = case, 0
        self.engine = Simulation(case.workload, ledger, Overflow("drop"))
        self.request: Request | None = self.engine.advance()
        self.play(case.rules[0], warm)
        self.answered = len(self.engine.record.sequence)
        self.engine.overflow = case.overflow

    def play(self, scan: Any, answers: int = -1) -> None:
        """Have a rule answer so often, or to the end."""
        while answers and self.request is not None:
            view, request = self.engine.view, self.request
            self.answer(scan(view.free, view.capacity, request.demand, request.spread))
            answers -= 1

    def answer(self, code: int) -> None:
        """Give one answer."""
        assert self.request is not None
        nodes = self.engine.view.capacity.shape[1]
        self.engine.answer(placement_of(code, self.request, nodes) if code >= 0 else None)
        self.request = self.engine.advance()

    @property
    def placed(self) -> int:
        """How many requests were placed since the warm start."""
        record = self.engine.record
        return int((record.outcome[record.sequence[self.answered :]] == PLACED).sum())


def places(free: Ints, demand: Sequence[int], spread: bool) -> list[int]:
    """List the places that have room."""
    servers, nodes = free.shape[:2]
    if spread:
        return [s * nodes for s in range(servers) if fits_spread(free, s, tuple(demand))]
    return [s * nodes + n for s in range(servers) for n in range(nodes) if fits_node(free, s, n, tuple(demand))]


def check(case: Case, ledger: Callable[[], Ledger], warm: int, answers: int) -> None:
    """Hold a replay to the engine: what is placed, what is on offer, and what every answer leads to."""
    simulation = Simulation(case.workload, ledger(), Overflow("drop"), compiled=True)
    simulation.loop.go(Compiled(case.rules[0]), warm)
    simulation.overflow = case.overflow
    replay = Replay(simulation)
    for _ in range(2):  # the second time from where the first one ended
        for scan in case.rules:
            engine = Again(case, ledger(), warm)
            engine.play(scan)
            assert replay.placed(Compiled(scan)) == engine.placed
        engine = Again(case, ledger(), warm)
        engine.play(case.rules[1], answers)
        offer = replay.follow(Compiled(case.rules[1]), answers)
        if offer is None or engine.request is None:
            assert offer is None
            assert engine.request is None
            continue
        assert offer.demand == engine.request.demand
        np.testing.assert_array_equal(replay.simulation.view.free, engine.engine.view.free)
        codes = places(replay.simulation.view.free, offer.demand, offer.spread)[:4]
        expected = []
        for code in codes:
            engine = Again(case, ledger(), warm)
            engine.play(case.rules[1], answers)
            engine.answer(code)
            engine.play(case.rules[0])
            expected.append(engine.placed)
        assert replay.tried(codes, Compiled(case.rules[0])).tolist() == expected


@pytest.mark.long
@given(cases(most=5), st.sampled_from(["drop", "stop"]), st.integers(0, 12))
@scaled(1)
def test_a_replay_goes_as_the_run_from_its_beginning(case: Case, overflow: Any, answers: int) -> None:
    requested = np.maximum(case.workload.demand, 1)  # where nothing is free, a demand for nothing fits
    case.workload, case.overflow = replace(case.workload, demand=requested), Overflow(overflow)
    check(case, lambda: Ledger(case.cluster), case.warm, answers)
