"""Make numbered attempts on all cores; the successful one with the lowest number is the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Lock
from time import monotonic
from typing import NamedTuple

from binwright.simcore.cores import usable_threads
from binwright.simcore.types import Ints

LONGEST = 10_000_000
"""Seconds that a search may have: the system counts no billions of them."""


class Result(NamedTuple):
    """What came of an attempt, of a chunk of them, or of a run of local search."""

    left: int
    """Units that are not placed; of a run for goals 0 where no goal can be better, 1 otherwise. 0 is success."""
    where: Ints
    """[balls], -1 if not placed"""
    attempt: int
    checked: int
    """Attempts, steps or moves."""
    values: tuple[int, ...] = ()
    """Of each goal; what is to be made large counts with a minus."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best of some attempts."""

    alloc: list[int]
    left: int
    """Units that are not placed."""
    attempt: int
    group: int
    checked: int
    """How many attempts were made; of other searches than `published`, how many first fits or moves."""
    search: str = "published"
    """Which search found it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of all attempts.

    `best` leaves the fewest units, and of those has the lowest number; it is None if time was up before anything ended.
    """

    best: Result | None
    tried: list[Result]
    """Everything that ended, in no order."""
    interrupted: bool
    """Ctrl-C was pressed."""


def lowest(
    attempt: Callable[[int, Callable[[], bool]], Result],
    numbers: range,
    *,
    until: float,
    halt: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make attempts of ascending numbers until one succeeds and all below it have ended, or `monotonic()` is `until`.

    `attempt(number, cancelled)` looks now and then whether it is cancelled, and ends then. `halt` is called to
    end those that are under way: when time is up, and at Ctrl-C.
    """
    waiting = iter(numbers)
    lock = Lock()
    ended: list[tuple[int, Result]] = []
    found: list[int] = []  # the lowest number that succeeded, if any
    stopped = interrupted = False

    def cancelled(number: int) -> bool:
        return stopped or monotonic() >= until or bool(found and number > found[0])

    def work() -> None:
        while True:
            with lock:
                number = next(waiting, None)
            if number is None or cancelled(number):
                return
            result = attempt(number, partial(cancelled, number))
            with lock:
                ended.append((number, result))
                if result.left == 0 and (not found or number < found[0]):
                    found[:] = [number]

    workers = max(1, min(usable_threads(), len(numbers)))  # to begin a thread takes longer than some attempts
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work) for _ in range(workers)]
        try:
            left = None if until == inf else max(0.0, until - monotonic())
            if wait(futures, left, FIRST_EXCEPTION).not_done:
                stopped = monotonic() < until  # by an exception; else time is up
                halt()
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            interrupted = stopped = True
            halt()
        except BaseException:
            stopped = True
            halt()
            raise
    best = min(ended, key=lambda entry: (entry[1].left, entry[0]), default=None)
    return Outcome(best[1] if best else None, [result for _, result in ended], interrupted)


def in_waves(
    attempt: Callable[[int, Callable[[], bool]], Result],
    first: int,
    count: int,
    *,
    until: float,
    halt: Callable[[], None],
) -> Iterator[tuple[Result | None, list[Result]]]:
    """Make attempts first, ..., first + count - 1 in waves, each twice as large as the last, up to the first success.

    After each wave it yields the best so far, None if there is none, and what the wave tried. Nothing begins after
    `monotonic()` is `until`. `attempt` and `halt` are as in `lowest`.
    """
    best: Result | None = None
    number, each = first, usable_threads()
    while number < first + count:
        last = min(number + each, first + count)
        outcome = lowest(attempt, range(number, last), until=until, halt=halt)
        if outcome.best is not None and (best is None or outcome.best.left < best.left):
            best = outcome.best
        yield best, outcome.tried
        if outcome.interrupted:
            raise KeyboardInterrupt
        if (best is not None and best.left == 0) or monotonic() >= until:
            return
        number, each = last, 2 * each
