"""Takes the first place that has room: First-Fit."""

from __future__ import annotations

from agents.rules.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints


@kernel
def first_fit(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, the first server, and its first node, on which the request fits."""
    nodes: int = free.shape[1]
    for server in range(len(free)):
        if spread:
            if fits_spread(free, server, demand):
                return server * nodes
        else:
            for node in range(nodes):
                if fits_node(free, server, node, demand):
                    return server * nodes + node
    return -1


class FirstFit(ScanAgent):
    """The server with the lowest number that fits, and its first node that does."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(first_fit)
