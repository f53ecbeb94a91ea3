"""Chooses at random among what simple rules like best: what a choice behind the same filter has to beat."""

from __future__ import annotations

import numpy as np

from binwright.agents.rules.candidates import Filter, candidates, counts
from binwright.agents.rules.random_numbers import drawn
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints, View


@kernel
def random_top(free: Ints, capacity: Ints, demand: Amounts, spread: bool, how: Floats, stream: Floats) -> int:
    """Take, as a `Scan` with numbers, any of the candidates. `how` has the two counts; `stream` changes."""
    codes = candidates(free, capacity, demand, spread, int(how[0]), int(how[1]))
    return int(codes[int(drawn(stream) * len(codes))]) if len(codes) else -1


class RandomTop(ScanAgent):
    """One of the `k` best places by Best-Fit, by `internal`, or by both (two fifths and the rest), at random.

    A filter such as `{best-fit: 4, internal: 3}` says itself how many places of each, and takes no `k`; with the others
    `k` is 5 if it is not given.
    """

    reference = "the control for CVD-RL's top-k filter (Sheng et al. 2025, arXiv:2503.00537)"
    scan = staticmethod(random_top)

    def __init__(self, filter: Filter = "both", k: int | None = None) -> None:
        self.numbers = np.array(counts(filter, k), np.float64), np.zeros(2)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Take the run's random stream: one number for every request that fits somewhere."""
        self.numbers[1][:] = int(rng.integers(2**53)), 0
        self.get_ready(view)
