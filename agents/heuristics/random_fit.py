"""A random choice among everything that fits."""

from __future__ import annotations

import numpy as np

from agents.heuristics.scan import placed
from fabric.servers import fits_node, fits_spread
from simcore.jit import kernel
from simcore.vocabulary import Agent, Amounts, Ints, Placement, Request, View


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


class RandomFit(Agent):
    """Any (server, node) that fits, or any server for a spread request, all equally likely."""

    reference = "the baseline that a choice has to beat"

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Keep the run's stream."""
        self._random = rng.random

    def decide(self, view: View, request: Request) -> Placement | None:
        """One draw for every request, whatever fits."""
        return placed(request, random_fit(view.free, request.demand, request.spread, self._random()), view)
