"""Compares what is asked for with what is free as vectors: dot product, a heuristic for vector bin packing."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit import inlined
from binwright.simcore.types import Amounts, Ints


@cheapest
def dot_product(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> int:
    """Prefer the place where the demand points most the way that free capacity does, both as shares of capacity.

    A spread request scores the sum over the server's nodes, with the part that each one gives. Scores are compared in
    billionths, so that the last bits of a float decide no tie.
    """
    nodes, score = len(free), 0.0
    if spread:
        for n in range(nodes):
            score += product(free, capacity, n, demand, nodes)
    else:
        score = product(free, capacity, node, demand, 1)
    return -int(score * 1e9 + 0.5)


@inlined
def product(free: Ints, capacity: Ints, node: int, demand: Amounts, parts: int) -> float:
    """Sum demand share x free share over the resources, for one of `parts` parts of the demand."""
    score = 0.0
    for r in range(len(demand)):
        room = capacity[node, r]
        if room > 0:
            amount = demand[r] // parts + (node < demand[r] % parts)
            score += (amount / room) * (free[node, r] / room)
    return score


class DotProduct(ScanAgent):
    """Where the shares demanded and the shares free have the largest dot product."""

    reference = "Panigrahy et al. 2011, Heuristics for vector bin packing"
    scan = staticmethod(dot_product)
