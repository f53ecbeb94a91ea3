"""List the OpenCL devices of this machine, and find one that can be used: it builds, and runs, a small program.

That happens in a process of its own, as drivers crash and hang, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from signal import Signals
from typing import Any, NamedTuple

import numpy as np

from binwright.simcore.errors import UserError
from binwright.simcore.extras import LazyModule, need

cl: Any = LazyModule("pyopencl")

SOURCE = """
__kernel void probe(__global const long *before, __global long *after) {
    const long value = before[get_global_id(0)];
    after[get_global_id(0)] = value / 1000003 * 1000000007L + value % 1000003;
}
"""
"""What our programs need: whole numbers of 64 bits."""
INSTALL = (
    "Drivers bring devices: `apt install pocl-opencl-icd` or your system's package of PoCL, the driver of a graphics "
    "card, or the extra `solver`. `--device cpu` needs none."
)
PROBE = (
    f"import os, sys; from {__name__} import installed, reason_against; reason = reason_against(installed()[%d]); "
    "print(reason, file=sys.stderr, flush=True); os._exit(bool(reason))"  # some drivers crash when a process ends
)
"""What the process runs, for the number of a device: the last line that it prints as an error says what is wrong."""
SECONDS = 60.0
"""A driver that takes longer to build and run the probe hangs."""
REMEDY = f"`binwright list devices` lists what is here. {INSTALL}"


class Device(NamedTuple):
    """An OpenCL device of this machine."""

    number: int
    """N of `opencl:N`."""
    platform: str
    driver: str
    """Its version."""
    name: str
    kind: str
    """`GPU`, `CPU`, or `other`."""
    reason: str
    """Why it cannot be used; empty if it can: the probe was built, ran, and gave the right numbers."""

    def __str__(self) -> str:
        return f"opencl:{self.number} ({self.name}, {self.platform} {self.driver})"

    @property
    def usable(self) -> bool:
        """Tell whether it can be used."""
        return not self.reason


@cache
def installed() -> list[Any]:
    """Return every OpenCL device: graphics cards, then others, each by platform, driver and name.

    The order of the ICD loader depends on the order of files in a folder.
    """
    need("pyopencl", "solver", what="OpenCL")
    known: list[Any] = []
    with suppress(cl.Error):  # no driver at all
        for platform in cl.get_platforms():
            with suppress(cl.Error):  # a driver whose hardware is missing
                known += platform.get_devices()
    return sorted(known, key=lambda device: (not device.type & cl.device_type.GPU, *labels(device)))


def labels(device: Any) -> tuple[str, str, str, str]:
    """Return the platform, the driver's version, the name and the kind of a device."""
    kind = "GPU" if device.type & cl.device_type.GPU else "CPU" if device.type & cl.device_type.CPU else "other"
    return device.platform.name.strip(), device.driver_version.strip(), device.name.strip(), kind


@cache
def tried(number: int) -> Device:
    """Build and run the probe on a device, in a process of its own."""
    # pyopencl would keep what was built, and nobody would notice a driver that has lost its compiler.
    environment = os.environ | {"PYOPENCL_NO_CACHE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-P", "-c", PROBE % number]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
        errors, code = done.stderr, done.returncode
        reason = f"its driver crashes ({Signals(-code).name})" if code < 0 else ""
        reason = reason or (f"its driver ends the process with exit code {code}" if code and not errors else "")
    except subprocess.TimeoutExpired:
        errors, code, reason = b"", 1, f"its driver does not answer within {SECONDS:.0f} s"
    line = errors.decode(errors="replace").strip().rpartition("\n")[2] if code else ""
    return Device(number, *labels(installed()[number]), ": ".join(filter(None, (reason, line))))


def reason_against(device: Any) -> str:
    """Return why a device cannot be used, "" if it can."""
    before = np.arange(-32, 32) * 123_456_789_012  # division of numbers below zero, too
    after = np.zeros_like(before)
    try:
        context = cl.Context([device])
        queue, flags = cl.CommandQueue(context), cl.mem_flags
        program = cl.Program(context, SOURCE).build()
        into = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=before)
        back = cl.Buffer(context, flags.WRITE_ONLY, after.nbytes)
        cl.Kernel(program, "probe")(queue, before.shape, (32,), into, back)
        cl.enqueue_copy(queue, after, back)
    except cl.Error as error:
        return fault(error)
    rest = np.fmod(before, 1_000_003)
    expected = (before - rest) // 1_000_003 * 1_000_000_007 + rest
    return "" if np.array_equal(after, expected) else "it computes wrong numbers"


def fault(error: Exception) -> str:
    """Return one line of what pyopencl raised: the compiler's first error, if there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else repr(error))[:300]


@contextmanager
def reported(device: Device) -> Iterator[None]:
    """Turn what OpenCL raises meanwhile into one message: the device works, but not for this problem."""
    try:
        yield
    except cl.Error as error:
        problem, value = f"{device} fails at this problem: {fault(error)}", f"opencl:{device.number}"
        raise UserError(problem, key="device", value=value, remedy=REMEDY) from error


def opencl_devices() -> list[Device]:
    """Return every OpenCL device of this machine, tried, graphics cards first."""
    return [tried(number) for number in range(len(installed()))]


def choose(number: int | None = None) -> Device:
    """Return the device of this number, or the first one that can be used."""
    unusable = []
    for each in range(len(installed())):
        if number in (None, each):
            if (device := tried(each)).usable:
                return device
            unusable.append(f"{device} cannot be used: {device.reason}")
    problem = "; ".join(unusable) or "there is no such OpenCL device"
    raise UserError(problem, key="device", value="opencl" if number is None else f"opencl:{number}", remedy=REMEDY)
