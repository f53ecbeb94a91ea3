"""Compute a number of equal bins that no placement can do without.

For every resource on its own and for the sum of a ball's shares of all, that is L2 of Martello and Toth, "Lower bounds
and reduction procedures for the bin packing problem", Discrete Applied Mathematics 28, 1990, and the balls over how
many of the smallest ones a bin holds.
"""

from __future__ import annotations

import numpy as np

from binwright.simcore.types import Ints


def lower_bound(demand: Ints, capacity: Ints) -> int:
    """Return the best of all bounds. Every ball of demand [balls, d] must fit an empty bin of capacity [d]."""
    # Shares are rounded down, so that a bin that can hold some balls can hold them by this sum, too. A share of 1:
    unit = 1 << 20
    wide = demand.astype(object) if demand.max(initial=0) >= 2**42 else demand
    shares = (wide * unit // np.maximum(capacity, 1)).sum(axis=1).astype(np.int64)
    best = 1
    for column, of in [*zip(demand.T, capacity.tolist(), strict=True), (shares, unit * len(capacity))]:
        amounts = np.sort(column)
        most = int(np.searchsorted(np.cumsum(amounts), of, side="right"))  # no bin holds more balls
        best = max(best, l2(amounts, of), -(-len(amounts) // max(most, 1)))
    return best


def l2(amounts: Ints, capacity: int) -> int:
    """Compute L2 of ascending amounts.

    For each threshold up to a half, balls below it do not count. A ball above capacity - threshold is alone; one above
    a half shares its bin with smaller ones only. The balls that find no room beside them need bins of their own.
    """
    sums = np.concatenate([[0], np.cumsum(amounts)])
    middle = int(np.searchsorted(amounts, capacity // 2, side="right"))
    thresholds = np.unique(np.concatenate([[0], amounts[:middle]]))
    first = np.searchsorted(amounts, thresholds, side="left")
    alone = np.searchsorted(amounts, capacity - thresholds, side="right")
    small, large = sums[middle] - sums[first], sums[alone] - sums[middle]
    beside = (alone - middle) * capacity - large
    more = -(-np.maximum(small - beside, 0) // max(capacity, 1))
    return int((len(amounts) - middle + more).max())
