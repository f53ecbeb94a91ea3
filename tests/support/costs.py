"""Costs of places with many ties, one of each form."""

import numpy as np

from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.simcore.types import Ints


@cheapest
def picky(free: Ints, capacity: Ints, taken: Ints, node: int) -> float:
    """Return few costs, so that ties are common; some places are not to be taken."""
    cost = (3 * max(node, 0) + free[max(node, 0), 0] + free[0, 1]) % 4
    return np.inf if cost == 3 else float(cost)


@cheapest
def choosy(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[float, float]:
    """Return the same for servers and nodes."""
    local = (2 * node + free[node, 0]) % 3
    return (np.inf if free[0, 1] == 4 else free[0, 1] % 2), (np.inf if local == 2 else float(local))


@cheapest
def bounded(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[int, int, int]:
    """Return a bound of the server, whole costs of places, and an order of its nodes."""
    return left(free) // 4, left(free) // 4 + (free[max(node, 0), 1] + max(node, 0)) % 3, -free[node, 0]


@cheapest
def even(free: Ints, capacity: Ints, taken: Ints, node: int) -> float:
    """Return the largest share that a request leaves free of anything: arrays, and no word of spread requests."""
    result: float = ((free - taken) / capacity).max()
    return result


@cheapest
def dear(free: Ints, capacity: Ints, taken: Ints, node: int) -> float:
    """Return costs beyond whole numbers of 64 bits."""
    cost = (free[max(node, 0), 0] + max(node, 0)) % 4
    return np.inf if cost == 3 else 1e300 * (1 + cost)
