"""Run the published search on processors: attempts on every core, compiled for the problem at hand.

What an attempt is says `binwright.agents.solver.backends.attempt`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, attempt
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.backends.numbered_attempts import Found, Over, best_of, never
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
WORK = 1 << 22
"""Nodes of programs that a thread evaluates, roughly, before it comes back to Python: some milliseconds."""


@kernel
def search(call: Utilfn, flat: Flat, room: Room, alloc: Ints, seed: int, first: int, last: int) -> tuple[int, int, int]:
    """Make numbers first, ..., last - 1, up to the first success: (how many, the best's number, the units it leaves).

    Writes the best allocation to `alloc` [balls]. Number n is attempt n // groupings in grouping n % groupings.
    """
    ways = len(flat.ways) - 1
    number, best, fewest = first, first, len(room.left) + 1
    while number < last and fewest > 0 and not (room.stop[0] and number > first):
        left = attempt(call, flat, room, seed, number % ways, number // ways, len(room.left), True)
        if left < fewest:
            best, fewest = number, left
            alloc[:] = room.alloc
        number += 1
    return number - first, best, fewest


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


def attempts(problem: Problem, seed: int, first: int, count: int, over: Over = never) -> Iterator[Found]:
    """Make attempts, each in every grouping, as `numbered_attempts.Attempts` says."""
    (call, flat), ways, seed = compiled_problem(problem), len(problem.groupings), word(seed)
    stop, free, end = np.zeros(1, np.int64), list[Room](), (first + count) * ways
    size = max(1, WORK // (ways * problem.balls * problem.program.steps)) * ways

    def attempt(chunk: int) -> Found:
        place, begin = free.pop() if free else room(problem)._replace(stop=stop), first * ways + chunk * size
        alloc = np.empty(problem.balls, np.int64)
        made, best, left = search(call, flat, place, alloc, seed, begin, min(begin + size, end))
        free.append(place)
        return Found(left, alloc, best // ways, made)

    return best_of(attempt, range(-(-count * ways // size)), over, stop)
