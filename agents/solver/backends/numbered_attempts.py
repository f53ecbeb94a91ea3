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
    """How many attempts were made; of other searches than `published`, how many steps or moves."""
    search: str = "published"
    """Which search found it."""


class Outcome(NamedTuple):
    """The results of all attempts that ended, in no order."""

    tried: list[Result]
    interrupted: bool
    """Ctrl-C was pressed."""

    @property
    def best(self) -> Result | None:
        """Return the result that leaves fewest, of these that of the lowest number; None if nothing has ended."""
        return min(self.tried, key=lambda result: (result.left, result.attempt), default=None)


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
    waiting, lock, tried = iter(numbers), Lock(), list[Result]()
    success = inf  # the lowest number that succeeded
    stopped = interrupted = False

    def cancelled(number: int) -> bool:
        return stopped or monotonic() >= until or number > success

    def work() -> None:
        nonlocal success
        while True:
            with lock:
                number = next(waiting, None)
            if number is None or cancelled(number):
                return
            result = attempt(number, partial(cancelled, number))
            with lock:
                tried.append(result)
                success = min(success, number) if result.left == 0 else success

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
        except BaseException as error:
            stopped = True
            halt()
            if not isinstance(error, KeyboardInterrupt):
                raise
            interrupted = True
    return Outcome(tried, interrupted)


def in_waves(
    attempt: Callable[[int, Callable[[], bool]], Result],
    numbers: range,
    nothing: Result,
    *,
    until: float,
    halt: Callable[[], None],
) -> Iterator[Result]:
    """Make attempts of ascending numbers in waves, each twice as large as the last, up to the first success.

    After each wave it yields the best so far, which is `nothing` at first, with what all have checked. Nothing begins
    after `monotonic()` is `until`. `attempt` and `halt` are as in `lowest`.
    """
    best, checked, each = nothing, 0, usable_threads()
    while numbers:
        outcome = lowest(attempt, numbers[:each], until=until, halt=halt)
        checked += sum(result.checked for result in outcome.tried)
        if outcome.best is not None and (best is nothing or outcome.best.left < best.left):
            best = outcome.best
        yield best._replace(checked=checked)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if best.left == 0 or monotonic() >= until:
            return
        numbers, each = numbers[each:], 2 * each
