"""Writes what a learner sees of a network: a graph with the features of arXiv:2106.02412, for all simulations."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.many_networks import NetworkEpisodes, NetworkState, filling_of
from binwright.fabric.multi_server import Filling
from binwright.fabric.topology import Topology
from binwright.simcore.jit import lean, prepared
from binwright.simcore.types import Floats, Ints

Reals: TypeAlias = npt.NDArray[np.float32]
USUAL = 32.0
"""Seconds (steps of the published experiments): a request that is held this long has .5 as its holding time."""
REWARD = 10.0
"""For a request placed; as much is lost for one rejected."""
NOTHING = float(1 / (1 + np.exp(np.float32(1))))
"""enough(0, wanted)."""


class Observation(NamedTuple):
    """Holds what is seen of many simulations, which are the first axis, or of one; all numbers are from 0 to 1.

    enough(free, wanted) is the sigmoid of free / wanted - 1.

    `nodes` float32 [s, vertices, resources + 1]: enough(free, needed) of each resource, and whether it was chosen;
    the switches come first. `edges` float32 [s, links]: enough(free, bandwidth). `cluster` float32 [s, resources + 1]:
    the share of each resource in use, and the holding time. `chosen` int8 [s, servers] are the servers chosen.

    Free is as of before the request. Where nothing is wanted enough is 1, and switches have zeros for it. As the `text`
    of the publication can be read, free is what the request itself has left on the servers chosen so far and on the
    links to be reserved for it, and enough is the sigmoid of -1 for switches and where nothing is wanted.
    """

    nodes: Reals
    edges: Reals
    cluster: Reals
    chosen: npt.NDArray[np.int8]


class Watched(NamedTuple):
    """Holds what is looked at: few arrays of `NetworkRules` and `NetworkState`, as each costs time."""

    total: Ints
    free: Ints
    link_free: Ints
    at: Ints
    expected: Floats
    bandwidth: Ints
    result: Ints
    filling: Filling


def shown(topology: Topology, resources: int, count: int, text: bool) -> Observation:
    """Make the arrays for that many simulations, and write what is constant."""
    result = Observation(
        nodes=np.zeros((count, topology.switches + topology.servers, resources + 1), np.float32),
        edges=np.ones((count, topology.links), np.float32),
        cluster=np.zeros((count, resources + 1), np.float32),
        chosen=np.zeros((count, topology.servers), np.int8),
    )
    if text:
        result.nodes[:, : topology.switches, :resources] = NOTHING
    return result


class Observer:
    """Writes what all simulations look like, in one compiled call.

    `text` is as in `Observation`. `rewards` float64 [s] and `ended` bool [s] say what came of the last step.
    """

    _state: NetworkState | None = None

    def __init__(self, episodes: NetworkEpisodes, text: bool = False) -> None:
        self.episodes, self._text = episodes, text
        self.rewards, self.ended = np.zeros(episodes.count), np.zeros(episodes.count, np.bool_)
        self.shown = shown(episodes.view.topology, len(episodes.view.resources), episodes.count, text)
        self._show: Any = prepared(show, *self._arguments(), 0, episodes.count, True)

    def _arguments(self) -> tuple[Any, ...]:
        if self._state is not (state := self.episodes.state):  # a `reset` may replace the arrays
            arrays = state.many.state.free, state.link_free, state.at, state.expected, state.bandwidth, state.result
            self._state, self._watched = state, Watched(self.episodes.rules.total, *arrays, self.episodes.filling)
        return self._watched, self._text, self.shown, self.rewards, self.ended

    def show(self, first: int, end: int, stepped: bool) -> None:
        """Write what changed of simulations `first` to `end` - 1, and if `stepped` what came of it."""
        self._show(*self._arguments(), first, end, stepped)

    def __call__(self) -> Observation:
        """Return the same arrays every time, written anew. After an episode they show its last request, or nothing."""
        self.show(0, self.episodes.count, False)
        return self.shown


@lean
def show(
    watched: Watched, text: bool, shown: Observation, rewards: Floats, ended: npt.NDArray[np.bool_], first: int,
    end: int, stepped: bool,
) -> None:  # fmt: skip
    """Write all that is `shown` of simulations `first` to `end` - 1: of those that are over the last request."""
    for i in range(first, end):
        at, last, result = watched.at[i, 0], watched.at[i, 1] - 1, watched.result[i]
        if stepped:
            rewards[i], ended[i] = REWARD * (result[0] - result[1]), at > last
        if last >= 0:
            row, room, free, link_free = min(at, last), watched.filling, watched.free[i], watched.link_free[i]
            seen = Observation(shown.nodes[i], shown.edges[i], shown.cluster[i], shown.chosen[i])
            need, chosen, stamp = room.need[i], room.chosen[i], room.counts[i, 3]
            wanted = watched.bandwidth[i, row], watched.expected[i, row]
            observe(watched.total, free, link_free, need, chosen, stamp, *wanted, text, seen)
            if text:
                deduct(free, link_free, filling_of(room, i), watched.bandwidth[i, row], seen)


@lean
def observe(
    total: Ints, free: Ints, link_free: Ints, need: Ints, chosen: Ints, stamp: int, bandwidth: int, duration: float,
    text: bool, seen: Observation,
) -> None:  # fmt: skip
    """Write what is `seen` of one simulation, in which `total` int64 [resources] is what all servers have.

    `need`, `chosen` and its `stamp` are as in `Filling`.
    """
    resources, cluster, edges = len(need), seen.cluster, seen.edges
    nodes = seen.nodes[len(seen.nodes) - len(free) :]
    for r in range(resources):
        before, same, left = 0, _enough(text, 0, need[r]), 0
        for server in range(len(free)):
            amount = _free_on(free, server, r)
            if amount != before:  # many are alike
                before, same = amount, _enough(text, amount, need[r])
            nodes[server, r] = same
            left += amount
        cluster[r] = 1.0 - left / total[r] if total[r] > 0 else 0.0
    for server in range(len(free)):
        is_chosen = chosen[server] == stamp
        seen.chosen[server], nodes[server, resources] = is_chosen, 1.0 if is_chosen else 0.0
    before, same = 0, _enough(text, 0, bandwidth)
    for link in range(len(link_free)):
        if link_free[link] != before:
            before, same = link_free[link], _enough(text, link_free[link], bandwidth)
        edges[link] = same
    cluster[resources] = duration / (duration + USUAL) if duration < np.inf else 1.0


@lean
def deduct(free: Ints, link_free: Ints, room: Filling, bandwidth: int, seen: Observation) -> None:
    """Write the servers chosen and the links to be reserved with what the request has left there."""
    nodes = seen.nodes[len(seen.nodes) - len(free) :]
    for place in range(room.counts[0]):
        server = room.servers[place]
        for r in range(len(room.need)):
            amount = _free_on(free, server, r)
            for share in range(room.counts[1]):
                amount -= room.amounts[share, r] if room.places[share, 0] == server else 0
            nodes[server, r] = _enough(True, amount, room.need[r])
    for place in range(room.counts[2]):
        link = room.links[place]
        seen.edges[link] = _enough(True, link_free[link] - bandwidth, bandwidth)


@lean
def _free_on(free: Ints, server: int, resource: int) -> int:
    """Add up what is free of a resource on all nodes of a server."""
    amount = 0
    for node in range(free.shape[1]):
        amount += free[server, node, resource]
    return amount


@lean
def _enough(text: bool, free: int, wanted: int) -> float:
    if wanted == 0:
        return NOTHING if text else 1.0
    missing = np.float32(1.0) - np.float32(free) / np.float32(wanted)
    return float(1.0 / (1.0 + np.exp(missing)))
