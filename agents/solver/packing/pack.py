"""Pack balls into few equal bins: by a heuristic, or by a search upward from a lower bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import monotonic

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import LONGEST
from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.agents.solver.packing import heuristics
from binwright.agents.solver.search.bin_count import fewest, rounds
from binwright.agents.solver.search.find import PUBLISHED, RUIN, attempts, prepare
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.errors import BinwrightError, UserError, suggest
from binwright.simcore.types import Ints

HEURISTICS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "ffd-prod": heuristics.ffd_prod,
    "bfd-sum": heuristics.bfd_sum,
    "dot-product": heuristics.dot_product,
    "norm-greedy": heuristics.norm_greedy,
}
SEARCHES = {"published": PUBLISHED, "solver": RUIN}
METHODS = (*HEURISTICS, *SEARCHES)
QUADRATIC = 20_000
"""Balls up to which `solver` looks at the heuristics that take quadratic time: about a second."""
LARGEST = 10**12
"""Of a ball's demand, in millionths: a sum over all balls stays far from the end of 64 bits."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A placement of all balls, verified; or none, if time was up before there was one."""

    method: str
    where: Ints | None
    """[balls]: the bin, from 0 without a gap"""
    bound: int
    """No placement needs fewer bins."""
    seconds: float
    checked: int = 0
    """Complete attempts of the published search; steps of ours."""
    interrupted: bool = False
    course: tuple[tuple[float, int], ...] = ()
    """After how many seconds there was a placement into how many bins, each fewer than the one before."""

    @property
    def bins(self) -> int | None:
        """Count the bins that are used."""
        return None if self.where is None else int(self.where.max()) + 1

    @property
    def found(self) -> float | None:
        """Return after how many seconds there was this placement; a search may have gone on for a better one."""
        return self.course[-1][0] if self.course else None

    @property
    def gap(self) -> int | None:
        """Subtract the lower bound from the bins; 0 proves that the answer is optimal."""
        return None if self.bins is None else self.bins - self.bound


def pack(demand: Ints, capacity: Ints, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Packed:
    """Put balls of demand int64 [balls, d] into as few equal bins of capacity int64 [d] as the method can.

    A search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    if method not in METHODS:
        raise UserError("unknown way to pack", key="--with", value=method, remedy=suggest(method, METHODS))
    if seconds > LONGEST:
        raise UserError("is out of range", key="seconds", value=seconds, remedy=f"Give {LONGEST:,} at most.")
    check(demand, capacity)
    _compile(method)
    search = _Upward(demand, capacity, method, seconds, seed)
    search.run()
    where, took = search.where, monotonic() - search.began
    if where is not None and not keeps(demand, capacity, where):
        raise BinwrightError(f"{method} answered a placement that breaks the rules: a bug, please report it")
    return Packed(method, where, search.bound, took, search.checked, search.interrupted, tuple(search.course))


class _Upward:
    """Searches in rounds (see `fewest`). Ours knows a first fit, and all heuristics once the bound has failed."""

    def __init__(self, demand: Ints, capacity: Ints, method: str, seconds: float, seed: int) -> None:
        self.demand, self.capacity, self.method, self.seed = demand, capacity, method, seed
        self.began = monotonic()
        self.until = self.began + seconds
        self.bound = lower_bound(demand, capacity)
        self.where: Ints | None = None
        """[balls]: the best placement"""
        self.course: list[tuple[float, int]] = []
        self.checked = 0
        self.tried_heuristics = self.interrupted = False

    @property
    def fewest(self) -> int | None:
        """Return the fewest bins so far."""
        return self.course[-1][1] if self.course else None

    def run(self) -> None:
        """Run the heuristic, or search until time is up, or the answer is proven."""
        if self.method != "published":
            self._keep(HEURISTICS.get(self.method, heuristics.ffd_prod)(self.demand, self.capacity))
        if self.method in HEURISTICS:
            return
        try:
            fewest(lambda: self.bound, len(self.demand), self.fewest, rounds(1), self._attempt)
        except _TimeOver:
            pass
        except KeyboardInterrupt:
            self.interrupted = True

    def _attempt(self, bins: int, numbers: range) -> int | None:
        """Look for a placement into so many bins; returns the fewest known then."""
        given, before, left = Packing.alike(self.demand, self.capacity, bins), self.checked, 1
        search = SEARCHES[self.method]
        for found in attempts(given, search, self.seed, numbers.start, len(numbers), self.until):
            self.checked, left = before + found.checked, found.left
            if left == 0:
                self._keep(np.unique(found.alloc, return_inverse=True)[1])
        if left and monotonic() >= self.until:
            raise _TimeOver
        if left and self.method == "solver" and not self.tried_heuristics and len(self.demand) <= QUADRATIC:
            self.tried_heuristics = True
            for rule in HEURISTICS.values():
                self._keep(rule(self.demand, self.capacity))
        return self.fewest

    def _keep(self, where: Ints) -> None:
        """Keep a placement into fewer bins than the best."""
        bins = int(where.max()) + 1
        if self.fewest is None or bins < self.fewest:
            self.where = where
            self.course.append((monotonic() - self.began, bins))


class _TimeOver(Exception):
    """Raised when time is up."""


def keeps(demand: Ints, capacity: Ints, where: Ints) -> bool:
    """Tell whether a placement [balls] keeps the capacity of its bins; plain numpy."""
    return Packing.alike(demand, capacity, int(where.max()) + 1).keeps(where)


@cache
def _compile(method: str) -> None:
    """Compile a search and the heuristics, or read what is kept of them, before the clock runs."""
    for rule in HEURISTICS.values():
        rule(np.full((3, 1), 2), np.full(1, 3))
    if method in SEARCHES:
        prepare(SEARCHES[method])


def check(demand: Ints, capacity: Ints) -> None:
    """Raise `UserError` for what cannot be packed."""
    if demand.ndim != 2 or demand.shape[1:] != capacity.shape or not demand.size:
        raise UserError("there is nothing to pack", value=demand.shape, remedy="Give balls with a demand each.")
    for wrong, problem in (
        ((demand < 0).any(axis=1), "a demand is below zero"),
        ((demand > LARGEST).any(axis=1), f"a demand is above {LARGEST // 10**6}"),
        ((demand > capacity).any(axis=1), "a ball fits no bin"),
    ):
        if wrong.any():
            ball, remedy = int(wrong.argmax()), f"One bin has {(capacity / 1e6).tolist()}."
            raise UserError(f"ball {ball}: {problem}", value=(demand[ball] / 1e6).tolist(), remedy=remedy)
