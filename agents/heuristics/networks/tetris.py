"""Takes the servers that have most free the way that the request points: Tetris, in a network."""

from __future__ import annotations

from math import gcd, lcm
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.heuristics.networks.common import (
    Network,
    NetworkAgent,
    Paths,
    largest,
    reaches,
    take,
    wire_of,
)
from binwright.fabric.multi_server import GOES_ON, begin
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Indices
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, lean, lean_inlined
from binwright.simcore.types import Amounts, Floats, Ints
from binwright.simcore.units import SHARE

FINEST = 1000
"""Penalties are multiples of one part in this many."""
BILLION = 10.0**9
EXACT = 2**53
"""Floats are whole numbers up to here."""
Score: TypeAlias = Literal["dot-product", "cosine"]
Near: TypeAlias = Literal["last", "first", "ever"]
Links: TypeAlias = Literal["own", "misplaced"]


class Scoring(NamedTuple):
    """Holds what scoring servers takes; `weights` and `scores` are scratch.

    `scores` float64 [servers] is -1 for a server that may not be chosen; `scale` float64 [resources + 1] is the weight
    of a unit of demand, `weights` float64 [resources + 1] those of a request, the last being that of bandwidth.
    `first` and `via` are the topology's. `cosine` scores by the angle between demand and what is free alone. Scores in
    the rack of the last server chosen, or `of_first` of the first one, count `near` times, others `far`; `latest`
    int64 [1] is that rack, -1 for none, from one request to the next where `ever`. `joined` int64 [racks, 2] is what
    `joins` remembers.
    `by_name` int64 [any] are the servers in the order of their names where links are misplaced, or else none.
    """

    network: Network
    first: Indices
    via: Indices
    joined: Ints
    scale: Floats
    weights: Floats
    scores: Floats
    cosine: bool
    of_first: bool
    ever: bool
    latest: Ints
    by_name: Ints
    near: float
    far: float


def scoring(
    view: NetworkView,
    network: Network,
    score: Score,
    penalty: float = 1.0,
    near: Near = "last",
    links: Links = "own",
) -> Scoring:
    """Make what one agent needs."""
    names = view.topology.names[view.topology.switches :]
    by_name = sorted(range(len(names)), key=names.__getitem__) if links == "misplaced" else []
    far = round(penalty * FINEST)
    shared = gcd(far, FINEST)
    scale = scales(largest(view))
    return Scoring(
        network=network,
        first=view.topology.first,
        via=view.topology.via,
        joined=np.zeros((view.topology.racks, 2), np.int64),
        scale=np.array(scale, np.float64),
        weights=np.zeros(len(scale), np.float64),
        scores=np.zeros(len(view.free), np.float64),
        cosine=score == "cosine",
        of_first=near == "first",
        ever=near == "ever",
        latest=np.full(1, -1),
        by_name=np.array(by_name, np.int64),
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
    """Write the score of every server that has anything free: how much is free the way the request points."""
    weights, scale, resources = scoring.weights, scoring.scale, len(demand)
    weights[resources] = bandwidth * scale[resources]
    asked = bandwidth * weights[resources]
    for r in range(resources):
        weights[r] = demand[r] * scale[r]
        asked += demand[r] * weights[r]
    length = np.sqrt(asked)
    for server in range(len(free)):
        scoring.scores[server] = _points_of(scoring, free, link_free, server, length)


@lean_inlined
def _points_of(scoring: Scoring, free: Ints, link_free: Ints, server: int, asked: float) -> float:
    """Return the score of a server, -1 if it has nothing free; `asked` is the length of the demand.

    A cosine is in billionths, to the nearest.
    """
    weights, scale = scoring.weights, scoring.scale
    resources: int = free.shape[2]
    points, square, anything = 0.0, 0.0, False
    for r in range(resources):
        there = 0
        for node in range(free.shape[1]):
            there += free[server, node, r]
        points += there * weights[r]
        square += there * (there * scale[r])
        anything |= there > 0
    wire = max(wire_of(scoring.network.routes.servers, scoring.first, scoring.via, link_free, server), 0)
    points += wire * weights[resources]
    square += wire * (wire * scale[resources])
    if scoring.cosine and points > 0:
        points = np.floor(BILLION * (points / (asked * np.sqrt(square))) + 0.5)
    return points if anything else -1.0


@lean
def _misplace(scoring: Scoring, free: Ints, link_free: Ints) -> None:
    """Write the score of every server with links that are not its own, as the publication's program has it.

    Of the servers that may be chosen, by their numbers, the links are those of the last as many of all servers in the
    order of their names; what comes before these has none.
    """
    weights, resources, room = scoring.weights, free.shape[2], scoring.network.room
    count, owner = 0, -1
    for other in range(len(free)):
        count += _may_be_chosen(room.chosen, room.counts[3], free, other)
    for place in range(len(free)):
        server, points = scoring.by_name[place], float(0)
        for r in range(resources):
            for node in range(free.shape[1]):
                points += float(free[server, node, r] * weights[r])
        if place >= len(free) - count:
            owner += 1
            while not _may_be_chosen(room.chosen, room.counts[3], free, owner):
                owner += 1
            wire = wire_of(scoring.network.routes.servers, scoring.first, scoring.via, link_free, owner)
            points += float(max(wire, 0) * weights[resources])
        scoring.scores[server] = points if free[server].any() else -1.0


@lean_inlined
def _may_be_chosen(chosen: Ints, stamp: int, free: Ints, server: int) -> bool:
    """Tell whether a server has anything free and is not chosen."""
    return bool(chosen[server] != stamp and free[server].any())


@kernel
def best_scored(scoring: Scoring, link_free: Ints, bandwidth: int, rack: int, weighted: bool, masked: bool) -> int:
    """Return the server with the highest score, the first of equals, or -1; scores outside this rack count less.

    Those chosen already are left out.
    """
    room, scores, servers = scoring.network.room, scoring.scores, scoring.network.routes.servers
    best, most = -1, -1.0
    for server in range(len(scores)):
        if scores[server] < 0 or room.chosen[server] == room.counts[3]:
            continue
        points = scores[server] * (scoring.near if rack < 0 or servers[server, 0] == rack else scoring.far)
        if points > most and (
            not masked or reaches(scoring.network, scoring.joined, link_free, server, bandwidth, weighted)
        ):
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
    status, rack = GOES_ON, scoring.latest[0] if scoring.ever else -1
    while status == GOES_ON:
        if len(scoring.by_name) > 0:
            _misplace(scoring, free, link_free)
        server = best_scored(scoring, link_free, bandwidth, rack, weighted, masked)
        if server < 0 and masked:  # tell for want of what
            server = best_scored(scoring, link_free, bandwidth, rack, weighted, False)
        if server < 0:
            break
        status = take(network, free, link_free, server, bandwidth, weighted)
        if rack < 0 or not scoring.of_first:
            rack = scoring.latest[0] = network.routes.servers[server, 0]
    return status


class Tetris(NetworkAgent):
    """Where the largest dot product, or cosine, of demand and what is free is; `penalty` times less in other racks.

    Other racks are those without the `near` server, the last or the first chosen, or the last ever: that of an earlier
    request, too. `routes` are as the network says. With `links: misplaced` and `near: ever` it does what the program of
    arXiv:2106.02412 does, whose servers are scored with the links of others.
    """

    reference = "Grandl et al. 2014, Multi-resource packing for cluster schedulers, SIGCOMM; as in arXiv:2106.02412"
    rule = staticmethod(tetris)

    def __init__(
        self,
        penalty: float | str = 0.9,
        score: Score = "dot-product",
        near: Near = "last",
        routes: Paths | None = None,
        links: Links = "own",
    ) -> None:
        if links == "misplaced" and score == "cosine":
            remedy = "Take score: dot-product, which is what scaling all servers alike leaves."
            raise UserError("goes with dot-product only", key="links", value=links, remedy=remedy)
        self.score, self.near, self.routes, self.links = score, near, routes, links
        try:
            self.penalty = SHARE.parse(penalty)
        except UserError as error:
            raise UserError(error.problem, key="penalty", value=penalty, remedy="Write 0.9, or 90 %.") from None

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Scoring:
        """Return scores, and the penalty as whole numbers."""
        return scoring(view, shared, self.score, self.penalty, self.near, self.links)
