"""Attempts that are cut short: processors count what was placed, OpenCL devices nothing."""

import pytest

from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.specification.spec import load_problem
from tests.support.opencl import BACKENDS
from tests.support.properties import first

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


@pytest.mark.parametrize("name", first(3, BACKENDS))
def test_attempts_that_are_cut_short_count_what_they_placed(name: str) -> None:
    """Nothing, if time was over before it began."""
    for spec in ("vm-placement", "oktopus"):
        problem = load_problem(spec)
        actual = list(BACKENDS[name](problem, 3, 0, 2, lambda: True))
        assert len(actual) == 1
        assert not faults(problem, actual[0].where.tolist())
        assert actual[0].left == len(problem.units) or name.startswith("cpu")  # which may be quicker than its clock
