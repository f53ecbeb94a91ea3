"""What requests use and lack: by hand, and against a walk through the time of every node."""

from typing import Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.types import Floats, Ints
from tests.reference import contention as reference
from tests.support.runs import Case, Run, cases, run


class Drawn:
    """Shares that are drawn by the place of a row and the step, of which some are equal."""

    step = 0.75

    def __init__(self, rows: int, seed: int) -> None:
        self.shares = np.random.default_rng(seed).choice([0.0, 0.25, 1 / 3, 0.9, 1.0, 1.0], (rows, 30, 2))

    def at(self, requests: Ints, step: int) -> Floats:
        result: Floats = self.shares[requests, step % 30]
        return result

    def during(self, request: int, first: int, last: int) -> Floats:
        result: Floats = self.shares[request, np.arange(first, last) % 30]
        return result

    def take(self, rows: Ints) -> Self:
        made = type(self)(0, 0)
        made.shares = self.shares[rows]
        return made


def finished(ran: Run) -> FinishedRun:
    return FinishedRun(ran.simulation, ran.first, ran.samples, 0, prices={})


@st.composite
def contended(draw: st.DrawFn) -> Case:
    """Draw a case in which two or three times as much is placed as there is."""
    case = draw(cases())
    case.overcommit = draw(st.sampled_from([1, 2, 3]))
    case.use = Drawn(len(case.requests), draw(st.integers(0, 9)))
    return case


@pytest.mark.long
@given(contended())
@settings(max_examples=60, deadline=None)
def test_contention_equals_a_walk_through_time(case: Case) -> None:
    ran = run(case)
    if ran.first == len(case.requests):
        return
    over = finished(ran)
    slow, result = reference.contention(over), over.contention
    if result is None:
        assert over.finish <= over.begin
        return
    for r in range(2):
        total = sum(each for (_, resource), each in slow.wanted.items() if resource == r)
        lacked = sum(each for (_, resource), each in slow.missing.items() if resource == r)
        assert result.levels[:, :2, r].sum(axis=0) == pytest.approx([total, lacked], rel=1e-9, abs=1e-3)
        ours = [over.simulation.source(row) >= over.first for row, resource in slow.wanted if resource == r]
        values = [each for (_, resource), each in slow.missing.items() if resource == r]
        sold = sum(each for each, mine in zip(values, ours, strict=True) if mine)
        assert result.missing[:, r].sum() == pytest.approx(sold, rel=1e-9, abs=1e-3)
    assert result.contended == pytest.approx([slow.contended[server] for server in range(len(over.capacity))])
    assert slow.most_granted <= 1 + 1e-9
    assert (result.missing <= result.wanted * (1 + 1e-9)).all()
    if case.overcommit == 1:
        assert not result.contended.any()
        assert result.lacked.max(initial=0.0) == 0
