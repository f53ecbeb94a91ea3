"""Takes servers along the links with most free: NALB, network-aware locality-based."""

from __future__ import annotations

from typing import Literal

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, Paths
from agents.heuristics.networks.searching import Searching, search, searching
from agents.heuristics.networks.tetris import Score
from fabric.network import NetworkView


class NALB(NetworkAgent):
    """Starts where Tetris would, and searches along the links with the most bandwidth free, depth- or breadth-first.

    `score` is that of Tetris. `routes` are as the network says.
    """

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    remembers = ()
    rule = staticmethod(search)

    def __init__(
        self,
        search: Literal["depth-first", "breadth-first"] = "depth-first",
        score: Score = "dot-product",
        routes: Paths | None = None,
    ) -> None:
        self.score, self.routes, self.deep = score, routes, search == "depth-first"

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared, self.score, widest=True, deep=self.deep)
