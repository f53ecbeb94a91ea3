"""Hold a problem on one OpenCL device: its kernel, its arrays, and room for many attempts at a time.

How attempts lie over a device is `Shape`. What of it a device sees by way of macros stands in search.cl.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from math import inf
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.backends.flat import Flat, Sizes
from binwright.agents.solver.backends.opencl_devices import Device
from binwright.agents.solver.backends.probe import fault, found
from binwright.agents.solver.backends.reference import WAVE
from binwright.agents.solver.model.emit import C, utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.model.random import OPENCL
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints

RESIDENT = 64
"""Work-groups per compute unit of a processor at a time, at most."""
WAVES = 2
"""Of other devices: how many times the work-groups that fit at a time. When one ends, another takes its place."""
PRIVATE = 32
"""Additions of a unit, at most, that lanes keep to themselves, in registers; more lie in global memory."""
FIRST, ALL = 16, 1 << 62
"""Units that a launch tries in every attempt: the first ones, where time is limited, and all of them."""
STATE = 8
"""Numbers that say where an attempt is, see search.cl."""
WIDEST = 128
"""Lanes that work on one attempt, at most."""
CONSTANTS = 3
"""Arguments of the kernels in constant memory, if all of them fit: what every lane reads at the same place."""


class Shape(NamedTuple):
    """How attempts lie over a device: one per lane (`lanes` of search.cl), or one per work-group (`squads`)."""

    width: int
    """Lanes that work on one attempt."""
    beside: int
    """Attempts of a work-group; 1 where several lanes work on one."""
    groups: int
    """Work-groups at a time, at most."""


def suitable(lanes: int, most: int, units: int, processor: bool, speculates: bool) -> Shape:
    """Choose the shape for a device with so many compute units, whose lanes run in lock-step by `lanes`.

    `most` lanes fit into a work-group, as the device says of the compiled kernel: on graphics cards that is what its
    registers are good for, and as many fit on a compute unit at least. Processors run one attempt per lane, each a
    work-group of its own, for they take the lanes of a group in turns. Elsewhere no lane is left idle: all lanes that
    run in lock-step work on one attempt where they may speculate, and else on as many attempts.
    """
    if processor:
        return Shape(1, 1, RESIDENT * units)
    group = max(1, min(lanes, most, WIDEST))
    groups = WAVES * max(1, most // group) * units
    return Shape(group, 1, groups) if speculates and group > 1 else Shape(1, group, groups)


class Limit:
    """When attempts are to be cut short; threads look at it between launches."""

    def __init__(self, until: float) -> None:
        self.until = until
        """A value of `monotonic()`."""


class Part(NamedTuple):
    """What consecutive attempts came to."""

    made: int
    number: int
    """The one that leaves fewest units, of several the first: attempt n // groupings in grouping n % groupings."""
    left: int
    """Units that it leaves."""
    alloc: list[int]
    """[balls]; empty if that is not fewer than was asked for."""


@cache
def _context(number: int) -> Any:
    import pyopencl as cl

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
def _program(number: int, source: str, options: tuple[str, ...]) -> Any:
    import pyopencl as cl

    with warnings.catch_warnings():  # what compilers have to say of a program that they accept
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return cl.Program(_context(number), source).build(list(options))


@contextmanager
def reported(device: Device) -> Iterator[None]:
    """Turn what OpenCL raises meanwhile into one message: the device works, but not for this problem."""
    import pyopencl as cl

    try:
        yield
    except cl.Error as error:
        raise UserError(
            f"{device} fails at this problem: {fault(error)}",
            key="device",
            value=f"opencl:{device.number}",
            remedy="`--device cpu` needs no OpenCL; `binwright solve --devices` lists other devices.",
        ) from error


class Session:
    """A problem on a device. `width` and `beside` of `Shape` may be given, for what does not suit the device."""

    def __init__(
        self, problem: Problem, chosen: Device, trims: bool, width: int | None = None, beside: int | None = None
    ) -> None:
        self._chosen = chosen
        with reported(chosen):
            self._build(problem, trims, width, beside)
        self.each = 1
        """Attempts that it should make next."""

    def _build(self, problem: Problem, trims: bool, width: int | None, beside: int | None) -> None:
        import pyopencl as cl

        self._cl = cl
        context = _context(self._chosen.number)
        device = context.devices[0]
        self._queue = cl.CommandQueue(context)
        program = problem.program
        body, numbers = utilfn(problem.program, C, spelt=not problem.searched)
        flat = Flat.of_problem(problem, numbers, trims)
        self._sizes = sizes = Sizes.of_problem(problem)
        shared = sum(part.nbytes for part in (flat.numbers, flat.ways, flat.groups))
        fits = shared <= device.max_constant_buffer_size and device.max_constant_args >= CONSTANTS
        own = sizes.adds <= PRIVATE
        named = dict(
            zip(("DIMS", "BALLS", "UNITS", "ADDS", "SOFT", "SETS"), sizes, strict=True),
            FRIENDS=len(problem.friends),
            CHOSEN=len(problem.friends) + len(problem.foes),
            WAYS=len(problem.groupings),
            DISTINCT=int(program.distinct),
            TESTED=int(program.non_negative and program.distinct and not len(problem.soft_allowed)),
            SHARED="__constant" if fits else "__global",
            OWN="__private" if own else "__global",
            PRIVATE=int(own),
            WIDEST=WIDEST,
        )
        text = OPENCL + Path(__file__).with_name("search.cl").read_text("utf-8").replace("#define UTILFN\n", body, 1)
        built = _program(self._chosen.number, text, tuple(f"-D{name}={value}" for name, value in named.items()))
        certain = all((sets.chance == MICRO).all() for sets in (problem.friends, problem.foes))
        plain = not len(problem.soft_allowed) and sizes.units == sizes.balls and certain
        kernels = {name: cl.Kernel(built, name) for name in ("lanes", "squads")}
        info = cl.kernel_work_group_info
        lanes, most = (
            kernels["squads" if plain else "lanes"].get_work_group_info(asked, device)
            for asked in (info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, info.WORK_GROUP_SIZE)
        )
        shape = suitable(lanes, most, device.max_compute_units, bool(device.type & cl.device_type.CPU), plain)
        if width is not None:
            shape = shape._replace(width=width if plain else 1, beside=1)
        if beside is not None:
            shape = shape._replace(width=1, beside=beside)
        self.shape = shape
        self._kernel = kernels["squads" if shape.width > 1 else "lanes"]
        flags = cl.mem_flags
        self._flat = [cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=part) for part in flat]
        self._room = sizes.dims + sizes.balls + 4 * sizes.units + sizes.soft + 1 + sizes.sets
        additions = 1 if own else 2 * sizes.adds * shape.width
        memory = min(device.max_mem_alloc_size, device.global_mem_size // 4)
        room = memory // (8 * max(self._room, additions))
        self.most = max(1, min(shape.groups * shape.beside, room))
        """Attempts that there is room for at a time."""
        self._rooms = cl.Buffer(context, flags.READ_WRITE, 8 * self._room * self.most)
        self._additions = cl.Buffer(context, flags.READ_WRITE, 8 * additions * self.most)
        self._outcome = cl.Buffer(context, flags.READ_WRITE, 8 * self.most)
        self._states = cl.Buffer(context, flags.READ_WRITE, 8 * STATE * self.most)
        self._units = FIRST
        """Units that a launch tries in every attempt, where time is limited."""

    def make(self, seed: int, first: int, count: int, limit: Limit, fewest: float) -> Part:
        """Make attempts first, ..., first + count - 1 of all groupings in turn, `most` at most.

        The allocation is read if it leaves less than `fewest` units. Then `each` is as many as should take `WAVE`.
        """
        began = perf_counter()
        with reported(self._chosen):
            left = self._run(seed, first, count, limit)
            which = int(left.argmin())
            alloc = self._alloc(which) if left[which] < fewest else []
        each = min(4 * count, int(count * WAVE / max(perf_counter() - began, 1e-6)))
        self.each = max(1, min(each, self.most))
        return Part(count, first + which, int(left[which]), alloc)

    def begin(self) -> None:
        """Begin an attempt, and leave it at that: the kernel is built then."""
        with reported(self._chosen):
            self._launch(0, 0, 1, True, 0, False)

    def _run(self, seed: int, first: int, count: int, limit: Limit) -> Ints:
        """Return the units that each attempt leaves, int64 [count].

        When `monotonic()` is the limit, attempts are cut short. A launch cannot be: where there is such a time, an
        attempt goes on in one launch after another.
        """
        if limit.until == inf:
            return self._launch(seed, first, count, True, ALL, False)
        left = self._launch(seed, first, count, True, 0, False)
        while left.min() < 0:
            began, until = monotonic(), limit.until
            over = began >= until
            left = self._launch(seed, first, count, False, 0 if over else self._units, over)
            faster = min(WAVE, max(until - began, 0)) / max(monotonic() - began, 1e-6)
            self._units = max(1, min(ALL, int(self._units * min(2.0, faster))))
        return left

    def _launch(self, seed: int, first: int, count: int, fresh: bool, units: int, cut: bool) -> Ints:
        width, beside, _ = self.shape
        each = width * beside
        size = -(-count // beside) * each
        buffers = *self._flat, self._rooms, self._additions, self._outcome, self._states
        numbers = np.uint64(seed & (1 << 64) - 1), np.uint64(first), np.uint64(count)
        how = np.int32(fresh), np.int64(units), np.int32(cut)
        self._kernel(self._queue, (size,), (each,), *buffers, *numbers, *how)
        left = np.empty(count, np.int64)
        self._cl.enqueue_copy(self._queue, left, self._outcome)
        return left

    def _alloc(self, which: int) -> list[int]:
        """Read ALLOC [balls] at the end of attempt `which` of the last launch."""
        alloc = np.empty(self._sizes.balls, np.int64)
        offset = 8 * (which * self._room + self._sizes.dims)
        self._cl.enqueue_copy(self._queue, alloc, self._rooms, src_offset=offset)
        return [int(place) for place in alloc]
