"""Solve the linear program over all patterns by generating those that it needs, and bound it safely.

Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9, 1961. The
program has a number for each pattern, how many bins are filled in that way; its dual has a price for each kind of ball,
such that no pattern is worth more than one bin. Prices are rounded down to whole numbers, and the pattern worth most by
them is found in whole numbers: all balls are worth that many bins at least, whatever floats did (Farley, "A note on
bounding a class of linear programming problems", Operations Research 38, 1990).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from agents.solver.exact.kinds import Kinds
from agents.solver.exact.pricing import Pricing
from simcore.vocabulary import Floats, Ints

ONE = 1 << 30
"""The price of a bin."""
NEARLY = ONE + (ONE >> 20)
"""A pattern worth no more than this is not worth to be added."""
ROUNDS = 400
TINY = 1e-6
"""What a sum of floats may be off."""
FEW_NODES, NODES, MANY_NODES = 2_000, 50_000, 3_000_000
"""Of the tree that is searched for a pattern: for one more, for the first, and where none has been found: .1 s."""


@dataclass
class Columns:
    """Patterns, and the linear program over them."""

    pricing: Pricing
    patterns: Ints
    """[p, kinds]"""
    bound: int = 1
    """No packing needs fewer bins."""
    value: float = inf
    """Of the linear program over these patterns."""
    times: Floats | None = None
    """[p]: the solution of that."""
    price: Ints | None = None
    """[kinds]: those of the best bound so far, multiples of 1 / `worth` bins."""
    worth: int = ONE
    """No pattern is worth more by `price`."""

    @classmethod
    def of(cls, kinds: Kinds) -> Columns:
        """Begin with a pattern for each kind alone."""
        room = kinds.capacity // np.maximum(kinds.size, 1)
        alone = np.where(kinds.size > 0, room, kinds.count[:, None]).min(axis=1)
        return cls(Pricing(kinds), np.diag(np.minimum(alone, kinds.count)))

    def rounds(self, count: Ints) -> Iterator[None]:
        """Solve the linear program for so many balls of each kind, generating patterns. Writes all but `pricing`.

        Yields after each round. The bound is that for all balls, if `count` [kinds] are all there are; the rounds end
        where the linear program, which only gets smaller, cannot prove more than that.
        """
        kinds = self.pricing.kinds
        whole = bool((count == kinds.count).all())
        for _ in range(ROUNDS):
            prices = self._master(count)
            if prices is None:
                return
            price = np.floor(np.maximum(prices, 0) * ONE).astype(np.int64)
            found, worth = self.pricing.best(price, count, NODES)
            if int(found @ price) <= NEARLY < worth:
                found, worth = self.pricing.best(price, count, MANY_NODES)
            if whole:
                self._note(price, max(worth, 1), count)
            new, left = [], count.copy()
            while int(found @ price) > NEARLY:
                new.append(found)
                left = left - found
                found, _ = self.pricing.best(price, left, FEW_NODES)
            if not new or (whole and self.bound >= ceil(self.value - TINY)):
                return
            self.patterns = np.concatenate([self.patterns, np.array(new)])
            yield

    def _master(self, count: Ints) -> Floats | None:
        """Solve the linear program over the patterns that there are; returns the prices of all kinds.

        None if HiGHS fails.
        """
        from scipy.optimize import linprog

        some = count > 0
        left = -self.patterns[:, some].T.astype(float)
        found = linprog(np.ones(len(self.patterns)), A_ub=left, b_ub=-count[some].astype(float), method="highs")
        if found.x is None:
            self.value, self.times = inf, None
            return None
        self.value, self.times = float(found.fun), found.x
        prices = np.zeros(len(count))
        prices[some] = -found.ineqlin.marginals
        return prices

    def _note(self, price: Ints, worth: int, count: Ints) -> None:
        """Keep prices [kinds] if they prove more than those before, or the same more closely."""
        total = sum(one * many for one, many in zip(price.tolist(), count.tolist(), strict=True))
        before = 0
        if self.price is not None:
            before = sum(one * many for one, many in zip(self.price.tolist(), count.tolist(), strict=True))
        if total * self.worth > before * worth:
            self.price, self.worth = price, worth
            self.bound = max(self.bound, -(-total // worth))
