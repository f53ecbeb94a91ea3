"""Which OpenCL devices can be used, and what is said of drivers that fail or are missing."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import binwright as bw
from binwright.agents.solver.backends import cpu, opencl
from binwright.agents.solver.backends.cpu import Outcome
from binwright.agents.solver.backends.kernel_c import HEAD
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.specification.spec import load_problem
from binwright.cli import MISTAKE, main
from binwright.simcore.errors import UserError
from tests.reference import attempts as reference
from tests.support.opencl import answer, opencl_device
from tests.support.solving import problem

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(opencl, "installed", list)
    assert main(["solve", "cdn", "--device", "opencl"]) == MISTAKE
    output = capsys.readouterr().err
    assert "there is no OpenCL device (got 'opencl')" in output
    assert "binwright list devices" in output


FIRST, SECOND = opencl.Device("first", "first (Some 1.0)"), opencl.Device("second", "second (Some 1.0)")


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    opencl.tried.cache_clear()
    yield
    opencl.tried.cache_clear()


def test_a_device_that_does_not_work_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        """One device fails at all problems."""

        def __init__(self, problem: Problem, handle: str) -> None:
            if handle == "first":
                raise opencl.cl.RuntimeError("nothing\nerror: unknown target CPU")
            self.most = 1

        def make(self, *_: object) -> Outcome:
            return Outcome(0, np.array(opencl.EXPECTED), 0, 1)

    monkeypatch.setattr(opencl, "installed", lambda: [FIRST, SECOND])
    monkeypatch.setattr(opencl, "Session", Session)
    assert opencl.choose() == SECOND
    assert [not device.reason for device in bw.opencl_devices()] == [False, True]
    monkeypatch.setattr(opencl, "installed", lambda: [FIRST])
    with pytest.raises(UserError, match=r"first \(Some 1.0\) fails: error: unknown") as error:
        opencl.choose()
    assert "binwright list devices" in error.value.remedy
    assert "pocl-opencl-icd" in error.value.remedy


def test_a_driver_that_computes_wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    device = opencl_device()
    opencl.tried.cache_clear()
    wrong = HEAD.replace("value != 0", "value == 0").replace("!value", "value")
    monkeypatch.setattr("binwright.agents.solver.backends.opencl.HEAD", wrong)
    assert opencl.tried(device).reason == f"{device.name} computes wrong numbers"


def test_every_usable_device_gives_the_same_answer() -> None:
    opencl_device()
    network = load_problem("network")
    for device in (each for each in opencl.opencl_devices() if not each.reason):
        on_device = partial(opencl.attempts, device=device)
        assert answer(on_device, network, 0, 0, 16) == answer(cpu.attempts, network, 0, 0, 16)


def test_no_launch_is_left_behind_when_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on in memory that others take."""
    session, launches = opencl.Session(packing(14), opencl_device().handle), list[Mock]()
    kernel, status = session._kernel, opencl.cl.command_execution_status

    def launched(*inputs: Any) -> Mock:
        # A fast processor ends the real launch before the session looks at it.
        launches.append(Mock(command_execution_status=status.RUNNING, wait=Mock(side_effect=kernel(*inputs).wait)))
        return launches[-1]

    def interrupted() -> bool:
        if launches:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(session, "_kernel", launched)
    with pytest.raises(KeyboardInterrupt):
        session.make(0, 0, session.most, interrupted)
    [launch] = launches
    launch.wait.assert_called_once_with()


def packing(bins: int) -> Problem:
    """Make balls of two sizes each that fill `bins` bins but for little."""
    needs = [[(7 * ball) % 11 + 3, (5 * ball) % 13 + 2] for ball in range(50)]
    return problem(
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.A[BIN] += D[BALL, 0] UTIL.B[BIN] += D[BALL, 1] end",
        balls=50,
        bins=bins,
        resources={"A[s in BINS]": 32, "B[s in BINS]": 32},
        tables={"D": needs},
    )


def test_attempts_beside_one_another_are_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    opencl_device()
    monkeypatch.setattr(opencl, "ON_PROCESSORS", 7)
    made = packing(14)
    for seed in (2, 3):
        assert answer(opencl.attempts, made, seed, 0, 12) == answer(reference.attempts, made, seed, 0, 12)
