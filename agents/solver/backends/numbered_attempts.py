"""Make numbered attempts on all cores; the successful one with the lowest number is the answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from math import inf
from time import monotonic
from typing import NamedTuple, TypeAlias

from binwright.simcore.cores import usable_threads
from binwright.simcore.types import Ints

LARGEST = 10_000
"""Attempts of a wave, at most."""


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


Attempt: TypeAlias = Callable[[int, Callable[[], bool]], Found]
"""(number, cancelled): it looks now and then whether it is cancelled, and ends then."""


def lowest(attempt: Attempt, numbers: range, until: float, stop: Ints) -> tuple[list[Found], bool]:
    """Make attempts of ascending numbers until one succeeds and all below it have ended, or `monotonic()` is `until`.

    The first one begins in any case, so that whatever attempts need is compiled. Returns what came of those that ended,
    by number, and whether Ctrl-C was pressed. `stop` [1] is set to end those that are under way: when time is up, at
    Ctrl-C, and where one raises.
    """
    successes, interrupted = list[int](), False

    def cancelled(number: int) -> bool:
        return bool(stop[0]) or monotonic() >= until or number > min(successes, default=number)

    def make(number: int) -> Found | None:
        if number != numbers.start and cancelled(number):
            return None
        result = attempt(number, partial(cancelled, number))
        if result.left == 0:
            successes.append(number)
        return result

    # To begin a thread takes longer than some attempts.
    with ThreadPoolExecutor(max(1, min(usable_threads(), len(numbers)))) as pool:
        futures = [pool.submit(make, numbers.start)]
        try:  # Ctrl-C may come while attempts are handed over, too
            futures.extend(pool.submit(make, number) for number in numbers[1:])
            wait(futures, None if until == inf else max(0.0, until - monotonic()), FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop[:] |= not all(future.done() for future in futures)
        return [result for future in futures if (result := future.result()) is not None], interrupted


def in_waves(attempt: Attempt, numbers: range, until: float, stop: Ints) -> Iterator[Found]:
    """Make attempts of ascending numbers in waves, each twice as large as the last, up to the first success.

    After each wave it yields the best so far, with what all have checked. Nothing but the first attempt begins after
    `monotonic()` is `until`. `attempt` and `stop` are as in `lowest`.
    """
    tried, checked, size = list[Found](), 0, usable_threads()
    while numbers:
        made, interrupted = lowest(attempt, numbers[:size], until, stop)
        checked += sum(result.checked for result in made)
        best = min([*tried, *made], key=lambda result: (result.left, result.attempt))
        yield best._replace(checked=checked)
        if interrupted:
            raise KeyboardInterrupt
        if best.left == 0 or monotonic() >= until:
            return
        tried, numbers, size = [best], numbers[size:], min(2 * size, LARGEST)
