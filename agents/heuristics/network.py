"""What the heuristics for a network share: one compiled call for each request, answered as one row of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from agents.networked import network_of
from fabric.filling import Filling, choose, filling
from fabric.network import FAILED, NetworkView, Provisioned
from fabric.routing import Routes, find_route
from fabric.topology import Indices, Small
from simcore.jit import kernel, prepared
from simcore.vocabulary import Agent, Amounts, Ints, Refusal, Request, View

Rule: TypeAlias = Callable[[Any, Ints, Ints, Amounts, int, bool, bool], int]
"""(scratch, free, link_free, demand, bandwidth, weighted, masked) -> what `answered` returns.

`free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged; `scratch` is whatever the agent
makes in `scratch`. `weighted` says how routes are found. With `masked` only servers are chosen that have a working
route to all chosen before.
"""


class Network(NamedTuple):
    """What every rule needs: the routes, the tier of every link, room to provision in, and room for the answer.

    `answer` int64 [any] is servers chosen, span, shares and links; then for all shares their servers, their nodes, and
    the amounts of each resource; then the links.
    """

    routes: Routes
    link_tier: Small
    room: Filling
    answer: Ints


def network(view: NetworkView) -> Network:
    """For one agent."""
    servers, nodes, resources = view.free.shape
    columns = servers * nodes * (2 + resources)
    return Network(
        routes=view.routing.routes,
        link_tier=view.topology.link_tier,
        room=filling(view.routing, nodes, resources),
        answer=np.zeros(4 + columns + view.topology.links, np.int64),
    )


def largest(view: NetworkView) -> list[int]:
    """The most that a server has of each resource, and then the widest link of a server's own."""
    topology = view.topology
    links = topology.link_capacity[topology.level[topology.link_ends[:, 0]] == 0]
    return [*view.capacity.sum(axis=1).max(axis=0).tolist(), int(links.max())]


@kernel
def widest(first: Indices, via: Indices, link_free: Ints, rack: int) -> int:
    """What a server that is its own rack has free, on the link of its that has most."""
    most = FAILED
    for edge in range(first[rack], first[rack + 1]):
        if via[edge] >= 0:
            most = max(most, link_free[via[edge]])
    return int(most)


@kernel
def take(network: Network, free: Ints, link_free: Ints, server: int, bandwidth: int, weighted: bool) -> int:
    """`choose` the next server."""
    return choose(network.routes, link_free, network.link_tier, free, network.room, server, bandwidth, weighted)


@kernel
def reaches(network: Network, link_free: Ints, server: int, bandwidth: int, weighted: bool) -> bool:
    """Has this server a working route to every server chosen so far?"""
    room = network.room
    for j in range(room.counts[0]):
        if find_route(network.routes, link_free, room.servers[j], server, bandwidth, weighted) < 0:
            return False
    return True


@kernel
def span(network: Network) -> int:
    """How far the servers chosen are apart: an index into `fabric.network.SPANS`."""
    routes, room = network.routes, network.room
    found = 1 if room.counts[0] > 1 else 0
    home = routes.servers[room.servers[0], 0]
    for j in range(1, room.counts[0]):
        rack = routes.servers[room.servers[j], 0]
        if rack != home:
            near = routes.pod_of[rack] == routes.pod_of[home] and routes.pod_of[home] >= 0
            found = max(found, 2 if near else 3)
    return found


@kernel
def answered(network: Network, status: int) -> int:
    """What a rule returns: how long the answer is; 0 without any; -1 - tier when that had no route.

    `status` is what `choose` said last, 0 (`GOES_ON`) when there was nobody left to choose.
    """
    if status <= 0:
        return status
    room, answer = network.room, network.answer
    if room.counts[1] == 0:  # nothing was asked for: a share of nothing, on the first
        room.places[0, 0], room.places[0, 1] = room.servers[0], 0
        room.counts[1] = 1
    shares = room.counts[1]
    answer[0], answer[1], answer[2], answer[3] = room.counts[0], span(network), shares, room.counts[2]
    for share in range(shares):
        answer[4 + share] = room.places[share, 0]
        answer[4 + shares + share] = room.places[share, 1]
        for r in range(room.amounts.shape[1]):
            answer[4 + (2 + r) * shares + share] = room.amounts[share, r]
    length = 4 + (2 + room.amounts.shape[1]) * shares
    for j in range(room.counts[2]):
        answer[length + j] = room.links[j]
    return int(length + room.counts[2])


class NetworkAgent(Agent):
    """An agent whose rule is one kernel over servers and links. Subclasses name it, and make its scratch."""

    rule: ClassVar[Rule]
    masked = False
    """Pass over servers without a working route to those chosen before: see `Feasible`."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make room to work in."""
        view = network_of(self, view)
        shared = network(view)
        scratch = self.scratch(view, shared, rng)
        self._scratch, self._answer = scratch, shared.answer.data
        self._link_free, self._weighted = view.link_free, view.weighted  # the same arrays for the whole run
        self._refusals = [Refusal(f"no path: {tier}") for tier in view.topology.tiers]
        self._rule = prepared(
            type(self).rule, scratch, view.free, view.link_free, (1,) * view.free.shape[2], 1, False, False
        )

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Any:
        """The first argument of the rule."""
        return shared

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """What the rule says."""
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
        servers, span, shares, links = numbers[:4]
        columns = [numbers[first : first + shares] for first in range(4, length - links, shares)]
        return Provisioned(
            tuple(zip(columns[0], columns[1], zip(*columns[2:], strict=True), strict=True)),
            tuple(numbers[length - links :]),
            servers,
            span,
        )
