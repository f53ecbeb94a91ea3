"""Writes what a learner sees of a network: a graph with the features of arXiv:2106.02412, for all simulations."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.many_networks import NetworkEpisodes, filling_of
from binwright.fabric.multi_server import Filling
from binwright.fabric.topology import Topology
from binwright.simcore.jit import lean, prepared
from binwright.simcore.types import Floats, Ints

Reals: TypeAlias = npt.NDArray[np.float32]
USUAL = 32.0
"""Seconds (steps of the published experiments): a request that is held this long has .5 as its holding time."""
NOTHING = float(1 / (1 + np.exp(np.float32(1))))
"""enough(0, wanted)."""


class Observation(NamedTuple):
    """Holds what is seen. The first axis of every array is the simulation, and all but rewards are from 0 to 1.

    enough(free, wanted) is the sigmoid of free / wanted - 1.

    `nodes` float32 [s, vertices, resources + 1]: enough(free, needed) of each resource, and whether it was chosen;
    the switches come first. `edges` float32 [s, links]: enough(free, bandwidth). `cluster` float32 [s, resources + 1]:
    the share of each resource in use, and the holding time.

    Free is as of before the request. Where nothing is wanted enough is 1, and switches have zeros for it. As the `text`
    of the publication can be read, free is what the request itself has left on the servers chosen so far and on the
    links to be reserved for it, and enough is the sigmoid of -1 for switches and where nothing is wanted.

    `chosen` int8 [s, servers] are the servers chosen; `rewards` float64 [s] and `ended` bool [s] say what came of the
    last step.
    """

    nodes: Reals
    edges: Reals
    cluster: Reals
    chosen: npt.NDArray[np.int8]
    rewards: Floats
    ended: npt.NDArray[np.bool_]


class Watched(NamedTuple):
    """Holds what is looked at: few arrays of `NetworkRules`, `NetworkState` and `Filling`, as each costs time."""

    total: Ints
    free: Ints
    link_free: Ints
    at: Ints
    expected: Floats
    bandwidth: Ints
    result: Ints
    need: Ints
    counts: Ints
    chosen: Ints


def shown(topology: Topology, resources: int, count: int, text: bool) -> Observation:
    """Make the arrays for that many simulations, and write what is constant."""
    result = Observation(
        nodes=np.zeros((count, topology.switches + topology.servers, resources + 1), np.float32),
        edges=np.ones((count, topology.links), np.float32),
        cluster=np.zeros((count, resources + 1), np.float32),
        chosen=np.zeros((count, topology.servers), np.int8),
        rewards=np.zeros(count),
        ended=np.zeros(count, np.bool_),
    )
    if text:
        result.nodes[:, : topology.switches, :resources] = NOTHING
    return result


class Observer:
    """Writes what all simulations look like, in one compiled call.

    `text` is as in `Observation`; `worth` float64 [3] rewards a request placed, one rejected, and a choice.
    """

    def __init__(self, episodes: NetworkEpisodes, text: bool = False, worth: Floats | None = None) -> None:
        topology = episodes.view.topology
        self.episodes, self._text, self._switches = episodes, text, topology.switches
        self._worth = np.zeros(3) if worth is None else worth
        self.shown = shown(topology, len(episodes.view.resources), episodes.count, text)
        self._state = episodes.state
        of = self._watched = watched(episodes)
        self._show: Any = prepared(show, of, text, self._switches, self._worth, self.shown, 0, episodes.count, True)
        self._deduct: Any = prepared(deduct, of, self._switches, episodes.filling, self.shown)

    def show(self, first: int, end: int, stepped: bool) -> None:
        """Write what changed of simulations `first` to `end` - 1, and if `stepped` what came of it."""
        if self._state is not self.episodes.state:  # by a reset
            self._state, self._watched = self.episodes.state, watched(self.episodes)
        self._show(self._watched, self._text, self._switches, self._worth, self.shown, first, end, stepped)

    def __call__(self) -> Observation:
        """Return the same arrays every time, written anew. After an episode they show its last request, or nothing."""
        self.show(0, self.episodes.count, False)
        if self._text:
            self._deduct(self._watched, self._switches, self.episodes.filling, self.shown)
        return self.shown


def watched(episodes: NetworkEpisodes) -> Watched:
    """Collect what is looked at: a `reset` may replace the arrays."""
    state, room = episodes.state, episodes.filling
    arrays = state.many.state.free, state.link_free, state.at, state.expected, state.bandwidth
    return Watched(episodes.rules.total, *arrays, state.result, room.need, room.counts, room.chosen)


@lean
def show(
    watched: Watched, text: bool, switches: int, worth: Floats, shown: Observation, first: int, end: int, stepped: bool
) -> None:
    """Write all that is `shown` of simulations `first` to `end` - 1: of those that are over the last request."""
    for i in range(first, end):
        at, last = watched.at[i, 0], watched.at[i, 1] - 1
        if stepped:
            shown.rewards[i] = watched.result[i, 0] * worth[0] + watched.result[i, 1] * worth[1] + worth[2]
            shown.ended[i] = at > last
        if last >= 0:
            _show(watched, text, shown.nodes[i, switches:], shown, i, min(at, last))


@lean
def _show(watched: Watched, text: bool, nodes: Reals, shown: Observation, i: int, row: int) -> None:
    """Show one simulation."""
    free, link_free, bandwidth = watched.free[i], watched.link_free[i], watched.bandwidth[i, row]
    resources, cluster = watched.need.shape[1], shown.cluster[i]
    for r in range(resources):
        need, total, left = watched.need[i, r], watched.total[r], 0
        before, same = 0, _enough(text, 0, need)
        for server in range(len(free)):
            amount = 0
            for node in range(free.shape[1]):
                amount += free[server, node, r]
            if amount != before:  # many are alike
                before, same = amount, _enough(text, amount, need)
            nodes[server, r] = same
            left += amount
        cluster[r] = 1.0 - left / total if total > 0 else 0.0
    for server in range(len(free)):
        is_chosen = watched.chosen[i, server] == watched.counts[i, 3]
        shown.chosen[i, server], nodes[server, resources] = is_chosen, 1.0 if is_chosen else 0.0
    before, same = 0, _enough(text, 0, bandwidth)
    for link in range(len(link_free)):
        if link_free[link] != before:
            before = link_free[link]
            same = _enough(text, before, bandwidth)
        shown.edges[i, link] = same
    duration = watched.expected[i, row]
    cluster[resources] = duration / (duration + USUAL) if duration < np.inf else 1.0


@lean
def deduct(watched: Watched, switches: int, fillings: Filling, shown: Observation) -> None:
    """Write the servers chosen and the links to be reserved with what the request has left there."""
    for i in range(len(shown.nodes)):
        row, room = min(watched.at[i, 0], watched.at[i, 1] - 1), filling_of(fillings, i)
        nodes = shown.nodes[i, switches:]
        for place in range(room.counts[0] if row >= 0 else 0):
            server = room.servers[place]
            for r in range(len(room.need)):
                amount = 0
                for node in range(watched.free.shape[2]):
                    amount += watched.free[i, server, node, r]
                for share in range(room.counts[1]):
                    if room.places[share, 0] == server:
                        amount -= room.amounts[share, r]
                nodes[server, r] = _enough(True, amount, room.need[r])
        for place in range(room.counts[2] if row >= 0 else 0):
            link, bandwidth = room.links[place], watched.bandwidth[i, row]
            shown.edges[i, link] = _enough(True, watched.link_free[i, link] - bandwidth, bandwidth)


@lean
def _enough(text: bool, free: int, wanted: int) -> float:
    if wanted == 0:
        return NOTHING if text else 1.0
    missing = np.float32(1.0) - np.float32(free) / np.float32(wanted)
    return float(1.0 / (1.0 + np.exp(missing)))
