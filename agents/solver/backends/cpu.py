"""Run the published search on processors: attempts on every core, compiled for the problem at hand.

The rules are those of `agents.solver.backends.reference`, step by step.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import lru_cache
from math import inf
from time import monotonic, perf_counter
from typing import Any, cast

from agents.solver.backends import arithmetic
from agents.solver.backends.attempt import Scan, Utilfn, attempt
from agents.solver.backends.flat import Flat, Room, room
from agents.solver.backends.reference import WAVE, Found
from agents.solver.model.emit import PYTHON, utilfn
from agents.solver.model.problem import Problem
from agents.solver.model.random import word
from simcore.cores import usable_threads
from simcore.jit import callback, generated, kernel

SCAN = """
def scan(ball, alloc, data, numbers, used, ceiling, dims, amounts, bins, low, high):
    for at in range(low, high):
        if utilfn(ball, bins[at], alloc, data, numbers, used, ceiling, dims, amounts, 0) >= 0:
            return at
    return -1
"""


@kernel
def search(
    call: Utilfn, scan: Scan, flat: Flat, friends: int, sets: int, room: Room, seed: int, first: int, last: int
) -> tuple[int, int, int]:
    """Make numbers first, ..., last - 1, up to the first success: (attempts made, the best's number, its units left).

    The best allocation is in `room.best` then. Number n is attempt n // groupings in grouping n % groupings.
    """
    ways = len(flat.ways) - 1
    best, fewest = first, len(room.left) + 1
    for number in range(first, last):
        left = attempt(call, scan, flat, friends, sets, room, seed, number % ways, number // ways, len(room.left), True)
        if left < fewest:
            best, fewest = number, left
            room.best[:] = room.alloc
        if left == 0 or room.stop[0]:
            return number - first + 1, best, fewest
    return last - first, best, fewest


@lru_cache(maxsize=32)
def called(source: str) -> Utilfn:
    """Compile UTILFN from its source."""
    return _called(_utilfn(source))


@lru_cache(maxsize=32)
def compiled(source: str) -> tuple[Utilfn, Scan]:
    """Compile UTILFN from its source: for one bin, and over many bins."""
    utilfn = _utilfn(source)
    names: dict[str, Any] = {"__name__": __name__, "utilfn": utilfn}
    exec(SCAN, names)
    scan = callback(generated(names["scan"]), *["int64"] * 2, *["int64[::1]"] * 8, *["int64"] * 2)
    return _called(utilfn), cast(Scan, scan)


@lru_cache(maxsize=32)
def _utilfn(source: str) -> Utilfn:
    names: dict[str, Any] = dict(vars(arithmetic))
    exec(compile(source, "<utilfn>", "exec"), names)
    return cast(Utilfn, generated(names["utilfn"]))


def _called(utilfn: Utilfn) -> Utilfn:
    return callback(utilfn, *["int64"] * 3, *["int64[::1]"] * 7, "int64")


def prepare(problem: Problem) -> None:
    """Compile what `attempts` will run, or read it from disk."""
    source, numbers = utilfn(problem.program, PYTHON)
    search(*compiled(source), Flat.of_problem(problem, numbers), 0, 0, room(problem), word(0), 0, 0)


def attempts(
    problem: Problem, seed: int, first: int, count: int, *, trims: bool = False, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, attempts are cut short: what they have placed counts.
    """
    source, numbers = utilfn(problem.program, PYTHON)
    call, scan = compiled(source)
    flat, ways, seed = Flat.of_problem(problem, numbers, trims), len(problem.groupings), word(seed)
    threads = usable_threads()
    rooms = [room(problem) for _ in range(threads)]
    given = len(problem.friends), len(problem.friends) + len(problem.foes)
    best: Found | None = None
    checked, each, interrupted = 0, 1, False
    number, end = first * ways, (first + count) * ways
    with ThreadPoolExecutor(threads) as pool:

        def part(thread: int, low: int, high: int) -> tuple[int, int, int]:
            return search(call, scan, flat, *given, rooms[thread], seed, low, high)

        def stop() -> None:
            for one in rooms:
                one.stop[0] = 1

        while number < end:
            began = perf_counter()
            bounds = [min(end, number + each * thread) for thread in range(threads + 1)]
            parts = [pool.submit(part, *work) for work in zip(range(threads), bounds, bounds[1:], strict=False)]
            try:
                if wait(parts, None if until == inf else max(0.0, until - monotonic())).not_done:
                    stop()
                found = [one.result() for one in parts]
            except KeyboardInterrupt:
                stop()
                interrupted = True
                found = [one.result() for one in parts]
            except BaseException:
                stop()
                raise
            checked += sum(made for made, _, _ in found)
            left, which, thread = min((left, which, thread) for thread, (_, which, left) in enumerate(found))
            if best is None or left < best.left:
                best = Found(rooms[thread].best.tolist(), left, which // ways, which % ways, checked)
            best = replace(best, checked=checked)
            yield best
            if interrupted:
                raise KeyboardInterrupt
            if left == 0 or rooms[0].stop[0] or monotonic() >= until:
                return
            number = bounds[-1]
            each = max(1, min(2 * each, int(each * WAVE / max(perf_counter() - began, 1e-6))))
