"""Starts where Tetris would, and goes from server to server along the links: the two locality-based heuristics."""

from __future__ import annotations

from typing import ClassVar, Literal

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
    widest: ClassVar[bool] = False
    deep = False

    def __init__(self, score: Score = "dot-product", routes: Paths | None = None) -> None:
        self.score, self.routes = score, routes

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared, self.score, widest=self.widest, deep=self.deep)


class NALB(NULB):
    """Starts where Tetris would, and searches along the links with the most bandwidth free, depth- or breadth-first.

    `score` is that of Tetris. `routes` are as the network says.
    """

    widest = True

    def __init__(
        self,
        search: Literal["depth-first", "breadth-first"] = "depth-first",
        score: Score = "dot-product",
        routes: Paths | None = None,
    ) -> None:
        super().__init__(score, routes)
        self.deep = search == "depth-first"
