"""Dot product, a vector bin packing heuristic."""

from __future__ import annotations

from agents.rules.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import inlined, kernel
from simcore.vocabulary import Amounts, Ints


@kernel
def dot_product(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan`: where the demand points most the way that free capacity does, both as shares of capacity.

    A spread request scores the sum over the server's nodes, with the part that each one gives. Scores are compared
    in billionths, so that the last bits of a float decide no tie.
    """
    nodes: int = free.shape[1]
    return _scan(free, capacity, demand, spread, 2) if nodes == 2 else _scan(free, capacity, demand, spread, nodes)


@inlined
def _scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
    """`nodes` is `free.shape[1]`: a constant makes the loop faster."""
    best, best_score = -1, -1
    for server in range(len(free)):
        if spread:
            if fits_spread(free, server, demand):
                total = 0.0
                for node in range(nodes):
                    total += _score(free, capacity, server, node, demand, nodes)
                score = int(total * 1e9 + 0.5)
                if score > best_score:
                    best, best_score = server * nodes, score
        else:
            for node in range(nodes):
                if fits_node(free, server, node, demand):
                    score = int(_score(free, capacity, server, node, demand, 1) * 1e9 + 0.5)
                    if score > best_score:
                        best, best_score = server * nodes + node, score
    return best


@inlined
def _score(free: Ints, capacity: Ints, server: int, node: int, demand: Amounts, parts: int) -> float:
    """Sum over resources of demand share x free share, for one of `parts` parts of the demand."""
    score = 0.0
    for r in range(len(demand)):
        room = capacity[server, node, r]
        if room > 0:
            amount = demand[r] // parts + (node < demand[r] % parts)
            score += (amount / room) * (free[server, node, r] / room)
    return score


class DotProduct(ScanAgent):
    """Where the shares demanded and the shares free have the largest dot product."""

    reference = "Panigrahy et al. 2011, Heuristics for vector bin packing"
    scan = staticmethod(dot_product)
