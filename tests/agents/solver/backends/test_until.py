"""Attempts that are cut short: on every device what was placed counts, and launches in parts change nothing."""

from time import monotonic

import pytest

import binwright as bw
from binwright.agents.solver.backends import opencl
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.specification.load import load_problem
from tests.support.opencl import BACKENDS, opencl_device
from tests.support.properties import first
from tests.support.solving import problem

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def crowd(balls: int, far: int) -> Problem:
    """Balls that all look at one another; few have room in the first bins, and nobody in those that are far."""
    return problem(
        "procedure UTILFN(BALL, BIN, ALLOC) let c = count(o in BALLS except BALL: ALLOC[o] == BIN) "
        f"if BIN >= 40 and c < {balls} REJECT end UTIL.SIZE[BIN] += 1 end",
        balls=balls,
        bins=far + 40,
        resources={"SIZE[b in BINS]": balls // 60},
    )


@pytest.mark.long
def test_thousands_of_balls_do_not_keep_the_clock_waiting() -> None:
    """One attempt alone takes seconds."""
    slow = crowd(200, 6_000)
    opencl.prepare(slow, opencl_device().number)
    began = monotonic()
    answer = bw.solve(slow, device="opencl", search="published", time=1.0)
    assert answer.status == "partial"
    assert monotonic() - began < 5.5  # of 1; other work on the machine may take its share


@pytest.mark.parametrize("name", first(3, BACKENDS))
def test_attempts_that_are_cut_short_count_what_they_placed(name: str) -> None:
    """Nothing, if time was over before it began."""
    for spec in ("vm-placement", "oktopus"):
        given = load_problem(spec)
        found = list(BACKENDS[name](given, 3, 0, 2, until=monotonic()))
        assert len(found) == 1
        assert not faults(given, found[0].where.tolist())
        assert found[0].left == len(given.units) or name == "cpu"  # which may be quicker than its clock


def test_parts_of_an_attempt_are_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """One or two balls per launch."""
    number = opencl_device().number
    for spec in ("oktopus", "time-varying"):
        given, found = load_problem(spec), []
        for units, wave in ((1 << 20, 1.0), (2, 0.0)):
            monkeypatch.setattr(opencl, "FIRST", units)
            monkeypatch.setattr(opencl, "WAVE", wave)
            *_, last = opencl.attempts(given, 5, 0, 3, until=monotonic() + 1000, number=number)
            found.append((last.where.tolist(), last.left, last.attempt))
        assert found[0] == found[1]
