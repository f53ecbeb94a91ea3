"""Run the published search on any OpenCL device: a graphics card, or a processor through PoCL.

Processors run one attempt per work-item (`lanes` of search.cl), other devices one per work-group (`squads`), whose
lanes try as many bins at once. Answers are those of `agents.solver.backends.reference`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from math import inf
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from agents.solver.backends.devices import Device, choose
from agents.solver.backends.emit import C, utilfn
from agents.solver.backends.flat import Flat, Sizes
from agents.solver.backends.probe import fault, found
from agents.solver.backends.reference import WAVE, Found
from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO
from agents.solver.model.random import OPENCL
from simcore.errors import UserError
from simcore.vocabulary import Ints

WIDTH = 32
"""Lanes of a work-group of `squads`."""
RESIDENT = 64
"""Attempts per compute unit at a time, at most."""
FIRST, ALL = 16, 1 << 62
"""Units that a launch tries in every attempt: the first ones, where time is limited, and all of them."""
STATE = 8
"""Numbers that say where an attempt is, see search.cl."""


@cache
def _context(number: int) -> Any:
    import pyopencl as cl

    return cl.Context([found()[number]])


@lru_cache(maxsize=32)
def _program(number: int, source: str, options: tuple[str, ...]) -> Any:
    import pyopencl as cl

    with warnings.catch_warnings():  # what compilers have to say of a program that they accept
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return cl.Program(_context(number), source).build(list(options))


@contextmanager
def _reported(device: Device) -> Iterator[None]:
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


class _Session:
    """A problem on a device: its kernel, its arrays and room for many attempts."""

    def __init__(self, problem: Problem, number: int, width: int | None, trims: bool) -> None:
        import pyopencl as cl

        self._cl = cl
        context = _context(number)
        device = context.devices[0]
        self._queue = cl.CommandQueue(context)
        body, numbers = utilfn(problem, C)
        search = Path(__file__).with_name("search.cl").read_text("utf-8")
        text = OPENCL + search.replace("#define UTILFN\n", body, 1)
        self._sizes = sizes = Sizes.of_problem(problem)
        self._ways = len(problem.groupings)
        named = dict(
            zip(("DIMS", "BALLS", "UNITS", "ADDS", "SOFT", "SETS"), sizes, strict=True),
            FRIENDS=len(problem.friends),
            CHOSEN=len(problem.friends) + len(problem.foes),
            WAYS=self._ways,
            DISTINCT=int(problem.program.distinct),
        )
        program = _program(number, text, tuple(f"-D{name}={value}" for name, value in named.items()))
        certain = all((sets.chance == MICRO).all() for sets in (problem.friends, problem.foes))
        # What lanes may speculate on.
        plain = not len(problem.soft_allowed) and sizes.units == sizes.balls and certain
        if width is None:
            width = 1 if device.type & cl.device_type.CPU or not plain else WIDTH
        self._width = width if plain else 1
        self._kernel = cl.Kernel(program, "squads" if self._width > 1 else "lanes")
        flags = cl.mem_flags
        self._flat = [
            cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=part)
            for part in Flat.of_problem(problem, numbers, trims)
        ]
        self._room = sizes.dims + sizes.balls + 4 * sizes.units + sizes.soft + 1 + sizes.sets
        bytes_each = 8 * max(self._room, 2 * sizes.adds * self._width)
        memory = min(device.max_mem_alloc_size, device.global_mem_size // 4)
        self.most = max(1, min(RESIDENT * device.max_compute_units, memory // bytes_each))
        """Attempts that there is room for at a time."""
        self._rooms = cl.Buffer(context, flags.READ_WRITE, 8 * self._room * self.most)
        self._additions = cl.Buffer(context, flags.READ_WRITE, 16 * sizes.adds * self._width * self.most)
        self._outcome = cl.Buffer(context, flags.READ_WRITE, 8 * self.most)
        self._states = cl.Buffer(context, flags.READ_WRITE, 8 * STATE * self.most)
        self._each = FIRST
        """Units that a launch tries in every attempt, where time is limited."""

    def run(self, seed: int, first: int, count: int, until: float = inf) -> Ints:
        """Make attempts first, ..., first + count - 1 of all groupings in turn.

        Returns the units that each leaves, int64 [count]. When `monotonic()` is `until`, they are cut short. A launch
        cannot be: where there is such a time, an attempt goes on in one launch after another.
        """
        if until == inf:
            return self._launch(seed, first, count, True, ALL, False)
        left = self._launch(seed, first, count, True, 0, False)
        while left.min() < 0:
            began = monotonic()
            over = began >= until
            left = self._launch(seed, first, count, False, 0 if over else self._each, over)
            faster = min(WAVE, max(until - began, 0)) / max(monotonic() - began, 1e-6)
            self._each = max(1, int(self._each * min(2.0, faster)))
        return left

    def begin(self) -> None:
        """Begin an attempt, and leave it at that: the kernel is built then."""
        self._launch(0, 0, 1, True, 0, False)

    def _launch(self, seed: int, first: int, count: int, fresh: bool, units: int, cut: bool) -> Ints:
        size, each = (count * self._width,), (self._width,)
        buffers = *self._flat, self._rooms, self._additions, self._outcome, self._states
        numbers = np.uint64(seed & (1 << 64) - 1), np.uint64(first), np.int32(fresh), np.int64(units), np.int32(cut)
        self._kernel(self._queue, size, each, *buffers, *numbers)
        left = np.empty(count, np.int64)
        self._cl.enqueue_copy(self._queue, left, self._outcome)
        return left

    def alloc(self, which: int) -> list[int]:
        """Read ALLOC [balls] at the end of attempt `which` of the last run."""
        alloc = np.empty(self._sizes.balls, np.int64)
        offset = 8 * (which * self._room + self._sizes.dims)
        self._cl.enqueue_copy(self._queue, alloc, self._rooms, src_offset=offset)
        return [int(place) for place in alloc]


def prepare(problem: Problem, device: int | None) -> None:
    """Build the kernel for a device, by default the first usable one; it takes about a second."""
    with _reported(chosen := choose(device)):
        _Session(problem, chosen.number, None, False).begin()


def attempts(
    problem: Problem,
    seed: int,
    first: int,
    count: int,
    *,
    trims: bool = False,
    until: float = inf,
    device: int | None = None,
    width: int | None = None,
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, attempts are cut short: what they have placed counts.
    `device` is a number, by default that of the first usable one. `width` is how many lanes work on one attempt; by
    default what suits the device.
    """
    with _reported(chosen := choose(device)):
        session = _Session(problem, chosen.number, width, trims)
        yield from _attempts(session, len(problem.groupings), seed, first, count, until)


def _attempts(session: _Session, ways: int, seed: int, first: int, count: int, until: float) -> Iterator[Found]:
    best: Found | None = None
    checked, each = 0, 1
    number, end = first * ways, (first + count) * ways
    while number < end:
        began = perf_counter()
        each = min(each, end - number, session.most)
        left = session.run(seed, number, each, until)
        checked += each
        which = int(left.argmin())
        if best is None or left[which] < best.left:
            best = Found(
                session.alloc(which), int(left[which]), (number + which) // ways, (number + which) % ways, checked
            )
        best = Found(best.alloc, best.left, best.attempt, best.group, checked)
        yield best
        if best.left == 0 or monotonic() >= until:
            return
        number += each
        each = max(1, min(4 * each, int(each * WAVE / max(perf_counter() - began, 1e-6))))
