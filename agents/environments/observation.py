"""Writes what a learner sees of a network: a graph with the features of arXiv:2106.02412, for all simulations."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.fabric.multi_server import Filling
from binwright.fabric.servers import free_on
from binwright.fabric.topology import Topology
from binwright.simcore.jit import lean, prepared
from binwright.simcore.jit.bundle import row_of
from binwright.simcore.types import Floats, Ints, Reals

USUAL = 32.0
"""Seconds (steps of the published experiments): a request that is held this long has .5 as its holding time."""
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
    """Writes what all simulations look like, in one compiled call; `text` is as in `Observation`."""

    def __init__(self, episodes: NetworkEpisodes, text: bool = False) -> None:
        self.episodes, self._text = episodes, text
        self.shown = shown(episodes.view.topology, len(episodes.view.resources), episodes.count, text)
        self._show: Any = prepared(show, *self._arguments(), 0, 0)

    def _arguments(self) -> tuple[Any, ...]:
        state, many = self.episodes.state, self.episodes.many
        requests = many.row, many.offers.expected, many.offers.bandwidth
        return state.total, many.state.free, state.link_free, *requests, state.filling, self._text, self.shown

    def show(self, first: int, end: int) -> None:
        """Write what changed of simulations `first` to `end` - 1."""
        self._show(*self._arguments(), first, end)

    def __call__(self) -> Observation:
        """Return the same arrays every time, written anew. After an episode they show its last request, or nothing."""
        self.show(0, self.episodes.count)
        return self.shown


@lean
def show(
    total: Ints, free: Ints, link_free: Ints, rows: Ints, expected: Floats, bandwidth: Ints, filling: Filling,
    text: bool, shown: Observation, first: int, end: int,
) -> None:  # fmt: skip
    """Write all that is `shown` of simulations `first` to `end` - 1: of those that are over the last request."""
    for i in range(first, end):
        row = rows[i]
        if row >= 0:
            wanted = row_of(filling, i), bandwidth[i, row], expected[i, row]
            observe(total, free[i], link_free[i], *wanted, text, row_of(shown, i))


@lean
def observe(
    total: Ints, free: Ints, link_free: Ints, room: Filling, bandwidth: int, duration: float, text: bool,
    seen: Observation,
) -> None:  # fmt: skip
    """Write what is `seen` of one simulation, in which `total` int64 [resources] is what all servers have."""
    need, resources, cluster, edges = room.need, len(room.need), seen.cluster, seen.edges
    nodes = seen.nodes[len(seen.nodes) - len(free) :]
    for r in range(resources):
        before, same, left = 0, _enough(text, 0, need[r]), 0
        for server in range(len(free)):
            amount = free_on(free, server, r)
            if amount != before:  # many are alike
                before, same = amount, _enough(text, amount, need[r])
            nodes[server, r] = same
            left += amount
        cluster[r] = 1.0 - left / total[r] if total[r] > 0 else 0.0
    for server in range(len(free)):
        is_chosen = room.chosen[server] == room.counts[3]
        seen.chosen[server], nodes[server, resources] = is_chosen, 1.0 if is_chosen else 0.0
    before, same = 0, _enough(text, 0, bandwidth)
    for link in range(len(link_free)):
        if link_free[link] != before:
            before, same = link_free[link], _enough(text, link_free[link], bandwidth)
        edges[link] = same
    cluster[resources] = duration / (duration + USUAL) if duration < np.inf else 1.0
    if text:
        _deduct(free, link_free, room, bandwidth, seen)


@lean
def _deduct(free: Ints, link_free: Ints, room: Filling, bandwidth: int, seen: Observation) -> None:
    """Write the servers chosen and the links to be reserved with what the request has left there."""
    nodes = seen.nodes[len(seen.nodes) - len(free) :]
    for place in range(room.counts[0]):
        server = room.servers[place]
        for r in range(len(room.need)):
            amount = free_on(free, server, r)
            for share in range(room.counts[1]):
                amount -= room.amounts[share, r] if room.places[share, 0] == server else 0
            nodes[server, r] = _enough(True, amount, room.need[r])
    for place in range(room.counts[2]):
        link = room.links[place]
        seen.edges[link] = _enough(True, link_free[link] - bandwidth, bandwidth)


@lean
def _enough(text: bool, free: int, wanted: int) -> float:
    if wanted == 0:
        return NOTHING if text else 1.0
    missing = np.float32(1.0) - np.float32(free) / np.float32(wanted)
    return float(1.0 / (1.0 + np.exp(missing)))
