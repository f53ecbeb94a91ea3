"""Attempts that are cut short: on every device what was placed counts, and launches in parts change nothing."""

from time import monotonic

import pytest

from binwright.agents.solver.backends import opencl
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.specification.load import load_problem
from tests.support.opencl import BACKENDS, opencl_device
from tests.support.properties import first

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


@pytest.mark.parametrize("name", first(3, BACKENDS))
def test_attempts_that_are_cut_short_count_what_they_placed(name: str) -> None:
    """Nothing, if time was over before it began."""
    for spec in ("vm-placement", "oktopus"):
        given = load_problem(spec)
        found = list(BACKENDS[name](given, 3, 0, 2, until=monotonic()))
        assert len(found) == 1
        assert not faults(given, found[0].where.tolist())
        assert found[0].left == len(given.units) or name.startswith("cpu")  # which may be quicker than its clock


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
