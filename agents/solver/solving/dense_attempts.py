"""Run the searches on the dense form, on all cores, for `solve`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import monotonic

import numpy as np

from agents.solver.backends.reference import Found
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.search.find import find
from agents.solver.search.packing import Packing
from simcore.cores import usable_threads


def attempts(
    problem: Problem, packing: Packing, search: str, seed: int, first: int, count: int, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 of a search, up to the first success; yields the best now and then.

    The published search makes several per number here. Nothing is begun after `monotonic()` is `until`.
    """
    unit_of = problem.unit_of
    best: Found | None = None
    checked, number, each = 0, first, usable_threads()
    while number < first + count:
        last = min(number + each, first + count)
        found = find(packing, search, seed=seed, until=until, chunks=range(number, last), spread=not problem.searched)
        checked += found.checked
        if best is None or found.left < best.left:
            alloc = np.where(found.where[unit_of] < 0, NULL, found.where[unit_of])
            best = Found(alloc.tolist(), found.left, found.attempt, 0, checked)
        best = Found(best.alloc, best.left, best.attempt, best.group, checked)
        yield best
        if found.interrupted:
            raise KeyboardInterrupt
        if best.left == 0 or monotonic() >= until:
            return
        number, each = last, 2 * each
