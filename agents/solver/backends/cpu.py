"""Run the published search on processors: attempts on every core, compiled for the problem at hand.

What an attempt is says `binwright.agents.solver.backends.attempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from types import FunctionType
from typing import Any, cast

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn, attempt, scan
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves
from binwright.agents.solver.model import arithmetic
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import word
from binwright.simcore.jit import callback, generated, kernel
from binwright.simcore.types import Ints

CALLED: dict[str, Any] = {"Ints": Ints} | {
    function.__name__: kernel(function) for function in (arithmetic.placed, arithmetic.qmul, arithmetic.qdiv)
}
"""What the sources of programs name."""


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
    scanning = generated(FunctionType(scan.__code__, {"__name__": __name__, "utilfn": utilfn}))
    return _called(utilfn), cast(Scan, callback(scanning, *["int64"] * 2, *["int64[::1]"] * 8, *["int64"] * 2))


@lru_cache(maxsize=32)
def _utilfn(source: str) -> Utilfn:
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, "<utilfn>", "exec"), names)
    return cast(Utilfn, generated(names["utilfn"]))


def _called(utilfn: Utilfn) -> Utilfn:
    return callback(utilfn, *["int64"] * 3, *["int64[::1]"] * 7, "int64")


def prepare(problem: Problem) -> None:
    """Compile what `attempts` will run, or read it from disk."""
    source, numbers = utilfn(problem.program)
    search(*compiled(source), Flat.of_problem(problem, numbers), 0, 0, room(problem), word(0), 0, 0)


def attempts(
    problem: Problem, seed: int, first: int, count: int, *, trims: bool = False, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 in every grouping, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, attempts are cut short: what they have placed counts.
    """
    source, numbers = utilfn(problem.program)
    call, scan = compiled(source)
    flat, ways, seed = Flat.of_problem(problem, numbers, trims), len(problem.groupings), word(seed)
    given = len(problem.friends), len(problem.friends) + len(problem.foes)
    stop, free = np.zeros(1, np.int64), list[Room]()

    def attempt(number: int, _: Callable[[], bool]) -> Result:
        place = free.pop() if free else room(problem)._replace(stop=stop)
        made, which, left = search(call, scan, flat, *given, place, seed, number * ways, (number + 1) * ways)
        found = Result(left, place.best.copy(), which, made)
        free.append(place)
        return found

    nothing = Result(len(problem.units), np.full(problem.balls, NULL), first * ways, 0)
    for best in in_waves(attempt, range(first, first + count), nothing, until=until, halt=lambda: stop.fill(1)):
        yield Found(best.where.tolist(), best.left, best.attempt // ways, best.attempt % ways, best.checked)
