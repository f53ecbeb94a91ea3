"""Makes whole rules from one short function: what a place costs. The search for the cheapest place is written here.

The cost is a function of `(free, capacity, demand, spread, server, node)`, where `free` and `capacity` are int64
[servers, nodes, resources], unchanged, and `demand` has the quanta of each resource. For a spread request `node` is 0.
It is compiled: it may call other `@kernel` functions and numpy, and the constants that it names are part of what is
kept of it. Lower is better, equals go to the lowest server and then the lowest node, and infinity means nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from agents.rules.scan import Scan
from fabric.servers import fits_node, fits_spread
from simcore.jit import inlined, kernel
from simcore.vocabulary import Amounts, Ints

PlaceCost: TypeAlias = Callable[[Ints, Ints, Amounts, bool, int, int], float]
ServerCost: TypeAlias = Callable[[Ints, Ints, Amounts, bool, int, int], tuple[float, float]]
NOTHING = np.iinfo(np.int64).max
"""More than any place costs."""


def cheapest_place(cost: PlaceCost) -> Scan:
    """Make a `Scan` of a cost: the place that costs least of all on which the request fits."""
    of = inlined(cost)

    @inlined
    def search(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
        best, least = -1, NOTHING
        for server in range(len(free)):
            if spread:
                if fits_spread(free, server, demand):
                    here: Any = of(free, capacity, demand, True, server, 0)
                    if here < least:
                        best, least = server * nodes, here
            else:
                for node in range(nodes):
                    if fits_node(free, server, node, demand):
                        here = of(free, capacity, demand, False, server, node)
                        if here < least:
                            best, least = server * nodes + node, here
        return best

    return _scan_of(cost, search)


def cheapest_server(cost: ServerCost) -> Scan:
    """Make a `Scan` of two costs, of the server and of the node.

    It takes the cheapest server on which the request fits, and of its nodes on which it fits the cheapest one. For a
    spread request only the first cost counts.
    """
    of = inlined(cost)

    @inlined
    def search(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int) -> int:
        best, least = -1, NOTHING
        for server in range(len(free)):
            # Only one of the two costs is used at a time, and the compiler leaves the other one out.
            of_server: Any = of(free, capacity, demand, spread, server, 0)[0]
            if not of_server < least:
                continue
            if spread:
                if fits_spread(free, server, demand):
                    best, least = server * nodes, of_server
                continue
            least_here = NOTHING
            for node in range(nodes):
                of_node: Any = of(free, capacity, demand, spread, server, node)[1]
                if of_node < least_here and fits_node(free, server, node, demand):
                    best, least, least_here = server * nodes + node, of_server, of_node
        return best

    return _scan_of(cost, search)


def _scan_of(cost: Callable[..., object], search: Callable[[Ints, Ints, Amounts, bool, int], int]) -> Scan:
    def scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
        nodes: int = free.shape[1]
        # A constant makes the search up to three times as fast: two nodes are usual, and one.
        if nodes == 2:
            return search(free, capacity, demand, spread, 2)
        if nodes == 1:
            return search(free, capacity, demand, spread, 1)
        return search(free, capacity, demand, spread, nodes)

    # Kept machine code is named after the function that somebody wrote.
    scan.__module__, scan.__name__, scan.__qualname__ = cost.__module__, cost.__name__, cost.__qualname__
    scan.__doc__ = cost.__doc__
    return kernel(scan)


@inlined
def left_on(free: Ints, server: int, resource: int) -> int:
    """Add up what is free of a resource on all nodes of a server, for cost functions."""
    left = 0
    for node in range(free.shape[1]):
        left += free[server, node, resource]
    return left
