"""Balance-Fit."""

from __future__ import annotations

from agents.rules.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import inlined, kernel
from simcore.vocabulary import Amounts, Ints


@kernel
def balance_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """A `Scan`: the fitting server whose nodes differ most in free share, the emptiest fitting node of it.

    Differences are compared as the floats that they are: what is published comes out that way, to the last digit.
    """
    nodes: int = free.shape[1]
    return _scan(free, capacity, demand, spread, 2) if nodes == 2 else _scan(free, capacity, demand, spread, nodes)


@inlined
def _scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
    """`nodes` is `free.shape[1]`: a constant makes the loop faster."""
    best, best_apart = -1, -1.0
    for server in range(len(free)):
        if spread:
            if fits_spread(free, server, demand):
                return server * nodes
            continue
        chosen, chosen_share, lowest, highest = -1, -1.0, 1.0, 0.0
        for node in range(nodes):
            share = _free_share(free, capacity, server, node, len(demand))
            lowest, highest = min(lowest, share), max(highest, share)
            if share > chosen_share and fits_node(free, server, node, demand):
                chosen, chosen_share = node, share
        apart = highest - lowest
        if chosen >= 0 and apart > best_apart:
            best, best_apart = server * nodes + chosen, apart
    return best


@inlined
def _free_share(free: Ints, capacity: Ints, server: int, node: int, resources: int) -> float:
    """Least of free / capacity over the resources that the node has."""
    share = 1.0
    for r in range(resources):
        if capacity[server, node, r] > 0:
            share = min(share, free[server, node, r] / capacity[server, node, r])
    return share


class BalanceFit(ScanAgent):
    """Evens out the nodes: single requests go where nodes differ most, to the emptiest; spread ones first-fit."""

    reference = "Chan 2025, SPANE, arXiv:2504.14946: a baseline of its code"
    scan = staticmethod(balance_fit)
