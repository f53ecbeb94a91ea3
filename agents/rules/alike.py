"""Searches for the place with the highest score among all servers, or only among those that differ (`fabric.alike`).

It is for rules whose scores all change with every request, and which see of a server what it has free and its capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fabric.alike import CLASSES, Alike
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Amounts, Ints


def highest(score: Callable[..., Any]) -> tuple[Any, Any]:
    """Make two kernels of a search, which find the same place: one looks at all servers, one at those that differ.

    `score` is a lean kernel of `(free, capacity, demand, spread, server, node, numbers)`, and returns -infinity where
    the demand does not fit; higher is better. Of equal places the first is found.
    """

    @lean_inlined
    def search(free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, firsts: Any, count: int) -> int:
        """Search `count` servers; `firsts` says which they are, None that they are all."""
        best, most, nodes = -1, -np.inf, free.shape[1]
        for k in range(count):
            for node in range(nodes):
                found = score(free, capacity, demand, spread, k, node, numbers)
                if found >= most:
                    code = (k if firsts is None else firsts[k]) * nodes + node
                    if found > most or code < best:
                        best, most = code, found
        return best

    @lean
    def of_all(free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any) -> int:
        return search(free, capacity, demand, spread, numbers, None, len(free))

    @lean
    def of_different(demand: Amounts, spread: bool, numbers: Any, kept: Alike) -> int:
        """Search the first server of every class, which `follow` has brought up to date."""
        free, capacity = kept.states[0], kept.states[1]
        return search(free, capacity, demand, spread, numbers, kept.firsts, kept.counts[CLASSES])

    return of_all, of_different
