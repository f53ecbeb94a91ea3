"""Writes what a learner sees of a network: a graph with the features of arXiv:2106.02412, for all simulations."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.network_episodes import NetworkEpisodes, NetworkRules, NetworkState, filling_of
from binwright.fabric.multi_server import Filling
from binwright.fabric.topology import Indices, Topology
from binwright.simcore.jit import lean, prepared
from binwright.simcore.types import Floats, Ints

Reals: TypeAlias = npt.NDArray[np.float32]
USUAL = 32.0
"""Seconds (steps of the published experiments): a request that is held this long has .5 as its holding time."""
ALIKE = 64
"""Different amounts that `show` keeps in mind."""
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

    def __init__(self, episodes: NetworkEpisodes, features: Features) -> None:
        topology = episodes.view.topology
        self.episodes = episodes
        self.switches, self.features = topology.switches, features
        self.seen = observation(topology, episodes.view.capacity.shape[2], episodes.count, features)
        self._observe = prepared(
            observe_all, features, episodes.rules, episodes.state, episodes.filling, self.switches, *self.seen
        )

    def __call__(self) -> Observation:
        """Return the same arrays every time, written anew. After an episode they show its last request, or nothing."""
        episodes = self.episodes
        self._observe(self.features, episodes.rules, episodes.state, episodes.filling, self.switches, *self.seen)
        return self.seen


class Watched(NamedTuple):
    """Holds what an environment looks at: few arrays of `NetworkRules`, `NetworkState` and `Filling`."""

    total: Ints
    free: Ints
    link_free: Ints
    at: Ints
    expected: Floats
    bandwidth: Ints
    result: Ints
    need: Ints
    counts: Ints
    servers: Indices
    chosen: Ints


class Shown(NamedTuple):
    """Holds what an environment shows, written where it lies: only what changed since the last time.

    The first axis of most arrays is the simulation. `nodes`, `edges`, `cluster` are an `Observation` with the usual
    `Features`; `chosen` int8 [s, servers] are the servers chosen; `rewards` float64 [s] and `ended` bool [s] say what
    came of the last step. `row` int64 [s] is the request that is shown, -1 for none, and `needed` int64 [s, resources]
    what it was shown to need. `amounts` int64 and `values` float64 [`ALIKE`] are scratch.
    """

    nodes: Reals
    edges: Reals
    cluster: Reals
    chosen: npt.NDArray[np.int8]
    rewards: Floats
    ended: npt.NDArray[np.bool_]
    row: Ints
    needed: Ints
    amounts: Ints
    values: Floats


def watched(episodes: NetworkEpisodes) -> Watched:
    """Collect what is looked at; to be done again when `episodes.state` was replaced."""
    state, room = episodes.state, episodes.filling
    return Watched(
        episodes.rules.total,
        *(state.free, state.link_free, state.at, state.expected, state.bandwidth, state.result),
        *(room.need, room.counts, room.servers, room.chosen),
    )


@lean
def show(watched: Watched, switches: int, rewards: Floats, shown: Shown, first: int, end: int, stepped: bool) -> None:
    """Write all that is `shown` of simulations `first` to `end` - 1: the same `Observation` as `observe_all` does.

    Where they have `stepped`, also what came of it; `rewards` float64 [3] are for a request placed, for one rejected,
    and for a choice.
    """
    for i in range(first, end):
        if stepped:
            placed, rejected = watched.result[i, 0], watched.result[i, 1]
            shown.rewards[i] = placed * rewards[0] + rejected * rewards[1] + rewards[2]
            shown.ended[i] = watched.at[i, 0] >= watched.at[i, 1]
        _show(watched, switches, shown, i)


@lean
def _show(watched: Watched, switches: int, shown: Shown, i: int) -> None:
    """Show one simulation. From choice to choice for one request only what it needs changes, and what it has."""
    at, stamp, resources = watched.at[i, 0], watched.counts[i, 3], watched.need.shape[1]
    row = min(at, watched.at[i, 1] - 1)
    if row < 0 or (at > row and shown.row[i] == at):  # there is nothing to show, or it was over before
        return
    nodes, anew = shown.nodes[i], shown.row[i] != at
    shown.row[i] = at
    for r in range(resources):
        if anew or shown.needed[i, r] != watched.need[i, r]:
            shown.needed[i, r] = watched.need[i, r]
            there = _show_resource(watched.free[i], watched.need[i, r], r, nodes[switches:], shown)
            total = watched.total[r]
            shown.cluster[i, r] = 1.0 - there / total if total > 0 else 0.0
    if anew:
        for server in range(shown.chosen.shape[1]):
            is_chosen = watched.chosen[i, server] == stamp
            shown.chosen[i, server] = is_chosen
            nodes[switches + server, resources] = 1.0 if is_chosen else 0.0
        _show_links(watched.link_free[i], watched.bandwidth[i, row], shown.edges[i])
        duration = watched.expected[i, row]
        shown.cluster[i, resources] = duration / (duration + USUAL) if duration < np.inf else 1.0
    elif watched.counts[i, 0] > 0:
        server = watched.servers[i, watched.counts[i, 0] - 1]
        shown.chosen[i, server] = 1
        nodes[switches + server, resources] = 1.0


@lean
def _show_resource(free: Ints, need: int, r: int, nodes: Reals, shown: Shown) -> int:
    """Write what servers have of a resource; returns the sum. What many servers have is computed once."""
    amounts, values = shown.amounts, shown.values
    for place in range(ALIKE):
        amounts[place] = -1
    there = 0
    for server in range(len(free)):
        amount = 0
        for node in range(free.shape[1]):
            amount += free[server, node, r]
        place = (amount >> 6) % ALIKE  # quanta of whole units lie apart
        if amounts[place] != amount:
            amounts[place], values[place] = amount, _enough(False, amount, need)
        nodes[server, r] = values[place]
        there += amount
    return there


@lean
def _show_links(link_free: Ints, bandwidth: int, edges: Reals) -> None:
    before, same = 0, _enough(False, 0, bandwidth)
    for link in range(len(link_free)):
        if link_free[link] != before:
            before = link_free[link]
            same = _enough(False, before, bandwidth)
        edges[link] = same


@lean
def observe_all(
    features: Features,
    rules: NetworkRules,
    state: NetworkState,
    fillings: Filling,
    switches: int,
    nodes: Reals,
    edges: Reals,
    cluster: Reals,
) -> None:
    """Write the `Observation` of all simulations."""
    for i in range(len(nodes)):
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
        there = 0
        for server in range(len(free)):
            amount = 0
            for node in range(free.shape[1]):
                amount += free[server, node, r]
            there += amount
            nodes[server, r] = _enough(plain, amount, room.need[r])
        cluster[r] = 1.0 - there / total[r] if total[r] > 0 else 0.0
    for server in range(len(free)):
        nodes[server, resources] = 1.0 if room.chosen[server] == stamp else 0.0
    for link in range(len(link_free)):
        edges[link] = _enough(plain, link_free[link], bandwidth)
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
