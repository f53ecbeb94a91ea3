"""Writes what a learner sees of a network: a graph with the features of arXiv:2106.02412, for all simulations."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.network_episodes import NetworkEpisodes, NetworkRules, NetworkState, filling_of
from binwright.fabric.multi_server import Filling
from binwright.fabric.topology import Indices, Topology
from binwright.simcore.jit import lean, prepared
from binwright.simcore.types import Ints

Reals: TypeAlias = npt.NDArray[np.float32]
USUAL = 32.0
"""Seconds (steps of the published experiments): a request that is held this long has .5 as its holding time."""
NOTHING = float(1 / (1 + np.exp(np.float32(1))))
"""enough(0, wanted)."""


class Features(NamedTuple):
    """Says how an `Observation` is to be read where there are two ways.

    As `plain` features the ratio is 0 where nothing is wanted, and for switches: enough is then the sigmoid of -1, as
    for a server that has nothing. With `left` free is what the request itself has left on the servers chosen so far
    and on the links to be reserved for it.
    """

    plain: bool = False
    left: bool = False


class Observation(NamedTuple):
    """Holds what is seen. The first axis of every array is the simulation, and all numbers are from 0 to 1.

    enough(free, wanted) is the sigmoid of free / wanted - 1.

    `nodes` float32 [s, vertices, resources + 1]: enough(free, needed) of each resource, and whether it was chosen;
    the switches come first. `edges` float32 [s, edges]: enough(free, bandwidth), in the order of
    `edge_index`. `cluster` float32 [s, resources + 1]: the share of each resource in use, and the holding time.

    Free is as of before the request. Where nothing is wanted enough is 1, and switches have zeros for it. `Features`
    say how it is otherwise.
    """

    nodes: Reals
    edges: Reals
    cluster: Reals


def edge_index(topology: Topology) -> Indices:
    """Return the vertices of every edge, int32 [edges, 2]: of links, then of servers that are their own rack."""
    alone = np.flatnonzero(topology.server_link < 0)
    own = np.stack([topology.rack_of[alone], topology.switches + alone], axis=1)
    return np.concatenate([topology.link_ends, own]).astype(np.int32)


def observation(topology: Topology, resources: int, count: int, features: Features) -> Observation:
    """Make the arrays for that many simulations, and write what is constant."""
    found = Observation(
        np.zeros((count, topology.switches + topology.servers, resources + 1), np.float32),
        np.ones((count, len(edge_index(topology))), np.float32),
        np.zeros((count, resources + 1), np.float32),
    )
    if features.plain:
        found.nodes[:, : topology.switches, :resources] = NOTHING
    return found


class Observer:
    """Writes what all simulations look like, in one compiled call."""

    def __init__(self, episodes: NetworkEpisodes, features: Features, seen: Observation | None = None) -> None:
        """Write to the arrays of `seen`, where they are given; what is constant has to be there."""
        topology = episodes.view.topology
        self.episodes = episodes
        self.switches, self.features = topology.switches, features
        resources = episodes.view.capacity.shape[2]
        self.seen = seen or observation(topology, resources, episodes.count, features)
        self._observe = prepared(observe_all, *self._arguments(0, episodes.count))

    def _arguments(self, first: int, end: int) -> tuple[Any, ...]:
        episodes = self.episodes
        seen = self.features, episodes.rules, episodes.state, episodes.filling, self.switches
        return *seen, first, end, *self.seen

    def __call__(self, first: int = 0, end: int | None = None) -> Observation:
        """Return the same arrays every time, those of simulations `first` to `end` - 1 written anew.

        After an episode they show its last request, or nothing.
        """
        self._observe(*self._arguments(first, self.episodes.count if end is None else end))
        return self.seen


@lean
def observe_all(
    features: Features,
    rules: NetworkRules,
    state: NetworkState,
    fillings: Filling,
    switches: int,
    first: int,
    end: int,
    nodes: Reals,
    edges: Reals,
    cluster: Reals,
) -> None:
    """Write the `Observation` of simulations `first` to `end` - 1."""
    for i in range(first, end):
        row = min(state.at[i, 0], state.at[i, 1] - 1)
        if row >= 0:
            observe(
                features,
                rules.total,
                state.free[i],
                state.link_free[i],
                filling_of(fillings, i),
                state.bandwidth[i, row],
                state.expected[i, row],
                nodes[i, switches:],
                edges[i],
                cluster[i],
            )


@lean
def observe(
    features: Features,
    total: Ints,
    free: Ints,
    link_free: Ints,
    room: Filling,
    bandwidth: int,
    duration: float,
    nodes: Reals,
    edges: Reals,
    cluster: Reals,
) -> None:
    """Write one simulation's: `total` int64 [resources], `free` as before the request, `nodes` of servers only."""
    resources, stamp, plain = len(total), room.counts[3], features.plain
    for r in range(resources):
        there, before, same = 0, 0, _enough(plain, 0, room.need[r])
        for server in range(len(free)):
            amount = 0
            for node in range(free.shape[1]):
                amount += free[server, node, r]
            there += amount
            if amount != before:  # many servers in a row have the same
                before, same = amount, _enough(plain, amount, room.need[r])
            nodes[server, r] = same
        cluster[r] = 1.0 - there / total[r] if total[r] > 0 else 0.0
    for server in range(len(free)):
        nodes[server, resources] = 1.0 if room.chosen[server] == stamp else 0.0
    before, same = 0, _enough(plain, 0, bandwidth)
    for link in range(len(link_free)):
        if link_free[link] != before:
            before, same = link_free[link], _enough(plain, link_free[link], bandwidth)
        edges[link] = same
    if features.left:
        _deduct(features, free, link_free, room, bandwidth, nodes, edges)
    cluster[resources] = duration / (duration + USUAL) if duration < np.inf else 1.0


@lean
def _deduct(
    features: Features, free: Ints, link_free: Ints, room: Filling, bandwidth: int, nodes: Reals, edges: Reals
) -> None:
    """Write the servers chosen and the links to be reserved with what the request has left there."""
    for place in range(room.counts[0]):
        server = room.servers[place]
        for r in range(len(room.need)):
            amount = 0
            for node in range(free.shape[1]):
                amount += free[server, node, r]
            for share in range(room.counts[1]):
                if room.places[share, 0] == server:
                    amount -= room.amounts[share, r]
            nodes[server, r] = _enough(features.plain, amount, room.need[r])
    for place in range(room.counts[2]):
        link = room.links[place]
        edges[link] = _enough(features.plain, link_free[link] - bandwidth, bandwidth)


@lean
def _enough(plain: bool, free: int, wanted: int) -> float:
    if wanted == 0:
        return NOTHING if plain else 1.0
    missing = np.float32(1.0) - np.float32(free) / np.float32(wanted)
    return float(1.0 / (1.0 + np.exp(missing)))
