"""Asks one kernel, over servers and links, for every decision in a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.networked import network_of
from binwright.fabric.multi_server import Filling, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.fabric.topology import Indices, Small
from binwright.simcore.jit import kernel, lean, lean_inlined, prepared
from binwright.simcore.types import Agent, Amounts, Ints, Refusal, Request, View

Rule: TypeAlias = Callable[[Any, Ints, Ints, Amounts, int, bool, bool], int]
"""(scratch, free, link_free, demand, bandwidth, weighted, masked) -> what `answered` returns.

`free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged; `scratch` is whatever the agent
makes in `scratch`. `weighted` says how routes are found. With `masked` only servers are chosen that have a working
route to all chosen before.
"""


Paths: TypeAlias = Literal["hops", "weighted"]


class Network(NamedTuple):
    """Holds what every rule needs: the routes, the tier of every link, room to provision in, room for the answer.

    `answer` int64 [any] is how many servers, shares and links; then the servers chosen; then for all shares their
    servers, their nodes, and the amounts of each resource; then the links.
    """

    routes: Routes
    link_tier: Small
    room: Filling
    answer: Ints


def network(view: NetworkView) -> Network:
    """Make what one agent needs."""
    servers, nodes, resources = view.free.shape
    columns = servers * nodes * (2 + resources)
    return Network(
        routes=view.routing.routes,
        link_tier=view.topology.link_tier,
        room=filling(view.routing, nodes, resources),
        answer=np.zeros(3 + servers + columns + view.topology.links, np.int64),
    )


def largest(view: NetworkView) -> list[int]:
    """Return the most that a server has of each resource, and then the widest link of a server's own."""
    topology = view.topology
    links = topology.link_capacity[topology.level[topology.link_ends[:, 0]] == 0]
    return [*view.capacity.sum(axis=1).max(axis=0).tolist(), int(links.max())]


@lean
def take(network: Network, free: Ints, link_free: Ints, server: int, bandwidth: int, weighted: bool) -> int:
    """Choose the next server, by `choose`."""
    return choose(network.routes, link_free, network.link_tier, free, network.room, server, bandwidth, weighted)


@lean
def joins(network: Network, joined: Ints, link_free: Ints, rack: int, bandwidth: int, weighted: bool) -> bool:
    """Tell whether servers of a rack with the bandwidth have working routes to all servers chosen so far.

    Looks for each path only once: `joined` int64 [racks, 2] is the stamp of the filling that came by, and of how many
    of its servers it is known that the rack has working routes to them, -1 when one has none.
    """
    room, routes = network.room, network.routes
    if joined[rack, 0] != room.counts[3]:
        joined[rack, 0], joined[rack, 1] = room.counts[3], 0
    while 0 <= joined[rack, 1] < room.counts[0]:
        other, link = routes.servers[room.servers[joined[rack, 1]]]
        works = link < 0 or link_free[link] >= bandwidth
        works = works and find_path(routes, link_free, other, rack, bandwidth, weighted) >= 0
        joined[rack, 1] = joined[rack, 1] + 1 if works else -1
    return bool(joined[rack, 1] >= 0)


@lean
def reaches(network: Network, joined: Ints, link_free: Ints, server: int, bandwidth: int, weighted: bool) -> bool:
    """Tell whether this server, which is not chosen, has a working route to every server chosen so far."""
    rack, link = network.routes.servers[server]
    if network.room.counts[0] > 0 and link >= 0 and link_free[link] < bandwidth:
        return False
    return joins(network, joined, link_free, rack, bandwidth, weighted)


@kernel
def answered(network: Network, status: int) -> int:
    """Return what a rule returns: how long the answer is; 0 without any; -1 - tier when that had no route.

    `status` is what `choose` said last, 0 (`GOES_ON`) when there was nobody left to choose.
    """
    if status <= 0:
        return status
    room, answer = network.room, network.answer
    if room.counts[1] == 0:  # nothing was asked for: a share of nothing, on the first
        room.places[0, 0], room.places[0, 1] = room.servers[0], 0
        room.counts[1] = 1
    shares, first = room.counts[1], 3 + room.counts[0]
    answer[0], answer[1], answer[2] = room.counts[0], shares, room.counts[2]
    for j in range(room.counts[0]):
        answer[3 + j] = room.servers[j]
    for share in range(shares):
        answer[first + share] = room.places[share, 0]
        answer[first + shares + share] = room.places[share, 1]
        for r in range(room.amounts.shape[1]):
            answer[first + (2 + r) * shares + share] = room.amounts[share, r]
    length = first + (2 + room.amounts.shape[1]) * shares
    for j in range(room.counts[2]):
        answer[length + j] = room.links[j]
    return int(length + room.counts[2])


class NetworkAgent(Agent):
    """Decides by one kernel over servers and links. Subclasses name it, and make its scratch."""

    rule: Rule
    routes: Paths | None = None
    """How this agent's routes are found; None is as the network says."""
    masked = False
    """Pass over servers without a working route to those chosen before: see `Feasible`."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make room to work in."""
        view = network_of(self, view)
        shared = network(view)
        scratch = self.scratch(view, shared, rng)
        self._scratch, self._answer = scratch, shared.answer.data
        self._link_free = view.link_free  # the same array for the whole run
        self._weighted = view.weighted if self.routes is None else self.routes == "weighted"
        self._refusals = [Refusal(f"no path: {tier}") for tier in view.topology.tiers]
        self._rule = prepared(self.rule, scratch, view.free, view.link_free, (1,) * view.free.shape[2], 1, False, False)

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Any:
        """Return the first argument of the rule."""
        return shared

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule."""
        demand = request.demand
        length = self._rule(
            self._scratch,
            view.free,
            self._link_free,
            demand,
            request.bandwidth,
            self._weighted,
            self.masked,
        )
        if length <= 0:
            return self._refusals[-1 - length] if length else None
        numbers = self._answer[:length].tolist()
        servers, shares, links = numbers[:3]
        columns = [numbers[first : first + shares] for first in range(3 + servers, length - links, shares)]
        return Provisioned(
            tuple(zip(columns[0], columns[1], zip(*columns[2:], strict=True), strict=True)),
            tuple(numbers[length - links :]),
            tuple(numbers[3 : 3 + servers]),
        )


@lean_inlined
def wire_of(servers: Ints, first: Indices, via: Indices, link_free: Ints, server: int) -> int:
    """Return what a server has free on its own link, or on the widest of several; 0 or less if that has failed.

    `servers` are those of `binwright.fabric.routing.Routes`, `first` and `via` those of `Topology`.
    """
    rack, link = servers[server]
    if link >= 0:
        return int(link_free[link])
    most = -1
    for edge in range(first[rack], first[rack + 1]):
        if via[edge] >= 0:
            most = max(most, link_free[via[edge]])
    return int(most)
