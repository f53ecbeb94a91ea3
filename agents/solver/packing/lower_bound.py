"""Search for the fewest equal bins upward from a lower bound, or for the cheapest bins of several kinds downward."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import lowest
from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.packing import heuristics
from binwright.agents.solver.packing.bin_selection import Bought, Mixes, emptied, exchanged, fit
from binwright.agents.solver.packing.runs import Runs
from binwright.agents.solver.search.bin_count import fewest, rounds
from binwright.agents.solver.search.find import find
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.types import Ints

Tell = Callable[[int], None]
"""Is told what a placement costs that was just found."""
SEARCHES = {"published": "published", "solver": "ruin"}
QUADRATIC = 20_000
"""Balls up to which ours looks at the heuristics that take quadratic time: about a second."""
OTHERS = (heuristics.ffd_prod, heuristics.bfd_sum, heuristics.dot_product, heuristics.norm_greedy)


class Came(NamedTuple):
    """What a search has come to."""

    bought: Bought | None
    checked: int
    interrupted: bool
    """Ctrl-C was pressed."""


class Upward:
    """Search for equal bins in rounds (see `fewest`), for bins of several kinds in runs (see `Runs`).

    Ours knows a first fit, and all heuristics once the bound, or the first run, has failed.
    """

    def __init__(self, demand: Ints, fleet: Fleet, method: str, until: float, seed: int, tell: Tell) -> None:
        self.demand, self.fleet, self.method, self.seed = demand, fleet, method, seed
        self.until, self.tell = until, tell
        self.best: Bought | None = None
        self.bound = self.checked = 0
        self.heuristics_tried = self.interrupted = False

    def go(self, bound: int) -> Came:
        """Search from this lower bound on, until `monotonic()` is `until`, or the answer is proven."""
        self.bound = bound
        try:
            if self.method == "solver":
                self._keep(self._first_fit())
            if self.fleet.equal:
                fewest(lambda: self.bound, len(self.demand), self._bins, rounds(1), self._attempt)
            elif not self._over:
                self._improve()
        except _TimeOver:
            pass
        except KeyboardInterrupt:  # between attempts
            self.interrupted = True
        return Came(self.best, self.checked, self.interrupted)

    @property
    def _bins(self) -> int | None:
        return None if self.best is None else len(self.best.which)

    @property
    def _over(self) -> bool:
        """Tell whether nothing costs less than the best so far, or all bins together are not enough."""
        return self.bound >= (self._most + 1 if self.best is None else self._cost)

    @property
    def _cost(self) -> int:
        assert self.best is not None
        return self.fleet.cost(self.best.which)

    @property
    def _most(self) -> int:
        """Add up what all bins cost that could be used."""
        return int(self.fleet.price @ np.minimum(self.fleet.count, len(self.demand)))

    def _first_fit(self) -> Bought | None:
        if not self.fleet.equal:
            return fit(self.demand, self.fleet, best=False)
        return self._alike(heuristics.ffd_prod(self.demand, self.fleet.capacity[0]))

    def _others(self) -> list[Bought | None]:
        """Run all heuristics."""
        if self.fleet.equal:
            return [self._alike(rule(self.demand, self.fleet.capacity[0])) for rule in OTHERS]
        return [fit(self.demand, self.fleet, best=True)]

    @staticmethod
    def _alike(where: Ints) -> Bought:
        return Bought(where, np.zeros(int(where.max()) + 1, np.int64))

    def _keep(self, found: Bought | None) -> None:
        """Keep what costs less than the best, or as much in fewer bins."""
        if found is None:
            return
        rank = self.fleet.cost(found.which), len(found.which)
        if self.best is None or rank < (self.fleet.cost(self.best.which), len(self.best.which)):
            self.best = found
            self.tell(rank[0])

    def _attempt(self, bins: int, attempts: range) -> int | None:
        """Look for a placement into so many equal bins; returns the fewest known then."""
        given = Packing.alike(self.demand, self.fleet.capacity[0], bins)
        found = find(given, SEARCHES[self.method], seed=self.seed, until=self.until, chunks=attempts)
        self.checked += found.checked
        if found.left == 0:
            self._keep(emptied(Bought(found.where, np.zeros(bins, np.int64))))
        elif found.interrupted or monotonic() >= self.until:
            self.interrupted = found.interrupted
            raise _TimeOver
        elif self.method == "solver":
            self._try_heuristics()
        return self._bins

    def _improve(self) -> None:
        """Make runs from the best so far, in rounds, each of twice as many, and look into bins that cost less."""
        mixes = Mixes(self.demand, self.fleet, self.seed)
        for numbers in rounds(1):
            if self.best is not None:
                runs = Runs(self.demand, self.fleet, self.best, self.seed, self.bound)
                outcome = lowest(runs.attempt, numbers, until=self.until)
                self.checked += sum(run.steps for run in outcome.tried)
                for run in outcome.tried:
                    self._keep(run.bought)
                self.interrupted = outcome.interrupted
            for number in numbers:
                self._stop_in_time()
                self._into(mixes.propose(self._most if self.best is None else self._cost - 1, number), number)
            self._stop_in_time()
            self._try_heuristics()
            if self._over:
                raise _TimeOver

    def _into(self, which: Ints | None, number: int) -> None:
        """Look for a placement into bins of these kinds [bins], if there are any."""
        if which is None or self._over:
            return
        given = Packing.into(self.demand, self.fleet.capacity[which])
        found = find(given, SEARCHES[self.method], seed=self.seed, until=self.until, chunks=range(number, number + 1))
        self.checked += found.checked
        self.interrupted = found.interrupted
        if found.left == 0:
            self._keep(exchanged(self.demand, self.fleet, Bought(found.where, which)))

    def _stop_in_time(self) -> None:
        if self.interrupted or monotonic() >= self.until:
            raise _TimeOver

    def _try_heuristics(self) -> None:
        """Look at the other heuristics, the first time only."""
        if not self.heuristics_tried and len(self.demand) <= QUADRATIC:
            self.heuristics_tried = True
            for other in self._others():
                self._keep(other)


class _TimeOver(Exception):
    """Raised when time is up, or the answer is proven to be optimal."""
