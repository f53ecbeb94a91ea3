"""Solve the linear program over all patterns by generating those that it needs, and bound it safely.

Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9, 1961. The
program has a number for each pattern, how many bins of a kind are filled in that way; its dual has a price for each
kind of ball, and one for each kind of bin of which there are not enough, such that no pattern is worth more than its
bin costs. Prices are rounded down to whole numbers, and the pattern worth most by them is found in whole numbers for
every kind of bin: bins that are worth all balls are needed at least, whatever floats did (Farley, "A note on bounding a
class of linear programming problems", Operations Research 38, 1990).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf

import numpy as np

from binwright.agents.solver.exact.kinds import Kinds
from binwright.agents.solver.exact.pricing import Pricing
from binwright.simcore.types import Floats, Ints

ONE = 1 << 30
"""The price of the dearest bin."""
NEARLY = ONE >> 20
"""A pattern worth no more than its bin and this is not worth to be added."""
ROUNDS = 400
TINY = 1e-6
"""What a sum of floats may be off."""
UNPLACED = 100
"""What a ball costs in the linear program that finds no bin, where there are not enough: so many of the dearest."""
FEW_NODES, NODES, MANY_NODES = 2_000, 50_000, 3_000_000
"""Of the tree that is searched for a pattern: for one more, for the first, and where none has been found: .1 s."""


@dataclass
class Columns:
    """Patterns, and the linear program over them."""

    pricings: list[Pricing]
    """Of each kind of bins."""
    patterns: Ints
    """[p, kinds]"""
    of_bin: Ints
    """[p]: the kind of bins that a pattern fills"""
    bound: int = 0
    """No packing costs less. If it is more than all bins do, there is none."""
    value: float = inf
    """Of the linear program over these patterns; infinite if they do not place all balls."""
    times: Floats | None = None
    """[p]: the solution of that."""
    price: Ints | None = None
    """[kinds]: those of the best bound so far, multiples of 1 / `ONE` of the dearest bin."""
    worth: list[int] = field(default_factory=list)
    """No pattern of each kind of bins is worth more by `price`."""
    proven: Fraction = Fraction(-1)
    """The best bound, before it was rounded up."""

    @property
    def kinds(self) -> Kinds:
        """Return the balls and bins."""
        return self.pricings[0].kinds

    @classmethod
    def of(cls, kinds: Kinds) -> Columns:
        """Begin with a pattern for each kind of balls alone in each kind of bins."""
        patterns, of_bin = [], []
        for number, capacity in enumerate(kinds.fleet.capacity):
            room = capacity // np.maximum(kinds.size, 1)
            alone = np.minimum(np.where(kinds.size > 0, room, kinds.count[:, None]).min(axis=1), kinds.count)
            patterns.append(np.diag(alone)[alone > 0])
            of_bin.append(np.full(len(patterns[-1]), number))
        pricings = [Pricing(kinds, number) for number in range(len(kinds.fleet.count))]
        return cls(pricings, np.concatenate(patterns), np.concatenate(of_bin))

    def learn(self, where: Ints, which: Ints) -> None:
        """Add the patterns of a packing: the bin of each ball [balls], and the kind of each bin [bins]."""
        patterns = np.zeros((len(which), len(self.kinds.count)), np.int64)
        np.add.at(patterns, (where, self.kinds.kind_of), 1)
        self.patterns = np.concatenate([self.patterns, patterns])
        self.of_bin = np.concatenate([self.of_bin, which])

    def rounds(self, count: Ints, most: Ints) -> Iterator[None]:
        """Solve the linear program for so many balls and bins of each kind, generating patterns.

        Writes all but `pricings`. Yields after each round. The bound is that for all balls, if `count` [kinds] and
        `most` [kinds of bins] are all there are; the rounds end where the linear program, which only gets smaller,
        cannot prove more than that.
        """
        fleet = self.kinds.fleet
        whole = bool((count == self.kinds.count).all() and (most == fleet.count).all())
        dearest = max(int(fleet.price.max()), 1)
        for _ in range(ROUNDS):
            prices = self._master(count, most)
            if prices is None:
                return
            of_balls, of_bins = prices
            price = np.floor(np.maximum(of_balls, 0) * ONE / dearest).astype(np.int64)
            limits = np.ceil((fleet.price + np.maximum(of_bins, 0)) * ONE / dearest).astype(np.int64) + NEARLY
            new, kinds_of, worths = [], [], []
            for number in np.flatnonzero(most > 0).tolist() if not whole else range(len(most)):
                pricing, limit = self.pricings[number], int(limits[number])
                found, worth = pricing.best(price, count, NODES)
                if int(found @ price) <= limit < worth:
                    found, worth = pricing.best(price, count, MANY_NODES)
                worths.append(worth)
                if len(most) > 1:
                    yield
                left = count.copy()
                while int(found @ price) > limit:
                    new.append(found)
                    kinds_of.append(number)
                    left = left - found
                    found, _ = pricing.best(price, left, FEW_NODES)
            if whole:
                self._note(price, worths)
            if not new or (whole and self.bound >= self.value - TINY):
                return
            self.patterns = np.concatenate([self.patterns, np.array(new)])
            self.of_bin = np.concatenate([self.of_bin, np.array(kinds_of)])
            yield

    def _master(self, count: Ints, most: Ints) -> tuple[Floats, Floats] | None:
        """Solve the linear program over the patterns that there are; returns the prices of all kinds of balls and bins.

        None if HiGHS fails.
        """
        from scipy.optimize import linprog

        some = count > 0
        few = np.flatnonzero(self.kinds.fleet.count < self.kinds.count.sum())  # there may not be enough of them
        costs = self.kinds.fleet.price[self.of_bin].astype(float)
        rows = np.concatenate([-self.patterns[:, some].T, self.of_bin == few[:, None]]).astype(float)
        limits = np.concatenate([-count[some], most[few]]).astype(float)
        if len(few):
            spare = np.concatenate([-np.eye(int(some.sum())), np.zeros((len(few), int(some.sum())))])
            rows = np.concatenate([rows, spare], axis=1)
            missing = UNPLACED * max(float(self.kinds.fleet.price.max()), 1.0)
            costs = np.append(costs, np.full(int(some.sum()), missing))
        found = linprog(costs, A_ub=rows, b_ub=limits, method="highs")
        self.value, self.times = inf, None
        if found.x is None:
            return None
        many = len(self.patterns)
        if found.x[many:].sum() <= TINY:
            self.value, self.times = float(found.fun), found.x[:many]
        prices, of_bins = np.zeros(len(count)), np.zeros(len(most))
        prices[some] = -found.ineqlin.marginals[: some.sum()]
        of_bins[few] = -found.ineqlin.marginals[some.sum() :]
        return prices, of_bins

    def _note(self, price: Ints, worth: list[int]) -> None:
        """Keep prices [kinds] if they prove more than those before, or the same more closely."""
        fleet = self.kinds.fleet
        total = sum(one * many for one, many in zip(price.tolist(), self.kinds.count.tolist(), strict=True))
        least = fleet.cover(total, worth)
        proven = Fraction(int(fleet.price @ fleet.count) + 1) if least is None else least  # more than all bins
        if proven > self.proven:
            self.price, self.worth, self.proven = price, worth, proven
            self.bound = max(self.bound, ceil(proven))
