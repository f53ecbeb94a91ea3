"""Asks one kernel, over servers and links, for every decision in a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.networked import network_of, provisioned
from binwright.fabric.multi_server import Filling, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.fabric.topology import Indices, Small
from binwright.simcore.jit import lean, lean_inlined, prepared
from binwright.simcore.types import Agent, Amounts, Ints, Refusal, Request, View

Rule: TypeAlias = Callable[[Any, Ints, Ints, Amounts, int, bool, bool], int]
"""(scratch, free, link_free, demand, bandwidth, weighted, masked) -> what `choose` returned last; 0 where none is left.

`free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged; `scratch` is whatever the agent
makes in `scratch`. `weighted` says how routes are found. With `masked` only servers are chosen that have a working
route to all chosen before.
"""


Paths: TypeAlias = Literal["hops", "weighted"]


class Network(NamedTuple):
    """Holds what every rule needs: the routes, the tier of every link, and room to provision in."""

    routes: Routes
    link_tier: Small
    room: Filling


def network(view: NetworkView) -> Network:
    """Make what one agent needs."""
    _, nodes, resources = view.free.shape
    return Network(view.routing.routes, view.topology.link_tier, filling(view.routing, nodes, resources))


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
        self._scratch, self._room = scratch, shared.room
        self._link_free = view.link_free  # the same array for the whole run
        self._weighted = view.weighted if self.routes is None else self.routes == "weighted"
        self._refusals = [Refusal(f"no path: {tier}") for tier in view.topology.tiers]
        self._rule = prepared(self.rule, scratch, view.free, view.link_free, (1,) * view.free.shape[2], 1, False, False)

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Any:
        """Return the first argument of the rule."""
        return shared

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule."""
        link_free, bandwidth, weighted = self._link_free, request.bandwidth, self._weighted
        status = self._rule(self._scratch, view.free, link_free, request.demand, bandwidth, weighted, self.masked)
        if status <= 0:
            return self._refusals[-1 - status] if status else None
        return provisioned(self._room)


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
