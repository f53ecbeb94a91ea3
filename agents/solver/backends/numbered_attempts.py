"""Make numbered attempts on all cores; the successful one with the lowest number is the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from math import inf
from threading import Lock
from time import monotonic
from typing import NamedTuple

from binwright.simcore.cores import usable_threads
from binwright.simcore.types import Ints

LONGEST = 10_000_000
"""Seconds that a search may have: the system counts no billions of them."""


class Found(NamedTuple):
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


def lowest(
    attempt: Callable[[int, Callable[[], bool]], Found],
    numbers: range,
    until: float,
    stop: Ints,
) -> tuple[list[Found], bool]:
    """Make attempts of ascending numbers until one succeeds and all below it have ended, or `monotonic()` is `until`.

    The first one begins in any case, so that whatever attempts need is compiled. Returns what came of those that ended,
    in no order, and whether Ctrl-C was pressed.

    `attempt(number, cancelled)` looks now and then whether it is cancelled, and ends then. `stop` [1] is set to end
    those that are under way: when time is up, and at Ctrl-C.
    """
    waiting, lock, tried = iter(numbers), Lock(), list[Found]()
    success = inf  # the lowest number that succeeded
    stopped = interrupted = False

    def cancelled(number: int) -> bool:
        return stopped or monotonic() >= until or number > success

    def work() -> None:
        nonlocal success
        while True:
            with lock:
                number = next(waiting, None)
            if number is None or (number != numbers.start and cancelled(number)):
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
                stop[:] = 1
            for future in futures:
                future.result()
        except BaseException as error:
            stopped = True
            stop[:] = 1
            if not isinstance(error, KeyboardInterrupt):
                raise
            interrupted = True
    return tried, interrupted


def in_waves(
    attempt: Callable[[int, Callable[[], bool]], Found],
    numbers: range,
    until: float,
    stop: Ints,
) -> Iterator[Found]:
    """Make attempts of ascending numbers in waves, each twice as large as the last, up to the first success.

    After each wave it yields the best so far, with what all have checked. Nothing but the first attempt begins after
    `monotonic()` is `until`. `attempt` and `stop` are as in `lowest`.
    """
    best: Found | None = None
    checked, size = 0, usable_threads()
    while numbers:
        tried, interrupted = lowest(attempt, numbers[:size], until, stop)
        checked += sum(result.checked for result in tried)
        best = min([*tried, *([best] if best else [])], key=lambda result: (result.left, result.attempt))
        yield best._replace(checked=checked)
        if interrupted:
            raise KeyboardInterrupt
        if best.left == 0 or monotonic() >= until:
            return
        numbers, size = numbers[size:], 2 * size
