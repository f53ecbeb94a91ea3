"""Describe the bins that can be had: of which kinds, how many of each, and at what price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from binwright.simcore.types import Ints

ENDLESS = 1 << 40
"""The count of a kind of which there are as many as anybody wants."""


@dataclass(frozen=True, eq=False)
class Fleet:
    """Kinds of bins. Nothing here is ever written."""

    capacity: Ints
    """[kinds, d], none below zero"""
    count: Ints
    """[kinds]: how many there are"""
    price: Ints
    """[kinds]: of one, none below zero"""

    @classmethod
    def alike(cls, capacity: Ints) -> Fleet:
        """Make any number of equal bins of capacity [d], for a price of 1."""
        return cls(np.ascontiguousarray(capacity)[None, :], np.array([ENDLESS]), np.ones(1, np.int64))

    @property
    def equal(self) -> bool:
        """Tell whether there are any number of bins of one kind."""
        return len(self.count) == 1 and int(self.count[0]) == ENDLESS

    def merged(self) -> tuple[Fleet, Ints]:
        """Take kinds that have and cost the same together; also returns which of those each is, int64 [kinds]."""
        rows = np.column_stack([self.price, self.capacity])
        _, first, kind_of = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they were given
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        kind_of = back[kind_of.ravel()]
        count = np.zeros(len(order), np.int64)
        np.add.at(count, kind_of, self.count)
        first = first[order]
        return Fleet(self.capacity[first], np.minimum(count, ENDLESS), self.price[first]), kind_of

    def cost(self, which: Ints) -> int:
        """Add up the prices of bins of these kinds [bins]."""
        return int(self.price[which].sum())

    def takes(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """Tell which kind [kinds] is large enough for each ball of demand [balls, d]: bool [balls, kinds]."""
        return np.asarray((demand[:, None, :] <= self.capacity[None, :, :]).all(axis=2))

    def cover(self, value: int, worth: list[int]) -> Fraction | None:
        """Compute what bins cost at least that are worth `value` in all, if one of each kind is worth so much [kinds].

        Parts of bins can be bought. None if all bins together are not worth as much.
        """
        total, left = Fraction(0), value
        offers = zip(worth, self.price.tolist(), self.count.tolist(), strict=True)
        for each, price, count in sorted(
            (one for one in offers if one[0] > 0), key=lambda one: Fraction(one[1], one[0])
        ):
            taken = min(left, each * count)
            total += Fraction(taken * price, each)
            left -= taken
            if left <= 0:
                return total
        return total if left <= 0 else None
