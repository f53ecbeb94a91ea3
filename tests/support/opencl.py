"""The back ends of the published search, for tests: those of OpenCL skip where no device can be used."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from binwright.agents.solver.backends import cpu, opencl
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.backends.opencl import Device, choose
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError


def opencl_device() -> Device:
    """Return the first usable OpenCL device, or skip the test with the reason that the listing gives."""
    try:
        return choose()
    except UserError as error:
        pytest.skip(error.problem)


def _attempts(*given: Any, **more: Any) -> Iterator[Found]:
    return opencl.attempts(*given, **more, number=opencl_device().number)


def _beside(*given: Any, **more: Any) -> Iterator[Found]:
    """Have four attempts beside one another in a work-group, on processors, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opencl, "ON_PROCESSORS", 4)
        yield from _attempts(*given, **more)


def generated(problem: Problem, *given: Any, **more: Any) -> Iterator[Found]:
    """Make attempts with UTILFN alone."""
    general = replace(problem)
    vars(general)["packing"] = None
    return cpu.attempts(general, *given, **more)


BACKENDS: dict[str, Callable[..., Iterator[Found]]] = {
    "cpu": cpu.attempts,
    "opencl": _attempts,
    "opencl, four attempts beside one another": _beside,
    "cpu, without matrices": generated,
}
"""The calls that make attempts, by name."""
