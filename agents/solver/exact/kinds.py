"""Balls that need the same, counted once: what the exact methods see of a packing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binwright.agents.solver.model.fleet import Fleet
from binwright.simcore.types import Ints

SHARE = 1 << 20
"""The weight of a ball that fills a bin."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of balls, the heaviest first, and the kinds of bins that they may go into."""

    size: Ints
    """[kinds, d], whole multiples of the largest common unit of each dimension"""
    count: Ints
    """[kinds]"""
    fleet: Fleet
    """The bins, in the same units, none of a kind more than there are balls."""
    weight: Ints
    """[kinds]: what it needs of all dimensions together. No bin holds more than `SHARE` of that."""
    kind_of: Ints
    """[balls]"""

    @classmethod
    def of(cls, demand: Ints, fleet: Fleet) -> Kinds:
        """Sum up balls of demand [balls, d], each of which fits a bin."""
        binding = demand.sum(axis=0) > fleet.capacity.min(axis=0)
        used = demand[:, binding] if binding.any() else demand[:, :1]
        room = fleet.capacity[:, binding] if binding.any() else fleet.capacity[:, :1]
        unit = np.maximum(np.gcd.reduce(used, axis=0), 1)
        rows, kind_of, count = np.unique(used // unit, axis=0, return_inverse=True, return_counts=True)
        room = room // unit
        largest = room.max(axis=0)
        # The scarcer a dimension, the more it weighs.
        scarcity = rows.T @ count / np.maximum(largest, 1)
        shares = (SHARE * scarcity / max(scarcity.sum(), 1e-9)).astype(np.int64)
        weight = (rows * shares // np.maximum(largest, 1)).sum(axis=1)
        order = np.argsort(-weight, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        sizes = np.ascontiguousarray(rows[order])
        bins = Fleet(room, np.minimum(fleet.count, len(demand)), fleet.price)
        return cls(sizes, count[order].astype(np.int64), bins, weight[order], back[kind_of.ravel()])

    def placed(self, patterns: Ints, times: Ints) -> Ints | None:
        """Put the balls into bins by these patterns [p, kinds], each used so many times [p]: int64 [balls].

        None if that does not place them all. A pattern may have room for more balls than there are.
        """
        where = np.full(len(self.kind_of), -1)
        waiting = [np.flatnonzero(self.kind_of == kind).tolist() for kind in range(len(self.count))]
        target = 0
        for pattern, number in zip(patterns.tolist(), times.tolist(), strict=True):
            for _ in range(number):
                for kind, most in enumerate(pattern):
                    for _ in range(min(most, len(waiting[kind]))):
                        where[waiting[kind].pop()] = target
                target += 1
        return None if (where < 0).any() else where
