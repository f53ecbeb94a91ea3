"""Run the published search on OpenCL devices: graphics cards, and processors through PoCL, several at once.

A device runs the kernels of `binwright.agents.solver.backends.attempt`, printed as C: an attempt per lane. Devices are
given consecutive attempts, each as many as should take it `WAVE`; once all have made theirs, what they come to counts
in the order of the attempts. So answers are those of processors, whatever device was how fast.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import accumulate
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from binwright.agents.solver.backends.attempt import ENDLESS, begin, go_on, scan
from binwright.agents.solver.backends.cpu import CALLED
from binwright.agents.solver.backends.flat import Flat, Room, lengths
from binwright.agents.solver.backends.kernel_c import HEAD, OWN, Printer
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.backends.opencl_devices import Device, chosen
from binwright.agents.solver.backends.probe import fault, found
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import word
from binwright.simcore.errors import UserError
from binwright.simcore.extras import LazyModule
from binwright.simcore.types import Ints

cl: Any = LazyModule("pyopencl")

WAVE = 0.05
"""Seconds between two looks at the clock, roughly."""
RESIDENT, WAVES = 64, 2
"""Work-groups per compute unit of a processor at a time, at most; of other devices, how many times the work-groups that
fit at a time: when one ends, another takes its place."""
PRIVATE = 32
"""Additions of a unit, at most, that lanes keep to themselves, in registers; more lie in global memory."""
FIRST = 16
"""Units that the first launch tries in every attempt."""
WIDEST, ON_PROCESSORS = 128, 1
"""Lanes of a work-group, at most: as many as run in lock-step, but processors take them in turns."""
LANES = """
/* Begins an attempt per lane if FRESH, and goes on with it for BUDGET units; CUT leaves those that are not tried. The
 * outcome is -1 while it is not over. Neighbours are of the same grouping where that can be: so they do alike. */
__kernel void lanes({arguments}, GLOBAL long *rooms, GLOBAL long *additions, GLOBAL long *outcome, const long seed,
                    const long first, const long many, const int fresh, const long budget, const int cut) {{
    const long lane = get_global_id(0);
    if (lane >= many) return;
    const long id = first % {ways} || many % {ways} ? lane : lane % (many / {ways}) * {ways} + lane / (many / {ways});
    const long number = (first + id) / {ways}, way = (first + id) % {ways};
    GLOBAL long *const at = rooms + id * {total};
    {own};
    const Flat flat = {{{flat}}};
    const Room room = {{{room}}};
    if (fresh) begin(flat, {friends}, {sets}, room, seed, way, number);
    else if (room.progress[0] < 0) return;
    room.stop[0] = cut;
    outcome[id] = go_on(flat, {friends}, room, seed, way, number, {units}, 1L, budget);
}}
"""


def prepare(problem: Problem, devices: Sequence[int]) -> None:
    """Build the kernel for some devices, by default the first usable one; it takes about a second each."""
    for device in chosen(devices):
        Session(problem, device).launch(0, 0, 1, True, 0, False)


def attempts(
    problem: Problem, seed: int, first: int, count: int, *, until: float = inf, devices: Sequence[int] = ()
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, attempts are cut short: what they have placed counts.
    `devices` are numbers, by default that of the first usable one.
    """
    sessions, ways = [Session(problem, device, until) for device in chosen(devices)], len(problem.groupings)
    number, end, checked, best = first * ways, (first + count) * ways, 0, None
    with ThreadPoolExecutor(len(sessions)) as pool:
        while number < end:
            made, interrupted = [], False
            for session in sessions:
                if each := min(session.each, end - number):
                    made.append(pool.submit(session.make, seed, number, each, best.left if best else inf))
                number += each
            try:
                wait(made)
            except KeyboardInterrupt:  # what is being made is cut short, if there is a limit of time, and counts
                interrupted = True
                for session in sessions:
                    session.until = min(session.until, 0.0)
                wait(made)
            for part in (future.result() for future in made):
                checked += part.checked
                if best is None or part.left < best.left:
                    best = part
                yield best._replace(attempt=best.attempt // ways, checked=checked)
                if best.left == 0:
                    return
            if interrupted:
                raise KeyboardInterrupt
            if monotonic() >= until:
                return


def source(problem: Problem, body: str) -> str:
    """Write the program for a device, with UTILFN from its source in Python."""
    each = lengths(problem) | {"best": 0}
    adds, starts = each["dims"], accumulate(each.values(), initial=0)
    printer = Printer(each)
    printer.add_source(body, CALLED)
    for function in (scan, begin, go_on):
        printer.add(function)
    own = adds <= PRIVATE
    room = [f"own + {OWN.index(name) * adds}" if name in OWN else f"at + {start}" for name, start in zip(each, starts)]  # noqa: B905 (the end is one more)
    lanes = LANES.format(
        arguments=", ".join(f"GLOBAL long *{name}" for name in Flat._fields),
        flat=", ".join(Flat._fields),
        room=", ".join(room),
        own=f"long own[{2 * adds}]" if own else f"GLOBAL long *const own = additions + id * {2 * adds}",
        total=sum(each.values()),
        ways=f"{len(problem.groupings)}L",
        friends=f"{len(problem.friends)}L",
        sets=f"{len(problem.friends) + len(problem.foes)}L",
        units=f"{len(problem.units)}L",
    )
    fields = "\n".join(f"    GLOBAL long *{name};" for name in Flat._fields)
    places = "\n".join(f"    {'OWN' if name in OWN else 'GLOBAL'} long *{name};" for name in Room._fields)
    head = f"#define OWN {'__private' if own else '__global'}\n{HEAD}"
    return (
        f"{head}typedef struct {{\n{fields}\n}} Flat;\ntypedef struct {{\n{places}\n}} Room;\n{printer.text}\n{lanes}"
    )


@cache
def _context(number: int) -> Any:
    known = found()
    if number >= len(known):
        raise UserError(
            "its driver does not load any more",
            key="device",
            value=f"opencl:{number}",
            remedy="It needs memory: give the process more, or a job of a service (--limit memory=2e9).",
        )
    return cl.Context([known[number]])


@lru_cache(maxsize=32)
def _program(number: int, text: str) -> Any:
    with warnings.catch_warnings():  # what compilers have to say of a program that they accept
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return cl.Program(_context(number), text).build()


@contextmanager
def reported(device: Device) -> Iterator[None]:
    """Turn what OpenCL raises meanwhile into one message: the device works, but not for this problem."""
    try:
        yield
    except cl.Error as error:
        raise UserError(
            f"{device} fails at this problem: {fault(error)}",
            key="device",
            value=f"opencl:{device.number}",
            remedy="`--device cpu` needs no OpenCL; `binwright list devices` lists other devices.",
        ) from error


class Session:
    """A problem on a device: its kernel, its arrays, and room for many attempts at a time."""

    def __init__(self, problem: Problem, device: Device, until: float = inf) -> None:
        self._chosen = device
        self.until = until
        """The value of `monotonic()` at which attempts are cut short: it is looked at between launches."""
        self.each = 1
        """Attempts that it should make next."""
        self._units = FIRST
        """Units that a launch tries in every attempt."""
        with reported(device):
            self._build(problem)

    def _build(self, problem: Problem) -> None:
        context = _context(self._chosen.number)
        device = context.devices[0]
        self._queue = cl.CommandQueue(context)
        body, numbers = utilfn(problem.program, spelt=not problem.searched)
        self._kernel = cl.Kernel(_program(self._chosen.number, source(problem, body)), "lanes")
        info = cl.kernel_work_group_info
        lanes, most = (
            self._kernel.get_work_group_info(key, device)
            for key in (info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, info.WORK_GROUP_SIZE)
        )
        if device.type & cl.device_type.CPU:
            self._beside, groups = ON_PROCESSORS, RESIDENT * device.max_compute_units
        else:
            self._beside = max(1, min(lanes, most, WIDEST))
            groups = WAVES * max(1, most // self._beside) * device.max_compute_units
        flags, each = cl.mem_flags, lengths(problem) | {"best": 0}
        flat = Flat.of_problem(problem, numbers)
        self._flat = [cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=part) for part in flat]
        self._room, self._dims, self._balls, adds = sum(each.values()), each["used"], each["alloc"], each["dims"]
        memory = min(device.max_mem_alloc_size, device.global_mem_size // 4)
        self.most = max(1, min(groups * self._beside, memory // (8 * max(self._room, 2 * adds))))
        """Attempts that there is room for at a time."""
        additions = 1 if adds <= PRIVATE else 2 * adds
        self._rooms, self._additions, self._outcome = (
            cl.Buffer(context, flags.READ_WRITE, 8 * size * self.most) for size in (self._room, additions, 1)
        )

    def make(self, seed: int, first: int, count: int, fewest: float) -> Found:
        """Make numbers first, ..., first + count - 1 of all groupings in turn, `most` at most; returns the best.

        The allocation is read if it leaves less than `fewest` units. Then `each` is as many as should take `WAVE`.
        """
        began = monotonic()
        with reported(self._chosen):
            left = self._run(seed, first, count)
            which = int(left.argmin())
            alloc = np.empty(self._balls if left[which] < fewest else 0, np.int64)
            if len(alloc):
                offset = 8 * (which * self._room + self._dims)
                cl.enqueue_copy(self._queue, alloc, self._rooms, src_offset=offset)
        each = min(4 * count, int(count * WAVE / max(monotonic() - began, 1e-6)))
        self.each = max(1, min(each, self.most))
        return Found(int(left[which]), alloc, first + which, count)

    def _run(self, seed: int, first: int, count: int) -> Ints:
        """Return the units that each attempt leaves, int64 [count].

        A launch cannot be cut short: so an attempt goes on in one launch after another.
        """
        left = self.launch(seed, first, count, True, 0, False)
        while left.min() < 0:
            began, until = monotonic(), self.until
            over = began >= until
            left = self.launch(seed, first, count, False, ENDLESS if over else self._units, over)
            faster = min(WAVE, max(until - began, 0)) / max(monotonic() - began, 1e-6)
            self._units = max(1, min(ENDLESS, int(self._units * min(2.0, faster))))
        return left

    def launch(self, seed: int, first: int, count: int, fresh: bool, units: int, cut: bool) -> Ints:
        """Begin attempts if they are `fresh`, and try so many units in each; those left are -1 while one is not over.

        If it is `cut`, units that are not tried yet are left.
        """
        size = -(-count // self._beside) * self._beside
        buffers = *self._flat, self._rooms, self._additions, self._outcome
        numbers = np.int64(word(seed)), np.int64(first), np.int64(count)
        how = np.int32(fresh), np.int64(units), np.int32(cut)
        with reported(self._chosen):
            self._kernel(self._queue, (size,), (self._beside,), *buffers, *numbers, *how)
            left = np.empty(count, np.int64)
            cl.enqueue_copy(self._queue, left, self._outcome)
        return left
