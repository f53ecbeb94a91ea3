"""Takes servers breadth-first from the best one: NULB, network-unaware locality-based."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, Paths, answered, reaches, take
from agents.heuristics.networks.tetris import Score, Scoring, best_scored, score, scoring
from fabric.arrays import ascending, overwrite
from fabric.filling import GOES_ON, begin, has_any
from fabric.network import NetworkView
from fabric.topology import Indices
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints

MOST = np.iinfo(np.int64).max


class Searching(NamedTuple):
    """Holds what searching the network takes: `neighbour` is the topology's, `seen`, `ahead` and `order` are scratch.

    With `widest` a breadth-first search takes neighbours by the free bandwidth of the links to them, the most first.
    `order` int64 [any] are entries of the adjacency. `seen` int64 [vertices] holds the stamp of the last request that
    came by; `ahead` int32 [2 links + servers + 1].
    """

    scoring: Scoring
    switches: int
    widest: bool
    neighbour: Indices
    seen: Ints
    ahead: Indices
    order: Ints


def searching(view: NetworkView, network: Network, score: Score, widest: bool) -> Searching:
    """Make what one agent needs."""
    topology = view.topology
    return Searching(
        scoring=scoring(view, network, score),
        switches=topology.switches,
        widest=widest,
        neighbour=topology.neighbour,
        seen=np.zeros(len(topology.first) - 1, np.int64),
        ahead=np.zeros(len(topology.neighbour) + 1, np.int32),
        order=np.zeros(int(np.diff(topology.first).max()), np.int64),
    )


@kernel
def breadth_first(
    searching: Searching, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Go, as a `Rule`, breadth-first from the server with the highest score, taking what has anything free.

    Equals come in the order of the adjacency.
    """
    scoring, network, switches = searching.scoring, searching.scoring.network, searching.switches
    begin(network.room, demand)
    score(scoring, free, link_free, demand, bandwidth)
    start = best_scored(scoring, free, link_free, bandwidth, -1, weighted, False)
    if start < 0:
        return 0
    stamp = network.room.counts[3]
    searching.ahead[0] = switches + start
    searching.seen[switches + start] = stamp
    head, tail, passed, status = 0, 1, -1, GOES_ON
    while head < tail and status == GOES_ON:
        vertex = searching.ahead[head]
        head += 1
        server = vertex - switches
        if server >= 0 and has_any(free, server):
            if masked and not reaches(network, scoring.joined, link_free, server, bandwidth, weighted):
                passed = server if passed < 0 else passed
            else:
                status = take(network, free, link_free, server, bandwidth, weighted)
        for place in range(_ordered(searching, link_free, vertex)):
            near = searching.neighbour[searching.order[place]]
            if searching.seen[near] != stamp:
                searching.seen[near] = stamp
                searching.ahead[tail] = near
                tail += 1
    if status == GOES_ON and passed >= 0:  # tell for want of what
        status = take(network, free, link_free, passed, bandwidth, weighted)
    return answered(network, status)


@kernel
def _ordered(searching: Searching, link_free: Ints, vertex: int) -> int:
    """Write the adjacency of a vertex to `searching.order`, in the order of the search; returns how long it is."""
    scoring, order = searching.scoring, searching.order
    begin, count = scoring.first[vertex], scoring.first[vertex + 1] - scoring.first[vertex]
    for place in range(count):
        order[place] = begin + place
    if searching.widest and count > 1:
        full = np.empty(count, np.int64)
        for place in range(count):
            full[place] = -free_between(scoring, link_free, begin + place)
        overwrite(order[:count], ascending(full) + begin)
    return int(count)


@kernel
def free_between(scoring: Scoring, link_free: Ints, edge: int) -> int:
    """Return what the link of an entry of the adjacency has free; without a link there is no bound."""
    link = scoring.via[edge]
    return int(link_free[link]) if link >= 0 else MOST


class NULB(NetworkAgent):
    """Starts where Tetris would, and takes what is free in the order of a breadth-first search, blind to bandwidth.

    `score` is that of Tetris. `routes` are as the network says.
    """

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    remembers = ()
    rule = staticmethod(breadth_first)

    def __init__(self, score: Score = "dot-product", routes: Paths | None = None) -> None:
        self.score, self.routes = score, routes

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared, self.score, False)
