"""Choose the number of bins to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def fewest(
    bound: int, most: int, known: int | None, rounds: Iterable[range], attempt: Callable[[int, range], int | None]
) -> None:
    """Look for an answer in fewer bins, round by round, each with its attempts, until there is one in `bound` bins.

    A round tries the bound first, then halfway between what has just failed and what is `known`; while nothing is known
    it goes up in steps of one, two, four, ..., to `most`. `attempt(bins, attempts)` returns the fewest bins known then.
    So what is tried depends on the outcomes only; to stop in time is up to `attempt`, which raises.
    """
    for attempts in rounds:
        low, step = bound, 0
        while known is None or low < known:
            high = low + 2 * step if known is None else known - 1
            bins = bound if low == bound else min((low + high) // 2, most)
            known = attempt(bins, attempts)
            if known is None and bins == most:
                break
            if known is None or known > bins:
                low, step = bins + 1, 2 * step or 1
        if known is not None and known <= bound:
            return


def rounds(size: int, end: int | None = None) -> Iterator[range]:
    """Iterate over the attempts of each round, twice as many in each, up to number `end`."""
    first = 0
    while end is None or first < end:
        last = first + size if end is None else min(first + size, end)
        yield range(first, last)
        first, size = last, 2 * size
