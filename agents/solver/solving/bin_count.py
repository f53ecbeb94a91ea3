"""Choose the number of bins to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def fewest(
    bound: Callable[[], int],
    most: int,
    known: int | None,
    rounds: Iterable[range],
    attempt: Callable[[int, range], int | None],
) -> None:
    """Look for an answer in fewer bins, round by round, each with its attempts, until there is one in `bound()` bins.

    The bound may rise while attempts are made. A round tries it first, then halfway between what has just failed and
    what is `known`; while nothing is known it goes up in steps of one, two, four, ..., to `most`. `attempt(bins,
    attempts)` returns the fewest bins known then. So what is tried depends on the outcomes only; to stop in time is up
    to `attempt`, which raises.
    """
    for attempts in rounds:
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


def rounds(size: int, end: int | None = None) -> Iterator[range]:
    """Iterate over the attempts of each round, twice as many in each, up to number `end`."""
    first = 0
    while end is None or first < end:
        last = first + size if end is None else min(first + size, end)
        yield range(first, last)
        first, size = last, 2 * size
