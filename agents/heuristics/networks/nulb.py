"""Takes servers breadth first from the best one: NULB, network-unaware locality-based."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, answered, reaches, take
from agents.heuristics.networks.tetris import Scoring, best_scored, score, scoring
from fabric.filling import GOES_ON, begin
from fabric.network import NetworkView
from fabric.topology import Indices
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints


class Searching(NamedTuple):
    """Holds what searching the network takes: `first`, `neighbour` and `via` are the topology's, the rest is scratch.

    `seen` int64 [vertices] holds the stamp of the last request that came by; `ahead` int32 [2 links + servers + 1].
    """

    scoring: Scoring
    switches: int
    neighbour: Indices
    seen: Ints
    ahead: Indices


def searching(view: NetworkView, network: Network) -> Searching:
    """Make what one agent needs."""
    topology = view.topology
    return Searching(
        scoring=scoring(view, network),
        switches=topology.switches,
        neighbour=topology.neighbour,
        seen=np.zeros(len(topology.first) - 1, np.int64),
        ahead=np.zeros(len(topology.neighbour) + 1, np.int32),
    )


@kernel
def nulb(
    searching: Searching, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Go, as a `Rule`, breadth-first from the server with the highest score, taking what has anything free."""
    scoring, network, switches = searching.scoring, searching.scoring.network, searching.switches
    begin(network.room, demand)
    score(scoring, free, link_free, demand, bandwidth)
    start = best_scored(scoring, link_free, bandwidth, -1, weighted, False)
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
        if server >= 0 and scoring.scores[server] >= 0:
            if masked and not reaches(network, link_free, server, bandwidth, weighted):
                passed = server if passed < 0 else passed
            else:
                status = take(network, free, link_free, server, bandwidth, weighted)
        for edge in range(scoring.first[vertex], scoring.first[vertex + 1]):
            near = searching.neighbour[edge]
            if searching.seen[near] != stamp:
                searching.seen[near] = stamp
                searching.ahead[tail] = near
                tail += 1
    if status == GOES_ON and passed >= 0:  # tell for want of what
        status = take(network, free, link_free, passed, bandwidth, weighted)
    return answered(network, status)


class NULB(NetworkAgent):
    """Starts where Tetris would, and takes what is free in the order of a breadth-first search, blind to bandwidth."""

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    rule = nulb

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Searching:
        """Return scores for the first server, and room to search."""
        return searching(view, shared)
