"""List the searches for a problem, published attempts on a device or searches of ours, and with which bins they go."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from typing import TypeAlias

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.backends.vectors import TINY, first_fit
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import removed

OURS, PUBLISHED, LOCAL = "ours", "published", "local search"
Attempts: TypeAlias = Callable[[Problem, int, int, int, float], Iterator[Found]]
"""(problem, seed, first, count, until): make attempts first, ..., first + count - 1, up to the first success.

Yields the best now and then. When `monotonic()` is `until`, they are cut short: what they have placed counts. What they
come to depends on the seed and their numbers, not on time, threads or devices.
"""


def searches(problem: Problem, device: str, search: str) -> dict[str, Attempts]:
    """Return the searches for a problem by name, in the order in which they take turns."""
    if search not in (OURS, PUBLISHED):
        raise UserError("unknown search", key="search", value=search, remedy=suggest(search, (OURS, PUBLISHED)))
    if problem.objective is not None and search == PUBLISHED:
        remedy = "Leave search as it is: ours looks at goals."
        raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
    published: Attempts = cpu.attempts
    name, colon, number = str(device).partition(":")
    if name == "opencl" and (number.isdecimal() or not colon):
        from binwright.agents.solver.backends import opencl

        published = partial(opencl.attempts, number=int(number) if colon else None)
    elif device != "cpu":
        remedy = removed().get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0"])
        raise UserError("unknown device", key="device", value=device, remedy=remedy)
    if search == PUBLISHED or problem.dims > 2_000_000:  # of which local search keeps a dozen numbers each
        return {PUBLISHED: published}
    alone = device == "cpu" and not problem.wishes
    return ({} if alone else {PUBLISHED: published}) | {LOCAL: runs.attempts}


def prepare(problem: Problem, searches: Mapping[str, Attempts]) -> None:
    """Compile searches, or read them from disk: each makes an attempt whose time is over."""
    if problem.packing is not None:
        first_fit(TINY)
    for attempts in searches.values():
        for _ in attempts(problem, 0, 0, 1, -inf):
            pass


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
