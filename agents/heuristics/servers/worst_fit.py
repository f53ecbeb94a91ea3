"""Takes the emptiest server: Worst-Fit."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Amounts, Ints


@cheapest
def worst_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[int, int]:
    """Prefer the server on which most of the first resource remains, then the node."""
    return -left(free), -free[node, 0]


class WorstFit(ScanAgent):
    """The server with the most remaining CPU that fits, then the node with the most: spreads the load."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(worst_fit)
