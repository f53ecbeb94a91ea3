"""List OpenCL devices, graphics cards and processors through PoCL, and run the published search on one of them.

A device runs the kernels of `binwright.agents.solver.backends.attempt`, printed as C: an attempt per lane. It is given
consecutive attempts, as many at a time as should take it `WAVE`. So answers are those of processors, but that what a
launch has placed when time is over is lost: it cannot be cut short.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import accumulate
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import attempt
from binwright.agents.solver.backends.cpu import CALLED
from binwright.agents.solver.backends.flat import Flat, Room, lengths
from binwright.agents.solver.backends.kernel_c import HEAD, Printer
from binwright.agents.solver.backends.numbered_attempts import Found, Over, never
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import word
from binwright.agents.solver.specification.load import load_problem
from binwright.simcore.errors import UserError
from binwright.simcore.extras import LazyModule, need
from binwright.simcore.types import Ints

cl: Any = LazyModule("pyopencl")

WAVE = 0.05
"""Seconds that a launch takes, roughly."""
ON_PROCESSORS = 1
"""Lanes of a work-group: elsewhere as many as run in lock-step, but processors take them in turns."""
PROBE, EXPECTED = "network", [1, -1, 2, 3, 3, 2, 1, 0]
"""The example that devices are tried with, and where attempt 0 of seed 1 places its balls."""
INSTALL = (
    "Drivers bring devices: `apt install pocl-opencl-icd` or your system's package of PoCL, the driver of a graphics "
    "card, or the extra `solver`. `--device cpu` needs none."
)
REMEDY = f"`binwright list devices` lists what is here. {INSTALL}"
LANES = """
/* Makes an attempt per lane. Neighbours are of the same grouping where that can be: so they do alike. */
__kernel void lanes({arguments}, GLOBAL long *rooms, GLOBAL long *outcome, const long seed, const long first,
                    const long many) {{
    const long lane = get_global_id(0);
    if (lane >= many) return;
    const long id = first % {ways} || many % {ways} ? lane : lane % (many / {ways}) * {ways} + lane / (many / {ways});
    const long number = (first + id) / {ways}, way = (first + id) % {ways};
    GLOBAL long *const at = rooms + id * {total};
    const Flat flat = {{{flat}}};
    const Room room = {{{room}}};
    room.stop[0] = 0;
    outcome[id] = attempt(flat, room, seed, way, number, {units}, 1L);
}}
"""


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
    """Why it cannot be used; empty if it can: it has made the attempt that devices are tried with."""

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
    """Try a device: build the kernel for a small problem, and make an attempt of which the outcome is known."""
    device = Device(number, *labels(installed()[number]), "")
    try:
        *_, outcome = made(load_problem(PROBE), device, 1, 0, 1, never)
    except cl.Error as error:
        return device._replace(reason=fault(error))
    return device if outcome.where.tolist() == EXPECTED else device._replace(reason="it computes wrong numbers")


def fault(error: Exception) -> str:
    """Return one line of what pyopencl raised: the compiler's first error, if there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else repr(error))[:300]


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


def attempts(
    problem: Problem, seed: int, first: int, count: int, over: Over = never, *, number: int | None = None
) -> Iterator[Found]:
    """Make attempts, each in every grouping, as `numbered_attempts.Attempts` says.

    `number` is that of the device, by default that of the first usable one.
    """
    device = choose(number)
    try:
        yield from made(problem, device, seed, first, count, over)
    except cl.Error as error:
        text, value = f"{device} fails at this problem: {fault(error)}", f"opencl:{device.number}"
        raise UserError(text, key="device", value=value, remedy=REMEDY) from error


def made(problem: Problem, device: Device, seed: int, first: int, count: int, over: Over) -> Iterator[Found]:
    """Make attempts on a device, which may fail."""
    session, ways = Session(problem, device), len(problem.groupings)
    at, end, each = first * ways, (first + count) * ways, 1
    best = Found(len(problem.units) + 1, np.full(problem.balls, NULL), first, 0)
    while at < end and best.left:
        began = monotonic()
        left = session.make(seed, at, min(each, end - at), over)
        if left is None:
            break
        which = int(left.argmin())
        if left[which] < best.left:
            best = Found(int(left[which]), session.allocation(which), (at + which) // ways, 0)
        at += len(left)
        each = min(4 * len(left), int(len(left) * WAVE / max(monotonic() - began, 1e-6)))
        each = max(1, min(each, session.most))
        yield best._replace(checked=at - first * ways)
    if at == first * ways:
        yield best._replace(left=len(problem.units))


def _sizes(problem: Problem) -> dict[str, int]:
    """Return the length of each array of an attempt's room: attempts do not use the best of a search."""
    return lengths(problem) | {"best": 0}


def source(problem: Problem, body: str) -> str:
    """Write the program for a device, with UTILFN from its source in Python."""
    sizes = _sizes(problem)
    printer = Printer(sizes | {"sets": len(problem.friends) + len(problem.foes) + 1})
    printer.add_source(body, CALLED)
    printer.add(attempt)
    starts = list(accumulate(sizes.values(), initial=0))
    lanes = LANES.format(
        arguments=", ".join(f"GLOBAL long *{name}" for name in Flat._fields),
        flat=", ".join(Flat._fields),
        room=", ".join(f"at + {start}" for start in starts[:-1]),
        total=starts[-1],
        ways=f"{len(problem.groupings)}L",
        units=f"{len(problem.units)}L",
    )
    flat, room = ("\n".join(f"    GLOBAL long *{name};" for name in kind._fields) for kind in (Flat, Room))
    return f"{HEAD}typedef struct {{\n{flat}\n}} Flat;\ntypedef struct {{\n{room}\n}} Room;\n{printer.text}\n{lanes}"


@cache
def _context(number: int) -> Any:
    return cl.Context([installed()[number]])


@lru_cache(maxsize=32)
def _program(number: int, text: str) -> Any:
    with warnings.catch_warnings():  # what compilers have to say of a program that they accept
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return cl.Program(_context(number), text).build()


class Session:
    """A problem on a device: its kernel, its arrays, and room for many attempts at a time."""

    def __init__(self, problem: Problem, device: Device) -> None:
        context, flags = _context(device.number), cl.mem_flags
        [on], self._queue = context.devices, cl.CommandQueue(context)
        body, numbers = utilfn(problem.program, spelt=not problem.searched)
        self._kernel = cl.Kernel(_program(device.number, source(problem, body)), "lanes")
        info = cl.kernel_work_group_info
        lanes, most = (
            self._kernel.get_work_group_info(key, on)
            for key in (info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, info.WORK_GROUP_SIZE)
        )
        self._beside = ON_PROCESSORS if on.type & cl.device_type.CPU else max(1, min(lanes, most, 128))
        sizes, flat = _sizes(problem), Flat.of_problem(problem, numbers)
        self._room, self._dims, self._balls = sum(sizes.values()), sizes["used"], sizes["alloc"]
        memory = min(on.max_mem_alloc_size, on.global_mem_size // 4)
        groups = 64 * on.max_compute_units  # when one ends, another takes its place
        self.most = max(1, min(groups * self._beside, memory // (8 * self._room)))
        """Attempts that there is room for at a time."""
        self._buffers = [cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=part) for part in flat]
        self._buffers += [cl.Buffer(context, flags.READ_WRITE, 8 * size * self.most) for size in (self._room, 1)]

    def make(self, seed: int, first: int, count: int, over: Over) -> Ints | None:
        """Make numbers first, ..., first + count - 1 of all groupings in turn; returns the units left, int64 [count].

        None if time is `over` before all are made: they go on alone then, for nothing.
        """
        if over():
            return None
        size, left = -(-count // self._beside) * self._beside, np.empty(count, np.int64)
        numbers = np.int64(word(seed)), np.int64(first), np.int64(count)
        launch = self._kernel(self._queue, (size,), (self._beside,), *self._buffers, *numbers)
        self._queue.flush()
        while launch.command_execution_status > cl.command_execution_status.COMPLETE:
            if over():
                return None
            sleep(0.001)
        cl.enqueue_copy(self._queue, left, self._buffers[-1])
        return left

    def allocation(self, which: int) -> Ints:
        """Read an allocation [balls] of those that were made last, by its place among them."""
        alloc, offset = np.empty(self._balls, np.int64), 8 * (which * self._room + self._dims)
        cl.enqueue_copy(self._queue, alloc, self._buffers[-2], src_offset=offset)
        return alloc
