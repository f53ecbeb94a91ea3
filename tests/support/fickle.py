"""A rule whose scores all change with every request, and of which many are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.rules.alike import highest
from agents.rules.following import incremental
from agents.rules.scan import ScanAgent
from fabric.alike import Alike, alike, follow
from fabric.servers import fits_node, fits_spread
from simcore.jit import kernel, lean
from simcore.vocabulary import Amounts, Floats, Ints, View


@lean
def scored(free: Ints, capacity: Ints, demand: Amounts, spread: bool, server: int, node: int, salt: int) -> float:
    """Score a place with 0 to 4, or with -infinity, by all that alike servers have in common."""
    if (spread and node > 0) or not (
        fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)
    ):
        return -np.inf
    chance = salt * 31 + node
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            chance = (chance * 31 + 7 * free[server, n, r] + capacity[server, n, r]) % 1_000_003
    return float(chance % 5)


of_all, of_different = highest(scored)


@kernel
def fickle(free: Ints, capacity: Ints, demand: Amounts, spread: bool, asked: Floats) -> int:
    """Take, as a `Scan`, a place that depends on all that is free, and on how often it was asked: changes `asked`."""
    asked[0] += 1
    code: int = of_all(free, capacity, demand, spread, int(asked[0]) + free.sum() % 1000)
    return code


@incremental(fickle, alike)
def fickle_alike(
    free: Ints,
    capacity: Ints,
    demand: Amounts,
    spread: bool,
    asked: Floats,
    log: Ints,
    counts: Ints,
    totals: Ints,
    known: Ints,
    heaps: npt.NDArray[np.int32],
    links: npt.NDArray[np.int32],
    firsts: npt.NDArray[np.int32],
    states: Ints,
) -> int:
    """Take the same, looking at one of the servers that are alike."""
    kept = Alike(counts, totals, known, heaps, links, firsts, states)
    follow(kept, free, capacity, log)
    asked[0] += 1
    code: int = of_different(demand, spread, int(asked[0]) + totals[0].sum() % 1000, kept)
    return code


class Fickle(ScanAgent):
    """Decides by `fickle`."""

    scan = staticmethod(fickle)

    def __init__(self) -> None:
        self.numbers: Any = (np.zeros(1),)

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.numbers[0][:] = 0
        self.get_ready(view)
