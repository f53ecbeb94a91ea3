"""Make numbered attempts on all cores; the successful one with the lowest number is the answer."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from math import inf
from time import monotonic
from typing import NamedTuple

from binwright.simcore.cores import usable_threads
from binwright.simcore.types import Ints

AHEAD = 16
"""Attempts for each thread that begin while the one with the lowest number goes on, at most."""


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


def best_of(attempt: Callable[[int], Found], numbers: range, until: float, stop: Ints) -> Iterator[Found]:
    """Make attempts of ascending numbers up to the first success, or until `monotonic()` is `until`.

    Yields the best so far after each, with what all have checked. `stop` [1] is set to end those that are under way:
    when time is up, at Ctrl-C, after a success, and where one raises. The first one begins in any case, so that
    whatever attempts need is compiled.
    """
    best: Found | None = None
    checked, interrupted, threads = 0, False, usable_threads()
    with ThreadPoolExecutor(threads) as pool:  # to begin a thread takes longer than some attempts
        begun, waiting = (pool.submit(attempt, number) for number in numbers), deque[Future[Found]]()
        try:
            while best is None or best.left:
                try:  # Ctrl-C may come while attempts are handed over, too
                    waiting.extend(islice(begun, 0 if stop[0] else AHEAD * threads - len(waiting)))
                    wait([*waiting][:1], None if until == inf else max(0.0, until - monotonic()))
                    stop[:] |= monotonic() >= until
                except KeyboardInterrupt:
                    interrupted, stop[:] = True, 1
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
    if interrupted:
        raise KeyboardInterrupt
