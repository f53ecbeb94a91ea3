"""Worst-Fit."""

from __future__ import annotations

from agents.rules.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import inlined, kernel
from simcore.vocabulary import Amounts, Ints


@kernel
def worst_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan`: the fitting server with most remaining of the first resource, then its fitting node with most."""
    nodes: int = free.shape[1]
    return _scan(free, demand, spread, 2) if nodes == 2 else _scan(free, demand, spread, nodes)


@inlined
def _scan(free: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
    """`nodes` is `free.shape[1]`: a constant makes the loop faster."""
    best, best_left = -1, -1
    for server in range(len(free)):
        left = 0
        for node in range(nodes):
            left += free[server, node, 0]
        if left <= best_left:
            continue
        if spread:
            if fits_spread(free, server, demand):
                best, best_left = server * nodes, left
            continue
        most = -1
        for node in range(nodes):
            if free[server, node, 0] > most and fits_node(free, server, node, demand):
                best, best_left, most = server * nodes + node, left, free[server, node, 0]
    return best


class WorstFit(ScanAgent):
    """The server with the most remaining CPU that fits, then the node with the most: spreads the load."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(worst_fit)
