"""Takes the servers that have most free the way that the request points: Tetris, in a network."""

from __future__ import annotations

from math import gcd, lcm
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, Paths, answered, largest, reaches, take, widest
from fabric.filling import GOES_ON, begin
from fabric.network import NetworkView
from fabric.topology import Indices
from simcore.errors import UserError
from simcore.jit import kernel
from simcore.units import SHARE
from simcore.vocabulary import Amounts, Floats, Ints

FINEST = 1000
"""Penalties are multiples of one part in this many."""
EXACT = 2**53
"""Floats are whole numbers up to here."""
BILLION = 10.0**9
Score: TypeAlias = Literal["dot-product", "cosine"]


class Scoring(NamedTuple):
    """Holds what scoring servers takes; `weights` and `scores` are scratch.

    `scores` float64 [servers] is -1 for a server that may not be chosen; `scale` float64 [resources + 1] is the weight
    of a unit of demand, `weights` float64 [resources + 1] those of a request, the last being that of bandwidth.
    `first` and `via` are the topology's. `cosine` scores by the angle between demand and what is free alone. Scores in
    the rack of the last server chosen, or `of_first` of the first one, count `near` times, others `far`.
    """

    network: Network
    first: Indices
    via: Indices
    scale: Floats
    weights: Floats
    scores: Floats
    cosine: bool
    of_first: bool
    near: float
    far: float


def scoring(view: NetworkView, network: Network, score: Score, penalty: float = 1.0, of_first: bool = False) -> Scoring:
    """Make what one agent needs."""
    far = round(penalty * FINEST)
    shared = gcd(far, FINEST)
    scale = scales(largest(view))
    return Scoring(
        network=network,
        first=view.topology.first,
        via=view.topology.via,
        scale=np.array(scale, np.float64),
        weights=np.zeros(len(scale), np.float64),
        scores=np.zeros(len(view.free), np.float64),
        cosine=score == "cosine",
        of_first=of_first,
        near=float(FINEST // shared),
        far=float(far // shared),
    )


def scales(most: list[int]) -> list[float]:
    """Return what free x demand of each resource, and of bandwidth, is multiplied with.

    That makes it the product of both as shares of the largest server, times something common to all: whole numbers, so
    that sums are exact and ties are ties, unless servers are of very odd sizes.
    """
    common = lcm(*(each**2 for each in most if each))
    scale = [common // each**2 if each else 0 for each in most]
    shared = gcd(*scale)
    if max(scale) // shared < EXACT:
        return [float(each // shared) for each in scale]
    return [(most[-1] / each) ** 2 if each else 0.0 for each in most]


@kernel
def score(scoring: Scoring, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> None:
    """Write the score of every server that has anything free: how much is free the way the request points.

    A cosine is written in billionths, to the nearest.
    """
    weights, scores, scale, resources = scoring.weights, scoring.scores, scoring.scale, len(demand)
    servers, first, via = scoring.network.routes.servers, scoring.first, scoring.via
    weights[resources] = bandwidth * scale[resources]
    asked = bandwidth * weights[resources]
    for r in range(resources):
        weights[r] = demand[r] * scale[r]
        asked += demand[r] * weights[r]
    for server in range(len(free)):
        points, square, anything = 0.0, 0.0, False
        for r in range(resources):
            there = 0
            for node in range(free.shape[1]):
                there += free[server, node, r]
            points += there * weights[r]
            square += there * (there * scale[r])
            anything |= there > 0
        link = servers[server, 1]
        wire = max(link_free[link] if link >= 0 else widest(first, via, link_free, servers[server, 0]), 0)
        points += wire * weights[resources]
        square += wire * (wire * scale[resources])
        if scoring.cosine and points > 0:
            points = np.floor(BILLION * (points / (np.sqrt(asked) * np.sqrt(square))) + 0.5)
        scores[server] = points if anything else -1.0


@kernel
def best_scored(scoring: Scoring, link_free: Ints, bandwidth: int, rack: int, weighted: bool, masked: bool) -> int:
    """Return the server with the highest score, the first of equals, or -1; scores outside this rack count less."""
    scores, servers, near, far = scoring.scores, scoring.network.routes.servers, scoring.near, scoring.far
    best, most = -1, -1.0
    for server in range(len(scores)):
        if scores[server] < 0:
            continue
        points = scores[server] * (near if rack < 0 or servers[server, 0] == rack else far)
        if points > most and (not masked or reaches(scoring.network, link_free, server, bandwidth, weighted)):
            best, most = server, points
    return best


@kernel
def tetris(
    scoring: Scoring, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Take, as a `Rule`, the server with the highest score, again and again."""
    network = scoring.network
    begin(network.room, demand)
    score(scoring, free, link_free, demand, bandwidth)
    status, rack = GOES_ON, -1
    while status == GOES_ON:
        server = best_scored(scoring, link_free, bandwidth, rack, weighted, masked)
        if server < 0 and masked:  # tell for want of what
            server = best_scored(scoring, link_free, bandwidth, rack, weighted, False)
        if server < 0:
            break
        status = take(network, free, link_free, server, bandwidth, weighted)
        scoring.scores[server] = -1.0
        if rack < 0 or not scoring.of_first:
            rack = network.routes.servers[server, 0]
    return answered(network, status)


class Tetris(NetworkAgent):
    """Where the largest dot product, or cosine, of demand and what is free is; `penalty` times less in other racks.

    Other racks are those without the `near` server, the last or the first chosen. `routes` are as the network says.
    """

    reference = "Grandl et al. 2014, Multi-resource packing for cluster schedulers, SIGCOMM; as in arXiv:2106.02412"
    rule = staticmethod(tetris)

    def __init__(
        self,
        penalty: float | str = 0.9,
        score: Score = "dot-product",
        near: Literal["last", "first"] = "last",
        routes: Paths | None = None,
    ) -> None:
        self.score, self.near, self.routes = score, near, routes
        try:
            self.penalty = SHARE.parse(penalty)
        except UserError as error:
            raise UserError(error.problem, key="penalty", value=penalty, remedy="Write 0.9, or 90 %.") from None

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Scoring:
        """Return scores, and the penalty as whole numbers."""
        return scoring(view, shared, self.score, self.penalty, self.near == "first")
