"""Places by the rules for online bin packing that FunSearch found."""

from __future__ import annotations

from typing import Literal

import numpy as np

from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.agents.rules.scan import ScanAgent
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UnknownName, suggest
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Ints

STEPS = ((2, 400), (3, 300), (5, 200), (7, 100), (9, 90), (12, 95), (15, 97), (21, 98), (150, 99))
"""Up to what rest of a bin of 150 the rule for the OR-Library's instances has which score, in hundredths."""


@cheapest
def by_steps(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> int:
    """Cost less the less remains of the first resource, by the printed steps."""
    remains, of = (left(free), left(capacity)) if spread else (free[node, 0], capacity[node, 0])
    for limit, score in STEPS:
        if (remains - demand[0]) * 150 <= limit * of:
            return -score
    return 0


@kernel
def by_differences(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, the place whose score exceeds that of the place before it by most.

    As printed, of bins of 100: with what an item and the bins where it fits have of the first resource, a score is
    (bin - largest) ** 2 / item + bin ** 2 / item ** 2 + bin ** 2 / item ** 3, negative unless the item fills the bin.
    The first place has its own score. The place is the first at which the item fits if it takes nothing.
    """
    in_all: int = free.shape[1]
    nodes = 1 if spread else in_all
    largest = 0.0
    for server in range(len(free)):
        for node in range(nodes):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                largest = max(largest, _in_hundredths(free, capacity, server, node, spread))
                if not demand[0]:
                    return server * in_all + node
    best, most, before = -1, -np.inf, 0.0
    for server in range(len(free)):
        for node in range(nodes):
            if not (fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)):
                continue
            remains, of = _amounts(free, capacity, server, node, spread)
            room, item = remains * 100.0 / of, demand[0] * 100.0 / of
            score = (room - largest) ** 2 / item + room**2 / item**2
            score += room**2 / item**3
            if remains > demand[0]:
                score = -score
            if score - before > most:
                best, most = server * in_all + node, score - before
            before = score
    return best


@kernel
def _amounts(free: Ints, capacity: Ints, server: int, node: int, spread: bool) -> tuple[int, int]:
    """Return what a place has of the first resource, free and in all: a node, or the server of a spread request."""
    if spread:
        return left(free[server]), left(capacity[server])
    return free[server, node, 0], capacity[server, node, 0]


@kernel
def _in_hundredths(free: Ints, capacity: Ints, server: int, node: int, spread: bool) -> float:
    remains, of = _amounts(free, capacity, server, node, spread)
    return remains * 100.0 / of if of else 0.0


class FunSearch(ScanAgent):
    """The rule that FunSearch printed for items of a Weibull distribution, or for the OR-Library's (`rule: or`).

    It looks at the first resource, of which every place counts as 100 (or 150).
    """

    reference = "Romera-Paredes et al. 2024, Mathematical discoveries from program search with large language models"

    def __init__(self, rule: Literal["weibull", "or"] = "weibull") -> None:
        scans = {"weibull": by_differences, "or": by_steps}
        if rule not in scans:
            raise UnknownName("unknown rule", key="rule", value=rule, remedy=suggest(rule, scans))
        self.scan = scans[rule]
