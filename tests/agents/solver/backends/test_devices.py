"""Which OpenCL devices can be used, and what is said of drivers that fail or are missing."""

from collections.abc import Iterator

import pytest

import binwright as bw
from binwright.agents.solver.backends import opencl, opencl_devices
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
WAYS = {
    "fails": ('sys.exit("error: unknown target CPU")', "error: unknown target CPU"),
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", r"its driver crashes \(SIGSEGV\)"),
    "aborts": ('os.write(2, b"LLVM ERROR\\n"); os.abort()', r"its driver crashes \(SIGABRT\): LLVM ERROR"),
    "ends": ("os._exit(3)", "its driver ends the process with exit code 3"),
    "lacks a package": ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    "hangs": ("time.sleep(600)", "its driver does not answer within 5 s"),
}
"""What a driver does at the first program, and what is said of it."""


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    opencl_devices.tried.cache_clear()
    yield
    opencl_devices.tried.cache_clear()


def pretend(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Have a script stand for the probe: two devices, of which the first does this and the second works."""
    monkeypatch.setattr(opencl_devices, "installed", lambda: KNOWN)
    monkeypatch.setattr(opencl_devices, "labels", lambda device: device)
    monkeypatch.setattr(opencl_devices, "PROBE", f"import os, signal, sys, time\nif %d == 0:\n    {first}")
    monkeypatch.setattr(opencl_devices, "SECONDS", 5.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_device_that_does_not_work_is_passed_over(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    does, reason = WAYS[way]
    pretend(monkeypatch, does)
    found = opencl_devices.choose(), opencl_devices.choose(1)
    assert {(one.name, one.number) for one in found} == {("second", 1)}
    with pytest.raises(UserError, match=rf"opencl:0 \(first, Some 1.0\) cannot be used: {reason}") as error:
        opencl_devices.choose(0)
    assert "binwright list devices" in error.value.remedy
    assert "pocl-opencl-icd" in error.value.remedy
    assert [one.usable for one in bw.opencl_devices()] == [False, True]


def test_a_device_whose_driver_crashes_only_when_a_process_ends_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    number = opencl_device().number
    opencl_devices.tried.cache_clear()
    probe = f"import atexit, os; atexit.register(os.abort); {opencl_devices.PROBE}"
    monkeypatch.setattr(opencl_devices, "PROBE", probe)
    assert opencl_devices.tried(number).usable


def test_a_driver_that_computes_wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    device = opencl_devices.installed()[opencl_device().number]
    assert opencl_devices.reason_against(device) == ""
    source = opencl_devices.SOURCE
    for wrong in (source.replace("1000000007L", "7"), source.replace("const long value", "const ulong value")):
        monkeypatch.setattr(opencl_devices, "SOURCE", wrong)
        assert opencl_devices.reason_against(device) == "it computes wrong numbers"


def test_every_usable_device_gives_the_same_answer() -> None:
    opencl_device()
    network = load_problem("network")
    usable = [str(one.number) for one in opencl_devices.opencl_devices() if one.usable]
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
