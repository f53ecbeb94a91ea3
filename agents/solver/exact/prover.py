"""Close the gap between a bound and the best packing known, a step at a time.

First the linear program over patterns is solved, which proves a bound. Its solution, in fractions of bins, then leads
to packings: by diving, which takes the whole parts, or the largest part, as bins, and solves the program again for the
balls that are left; and by an integer program over the patterns that were generated, and over all that a packing in
`bound` bins can have. HiGHS solves both kinds of programs (Huangfu and Hall, "Parallelizing the dual revised simplex
method", Mathematical Programming Computation 10, 2018). What it says is not believed: bounds are made in whole
numbers, and packings are checked by whoever uses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import ceil, inf
from threading import Thread
from time import monotonic

import numpy as np

from binwright.agents.solver.exact.columns import TINY, Columns
from binwright.agents.solver.exact.kinds import Kinds
from binwright.agents.solver.model.fleet import Fleet
from binwright.simcore.types import Ints

MOST_KINDS, MOST_BALLS = 600, 20_000
"""Of more, the linear programs take too long."""
LARGEST = 10**12
"""Of a demand, in millionths: shares of it stay within 64 bits."""
PATTERNS, NODES = 10_000, 3_000_000
"""Patterns of an integer program, at most, and of the tree in which they are looked for."""
DIVES = 3
"""Dives before each integer program: they are quicker."""
SHORTEST, LONGEST = 0.5, 8.0
"""Seconds that an integer program has the first time, and at most."""


class Prover:
    """Works on a packing whenever it is given time."""

    def __init__(self, demand: Ints, fleet: Fleet) -> None:
        """Take balls of demand [balls, d], `LARGEST` at most, each of which fits a bin of the fleet."""
        self.bound = int(fleet.price.min())
        """No packing costs less. If it is more than all bins do, there is none."""
        self.where: Ints | None = None
        """[balls]: the best packing that it has found."""
        self.which: Ints | None = None
        """[bins]: the kinds of its bins"""
        self.known: float = inf
        """The cost of the best packing that anybody has found."""
        self.spent = 0.0
        """Seconds of work."""
        self.until = inf
        self.begin: tuple[Ints, Ints] | None = None
        """A packing whose patterns are the first ones: the bin of each ball [balls], the kind of each bin [bins]."""
        self._given = demand, fleet
        self._work = self._steps()
        self._over = len(demand) > MOST_BALLS

    @property
    def over(self) -> bool:
        """Tell whether there is nothing left to do."""
        return self._over or self.bound >= self.known

    def work(self, seconds: float, known: int | None, until: float = inf) -> None:
        """Work on until it has worked so many seconds in all, or `monotonic()` is `until`; a step may take longer.

        `known` is what the best packing that somebody else has found costs.
        """
        self.until = until
        if known is not None:
            self.known = min(self.known, known)
        while not self.over and self.spent < seconds and monotonic() < until:
            began = monotonic()
            self._over = next(self._work, True) is True
            self.spent += monotonic() - began

    def _steps(self) -> Iterator[None]:
        kinds = Kinds.of(*self._given)
        if len(kinds.count) > MOST_KINDS:
            return
        columns = Columns.of(kinds)
        if self.begin is not None:
            columns.learn(*self.begin)
        for _ in columns.rounds(kinds.count, kinds.fleet.count):
            self.bound = max(self.bound, columns.bound)
            yield
        self.bound = max(self.bound, columns.bound)
        if self.bound > kinds.fleet.price @ kinds.fleet.count:
            return
        seconds, number = SHORTEST, 0
        while True:
            yield
            yield from self._dive(columns, number)
            yield
            if number % DIVES == DIVES - 1:
                self._cover(columns, columns.patterns, columns.of_bin, seconds)
                yield
                every = self._every(columns)
                if every is not None:
                    yield
                    self._cover(columns, every, np.zeros(len(every), np.int64), seconds)
                seconds = min(2 * seconds, LONGEST)
            number += 1

    def _dive(self, columns: Columns, number: int) -> Iterator[None]:
        """Look for a packing that costs less than any known. Dives after the first, number 0, choose by chance."""
        kinds, rng = columns.kinds, np.random.default_rng(number)
        count, most = kinds.count.copy(), kinds.fleet.count.copy()
        taken: list[Ints] = []
        which: list[int] = []
        cost = 0
        whole = rng.uniform(0.5, 1) if number else 1.0
        while count.any():
            for _ in columns.rounds(count, most):
                if monotonic() >= self.until:
                    return
                yield
            if columns.times is None or cost + ceil(columns.value - TINY) >= self.known:
                return
            times = columns.times
            parts = np.floor(times * whole + TINY).astype(np.int64)
            if not parts.any():
                parts[np.argmax(times * (rng.uniform(0, 1, len(times)) if number else 1))] = 1
            for at in np.repeat(np.arange(len(parts)), parts).tolist():
                bin_kind = int(columns.of_bin[at])
                if (part := np.minimum(columns.patterns[at], count)).any() and most[bin_kind] > 0:
                    taken.append(part)
                    which.append(bin_kind)
                    count, cost = count - part, cost + int(kinds.fleet.price[bin_kind])
                    most[bin_kind] -= 1
        self._found(kinds, np.array(taken), np.array(which), np.ones(len(taken), np.int64))

    def _cover(self, columns: Columns, patterns: Ints, of_bin: Ints, seconds: float) -> None:
        """Look for the cheapest of these patterns [p, kinds], of these kinds of bins [p], that have all balls."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csc_array

        kinds, fleet = columns.kinds, columns.kinds.fleet
        costs, ball_kinds, bin_kinds = fleet.price[of_bin], len(kinds.count), len(fleet.count)
        of_kinds = of_bin == np.arange(bin_kinds)[:, None]
        rows = np.concatenate([patterns.T, costs[None, :], of_kinds]).astype(float)
        low = np.concatenate([kinds.count, [self.bound], np.zeros(bin_kinds)])
        high = np.concatenate([np.full(ball_kinds, np.inf), [self.known - 1], fleet.count])
        limit = min(seconds, self.until - monotonic())
        if limit <= 0 or self.known <= self.bound or not len(patterns):
            return
        solutions = []

        def run() -> None:
            rule = LinearConstraint(csc_array(rows), low, high)
            span = Bounds(0, float(kinds.count.max()))
            ones = np.ones(len(patterns))
            given = {"integrality": ones, "bounds": span, "constraints": rule, "options": {"time_limit": limit}}
            solutions.append(milp(costs.astype(float), **given))

        thread = Thread(target=run, name="integer program", daemon=True)  # so that Ctrl-C is heard
        thread.start()
        thread.join()
        if solutions and solutions[0].x is not None:
            self._found(kinds, patterns, of_bin, np.rint(solutions[0].x).astype(np.int64))

    def _every(self, columns: Columns) -> Ints | None:
        """Find all patterns that a packing in `bound` bins of one kind can have; None if they are too many.

        By prices, bins have `bound` less what all balls are worth to waste, by each dimension what all have too much.
        """
        kinds = columns.kinds
        if len(kinds.fleet.count) > 1 or columns.price is None:
            return None
        bins = self.bound // max(int(kinds.fleet.price[0]), 1)
        prices = [(columns.price, columns.worth[0]), *zip(kinds.size.T, kinds.fleet.capacity[0].tolist(), strict=True)]
        wastes = [bins * worth - int(price @ kinds.count) for price, worth in prices]
        shares = [waste / worth for waste, (_, worth) in zip(wastes, prices, strict=True)]
        tightest = int(np.argmin(shares))
        price, worth = prices[tightest]
        pricing = columns.pricings[0]
        patterns, whole = pricing.every(price, kinds.count, worth - wastes[tightest], NODES, 4 * PATTERNS)
        for (price, worth), waste in zip(prices, wastes, strict=True):
            patterns = patterns[patterns @ price >= worth - waste]
        return patterns if whole and len(patterns) <= PATTERNS else None

    def _found(self, kinds: Kinds, patterns: Ints, of_bin: Ints, times: Ints) -> None:
        """Keep a packing, if it is one and costs less."""
        which = np.repeat(of_bin, times)
        where = kinds.placed(patterns[times > 0], times[times > 0])
        if where is not None and (np.bincount(which, minlength=len(kinds.fleet.count)) <= kinds.fleet.count).all():
            used, where = np.unique(where, return_inverse=True)
            cost = kinds.fleet.cost(which[used])
            if cost < self.known:
                self.where, self.which, self.known = where.astype(np.int64), which[used], cost


@cache
def prepare() -> None:
    """Compile what a prover needs, or read what is kept of it, and load HiGHS."""
    Prover(np.array([[2], [2], [1]]), Fleet.alike(np.array([3]))).work(1e9, 3)
