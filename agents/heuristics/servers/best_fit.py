"""Fills the fullest server that has room: Best-Fit."""

from __future__ import annotations

from typing import Literal

from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.errors import UnknownName, suggest
from binwright.simcore.types import Amounts, Ints


@cheapest
def best_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[int, int]:
    """Costs what remains of the first resource on the server, then on the node."""
    return left(free), free[node, 0]


@cheapest
def best_fit_loose(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> tuple[int, int]:
    """Costs what remains of the first resource on the server; prefers the node on which most remains."""
    return left(free), -free[node, 0]


class BestFit(ScanAgent):
    """The server with the least remaining CPU that fits, then the node with the least (`node: loose`: the most)."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"

    def __init__(self, node: Literal["tight", "loose"] = "tight") -> None:
        scans = {"tight": best_fit, "loose": best_fit_loose}
        if node not in scans:
            raise UnknownName("unknown choice of node", key="node", value=node, remedy=suggest(node, scans))
        self.scan = scans[node]
