"""Pack balls into few equal bins: by a heuristic, or as a problem of the language with `BINS ?`.

The heuristics are those that Wrasse was compared with: Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for vector bin
packing", Microsoft Research, 2011, as used by Rai, Bhagwan and Guha, SoCC 2012. Demands x and what a bin has left r are
shares of a bin's capacity; the weight w of a resource is its mean demand. Balls that score the same are taken in the
order given. All quantities that decide whether a ball fits are integers; scores are floats, summed from the first
resource to the last.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic

import numpy as np

from binwright.agents.solver.backends.vectors import BLOCK, TINY, first_fit, fit, fullest_bins
from binwright.agents.solver.model.bounds import packing_bound
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.solving.answer import Answer, verify
from binwright.agents.solver.solving.solve import searches, solve
from binwright.agents.solver.specification.spec import problem as problem_of
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.types import Floats, Ints


def ffd_prod(demand: Ints, capacity: Ints) -> Ints:
    """Put each ball into the first bin that it fits, in the order of descending products of shares."""
    order = np.argsort(-_shares(demand, capacity).prod(axis=1), kind="stable")
    where, free = np.empty(len(demand), np.int64), np.tile(capacity, (len(demand), 1))
    fit(demand, free, free[::BLOCK].copy(), order, where)
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


def pack(demand: Ints, capacity: Ints, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Answer:
    """Put balls of demand int64 [balls, d] into as few equal bins of capacity int64 [d] as the method can.

    A search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    check(demand, capacity, [method])
    stated = problem_of(PACKING, tables={"DEMAND": demand / MICRO, "ROOM": capacity / MICRO})
    first_fit(TINY), fullest_bins(TINY)  # compiled before the clock runs, as what searches need
    if method in HEURISTICS:
        began = monotonic()
        where = HEURISTICS[method](demand, capacity)
        took, made = monotonic() - began, stated.with_bins(int(where.max()) + 1)
        answer = Answer(made, where.tolist(), method, packing_bound(demand, capacity), "", (), 0, took, took, False)
        verify(answer.problem, answer.alloc)
        return answer
    for attempts in searches(stated, "cpu", SEARCHES[method]).values():
        next(attempts(stated, 0, 0, 1, lambda: True))
    answer = solve(stated, search=SEARCHES[method], seed=seed, time=seconds)
    if answer.placed == len(demand) and answer.used < answer.bins:
        where = np.unique(answer.alloc, return_inverse=True)[1]
        answer = replace(answer, problem=stated.with_bins(answer.used), alloc=where.tolist())
    return answer


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
