"""Run numbered attempts on all cores, of which the first success counts, round by round and bin by bin.

Those of the published search are compiled for the problem at hand: what they are says
`binwright.agents.solver.backends.attempt`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, attempt
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import placed, qdiv, qmul
from binwright.agents.solver.model.source import function_of, utilfn
from binwright.simcore.cores import usable_threads
from binwright.simcore.jit import callback, generated, kernel
from binwright.simcore.types import Ints

AHEAD = 16
"""Attempts for each thread that begin while the one with the lowest number goes on, at most."""
LOOK = 0.02
"""Seconds between two looks at the clock."""
CALLED: dict[str, Any] = {"Ints": Ints} | {function.__name__: kernel(function) for function in (placed, qmul, qdiv)}
"""What the sources of programs name."""
WORK = 1 << 22
"""Nodes of programs that a thread evaluates, roughly, before it comes back to Python: some milliseconds."""
Over: TypeAlias = Callable[[], bool]
"""Tells whether time is over."""


def never() -> bool:
    """Tell that time is not over."""
    return False


class Outcome(NamedTuple):
    """What came of an attempt, or of a run of local search; or the best of several."""

    left: int
    """Units that are not placed; of a run for goals 0 where no goal can be better, 1 otherwise. 0 is success."""
    where: Ints
    """[balls], -1 if not placed"""
    attempt: int
    checked: int
    """Attempts, steps or moves."""
    values: tuple[int, ...] = ()
    """Of each goal; what is to be made large counts with a minus."""


Attempts: TypeAlias = Callable[[Problem, int, int, int, Over], Iterator[Outcome]]
"""(problem, seed, first, count, over): make attempts first, ..., first + count - 1, up to the first success.

Yields the best now and then. When time is `over()`, they are cut short: what they have placed counts. What they come to
depends on the seed and their numbers, not on time, threads or devices.
"""


def best_of(attempt: Callable[[int], Outcome], numbers: range, over: Over, stop: Ints) -> Iterator[Outcome]:
    """Make attempts of ascending numbers up to the first success, or until time is `over`.

    Yields the best so far after each, with what all have checked. `stop` [1] is set to end those that are under way:
    when time is over, after a success, and where one raises. The first one begins in any case, so that whatever
    attempts need is compiled.
    """
    best: Outcome | None = None
    checked, threads = 0, usable_threads()
    with ThreadPoolExecutor(threads) as pool:  # to begin a thread takes longer than some attempts
        begun, waiting = (pool.submit(attempt, number) for number in numbers), deque[Future[Outcome]]()
        try:
            while best is None or best.left:
                waiting.extend(islice(begun, 0 if stop[0] else AHEAD * threads - len(waiting)))
                while waiting and not stop[0] and wait([waiting[0]], LOOK).not_done:
                    stop[:] |= over()
                stop[:] |= over()
                if stop[0]:
                    waiting = deque(each for at, each in enumerate(waiting) if at == 0 or not each.cancel())
                if not waiting:
                    break
                result = waiting.popleft().result()
                checked += result.checked
                best = min(best or result, result, key=lambda each: (each.left, each.values, each.attempt))
                yield best._replace(checked=checked)
        finally:
            stop[:] |= bool(waiting)
            pool.shutdown(cancel_futures=True)


def fewest(
    bound: Callable[[], int],
    most: int,
    known: int | None,
    end: Callable[[], int],
    attempt: Callable[[int, range], int | None],
) -> None:
    """Look for an answer in fewer bins, round by round, until there is one in `bound()` bins.

    A round has two attempts, then twice as many as the one before, up to number `end()`. It tries the bound first,
    which may rise while attempts are made, then halfway between what has just failed and what is `known`; while nothing
    is known it goes up in steps of one, two, four, ..., to `most`. `attempt(bins, attempts)` returns the fewest bins
    known then. So what is tried depends on the outcomes only; to stop in time is up to `attempt`, which raises.
    """
    number, size = 0, 2
    while number < end():
        attempts = range(number, min(number + size, end()))
        number, size = attempts.stop, 2 * size
        low, step, first = bound(), 0, True
        while known is None or low < known:
            high = low + 2 * step if known is None else known - 1
            bins = low if first else min((low + high) // 2, most)
            known, first = attempt(bins, attempts), False
            if known is None and bins == most:
                break
            if known is None or known > bins:
                low, step = bins + 1, 2 * step or 1
            low = max(low, bound())
        if known is not None and known <= bound():
            return


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
    return callback(generated(function_of(source, name, __name__=__name__, **CALLED)), "int64", *arguments)


def compiled_problem(problem: Problem, elastic: bool = False) -> tuple[Utilfn, Flat]:
    """Compile UTILFN, and lay out the problem, with its elastic dimensions if they count."""
    source, numbers = utilfn(problem.program)
    call: Utilfn = compiled(source, "utilfn", *["int64"] * 2, *["int64[::1]"] * 7, "int64")
    return call, Flat.of_problem(problem, numbers, elastic)


def attempts(problem: Problem, seed: int, first: int, count: int, over: Over = never) -> Iterator[Outcome]:
    """Make attempts, each in every grouping, as `Attempts` says."""
    (call, flat), ways = compiled_problem(problem), len(problem.groupings)
    stop, free, end = np.zeros(1, np.int64), list[Room](), (first + count) * ways
    size = max(1, WORK // (ways * problem.balls * problem.program.steps)) * ways

    def attempt(chunk: int) -> Outcome:
        place, begin = free.pop() if free else room(problem)._replace(stop=stop), first * ways + chunk * size
        alloc = np.empty(problem.balls, np.int64)
        made, best, left = search(call, flat, place, alloc, seed, begin, min(begin + size, end))
        free.append(place)
        return Outcome(left, alloc, best // ways, made)

    return best_of(attempt, range(-(-count * ways // size)), over, stop)
