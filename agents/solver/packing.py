"""Pack balls into few equal bins: by a heuristic, or as a problem of the language with `BINS ?`.

The heuristics are those that Wrasse was compared with: Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for vector bin
packing", Microsoft Research, 2011, as used by Rai, Bhagwan and Guha, SoCC 2012. Demands x and what a bin has left r are
shares of a bin's capacity; the weight w of a resource is its mean demand. Balls that score the same are taken in the
order given. All quantities that decide whether a ball fits are integers; scores are floats, summed from the first
resource to the last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np

from binwright.agents.solver.backends.vectors import TINY, first_fit, fullest_bins
from binwright.agents.solver.model.bounds import packing_bound
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.solving.answer import Progress
from binwright.agents.solver.solving.solve import searches, solve
from binwright.agents.solver.specification.load import problem as problem_of
from binwright.simcore.errors import BinwrightError, UserError, suggest
from binwright.simcore.types import Floats, Ints


def ffd_prod(demand: Ints, capacity: Ints) -> Ints:
    """Put each ball into the first bin that it fits, in the order of descending products of shares."""
    order = np.argsort(-_shares(demand, capacity).prod(axis=1), kind="stable")
    where, free, bins = np.empty(len(demand), np.int64), np.tile(capacity, (len(demand), 1)), 0
    for ball in order:
        where[ball] = target = int((free[: bins + 1] >= demand[ball]).all(axis=1).argmax())
        free[target] -= demand[ball]
        bins = max(bins, target + 1)
    return where


def _shares(demand: Ints, capacity: Ints) -> Floats:
    """Divide demands by the capacity; where there is none of a resource, nobody needs any."""
    shares: Floats = demand / np.maximum(capacity, 1)
    return shares


def fill_bins(demand: Ints, capacity: Ints, *, norm: bool) -> Ints:
    """Fill bin by bin, each time with the ball that fits and has the largest sum of w * x * r.

    If `norm`, it is that with the smallest sum of w * (x - r)^2.
    """
    shares = _shares(demand, capacity)
    weight = shares.mean(axis=0)
    where, left, target = np.empty(len(demand), np.int64), np.arange(len(demand)), 0
    while len(left):
        free = capacity.copy()
        while len(fitting := left[(demand[left] <= free).all(axis=1)]):
            score = np.zeros(len(fitting))
            for w, x, r in zip(weight, shares[fitting].T, _shares(free, capacity), strict=True):
                score += -(w * (x - r) * (x - r)) if norm else w * x * r
            best = fitting[score.argmax()]
            free -= demand[best]
            where[best] = target
            left = left[left != best]
        target += 1
    return where


HEURISTICS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "ffd-prod": ffd_prod,
    "dot-product": partial(fill_bins, norm=False),
    "norm-greedy": partial(fill_bins, norm=True),
}
SEARCHES = {"published": "published", "solver": "ours"}
"""How `solve` is to search."""
METHODS = (*HEURISTICS, *SEARCHES)
PACKING = """
BALLS len(DEMAND)
BINS ?
RESOURCES USED[b in BINS, r in len(ROOM)] => ROOM[r]
procedure UTILFN(BALL, BIN, ALLOC)
    for r in len(ROOM)
        UTIL.USED[BIN, r] += DEMAND[BALL, r]
    end
end
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """A placement of all balls, verified; or none, if time was up before there was one."""

    where: Ints | None
    """[balls]: the bin, from 0 without a gap"""
    bound: int
    """No placement needs fewer bins."""
    seconds: float
    found: float | None = None
    """After how many seconds there was this placement; a search may have gone on for a better one."""
    checked: int = 0
    """Complete attempts of the published search; steps of ours."""
    interrupted: bool = False

    @property
    def bins(self) -> int | None:
        """Count the bins that are used."""
        return None if self.where is None else int(self.where.max()) + 1

    @property
    def gap(self) -> int | None:
        """Count the bins beyond the bound."""
        return None if self.bins is None else self.bins - self.bound


def pack(demand: Ints, capacity: Ints, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Packed:
    """Put balls of demand int64 [balls, d] into as few equal bins of capacity int64 [d] as the method can.

    A search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    check(demand, capacity, [method])
    if method in HEURISTICS:
        began = monotonic()
        where = HEURISTICS[method](demand, capacity)
        took, used = monotonic() - began, np.zeros((int(where.max()) + 1, len(capacity)), np.int64)
        np.add.at(used, where, demand)
        if (used > capacity).any():
            raise BinwrightError(f"{method} answered a placement that breaks the rules: a bug, please report it")
        return Packed(where, packing_bound(demand, capacity), took, took)
    stated = problem_of(PACKING, tables={"DEMAND": demand / MICRO, "ROOM": capacity / MICRO})
    first_seen: dict[int, float] = {}
    first_fit(TINY), fullest_bins(TINY)  # compiled before the clock runs, as what searches need
    for attempts in searches(stated, "cpu", SEARCHES[method]).values():
        next(attempts(stated, 0, 0, 1, lambda: True))

    def seen(state: Progress) -> None:
        if state.placed == len(demand):
            first_seen.setdefault(state.bins, state.seconds)

    answer = solve(stated, search=SEARCHES[method], seed=seed, time=seconds, progress=seen)
    if answer.placed < len(demand):
        return Packed(None, answer.bound, answer.seconds, None, answer.checked, answer.interrupted)
    where = np.unique(answer.alloc, return_inverse=True)[1]
    found = first_seen.get(int(where.max()) + 1, answer.seconds)
    return Packed(where, answer.bound, answer.seconds, found, answer.checked, answer.interrupted)


def check(demand: Ints, capacity: Ints, methods: Sequence[str]) -> None:
    """Raise `UserError` for what cannot be packed, or not by these methods."""
    for method in methods:
        if method not in METHODS:
            raise UserError("unknown way to pack", key="with", value=method, remedy=suggest(method, METHODS))
    if demand.ndim != 2 or demand.shape[1:] != capacity.shape or not demand.size:
        raise UserError("there is nothing to pack", value=demand.shape, remedy="Give balls with a demand each.")
    largest = np.minimum(capacity, 10**12)  # a sum over all balls stays far from the end of 64 bits
    wrong = ((demand < 0) | (demand > largest)).any(axis=1)
    if wrong.any():
        ball, most = int(wrong.argmax()), (largest / MICRO).tolist()
        value = (demand[ball] / MICRO).tolist()
        raise UserError(f"ball {ball} fits no bin", value=value, remedy=f"Give 0 to {most}.")
