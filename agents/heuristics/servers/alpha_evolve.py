"""Places by the rule that AlphaEvolve found for Google's cluster scheduler Borg."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit import inlined
from binwright.simcore.types import Amounts, Ints

LARGEST = 9e9
"""More than any place costs that matters; in billionths it still is an int64."""


@cheapest
def alpha_evolve(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[int, int]:
    """Cost c + m + m / c + c / m, where c and m are the shares that the request takes of the server's free cpu and mem.

    What divides by a share of 0 is left out; with one resource only c is left. Costs are compared in billionths, so
    that the last bits of a float decide no tie. The request goes to the fullest node of the server.
    """
    c = taken(free, demand, 0)
    cost = c
    if len(demand) > 1:
        m = taken(free, demand, 1)
        cost += m
        if c > 0 and m > 0:
            cost += m / c + c / m
    return int(min(cost, LARGEST) * 1e9 + 0.5), free[node, 0]


@inlined
def taken(free: Ints, demand: Amounts, r: int) -> float:
    """Return which share of what a server has free of a resource the request takes; 0 where nothing is free."""
    total = 0
    for n in range(len(free)):
        total += free[n, r]
    return demand[r] / total if total > 0 else 0.0


class AlphaEvolve(ScanAgent):
    """The server where a request takes small and similar shares of the free CPU and memory, then its fullest node."""

    reference = "Novikov et al. 2025, AlphaEvolve: A coding agent for scientific and algorithmic discovery"
    scan = staticmethod(alpha_evolve)
