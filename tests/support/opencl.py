"""The back ends of the published search, for tests: those of OpenCL skip where no device can be used."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from binwright.agents.solver.backends import cpu, opencl
from binwright.agents.solver.backends.cpu import Outcome
from binwright.agents.solver.backends.opencl import Device, choose
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError


def opencl_device() -> Device:
    """Return the first usable OpenCL device, or skip the test with the reason that the listing gives."""
    try:
        return choose()
    except UserError as error:
        pytest.skip(error.problem)


def _attempts(*inputs: Any) -> Iterator[Outcome]:
    opencl_device()
    return opencl.attempts(*inputs)


def _beside(*inputs: Any) -> Iterator[Outcome]:
    """Have four attempts beside one another in a work-group, on processors, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opencl, "ON_PROCESSORS", 4)
        yield from _attempts(*inputs)


def answer(backend: Callable[..., Iterator[Outcome]], problem: Problem, seed: int, first: int, count: int) -> object:
    """What the attempts come to, but for how many were made: that depends on how many run at a time."""
    *_, last = backend(problem, seed, first, count)
    return last.where.tolist(), last.left, last.attempt


def generated(problem: Problem, *inputs: Any) -> Iterator[Outcome]:
    """Make attempts with UTILFN alone."""
    general = replace(problem)
    vars(general)["matrix"] = None
    return cpu.attempts(general, *inputs)


BACKENDS: dict[str, Callable[..., Iterator[Outcome]]] = {
    "cpu": cpu.attempts,
    "opencl": _attempts,
    "opencl, four attempts beside one another": _beside,
    "cpu, without matrices": generated,
}
"""The calls that make attempts, by name."""
