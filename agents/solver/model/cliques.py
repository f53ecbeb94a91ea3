"""Find many balls of which no two can share a bin: each needs a bin of its own.

Two balls are in conflict if together they exceed the capacity of a bin in any dimension, or if they are FOES. A clique
of this graph is found greedily, in several orders, and in small graphs by branch and bound as Tomita and Seki do ("An
efficient branch-and-bound algorithm for finding a maximum clique", DMTCS 2003): the colours of the vertices that are
left, no two of which are in conflict, say how many more can be taken. Sets of balls are the bits of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from binwright.simcore.types import Ints

MOST = 800
"""Balls that are looked at: those with the largest share of any dimension. Any clique among them is one of all."""
EXACT = 400
"""Balls up to which branch and bound follows."""
NODES = 2_000
"""Of the tree that branch and bound looks at: about .2 s."""


def clique(demand: Ints, capacity: Ints, foes: Iterable[tuple[int, int]] = (), enough: int = 0) -> list[int]:
    """Find more than `enough` balls, ascending, of which no two share a bin; empty if none are found.

    Each ball of demand [balls, d] fits capacity [d].
    """
    share = demand / np.maximum(capacity, 1)
    top = share.max(axis=1, initial=0)
    pairs = list(foes)
    top[[ball for pair in pairs for ball in pair]] += 1
    chosen = np.sort(np.argsort(-top, kind="stable")[:MOST])
    apart = _apart(demand[chosen], capacity)
    at = {ball: place for place, ball in enumerate(chosen.tolist())}
    for one, other in pairs:
        if one in at and other in at and one != other:
            apart[at[one], at[other]] = apart[at[other], at[one]] = True
    # A ball with fewer conflicts than a clique has other members is not in it.
    left = np.arange(len(chosen))
    while len(left) > enough:
        degrees = apart[np.ix_(left, left)].sum(axis=1)
        if degrees.min() >= enough:
            break
        left = left[degrees >= enough]
    if len(left) <= enough:
        return []
    apart, chosen, share = apart[np.ix_(left, left)], chosen[left], share[chosen[left]]
    best: list[int] = []
    orders = [np.lexsort((-share.sum(axis=1), -degrees)), *(np.argsort(-one, kind="stable") for one in share.T)]
    orders += [np.argsort(-one, kind="stable") for one in (share.sum(axis=1), share.max(axis=1, initial=0))]
    for order in orders:
        best = max(best, order[_greedy(_rows(apart, order))].tolist(), key=len)
    if max(len(best), enough) < len(chosen) <= EXACT:
        larger = _search(_rows(apart, orders[0]), max(len(best), enough))
        best = orders[0][larger].tolist() if larger else best
    return sorted(chosen[best].tolist()) if len(best) > enough else []


def _apart(demand: Ints, capacity: Ints) -> NDArray[np.bool_]:
    """Find which two balls together exceed the capacity in some dimension, bool [balls, balls]."""
    apart = np.zeros((len(demand), len(demand)), bool)
    for amounts, room in zip(demand.T, capacity.tolist(), strict=True):
        apart |= amounts[:, None] > room - amounts
    np.fill_diagonal(apart, False)
    return apart


def _rows(apart: NDArray[np.bool_], order: Ints) -> list[int]:
    """Write whom each ball is in conflict with as bits, both in this order: bit i is ball order[i]."""
    packed = np.packbits(apart[np.ix_(order, order)], axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _greedy(rows: list[int]) -> list[int]:
    """Take the first ball that is in conflict with all before, again and again."""
    taken, left = [], (1 << len(rows)) - 1
    while left:
        ball = (left & -left).bit_length() - 1
        taken.append(ball)
        left &= rows[ball]
    return taken


def _search(rows: list[int], enough: int) -> list[int]:
    """Look for a clique of more than `enough` in `NODES` nodes; returns the largest that was found, or nothing."""
    best: list[int] = []
    most, nodes = enough, 0

    def grow(taken: list[int], left: int) -> None:
        nonlocal best, most, nodes
        nodes += 1
        if len(taken) > most:
            best, most = taken, len(taken)
        for ball, colours in reversed(_coloured(rows, left)):
            if nodes > NODES or len(taken) + colours <= most:
                return
            grow([*taken, ball], left & rows[ball])
            left &= ~(1 << ball)

    grow([], (1 << len(rows)) - 1)
    return best


def _coloured(rows: list[int], left: int) -> list[tuple[int, int]]:
    """Colour greedily: the vertices by colour, each with how many colours it and those before it have."""
    found, colour = [], 0
    while left:
        colour += 1
        same = left
        while same:
            bit = same & -same
            ball = bit.bit_length() - 1
            found.append((ball, colour))
            left ^= bit
            same = (same ^ bit) & ~rows[ball]
    return found
