"""Pack balls into few equal bins, or the cheapest of a fleet: by a heuristic, or by a search upward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import monotonic

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import LONGEST
from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.agents.solver.packing import heuristics, runs
from binwright.agents.solver.packing.bin_selection import Bought, fit, least_cost
from binwright.agents.solver.packing.lower_bound import SEARCHES, Upward
from binwright.agents.solver.search.find import prepare
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.errors import BinwrightError, UserError, suggest
from binwright.simcore.types import Ints

HEURISTICS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "ffd-prod": heuristics.ffd_prod,
    "bfd-sum": heuristics.bfd_sum,
    "dot-product": heuristics.dot_product,
    "norm-greedy": heuristics.norm_greedy,
}
METHODS = (*HEURISTICS, *SEARCHES)
OF_KINDS = ("ffd-prod", "bfd-sum", "solver")
"""Those that can choose bins of several kinds."""
MANY = 5
"""Kinds that a message lists."""
LARGEST = 10**12
"""Of a ball's demand, in millionths: a sum over all balls stays far from the end of 64 bits."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A placement of all balls, verified; or none, if time was up before there was one."""

    method: str
    where: Ints | None
    """[balls]: the bin, from 0 without a gap"""
    which: Ints | None
    """[bins]: the kind of each bin"""
    cost: int | None
    """The price of all bins, where they have none their number."""
    bound: int
    """No placement costs less. If it is more than all bins do, there is none."""
    seconds: float
    checked: int = 0
    """Complete attempts of the published search; steps of ours."""
    interrupted: bool = False
    course: tuple[tuple[float, int], ...] = ()
    """After how many seconds there was a placement of what cost, each lower than the one before."""

    @property
    def bins(self) -> int | None:
        """Count the bins that are used."""
        return None if self.which is None else len(self.which)

    @property
    def found(self) -> float | None:
        """Return after how many seconds there was this placement; a search may have gone on for a cheaper one."""
        return self.course[-1][0] if self.course else None

    @property
    def gap(self) -> int | None:
        """Subtract the lower bound from the cost; 0 proves that the answer is optimal."""
        return None if self.cost is None else self.cost - self.bound


def pack(demand: Ints, bins: Ints | Fleet, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Packed:
    """Put balls of demand int64 [balls, d] into equal bins of capacity int64 [d], or into some of a fleet's.

    The method looks for as few of equal bins as it can, and for the cheapest of a fleet's, of those for the fewest. A
    search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    if method not in METHODS:
        raise UserError("unknown way to pack", key="--with", value=method, remedy=suggest(method, METHODS))
    if seconds > LONGEST:
        raise UserError("is out of range", key="seconds", value=seconds, remedy=f"Give {LONGEST:,} at most.")
    given = bins if isinstance(bins, Fleet) else Fleet.alike(bins)
    check(demand, given)
    fleet, kind_of = given.merged()
    unit = int(fleet.price[0]) if fleet.equal else max(int(np.gcd.reduce(fleet.price)), 1)
    price = np.ones(1, np.int64) if fleet.equal else fleet.price // unit
    fleet = Fleet(fleet.capacity, fleet.count, price)
    if not fleet.equal and method not in OF_KINDS:
        remedy = f"Use {', '.join(OF_KINDS)}."
        raise UserError(f"{method} packs equal servers only, of any number", key="--with", value=method, remedy=remedy)
    _compiled(method, fleet.equal)
    began = monotonic()
    bound = lower_bound(demand, fleet.capacity[0]) if fleet.equal else least_cost(demand, fleet)
    checked, interrupted = 0, False
    course: list[tuple[float, int]] = []

    def tell(cost: int) -> None:
        if not course or cost * unit < course[-1][1]:
            course.append((monotonic() - began, cost * unit))

    found: Bought | None
    if method in HEURISTICS:
        found = _heuristic(demand, fleet, method)
    else:
        found, checked, interrupted = Upward(demand, fleet, method, began + seconds, seed, tell).go(bound)
    took = monotonic() - began
    if found is None:
        return Packed(method, None, None, None, bound * unit, took, checked, interrupted, tuple(course))
    if not keeps(demand, fleet, found):
        raise BinwrightError(f"{method} answered a placement that breaks the rules: a bug, please report it")
    cost = fleet.cost(found.which) * unit
    if not course or cost < course[-1][1]:
        course.append((took, cost))
    which = _told_apart(found.which, kind_of, given.count)
    return Packed(method, found.where, which, cost, bound * unit, took, checked, interrupted, tuple(course))


def keeps(demand: Ints, fleet: Fleet, bought: Bought) -> bool:
    """Tell whether a placement keeps the capacities of its bins, and whether there are as many; plain numpy."""
    if not ((bought.which >= 0) & (bought.which < len(fleet.count))).all():
        return False
    enough = (np.bincount(bought.which, minlength=len(fleet.count)) <= fleet.count).all()
    return bool(enough) and Packing.into(demand, fleet.capacity[bought.which]).keeps(bought.where)


def _heuristic(demand: Ints, fleet: Fleet, method: str) -> Bought | None:
    """Run a heuristic; None if it does not find room for all balls."""
    if not fleet.equal:
        return fit(demand, fleet, best=method == "bfd-sum")
    where = HEURISTICS[method](demand, fleet.capacity[0])
    return Bought(where, np.zeros(int(where.max()) + 1, np.int64))


def _told_apart(which: Ints, kind_of: Ints, count: Ints) -> Ints:
    """Say of bins of merged kinds [bins] of which of the given kinds [given] they are, the first ones first."""
    found = np.empty_like(which)
    for kind in np.unique(which).tolist():
        bins = np.flatnonzero(which == kind)
        given = np.flatnonzero(kind_of == kind)
        found[bins] = np.repeat(given, np.minimum(count[given], len(bins)))[: len(bins)]
    return found


@cache
def _compiled(method: str, equal: bool) -> None:
    """Compile a search and the heuristics, or read what is kept of them, before the clock runs."""
    demand, capacity = np.full((3, 1), 2), np.full(1, 3)
    if not equal:
        import_module("scipy.optimize")  # for bounds
        if method == "solver":
            runs.prepare()
            prepare(SEARCHES[method])
        return
    for rule in HEURISTICS.values():
        rule(demand, capacity)
    if method in SEARCHES:
        prepare(SEARCHES[method])


def check(demand: Ints, fleet: Fleet) -> None:
    """Raise `UserError` for what cannot be packed."""
    if demand.ndim != 2 or demand.shape[1:] != fleet.capacity.shape[1:] or not demand.size:
        raise UserError("there is nothing to pack", value=demand.shape, remedy="Give balls with a demand each.")
    for wrong, problem in (
        ((demand < 0).any(axis=1), "a demand is below zero"),
        ((demand > LARGEST).any(axis=1), f"a demand is above {LARGEST // 10**6}"),
        (~fleet.takes(demand).any(axis=1), "a ball fits no bin"),
    ):
        if wrong.any():
            ball = int(wrong.argmax())
            has = "; ".join(str((row / 1e6).tolist()) for row in fleet.capacity[:MANY])
            remedy = f"One bin has {has}{'; ...' if len(fleet.capacity) > MANY else ''}."
            raise UserError(f"ball {ball}: {problem}", value=(demand[ball] / 1e6).tolist(), remedy=remedy)
    for wrong, problem in ((fleet.price < 0, "below zero"), (fleet.price > LARGEST, f"above {LARGEST // 10**6}")):
        if wrong.any():
            remedy = "Give prices from 0 on."
            raise UserError(f"kind {int(wrong.argmax())} has a price {problem}", key="price", remedy=remedy)
