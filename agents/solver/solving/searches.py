"""List the searches for a problem: published attempts, on a device, or searches of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from typing import TypeAlias

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.backends.vectors import TINY, first_fit
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import REMOVED

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
        remedy = REMOVED.get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0"])
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
