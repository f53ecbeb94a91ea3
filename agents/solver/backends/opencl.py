"""List OpenCL devices, graphics cards and processors through PoCL, and run the published search on one of them.

A device runs the kernels of `binwright.agents.solver.backends.attempt`, printed as C: an attempt per lane. It is given
consecutive attempts, as many at a time as should take it `WAVE`. So answers are those of processors, but that what a
launch has placed when time is over is lost: it cannot be cut short.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import accumulate
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.backends.attempt import attempt
from binwright.agents.solver.backends.cpu import CALLED, Outcome, Over, never
from binwright.agents.solver.backends.flat import Flat, Room, lengths
from binwright.agents.solver.backends.kernel_c import HEAD, Printer
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.source import utilfn
from binwright.agents.solver.specification.spec import load_problem
from binwright.simcore.errors import UserError
from binwright.simcore.extras import LazyModule, need

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

    handle: Any
    """As pyopencl knows it."""
    name: str
    """With its platform, and the version of its driver."""
    reason: str = ""
    """Why it cannot be used; empty if it can: it has made the attempt that devices are tried with."""


@cache
def installed() -> list[Device]:
    """Return every OpenCL device, untried: graphics cards, then others, each by name.

    The order of the ICD loader depends on the order of files in a folder.
    """
    need("pyopencl", "solver", what="OpenCL")
    known = list[Any]()
    with suppress(cl.Error):  # no driver at all
        for platform in cl.get_platforms():
            with suppress(cl.Error):  # a driver whose hardware is missing
                known += platform.get_devices()
    named = [Device(on, f"{on.name.strip()} ({on.platform.name} {on.driver_version.strip()})") for on in known]
    return sorted(named, key=lambda device: (not device.handle.type & cl.device_type.GPU, device.name))


@cache
def tried(device: Device) -> Device:
    """Try a device: build the kernel for a small problem, and make an attempt of which the outcome is known."""
    try:
        *_, outcome = attempts(load_problem(PROBE), 1, 0, 1, device=device)
    except UserError as error:
        return device._replace(reason=error.problem)
    right = outcome.where.tolist() == EXPECTED
    return device if right else device._replace(reason=f"{device.name} computes wrong numbers")


def opencl_devices() -> list[Device]:
    """Return every OpenCL device of this machine, tried, graphics cards first."""
    return [tried(device) for device in installed()]


def choose() -> Device:
    """Return the first device that can be used."""
    reasons = []
    for device in map(tried, installed()):
        if not device.reason:
            return device
        reasons.append(device.reason)
    problem = "; ".join(reasons) or "there is no OpenCL device"
    raise UserError(problem, key="device", value="opencl", remedy=REMEDY)


def attempts(
    problem: Problem, seed: int, first: int, count: int, over: Over = never, *, device: Device | None = None
) -> Iterator[Outcome]:
    """Make attempts, each in every grouping, on the first usable device or this one, as `cpu.Attempts` says."""
    device = device or choose()
    ways = len(problem.groupings)
    at, end, size = first * ways, (first + count) * ways, 1
    best = Outcome(len(problem.units) + 1, np.full(problem.balls, NULL), first, 0)
    try:
        session = Session(problem, device.handle)
        while at < end and best.left:
            began = monotonic()
            outcome = session.make(seed, at, min(size, end - at), over)
            if outcome is None:
                break
            best = min(best, outcome, key=lambda each: each.left)
            at += outcome.checked
            size = min(4 * outcome.checked, int(outcome.checked * WAVE / max(monotonic() - began, 1e-6)))
            size = max(1, min(size, session.most))
            yield best._replace(checked=at - first * ways)
    except cl.Error as error:  # of what it says the compiler's first error, or else one line
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
        reason = next((line for line in lines if "error:" in line), lines[0])[:300]
        raise UserError(f"{device.name} fails: {reason}", key="device", value="opencl", remedy=REMEDY) from error
    if at == first * ways:
        yield best._replace(left=len(problem.units))


def source(problem: Problem, body: str) -> str:
    """Write the program for a device, with UTILFN from its source in Python."""
    sizes = lengths(problem)
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


@lru_cache(maxsize=32)
def _program(context: Any, text: str) -> Any:
    with warnings.catch_warnings():  # what compilers have to say of a program that they accept
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return cl.Program(context, text).build()


@cache
def _context(device: Any) -> Any:
    return cl.Context([device])


class Session:
    """A problem on a device: its kernel, its arrays, and room for many attempts at a time."""

    def __init__(self, problem: Problem, device: Any) -> None:
        context, flags = _context(device), cl.mem_flags
        self._queue, self._ways = cl.CommandQueue(context), len(problem.groupings)
        body, numbers = utilfn(problem.program, spelt=not problem.searched)
        self._kernel = cl.Kernel(_program(context, source(problem, body)), "lanes")
        together = cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE
        on_processors = device.type & cl.device_type.CPU
        self._beside = ON_PROCESSORS if on_processors else self._kernel.get_work_group_info(together, device)
        sizes, flat = lengths(problem), Flat.of_problem(problem, numbers)
        self._room, self._dims, self._balls = sum(sizes.values()), sizes["used"], sizes["alloc"]
        memory = min(device.max_mem_alloc_size, device.global_mem_size // 4)
        groups = 64 * device.max_compute_units  # when one ends, another takes its place
        self.most = max(1, min(groups * self._beside, memory // (8 * self._room)))
        """Attempts that there is room for at a time."""
        self._buffers = [cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=part) for part in flat]
        self._buffers += [cl.Buffer(context, flags.READ_WRITE, 8 * size * self.most) for size in (self._room, 1)]

    def make(self, seed: int, first: int, count: int, over: Over) -> Outcome | None:
        """Make numbers first, ..., first + count - 1 of all groupings in turn; returns the best of them.

        None if time is `over` before all are made: they go on alone then, for nothing.
        """
        if over():
            return None
        size, left = -(-count // self._beside) * self._beside, np.empty(count, np.int64)
        numbers = np.int64(seed), np.int64(first), np.int64(count)
        launch = self._kernel(self._queue, (size,), (self._beside,), *self._buffers, *numbers)
        self._queue.flush()
        try:
            while launch.command_execution_status > cl.command_execution_status.COMPLETE:
                if over():
                    return None
                sleep(0.001)
        except BaseException:  # such as Ctrl-C
            launch.wait()
            raise
        cl.enqueue_copy(self._queue, left, self._buffers[-1])
        best, alloc = int(left.argmin()), np.empty(self._balls, np.int64)
        offset = 8 * (best * self._room + self._dims)  # where its ALLOC is
        cl.enqueue_copy(self._queue, alloc, self._buffers[-2], src_offset=offset)
        return Outcome(int(left[best]), alloc, (first + best) // self._ways, count)
