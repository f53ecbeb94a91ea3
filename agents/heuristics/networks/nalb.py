"""Takes servers along the links with most free: NALB, network-aware locality-based."""

from __future__ import annotations

from typing import Literal

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, Paths, answered, reaches, take
from agents.heuristics.networks.nulb import Searching, breadth_first, free_between, searching
from agents.heuristics.networks.tetris import Score, best_scored, score
from fabric.arrays import ascending
from fabric.filling import GOES_ON, begin, has_any
from fabric.network import NetworkView
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints


@kernel
def depth_first(
    searching: Searching, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Go, as a `Rule`, from the server with the highest score along the links with most free, then back, and so on.

    The neighbours of a vertex go on the stack by the free bandwidth of the links to them, the most last, equals in the
    order of the adjacency. What comes off it counts as seen only then.
    """
    scoring, network, switches = searching.scoring, searching.scoring.network, searching.switches
    begin(network.room, demand)
    score(scoring, free, link_free, demand, bandwidth)
    start = best_scored(scoring, free, link_free, bandwidth, -1, weighted, False)
    if start < 0:
        return 0
    stamp = network.room.counts[3]
    searching.ahead[0] = switches + start
    height, passed, status = 1, -1, GOES_ON
    while height > 0 and status == GOES_ON:
        height -= 1
        vertex = searching.ahead[height]
        if searching.seen[vertex] == stamp:
            continue
        searching.seen[vertex] = stamp
        server = vertex - switches
        if server >= 0 and has_any(free, server):
            if masked and not reaches(network, scoring.joined, link_free, server, bandwidth, weighted):
                passed = server if passed < 0 else passed
            else:
                status = take(network, free, link_free, server, bandwidth, weighted)
        height = _push(searching, link_free, vertex, height, stamp)
    if status == GOES_ON and passed >= 0:  # tell for want of what
        status = take(network, free, link_free, passed, bandwidth, weighted)
    return answered(network, status)


@kernel
def _push(searching: Searching, link_free: Ints, vertex: int, height: int, stamp: int) -> int:
    """Put what was not seen yet of a vertex's neighbours on the stack; returns how high it is then."""
    first = searching.scoring.first
    begin, end = first[vertex], first[vertex + 1]
    if end - begin == 1:
        near = searching.neighbour[begin]
        if searching.seen[near] != stamp:
            searching.ahead[height] = near
            height += 1
        return height
    room = np.empty(end - begin, np.int64)
    for edge in range(begin, end):
        room[edge - begin] = free_between(searching.scoring, link_free, edge)
    for place in ascending(room):
        near = searching.neighbour[begin + place]
        if searching.seen[near] != stamp:
            searching.ahead[height] = near
            height += 1
    return height


class NALB(NetworkAgent):
    """Starts where Tetris would, and searches along the links with the most bandwidth free, depth- or breadth-first.

    `score` is that of Tetris. `routes` are as the network says.
    """

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    remembers = ()

    def __init__(
        self,
        search: Literal["depth-first", "breadth-first"] = "depth-first",
        score: Score = "dot-product",
        routes: Paths | None = None,
    ) -> None:
        self.score, self.routes = score, routes
        self.rule = breadth_first if search == "breadth-first" else depth_first

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared, self.score, True)
