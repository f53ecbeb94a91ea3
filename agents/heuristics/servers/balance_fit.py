"""Evens out the nodes of servers: Balance-Fit."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit import inlined
from binwright.simcore.types import Amounts, Ints


@cheapest
def balance_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[float, float]:
    """Prefer the server whose nodes differ most in free share, then its emptiest node; for spread requests any server.

    Differences are compared as the floats that they are: so the published numbers come out to the last digit.
    """
    if spread:
        return 0.0, 0.0
    lowest, highest = 1.0, 0.0
    for n in range(len(free)):
        if is_there(capacity, n, len(demand)):
            share = free_share(free, capacity, n, len(demand))
            lowest, highest = min(lowest, share), max(highest, share)
    return lowest - highest, -free_share(free, capacity, node, len(demand))


@inlined
def is_there(capacity: Ints, node: int, resources: int) -> bool:
    """Tell whether the server has the node: others may have more nodes."""
    has = 0
    for r in range(resources):
        has += capacity[node, r] > 0
    return has > 0


@inlined
def free_share(free: Ints, capacity: Ints, node: int, resources: int) -> float:
    """Return the least of free / capacity over the resources that the node has."""
    share = 1.0
    for r in range(resources):
        if capacity[node, r] > 0:
            share = min(share, free[node, r] / capacity[node, r])
    return share


class BalanceFit(ScanAgent):
    """Evens out the nodes: single requests go where nodes differ most, to the emptiest; spread ones first-fit."""

    reference = "Chan 2025, SPANE, arXiv:2504.14946: a baseline of its code"
    scan = staticmethod(balance_fit)
