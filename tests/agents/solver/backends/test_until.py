"""Attempts that are cut short: on every device what was placed counts, and launches in parts change nothing."""

from dataclasses import replace
from time import monotonic

import pytest

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.backends import opencl
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.specification.load import load_problem
from binwright.simcore import cores
from tests.support.opencl import BACKENDS, opencl_device
from tests.support.properties import first

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
    opencl.prepare(slow, [opencl_device().number])
    began = monotonic()
    answer = bw.solve(slow, device="opencl", search="published", time=1.0)
    assert answer.status == "partial"
    assert monotonic() - began < 5.5  # of 1; other work on the machine may take its share


@pytest.mark.parametrize("name", first(3, BACKENDS))
@pytest.mark.parametrize("trims", [False, True])
def test_attempts_that_are_cut_short_count_what_they_placed(name: str, trims: bool) -> None:
    """Nothing, if time was over before it began."""
    for spec in ("vm-placement", "oktopus"):
        given = load_problem(spec)
        found = list(BACKENDS[name](given, 3, 0, 2, trims=trims, until=monotonic()))
        assert len(found) == (2 if name.endswith("two devices") else 1)
        assert not faults(given, found[0].alloc)
        assert found[0].left == len(given.units) or name == "cpu"  # which may be quicker than its clock


@pytest.mark.parametrize("trims", [False, True])
def test_parts_of_an_attempt_are_the_attempt(trims: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One or two balls per launch."""
    number = opencl_device().number
    monkeypatch.setattr(opencl, "FIRST", 2)
    monkeypatch.setattr(opencl, "WAVE", 0.0)
    for spec in ("oktopus", "time-varying"):
        given = load_problem(spec)
        whole, parts = (
            list(opencl.attempts(given, 5, 0, 3, trims=trims, until=until, devices=[number]))[-1]
            for until in (float("inf"), monotonic() + 1000)
        )
        assert replace(whole, checked=0) == replace(parts, checked=0)


def test_workers_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BINWRIGHT_THREADS", raising=False)
    assert cores.usable_threads() == cores.usable_cpus()
    for said, threads in (("1", 1), ("100000", cores.usable_cpus()), ("0", 1), ("many", cores.usable_cpus())):
        monkeypatch.setenv("BINWRIGHT_THREADS", said)
        assert cores.usable_threads() == threads
