"""Split the bins of a problem into groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.solver.model.problem import Sets
from agents.solver.model.program import MICRO


def declared_grouping(groups: Sequence[Sequence[int]], bins: int) -> Sets:
    """Split the bins as GROUPS say; every other bin is alone at the end.

    With `BINS ?` groups have those of their bins that there are.
    """
    named = [[place for place in members if place < bins] for members in groups]
    rest = sorted(set(range(bins)).difference(*named))
    return Sets.of([(members, MICRO) for members in [*filter(None, named), *([place] for place in rest)]])


def usual_groupings(bins: int, *, searched: bool) -> tuple[Sets, ...]:
    """Split the bins into groups of one, two, four, ... and all of them.

    The largest groups come first, unless the number of bins is `searched`: nobody asked for few of them, and balls are
    spread first.
    """
    sizes, size = [], 1
    while size < bins:
        sizes.append(size)
        size *= 2
    every = np.arange(bins)
    bounds = [np.append(np.arange(0, bins, size), bins) for size in [*sizes, bins]]
    if not searched:
        bounds.reverse()
    return tuple(Sets(offsets, every, np.full(len(offsets) - 1, MICRO)) for offsets in bounds)
