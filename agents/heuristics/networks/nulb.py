"""Takes servers breadth-first from the best one: NULB, network-unaware locality-based."""

from __future__ import annotations

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, Paths
from agents.heuristics.networks.searching import Searching, search, searching
from agents.heuristics.networks.tetris import Score
from fabric.network import NetworkView


class NULB(NetworkAgent):
    """Starts where Tetris would, and takes what is free in the order of a breadth-first search, blind to bandwidth.

    `score` is that of Tetris. `routes` are as the network says.
    """

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    remembers = ()
    rule = staticmethod(search)

    def __init__(self, score: Score = "dot-product", routes: Paths | None = None) -> None:
        self.score, self.routes = score, routes

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared, self.score, widest=False, deep=False)
