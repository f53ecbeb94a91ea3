"""Which OpenCL devices can be used, and what is said of drivers that fail or are missing."""

from collections.abc import Iterator

import numpy as np
import pytest

import binwright as bw
from binwright.agents.solver.backends import opencl
from binwright.agents.solver.backends.kernel_c import HEAD
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.specification.load import load_problem
from binwright.cli import MISTAKE, main
from binwright.simcore.errors import UserError
from tests.reference import attempts as reference
from tests.support.opencl import opencl_device
from tests.support.solving import problem

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def test_a_device_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "cdn", "--device", "opencl:99"]) == MISTAKE
    said = capsys.readouterr().err
    assert "there is no such OpenCL device (got 'opencl:99')" in said
    assert "binwright list devices" in said


KNOWN = [("Some", "1.0", "first", "GPU"), ("Some", "1.0", "second", "CPU")]


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    opencl.tried.cache_clear()
    yield
    opencl.tried.cache_clear()


def test_a_device_that_does_not_work_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(problem: Problem, device: opencl.Device, *_: object) -> Iterator[Found]:
        if device.number == 0:
            raise opencl.cl.RuntimeError("nothing\nerror: unknown target CPU")
        yield Found(0, np.array(opencl.EXPECTED), 0, 1)

    monkeypatch.setattr(opencl, "installed", lambda: KNOWN)
    monkeypatch.setattr(opencl, "labels", lambda device: device)
    monkeypatch.setattr(opencl, "made", made)
    usable = opencl.choose(), opencl.choose(1)
    assert {(device.name, device.number) for device in usable} == {("second", 1)}
    with pytest.raises(UserError, match=r"opencl:0 \(first, Some 1.0\) cannot be used: error: unknown") as error:
        opencl.choose(0)
    assert "binwright list devices" in error.value.remedy
    assert "pocl-opencl-icd" in error.value.remedy
    assert [device.usable for device in bw.opencl_devices()] == [False, True]


def test_a_driver_that_computes_wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    number = opencl_device().number
    opencl.tried.cache_clear()
    wrong = HEAD.replace("value != 0", "value == 0").replace("!value", "value")
    monkeypatch.setattr("binwright.agents.solver.backends.opencl.HEAD", wrong)
    assert opencl.tried(number).reason == "it computes wrong numbers"


def test_every_usable_device_gives_the_same_answer() -> None:
    opencl_device()
    network = load_problem("network")
    usable = [str(one.number) for one in opencl.opencl_devices() if one.usable]
    names = ["cpu", *(f"opencl:{one}" for one in usable)]
    answers = {tuple(bw.solve(network, device=name, search="published", attempts=16).alloc) for name in names}
    assert len(names) > 1
    assert len(answers) == 1


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


def is_same(one: Found, other: Found) -> bool:
    """Compare all but how many were made."""
    return (one.where.tolist(), one.left, one.attempt) == (other.where.tolist(), other.left, other.attempt)


def test_attempts_beside_one_another_are_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    number = opencl_device().number
    monkeypatch.setattr(opencl, "ON_PROCESSORS", 7)
    made = packing(14)
    for seed in (2, 3):
        *_, expected = reference.attempts(made, seed, 0, 12)
        *_, got = opencl.attempts(made, seed, 0, 12, number=number)
        assert is_same(got, expected)
