"""List the OpenCL devices of this machine, and find one that can be used.

A driver may show a device and fail, crash or hang at the first program for it. So a device is usable once it has built
and run a small one (`agents.solver.backends.probe`), in a process of its own; what that said is remembered in this
process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from signal import Signals
from typing import NamedTuple

from binwright.simcore.errors import UserError
from binwright.simcore.extras import need

PROBE = Path(__file__).with_name("probe.py")
SECONDS = 60.0
"""A driver that takes longer to build and run the probe hangs."""
INSTALL = (
    "Drivers bring devices: `apt install pocl-opencl-icd` or your system's package of PoCL, the driver of a graphics "
    "card, or the extra `solver`. `--device cpu` needs none."
)
REMEDY = f"`binwright list devices` lists what is here. {INSTALL}"


@dataclass(frozen=True, slots=True)
class Device:
    """An OpenCL device of this machine."""

    number: int
    """N of `opencl:N`."""
    name: str
    platform: str
    driver: str
    """Its version."""
    kind: str
    """`GPU`, `CPU`, `accelerator` or `other`."""
    reason: str
    """Why it cannot be used; empty if it can."""

    def __str__(self) -> str:
        return f"opencl:{self.number} ({self.name}, {self.platform} {self.driver})"

    @property
    def usable(self) -> bool:
        """Tell whether the probe was built, ran, and gave the right numbers."""
        return not self.reason


class _Told(NamedTuple):
    """The answer of a probe."""

    known: list[dict[str, str]]
    reason: str


@cache
def _told(number: int) -> _Told:
    """Ask a process of its own for all devices, and for what becomes of device `number`."""
    need("pyopencl", "solver", what="OpenCL")
    command = [sys.executable, "-P", str(PROBE), str(number)]
    # pyopencl would keep what was built, and nobody would notice a driver that has lost its compiler.
    environment = os.environ | {"PYOPENCL_NO_CACHE": "1"}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
        out, said, code = done.stdout, done.stderr, done.returncode
        ended = f"crashes ({Signals(-code).name})" if code < 0 else f"ends the process with exit code {code}"
    except subprocess.TimeoutExpired as late:
        out, said = late.stdout or b"", late.stderr or b""
        ended = f"does not answer within {SECONDS:.0f} s"
    words = said.decode(errors="replace").strip().rpartition("\n")[2]
    ended += f": {words}" if words else ""
    lines = [json.loads(line) for line in out.splitlines()]
    if not lines:
        raise UserError(
            f"loading the OpenCL drivers {ended}",
            remedy="Have only one that works loaded: OCL_ICD_VENDORS=FILE, with a file of /etc/OpenCL/vendors.",
        )
    known, *reasons = lines
    return _Told(known, reasons[0] if reasons else f"its driver {ended}")


def _device(number: int) -> Device | None:
    told = _told(number)
    return Device(number, **told.known[number], reason=told.reason) if number < len(told.known) else None


def opencl_devices() -> list[Device]:
    """Return every OpenCL device of this machine, tried, graphics cards first."""
    return [device for number in range(len(_told(0).known)) if (device := _device(number))]


def numbers_in(text: str) -> tuple[int, ...]:
    """Read the numbers of devices, as in `opencl:0,2-3`: what stands behind the colon."""
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part)
        if found is None:
            remedy = "Write numbers: opencl:1, or opencl:0,2-3."
            raise UserError("is no list of devices", key="device", value=f"opencl:{text}", remedy=remedy)
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    if not numbers or len(set(numbers)) < len(numbers):
        problem = "names a device twice" if numbers else "names no device"
        raise UserError(problem, key="device", value=f"opencl:{text}", remedy="Name each device once: opencl:0,2-3.")
    return tuple(numbers)


def chosen(numbers: Sequence[int]) -> list[Device]:
    """Return the devices of these numbers, or the first one that can be used if there are none."""
    return [choose(number) for number in numbers] if numbers else [choose()]


def choose(number: int | None = None) -> Device:
    """Return the device of this number, or the first one that can be used."""
    unusable = []
    for one in count() if number is None else [number]:
        device = _device(one)
        if device is None:
            break
        if device.usable:
            return device
        unusable.append(f"{device} cannot be used: {device.reason}")
    if number is not None:
        problem = unusable[0] if unusable else "there is no such OpenCL device"
        raise UserError(problem, key="device", value=f"opencl:{number}", remedy=REMEDY)
    problem = "; ".join(["no OpenCL device can be used", *unusable] if unusable else ["there is no OpenCL device"])
    raise UserError(problem, key="device", value="opencl", remedy=REMEDY)
