"""Fills the fullest server that has room: Best-Fit."""

from __future__ import annotations

from typing import Literal

from agents.rules.cheapest import cheapest_server, left_on
from agents.rules.scan import ScanAgent
from simcore.errors import UnknownName, suggest
from simcore.vocabulary import Amounts, Ints


@cheapest_server
def best_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool, server: int, node: int) -> tuple[float, float]:
    """Costs what remains of the first resource on the server, then on the node."""
    return left_on(free, server, 0), free[server, node, 0]


@cheapest_server
def best_fit_loose(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, server: int, node: int
) -> tuple[float, float]:
    """Costs what remains of the first resource on the server; prefers the node on which most remains."""
    return left_on(free, server, 0), -free[server, node, 0]


class BestFit(ScanAgent):
    """The server with the least remaining CPU that fits, then the node with the least (`node: loose`: the most)."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"

    def __init__(self, node: Literal["tight", "loose"] = "tight") -> None:
        scans = {"tight": best_fit, "loose": best_fit_loose}
        if node not in scans:
            raise UnknownName("unknown choice of node", key="node", value=node, remedy=suggest(node, scans))
        self.scan = scans[node]
