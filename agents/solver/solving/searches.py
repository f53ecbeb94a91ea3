"""List what makes attempts at a problem, on a device: published ones, runs of local search, or searches for vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.search import published, ruin
from binwright.agents.solver.search.packing import TINY, Packing, first_fit
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import REMOVED

OURS, PUBLISHED, RUIN, LOCAL = "ours", "published", "ruin and recreate", "local search"


class Attempts(NamedTuple):
    """What makes attempts."""

    name: str
    prepare: Callable[[], object]
    """Compiles it, or reads it from disk."""
    make: Callable[[Problem, int, int], Iterator[Found]]
    """(problem, first, count): make attempts first, ..., first + count - 1, up to the first success; yields the best
    now and then. Attempts that are cut short when time is over count with what they have placed."""


def searches(problem: Problem, device: str, search: str, seed: int, end: float) -> list[Attempts]:
    """List what makes attempts until `monotonic()` is `end`, in the order in which they take turns.

    What they come to depends on the seed and on which numbers are asked for, not on time, threads or the device.
    """
    if search not in (OURS, PUBLISHED):
        raise UserError("unknown search", key="search", value=search, remedy=suggest(search, (OURS, PUBLISHED)))
    if problem.objective is not None and search == PUBLISHED:
        remedy = "Leave search as it is: ours looks at goals."
        raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
    backend, find, prepare = _on(device, problem)

    def published_attempts(problem: Problem, first: int, count: int) -> Iterator[Found]:
        yield from backend(problem, seed, first, count, until=end)

    @cache
    def local(bins: int) -> runs.LocalSearch:
        return runs.LocalSearch(problem.with_bins(bins) if problem.searched else problem, seed)

    def local_runs(problem: Problem, first: int, count: int) -> Iterator[Found]:
        return local(problem.bins).place(first, count, end)

    name, dense = (RUIN, ruin) if search == OURS else (PUBLISHED, published)

    def prepare_dense() -> None:
        find()
        first_fit(TINY)
        dense.prepare()

    def dense_attempts(problem: Problem, first: int, count: int) -> Iterator[Found]:
        packing = Packing.of(problem)
        assert packing is not None
        yield from dense.attempts(problem, packing, seed, first, count, end)

    if Packing.of(problem) is not None and (search == OURS or device == "cpu"):
        return [Attempts(name, prepare_dense, dense_attempts)]
    attempts = Attempts(PUBLISHED, prepare, published_attempts)
    if search == PUBLISHED or problem.dims > 2_000_000:  # of which local search keeps a dozen numbers each
        return [attempts]
    ours = Attempts(LOCAL, lambda: runs.prepare(problem), local_runs)
    return [ours] if device == "cpu" and not problem.wishes else [attempts, ours]


def _on(device: str, problem: Problem) -> tuple[Any, Callable[[], object], Callable[[], object]]:
    """Return what makes attempts on a device, a function that finds the device only, and one that compiles, too."""
    name, colon, number = str(device).partition(":")
    if name == "cpu" and not number:
        return cpu.attempts, lambda: None, lambda: cpu.prepare(problem)
    if name == "opencl" and (number.isdecimal() or not colon):
        from binwright.agents.solver.backends import opencl
        from binwright.agents.solver.backends.opencl_devices import choose

        which = int(number) if colon else None
        made = partial(opencl.attempts, number=which)
        return made, lambda: choose(which), lambda: opencl.prepare(problem, which)
    remedy = REMOVED.get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0"])
    raise UserError("unknown device", key="device", value=device, remedy=remedy)
