"""Run the published search on processors: attempts on every core, compiled for the problem at hand.

What an attempt is says `binwright.agents.solver.backends.attempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, attempt
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.backends.numbered_attempts import Found, in_waves
from binwright.agents.solver.model import arithmetic
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import word
from binwright.simcore.jit import callback, generated, kernel
from binwright.simcore.types import Ints

CALLED: dict[str, Any] = {"Ints": Ints} | {
    function.__name__: kernel(function) for function in (arithmetic.placed, arithmetic.qmul, arithmetic.qdiv)
}
"""What the sources of programs name."""


@kernel
def search(call: Utilfn, flat: Flat, room: Room, seed: int, first: int, last: int) -> tuple[int, int]:
    """Make numbers first, ..., last - 1, up to the first success: (attempts made, units that the best leaves).

    The best allocation is in `room.best` then. Number n is attempt n // groupings in grouping n % groupings.
    """
    ways = len(flat.ways) - 1
    number, fewest = first, len(room.left) + 1
    while number < last and fewest > 0 and not (room.stop[0] and number > first):
        left = attempt(call, flat, room, seed, number % ways, number // ways, len(room.left), True)
        if left < fewest:
            fewest = left
            room.best[:] = room.alloc
        number += 1
    return number - first, fewest


@lru_cache(maxsize=32)
def compiled(source: str, name: str, *arguments: str) -> Any:
    """Compile a function from its source, for arguments of these types, so that kernels take it as an argument."""
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, f"<{name}>", "exec"), names)
    return callback(generated(names[name]), "int64", *arguments)


def compiled_problem(problem: Problem, elastic: bool = False) -> tuple[Utilfn, Flat]:
    """Compile UTILFN, and lay out the problem, with its elastic dimensions if they count."""
    source, numbers = utilfn(problem.program)
    call: Utilfn = compiled(source, "utilfn", *["int64"] * 2, *["int64[::1]"] * 7, "int64")
    return call, Flat.of_problem(problem, numbers, elastic)


def attempts(problem: Problem, seed: int, first: int, count: int, until: float = inf) -> Iterator[Found]:
    """Make attempts, each in every grouping, as `solving.searches.Search` says."""
    (call, flat), ways, seed = compiled_problem(problem), len(problem.groupings), word(seed)
    stop, free = np.zeros(1, np.int64), list[Room]()

    def attempt(number: int, _: Callable[[], bool]) -> Found:
        place = free.pop() if free else room(problem)._replace(stop=stop)
        made, left = search(call, flat, place, seed, number * ways, (number + 1) * ways)
        result = Found(left, place.best.copy(), number, made)
        free.append(place)
        return result

    return in_waves(attempt, range(first, first + count), until, stop)
