"""Protects the room for large spread requests, and else does as Best-Fit: Internal."""

from __future__ import annotations

import numpy as np

from agents.rules.candidates import room_lost
from agents.rules.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import inlined, kernel
from simcore.vocabulary import Amounts, Ints

MOST = np.iinfo(np.int64).max


@kernel
def internal(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, where it costs least room; then the server with least CPU free; then its emptier node.

    A server has room for a size, 80, 40 or 20 %, while all its nodes have that much of every resource free. Losing a
    size costs more than losing all smaller ones.
    """
    nodes: int = free.shape[1]
    return _scan(free, capacity, demand, spread, 2) if nodes == 2 else _scan(free, capacity, demand, spread, nodes)


@inlined
def _scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
    """Search all servers; `nodes` is `free.shape[1]`, as a constant where that makes the loop faster."""
    best, best_cost, best_left, needed = -1, MOST, MOST, demand[0]
    for server in range(len(free)):
        left = 0
        for node in range(nodes):
            left += free[server, node, 0]
        if left < needed or (left >= best_left and best_cost == 0):
            continue
        most = -1  # remaining on the best node of this server so far, if the best so far is on this server
        for node in range(1 if spread else nodes):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                cost = room_lost(free, capacity, demand, server, node, nodes, spread)
                here = free[server, node, 0]
                if cost < best_cost or (cost == best_cost and (left < best_left or (0 <= most < here))):
                    best, best_cost, best_left, most = server * nodes + node, cost, left, here
    return best


class Internal(ScanAgent):
    """Best-Fit into the emptier node, where it costs least of the room that large spread requests need."""

    reference = "ours: docs/guides/agents.md has the rule and the measurements"
    scan = staticmethod(internal)
