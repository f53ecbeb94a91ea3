"""A random choice among everything that fits."""

from __future__ import annotations

import numpy as np

from agents.heuristics.scan import ScanAgent
from fabric.servers import fits_node, fits_spread
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints, View


@kernel
def random_fit(free: Ints, demand: Amounts, spread: bool, draw: float) -> int:
    """The place at `draw`, in [0, 1), of the way through all that fit: the answer of a `Scan`.

    `free` int64 [servers, nodes, resources], unchanged.
    """
    nodes: int = free.shape[1]
    choices = 1 if spread else nodes
    count = 0
    for server in range(len(free)):
        for node in range(choices):
            count += fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)
    before = int(draw * count)
    for server in range(len(free)):
        for node in range(choices):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                if before == 0:
                    return server * nodes + node
                before -= 1
    return -1


class RandomFit(ScanAgent):
    """Any (server, node) that fits, or any server for a spread request, all equally likely."""

    reference = "the baseline that a choice has to beat"

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Draw from the run's stream, once for every request, whatever fits."""

        def scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
            return random_fit(free, demand, spread, rng.random())

        self.scan = scan
