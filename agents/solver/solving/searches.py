"""List the searches for a problem: published attempts, on a device, or searches of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import NamedTuple

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import REMOVED

OURS, PUBLISHED, LOCAL = "ours", "published", "local search"


class Search(NamedTuple):
    """What makes attempts. What they come to depends on the seed and their numbers, not on time, threads or devices."""

    name: str
    attempts: Callable[[Problem, int, int, int, float], Iterator[Found]]
    """(problem, seed, first, count, until): make attempts first, ..., first + count - 1, up to the first success.

    Yields the best now and then. When `monotonic()` is `until`, they are cut short: what they have placed counts.
    """

    def prepare(self, problem: Problem) -> None:
        """Compile the search, or read it from disk: an attempt is made whose time is over."""
        for _ in self.attempts(problem, 0, 0, 1, -inf):
            pass


def searches(problem: Problem, device: str, search: str) -> list[Search]:
    """List the searches for a problem in the order in which they take turns."""
    if search not in (OURS, PUBLISHED):
        raise UserError("unknown search", key="search", value=search, remedy=suggest(search, (OURS, PUBLISHED)))
    if problem.objective is not None and search == PUBLISHED:
        remedy = "Leave search as it is: ours looks at goals."
        raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
    by_publication = Search(PUBLISHED, cpu.attempts)
    name, colon, number = str(device).partition(":")
    if name == "opencl" and (number.isdecimal() or not colon):
        from binwright.agents.solver.backends import opencl

        which = int(number) if colon else None
        by_publication = Search(PUBLISHED, partial(opencl.attempts, number=which))
    elif device != "cpu":
        remedy = REMOVED.get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0"])
        raise UserError("unknown device", key="device", value=device, remedy=remedy)
    if search == PUBLISHED:
        return [by_publication]

    if problem.dims > 2_000_000:  # of which local search keeps a dozen numbers each
        return [by_publication]
    ours = Search(LOCAL, runs.attempts)
    return [ours] if device == "cpu" and not problem.wishes else [by_publication, ours]
