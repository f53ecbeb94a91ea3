"""Make runs of the search for the cheapest bins, from a placement that is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.random import word
from binwright.agents.solver.packing.bin_selection import Bought
from binwright.agents.solver.search import cheapest
from binwright.agents.solver.search.find import SLICE, STEPS, luby
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.types import Ints

BAND = 0.02
"""By how much of the lowest cost a step may be above it when a run begins; it goes down to nothing."""


class Run(NamedTuple):
    """What a run came to."""

    left: int
    """By how much it costs more than the bound; 0 is success."""
    bought: Bought
    steps: int


class Runs:
    """Makes runs from a placement; none is better than the bound."""

    def __init__(self, demand: Ints, fleet: Fleet, begin: Bought, seed: int, bound: int) -> None:
        self.demand, self.fleet, self.begin, self.bound, self.seed = demand, fleet, begin, bound, word(seed)
        self.count = np.minimum(fleet.count, len(demand))
        self.weight = Packing.into(demand, fleet.capacity).weight

    def attempt(self, number: int, cancelled: Callable[[], bool]) -> Run:
        """Make a run: 16 steps a ball, or 2, 4, ... times as many; a quarter of all stand only if nothing is dearer."""
        fleet = self.fleet
        state = cheapest.state(self.demand, fleet.capacity, self.count, fleet.price, *self.begin)
        cost, steps, most = fleet.cost(self.begin.which), 0, luby(number) * STEPS * len(self.demand)
        first = 0.0 if number % 4 == 0 else BAND * cost
        given = self.demand, fleet.capacity, fleet.price, self.weight, self.seed, number
        while steps < most and cost > self.bound and not cancelled():
            cost = cheapest.improve(*given, SLICE, int(first * (1 - steps / most)), state)
            steps += SLICE
        bins = int(state[4][cheapest.BEST_BINS])
        return Run(max(cost - self.bound, 0), Bought(state[7], state[8][:bins]), steps)


@cache
def prepare() -> None:
    """Compile the search, or read what is kept of it."""
    demand, fleet = np.full((3, 1), 2), Fleet(np.array([[3], [4]]), np.full(2, 3), np.array([2, 3]))
    begin = Bought(np.arange(3), np.zeros(3, np.int64))
    Runs(demand, fleet, begin, 0, 0).attempt(0, iter((False, True)).__next__)
