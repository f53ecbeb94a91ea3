"""Find many balls of which no two can share a bin: each needs a bin of its own.

Two balls are in conflict if together they exceed the capacity of a bin in any dimension, or if they are FOES. In some
orders, each ball is taken that is in conflict with all before it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from binwright.simcore.types import Ints

MOST = 800
"""Balls that are looked at: those with foes, and those with the largest share of any dimension."""


def clique(demand: Ints, capacity: Ints, foes: Iterable[tuple[int, int]] = (), enough: int = 0) -> list[int]:
    """Find more than `enough` balls, ascending, of which no two share a bin; empty if none are found.

    Each ball of demand [balls, d] fits capacity [d].
    """
    share = demand / np.maximum(capacity, 1)
    top = share.max(axis=1, initial=0)
    pairs = [(one, other) for one, other in foes if one != other]
    top[[ball for pair in pairs for ball in pair]] += 1
    chosen = np.sort(np.argsort(-top, kind="stable")[:MOST])
    share, at = share[chosen], {ball: place for place, ball in enumerate(chosen.tolist())}
    apart = np.zeros((len(chosen), len(chosen)), bool)
    for amounts, room in zip(demand[chosen].T, capacity.tolist(), strict=True):
        apart |= amounts[:, None] > room - amounts
    for one, other in pairs:
        if one in at and other in at:
            apart[at[one], at[other]] = apart[at[other], at[one]] = True
    best: list[int] = []
    for value in (apart.sum(axis=1), share.sum(axis=1), share.max(axis=1, initial=0)):
        taken, may = list[int](), np.ones(len(chosen), bool)
        for ball in np.argsort(-value, kind="stable").tolist():
            if may[ball]:
                taken.append(ball)
                may &= apart[ball]
        best = max(best, taken, key=len)
    return sorted(chosen[best].tolist()) if len(best) > enough else []
