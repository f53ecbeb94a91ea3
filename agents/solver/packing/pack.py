"""Pack balls into few equal bins: by a heuristic, by a search that goes upward from the lower bound, or by a rival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import monotonic
from typing import NamedTuple

import numpy as np

from agents.solver.exact import prover
from agents.solver.model.packing_bound import lower_bound
from agents.solver.packing import heuristics
from agents.solver.packing.rivals import Tell
from agents.solver.search.fewest import fewest, rounds
from agents.solver.search.find import find, prepare
from agents.solver.search.lowest import LONGEST
from agents.solver.search.packing import Packing
from simcore.errors import BinwrightError, UserError, suggest
from simcore.vocabulary import Ints

HEURISTICS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "ffd-prod": heuristics.ffd_prod,
    "bfd-sum": heuristics.bfd_sum,
    "dot-product": heuristics.dot_product,
    "norm-greedy": heuristics.norm_greedy,
}
SEARCHES = {"published": "published", "solver": "ruin"}
RIVALS = {
    "z3": "agents.solver.packing.rivals.z3",
    "z3-parts": "agents.solver.packing.rivals.z3_parts",
    "cp-sat": "agents.solver.packing.rivals.cpsat",
    "highs": "agents.solver.packing.rivals.highs",
    "arc-flow": "agents.solver.packing.rivals.arcflow",
}
METHODS = (*HEURISTICS, *SEARCHES, *RIVALS)
QUADRATIC = 20_000
"""Balls up to which ours looks at the heuristics that take quadratic time: about a second."""
FIRST, SHARE = 0.25, 0.6
"""Of all the time of ours, what proofs have once the bound has failed; of the time that has gone by, what they have."""
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
    """After how many seconds there was a placement in how many bins, each in fewer than the one before."""

    @property
    def bins(self) -> int | None:
        """Count the bins that are used."""
        return None if self.where is None else int(self.where.max()) + 1

    @property
    def found(self) -> float | None:
        """Return after how many seconds there was this placement; a search may have gone on for one of fewer bins."""
        return self.course[-1][0] if self.course else None

    @property
    def gap(self) -> int | None:
        """Count the bins above the lower bound; 0 proves that the answer is optimal."""
        return None if self.bins is None else self.bins - self.bound


def pack(demand: Ints, capacity: Ints, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Packed:
    """Put balls of demand int64 [balls, d] into equal bins of capacity int64 [d], as few as the method can.

    A search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    if method not in METHODS:
        raise UserError("unknown way to pack", key="--with", value=method, remedy=suggest(method, METHODS))
    if seconds > LONGEST:
        raise UserError("is out of range", key="seconds", value=seconds, remedy=f"Give {LONGEST:,} at most.")
    check(demand, capacity)
    _compiled(method)
    began = monotonic()
    bound = lower_bound(demand, capacity)
    checked, interrupted = 0, False
    course: list[tuple[float, int]] = []

    def tell(bins: int) -> None:
        if not course or bins < course[-1][1]:
            course.append((monotonic() - began, bins))

    where: Ints | None
    if method in HEURISTICS:
        where = HEURISTICS[method](demand, capacity)
    elif method in SEARCHES:
        found = _upward(demand, capacity, method, bound, began, began + seconds, seed, tell)
        where, bound, checked, interrupted = found
    else:
        # A rival knows the same placement as our search does, and has the rest of the time.
        known = heuristics.ffd_prod(demand, capacity)
        rival = import_module(RIVALS[method])
        where, bound = rival.improve(demand, capacity, known, bound, began + seconds - monotonic(), seed, tell)
    took = monotonic() - began
    if where is not None:
        _, where = np.unique(where, return_inverse=True)
        where = where.astype(np.int64)
        if not Packing.alike(demand, capacity, int(where.max()) + 1).keeps(where):
            raise BinwrightError(f"{method} answered a placement that breaks the rules: a bug, please report it")
        if not course or int(where.max()) + 1 < course[-1][1]:
            course.append((took, int(where.max()) + 1))
    return Packed(method, where, bound, took, checked, interrupted, tuple(course))


@cache
def _compiled(method: str) -> None:
    """Compile a search and all heuristics, or read what is kept of them, before the clock runs."""
    demand, capacity = np.full((3, 1), 2), np.full(1, 3)
    for rule in HEURISTICS.values():
        rule(demand, capacity)
    if method in SEARCHES:
        prepare(SEARCHES[method])
    if method == "solver":
        prover.prepare()


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
            ball = int(wrong.argmax())
            remedy = f"One bin has {(capacity / 1e6).tolist()}."
            raise UserError(f"ball {ball}: {problem}", value=(demand[ball] / 1e6).tolist(), remedy=remedy)


class _Upward(NamedTuple):
    """What a search has come to."""

    where: Ints | None
    bound: int
    checked: int
    interrupted: bool
    """Ctrl-C was pressed."""


def _upward(
    demand: Ints, capacity: Ints, method: str, bound: int, began: float, until: float, seed: int, tell: Tell
) -> _Upward:
    """Search in rounds (see `fewest`). Ours knows `ffd-prod`, and all heuristics once the bound has failed.

    From then on, a prover works beside it, as `FIRST` and `SHARE` say.
    """
    best = heuristics.ffd_prod(demand, capacity) if method == "solver" else None
    proofs = prover.Prover(demand, capacity)
    checked, asked, interrupted = 0, False, False
    if best is not None:
        tell(int(best.max()) + 1)

    def attempt(bins: int, attempts: range) -> int | None:
        nonlocal best, bound, checked, asked, interrupted
        given = Packing.alike(demand, capacity, bins)
        found = find(given, SEARCHES[method], seed=seed, until=until, chunks=attempts)
        checked += found.checked
        if found.left == 0:
            best = found.where
        elif found.interrupted or monotonic() >= until:
            interrupted = found.interrupted
            raise _TimeOver
        elif method == "solver" and best is not None:
            if not asked and len(demand) <= QUADRATIC:
                asked = True
                best = min((best, *(rule(demand, capacity) for rule in HEURISTICS.values())), key=lambda one: one.max())
            share = max(SHARE * (monotonic() - began), FIRST * (until - began))
            proofs.work(share, int(best.max()) + 1, until)
            bound = max(bound, proofs.bound)
            if proofs.where is not None and proofs.where.max() < best.max():
                best = proofs.where
            tell(int(best.max()) + 1)
            if best.max() + 1 <= bound:
                raise _TimeOver
        if best is None:
            return None
        tell(int(best.max()) + 1)
        return int(best.max()) + 1

    try:
        fewest(lambda: bound, len(demand), None if best is None else int(best.max()) + 1, rounds(1), attempt)
    except _TimeOver:
        pass
    except KeyboardInterrupt:  # while something is proven
        interrupted = True
    return _Upward(best, bound, checked, interrupted)


class _TimeOver(Exception):
    """Raised when time is up, or the answer is proven to be optimal."""
