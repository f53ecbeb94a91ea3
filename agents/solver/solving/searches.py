"""List what makes attempts at a problem: published ones, on a device, or runs of searches of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.solving import published, ruin
from binwright.agents.solver.solving.first_fit import Packing
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import REMOVED

OURS, PUBLISHED, LOCAL, RUIN = "ours", "published", "local search", "ruin and recreate"


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
    name, colon, number = str(device).partition(":")
    attempts: Callable[..., Iterator[Found]] = cpu.attempts
    prepare: Callable[[Problem], object] = cpu.prepare
    if name == "opencl" and (number.isdecimal() or not colon):
        from binwright.agents.solver.backends import opencl

        which = int(number) if colon else None
        attempts, prepare = partial(opencl.attempts, number=which), lambda problem: opencl.prepare(problem, which)
    elif device != "cpu":
        remedy = REMOVED.get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0"])
        raise UserError("unknown device", key="device", value=device, remedy=remedy)

    def published_attempts(problem: Problem, first: int, count: int) -> Iterator[Found]:
        return attempts(problem, seed, first, count, until=end)

    def dense_attempts(problem: Problem, first: int, count: int) -> Iterator[Found]:
        packing = Packing.of(problem)
        assert packing is not None
        yield from dense.attempts(problem, packing, seed, first, count, end)

    def prepare_dense() -> None:
        if device != "cpu":
            prepare(problem)  # which tells that there is no such device
        dense.prepare()

    name, dense = (RUIN, ruin) if search == OURS else (PUBLISHED, published)
    if Packing.of(problem) is not None and (search == OURS or device == "cpu"):
        return [Attempts(name, prepare_dense, dense_attempts)]
    by_publication = Attempts(PUBLISHED, lambda: prepare(problem), published_attempts)
    if search == PUBLISHED or problem.dims > 2_000_000:  # of which local search keeps a dozen numbers each
        return [by_publication]

    def local_runs(problem: Problem, first: int, count: int) -> Iterator[Found]:
        return runs.LocalSearch(problem, seed).place(first, count, end)

    ours = Attempts(LOCAL, lambda: runs.prepare(problem), local_runs)
    return [ours] if device == "cpu" and not problem.wishes else [by_publication, ours]
