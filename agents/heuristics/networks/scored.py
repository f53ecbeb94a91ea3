"""Scores servers by how much is free the way that a request points: Tetris; NULB and NALB search on from the best."""

from math import gcd, lcm
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.heuristics.networks.common import NetworkAgent, largest, one_by_one
from binwright.fabric.multi_server import Filling, has_any, may_be_chosen, reaches
from binwright.fabric.network import NetworkView
from binwright.fabric.servers import free_on
from binwright.fabric.topology import Indices, adjacency
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Floats, Ints

NEAR, FAR = 10.0, 9.0
"""What scores are multiplied with in the rack of the last server chosen, and in others."""
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Links: TypeAlias = Literal["own", "misplaced"]


class Scores(NamedTuple):
    """Holds what scoring servers takes; `weights` and `scores` are scratch.

    `scores` float64 [servers] is -1 for a server that may not be chosen; `scale` float64 [resources + 1] is the weight
    of a unit of demand, `weights` float64 [resources + 1] those of a request, the last being that of bandwidth.
    `latest` int64 [1] is the rack of the last server chosen, -1 for none. `by_name` int64 [any] are the servers in the
    order of their names where links are misplaced, or else none.
    """

    room: Filling
    scale: Floats
    weights: Floats
    scores: Floats
    latest: Ints
    by_name: Ints


def scores_of(view: NetworkView, room: Filling, links: Links = "own") -> Scores:
    """Make what one agent needs."""
    names = view.topology.names[view.topology.switches :]
    by_name = sorted(range(len(names)), key=names.__getitem__) if links == "misplaced" else []
    scale = np.array(scales(largest(view)), np.float64)
    scratch = np.zeros_like(scale), np.zeros(len(view.free)), np.full(1, -1)
    return Scores(room, scale, *scratch, np.array(by_name, np.int64))


def scales(most: list[int]) -> list[float]:
    """Return the weight of free x demand for each resource and for bandwidth, of which a server has `most` at most.

    Weights are as 1 / most^2, so that shares of the largest server count, and 0 where there is none. As the smallest
    such whole numbers they keep scores whole, which floats hold exactly up to 2^53: equal scores are equal.
    """
    common = lcm(*(each**2 for each in most if each))
    scale = [common // each**2 if each else 0 for each in most]
    return [float(each // gcd(*scale)) for each in scale]


@lean
def score(of: Scores, free: Ints, link_free: Ints, bandwidth: int) -> None:
    """Write the score of every server that has anything free: how much is free the way the request points.

    The request is what the room still needs: none of it is taken yet.
    """
    weights, scale, resources = of.weights, of.scale, free.shape[2]
    weights[resources] = bandwidth * scale[resources]
    for r in range(resources):
        weights[r] = of.room.need[r] * scale[r]
    for server in range(len(free)):
        of.scores[server] = _score(of, free, link_free, server, server)
    if len(of.by_name) == 0:
        of.latest[0] = -1


@lean_inlined
def _score(of: Scores, free: Ints, link_free: Ints, server: int, owner: int) -> float:
    """Return the score of a server, -1 if it has nothing free. Its link is that of the server `owner`, or none."""
    resources: int = free.shape[2]
    points, anything = 0.0, False
    for r in range(resources):
        amount = free_on(free, server, r)
        points += amount * of.weights[r]
        anything |= amount > 0
    if owner >= 0:
        points += max(link_free[owner], 0) * of.weights[resources]
    return points if anything else -1.0


@lean
def _misplace(of: Scores, free: Ints, link_free: Ints) -> None:
    """Write the score of every server with links that are not its own, as the publication's program has it.

    Of the servers that may be chosen, by their numbers, the links are those of the last as many of all servers in the
    order of their names; what comes before these has none.
    """
    count, owner = 0, -1
    for other in range(len(free)):
        count += may_be_chosen(of.room, free, other)
    for place in range(len(free)):
        if place >= len(free) - count:
            owner += 1
            while not may_be_chosen(of.room, free, owner):
                owner += 1
        server = of.by_name[place]
        of.scores[server] = _score(of, free, link_free, server, owner)


@lean
def best_scored(of: Scores, link_free: Ints, bandwidth: int, rack: int, masked: bool) -> int:
    """Return the server with the highest score, the first of equals, or -1; scores outside this rack count less.

    Those chosen already are left out.
    """
    room, scores, routes = of.room, of.scores, of.room.routes
    best, most = -1, -1.0
    for server in range(len(scores)):
        if scores[server] < 0 or room.chosen[server] == room.counts[3]:
            continue
        points = scores[server] * (NEAR if rack < 0 or routes.rack_of[server] == rack else FAR)
        if points > most and (not masked or reaches(room, link_free, server, bandwidth)):
            best, most = server, points
    return best


@lean
def tetris(of: Scores, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Take the server with the highest score, again and again."""
    if of.room.counts[0] == 0:
        score(of, free, link_free, bandwidth)
    if len(of.by_name) > 0:
        _misplace(of, free, link_free)
    server = best_scored(of, link_free, bandwidth, of.latest[0], masked)
    if server >= 0:
        of.latest[0] = of.room.routes.rack_of[server]
    return server


class Tetris(NetworkAgent):
    """Where the largest dot product of demand and what is free is; .9 times as much in other racks.

    Other racks are those without the last server chosen. With `links: misplaced` it does what the program of
    arXiv:2106.02412 does, which scores servers with the links of others, and remembers the rack of earlier requests.
    """

    reference = "Grandl et al. 2014, Multi-resource packing for cluster schedulers, SIGCOMM; as in arXiv:2106.02412"
    rule = staticmethod(one_by_one(tetris))

    def __init__(self, links: Links = "own") -> None:
        self.links = links

    def scratch(self, view: NetworkView, room: Filling) -> Scores:
        return scores_of(view, room, self.links)


COUNT, TURN, PASSED = range(3)
"""Places of `Traversal.progress`: vertices in `ahead`, whose turn it is, a server passed over."""


class Traversal(NamedTuple):
    """Holds what searching the network takes: all behind `via` is scratch.

    A search is `deep`, takes neighbours with the widest links first, and of equals the last in the adjacency; or it is
    broad, and takes the first. `seen` int64 [vertices] holds the stamp of the
    last request that came by; `ahead` int32 [vertices] is for a stack or a queue, `progress` int64 [3].
    """

    room: Filling
    scores: Scores
    switches: int
    deep: bool
    first: Indices
    neighbour: Indices
    via: Indices
    seen: Ints
    ahead: Indices
    progress: Ints


@lean
def search(of: Traversal, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Go from the server with the highest score to its neighbours, and theirs, taking what has anything.

    Depth-first goes on from the last vertex that has neighbours left, breadth-first from the first.
    """
    progress, room = of.progress, of.room
    if room.counts[0] == 0:
        score(of.scores, free, link_free, bandwidth)
        start = best_scored(of.scores, link_free, bandwidth, -1, False)
        progress[COUNT], progress[TURN], progress[PASSED] = 1, 0, -1
        if start >= 0:
            of.ahead[0], of.seen[of.switches + start] = of.switches + start, room.counts[3]
        return int(start)
    while progress[TURN] < progress[COUNT]:
        vertex = _next(of, link_free, of.ahead[progress[COUNT] - 1 if of.deep else progress[TURN]])
        if vertex < 0:
            progress[COUNT if of.deep else TURN] += -1 if of.deep else 1
            continue
        of.ahead[progress[COUNT]], of.seen[vertex] = vertex, room.counts[3]
        progress[COUNT] += 1
        server = vertex - of.switches
        if server >= 0 and has_any(free, server):
            if not masked or reaches(room, link_free, server, bandwidth):
                return int(server)
            progress[PASSED] = server if progress[PASSED] < 0 else progress[PASSED]
    if masked:
        return -1
    passed, progress[PASSED] = progress[PASSED], -1
    return int(passed)


@lean
def _next(of: Traversal, link_free: Ints, vertex: int) -> int:
    """Return the next neighbour of a vertex that was not seen, -1 without any: the first of those with widest links."""
    best, most = -1, LEAST
    begin, end = of.first[vertex], of.first[vertex + 1]
    for step in range(end - begin):
        edge = end - 1 - step if of.deep else begin + step
        if of.seen[of.neighbour[edge]] != of.room.counts[3]:
            width = link_free[of.via[edge]] if of.deep else MOST
            if best < 0 or width > most:
                best, most = int(of.neighbour[edge]), width
            if most == MOST:
                break
    return best


class NULB(NetworkAgent):
    """Starts where Tetris would, and takes what is free in the order of a breadth-first search, blind to bandwidth."""

    reference = "Zervas et al. 2018, Optically disaggregated data centers, JOCN 10 (2); as in arXiv:2106.02412"
    rule = staticmethod(one_by_one(search))
    deep: ClassVar[bool] = False

    def scratch(self, view: NetworkView, room: Filling) -> Traversal:
        topology, vertices = view.topology, len(view.topology.level)
        near = adjacency(topology.link_ends, topology.servers, vertices)
        scratch = np.zeros(vertices, np.int64), np.zeros(vertices, np.int32), np.zeros(3, np.int64)
        return Traversal(room, scores_of(view, room), topology.switches, self.deep, *near, *scratch)


class NALB(NULB):
    """Starts where Tetris would, and searches depth-first along the links with the most bandwidth free."""

    deep = True
