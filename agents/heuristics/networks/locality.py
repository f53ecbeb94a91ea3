"""Starts where Tetris would, and goes from server to server along the links: NULB and NALB, the locality-based two.

Names the neighbours of a vertex in their order, as far as they are asked for. A spine has as many links as there are
pods, and of most vertices few neighbours are needed: none are sorted beforehand.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, Paths, reaches, take
from binwright.agents.heuristics.networks.tetris import Score, Scoring, best_scored, score, scoring
from binwright.fabric.multi_server import GOES_ON, begin, has_any
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Indices
from binwright.simcore.jit import kernel, lean, lean_inlined
from binwright.simcore.types import Amounts, Ints

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Searching(NamedTuple):
    """Holds what searching the network takes: `neighbour` is the topology's, all behind `whole` is scratch.

    A search is `deep`, and takes of equal neighbours the last in the adjacency first, or broad, and takes the first.
    Neighbours behind links with `whole` int64 [vertices] free come before all others of their vertex: that is what its
    widest link can have, or `LEAST` where only the adjacency counts.

    `seen` int64 [vertices] holds the stamp of the last request that came by; `ahead` int32 [vertices] is for a stack
    or a queue. Of a vertex that came up `looked` int32 [vertices] entries of the adjacency were looked at.
    """

    scoring: Scoring
    switches: int
    deep: bool
    neighbour: Indices
    whole: Ints
    seen: Ints
    ahead: Indices
    looked: Indices


def searching(view: NetworkView, network: Network, score: Score, widest: bool, deep: bool) -> Searching:
    """Make what one agent needs; with `widest` neighbours come by the free bandwidth of the links to them."""
    topology = view.topology
    vertices = len(topology.first) - 1
    whole = np.full(vertices, LEAST)
    if widest:
        can = np.where(topology.via < 0, MOST, topology.link_capacity[topology.via])
        np.maximum.at(whole, np.repeat(np.arange(vertices), np.diff(topology.first)), can)
    return Searching(
        scoring=scoring(view, network, score),
        switches=topology.switches,
        deep=deep,
        neighbour=topology.neighbour,
        whole=whole,
        seen=np.zeros(vertices, np.int64),
        ahead=np.zeros(vertices, np.int32),
        looked=np.zeros(vertices, np.int32),
    )


@kernel
def search(
    searching: Searching, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Go, as a `Rule`, from the server with the highest score to its neighbours, and theirs, taking what has anything.

    Depth-first goes on from the last vertex that has neighbours left, breadth-first from the first.
    """
    scoring, network, switches = searching.scoring, searching.scoring.network, searching.switches
    begin(network.room, demand)
    score(scoring, free, link_free, demand, bandwidth)
    start = best_scored(scoring, link_free, bandwidth, -1, weighted, False)
    if start < 0:
        return 0
    vertex, turn, count, passed, status = switches + start, 0, 0, -1, GOES_ON
    while vertex >= 0 and status == GOES_ON:
        _come_to(searching, vertex, count)
        count += 1
        server = vertex - switches
        if server >= 0 and has_any(free, server):
            if masked and not reaches(network, scoring.joined, link_free, server, bandwidth, weighted):
                passed = server if passed < 0 else passed
            else:
                status = take(network, free, link_free, server, bandwidth, weighted)
        vertex = -1
        while vertex < 0 and turn < count:
            vertex = _next(searching, link_free, searching.ahead[count - 1 if searching.deep else turn])
            if vertex < 0 and searching.deep:
                count -= 1
            elif vertex < 0:
                turn += 1
    if status == GOES_ON and passed >= 0:  # tell for want of what
        status = take(network, free, link_free, passed, bandwidth, weighted)
    return status


@lean
def _come_to(searching: Searching, vertex: int, place: int) -> None:
    """Count a vertex as seen, and write it to this place of `ahead`."""
    searching.ahead[place] = vertex
    searching.seen[vertex] = searching.scoring.network.room.counts[3]
    searching.looked[vertex] = 0


@lean
def _next(searching: Searching, link_free: Ints, vertex: int) -> int:
    """Return the next neighbour of a vertex that was not seen, -1 without any. Changes `looked`.

    Those with whole links come as they are found in the adjacency, and then always the one with the widest link.
    """
    stamp, seen, neighbour = searching.scoring.network.room.counts[3], searching.seen, searching.neighbour
    looked, whole = searching.looked, searching.whole[vertex]
    begin, end = searching.scoring.first[vertex], searching.scoring.first[vertex + 1]
    while looked[vertex] < end - begin:
        edge = end - 1 - looked[vertex] if searching.deep else begin + looked[vertex]
        looked[vertex] += 1
        if seen[neighbour[edge]] != stamp and _room(searching, link_free, edge) >= whole:
            return int(neighbour[edge])
    best, most = -1, LEAST
    for step in range(end - begin):
        edge = end - 1 - step if searching.deep else begin + step
        room = _room(searching, link_free, edge)
        if seen[neighbour[edge]] != stamp and (best < 0 or room > most):
            best, most = int(neighbour[edge]), room
    return best


@lean_inlined
def _room(searching: Searching, link_free: Ints, edge: int) -> int:
    """Return what the link of an entry of the adjacency has free; without a link there is no bound."""
    link = searching.scoring.via[edge]
    return int(link_free[link]) if link >= 0 else MOST


class NULB(NetworkAgent):
    """Starts where Tetris would, and takes what is free in the order of a breadth-first search, blind to bandwidth.

    `score` is that of Tetris. `routes` are as the network says.
    """

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
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
