"""Provisions one request in a network, a server at a time: all agents' kernels share these functions.

A chosen server gives min(free, still needed) of every resource, node by node. It must have a route to every server
chosen before, with the request's bandwidth free as of before the request; the links of these routes are reserved once.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.routing import Routes, Routing, find_path, find_route, route_links
from binwright.fabric.topology import Indices, Small
from binwright.simcore.jit import lean
from binwright.simcore.types import Amounts, Ints

Flags: TypeAlias = npt.NDArray[np.bool_]
GOES_ON, COMPLETE = 0, 1
"""What `choose` answers; -1 - t when no route has the bandwidth, for want of it on tier t."""


class Filling(NamedTuple):
    """Holds room to provision in, one for each agent; every array is scratch and written by the kernels.

    `need` int64 [resources] is what is still missing. `counts` int64 [4]: servers chosen, shares, links, and the
    stamp of this request. `servers` int32 [n] in order of choice; `places` int32 [shares, 2] server and node with
    `amounts` int64 [shares, resources]; `links` int32 [links]; `chosen` int64 [servers] and `wired` int64 [links] hold
    the stamp of the request that has them; `route` int32 [longest route].
    """

    need: Ints
    counts: Ints
    servers: Indices
    places: Indices
    amounts: Ints
    links: Indices
    chosen: Ints
    wired: Ints
    route: Indices


def filling(routing: Routing, nodes: int, resources: int) -> Filling:
    """Make scratch for a network's agents."""
    servers, links = routing.topology.servers, routing.topology.links
    return Filling(
        need=np.zeros(resources, np.int64),
        counts=np.zeros(4, np.int64),
        servers=np.zeros(servers, np.int32),
        places=np.zeros((servers * nodes, 2), np.int32),
        amounts=np.zeros((servers * nodes, resources), np.int64),
        links=np.zeros(links, np.int32),
        chosen=np.zeros(servers, np.int64),
        wired=np.zeros(links, np.int64),
        route=np.zeros(routing.longest, np.int32),
    )


@lean
def begin(room: Filling, demand: Amounts) -> None:
    """Start on a request."""
    for r in range(len(demand)):
        room.need[r] = demand[r]
    for count in range(3):
        room.counts[count] = 0
    room.counts[3] += 1


@lean
def has_any(free: Ints, server: int) -> bool:
    """Tell whether this server has anything free at all; `free` int64 [servers, nodes, resources]."""
    for node in range(free.shape[1]):
        for r in range(free.shape[2]):
            if free[server, node, r] > 0:
                return True
    return False


@lean
def blocked_tier(
    routes: Routes, link_free: Ints, link_tier: Small, room: Filling, s: int, t: int, bandwidth: int, weighted: bool
) -> int:
    """Return the tier for want of which no route leads from server s to t: of its first path's first link too full."""
    count = route_links(routes, link_free, s, t, 0, weighted, room.route)
    if count < 0:  # there is none around the links that have failed
        count = route_links(routes, link_free, s, t, 0, False, room.route)
    tier = 0
    for place in range(count - 1, -1, -1):
        if link_free[room.route[place]] < bandwidth:
            tier = int(link_tier[room.route[place]])
    for place in (0, count - 1):
        if link_free[room.route[place]] < bandwidth:
            tier = int(link_tier[room.route[place]])
    return tier


@lean
def choose(
    routes: Routes,
    link_free: Ints,
    link_tier: Small,
    free: Ints,
    room: Filling,
    server: int,
    bandwidth: int,
    weighted: bool,
) -> int:
    """Take the next server: `GOES_ON`, `COMPLETE`, or -1 - tier when it can't be reached. Changes `room` only."""
    for j in range(room.counts[0]):
        other = room.servers[j]
        k = find_route(routes, link_free, other, server, bandwidth, weighted)
        if k < 0:
            return -1 - blocked_tier(routes, link_free, link_tier, room, other, server, bandwidth, weighted)
        for place in range(route_links(routes, link_free, other, server, k, weighted, room.route)):
            link = room.route[place]
            if room.wired[link] != room.counts[3]:
                room.wired[link] = room.counts[3]
                room.links[room.counts[2]] = link
                room.counts[2] += 1
    room.servers[room.counts[0]] = server
    room.counts[0] += 1
    room.chosen[server] = room.counts[3]
    complete = True
    for node in range(free.shape[1]):
        share = room.counts[1]
        given = False
        for r in range(free.shape[2]):
            amount = min(free[server, node, r], room.need[r])
            room.amounts[share, r] = amount
            room.need[r] -= amount
            given |= amount > 0
        if given:
            room.places[share, 0] = server
            room.places[share, 1] = node
            room.counts[1] += 1
    for r in range(free.shape[2]):
        complete &= room.need[r] == 0
    return COMPLETE if complete else GOES_ON


@lean
def narrow(
    routes: Routes, link_free: Ints, room: Filling, server: int, bandwidth: int, weighted: bool, reach: Flags
) -> None:
    """Keep in `reach` bool [racks] only racks that have a working route to this server's rack, once it was chosen."""
    rack = routes.rack_of[server]
    for j in range(room.counts[0] - 1):
        if routes.rack_of[room.servers[j]] == rack:
            return  # as the other one
    for other in range(len(reach)):
        if link_free[server] < bandwidth:
            reach[other] = False
        elif reach[other] and other != rack:
            reach[other] = find_path(routes, link_free, rack, other, bandwidth, weighted) >= 0


@lean
def allow(
    routes: Routes,
    free: Ints,
    link_free: Ints,
    room: Filling,
    bandwidth: int,
    reach: Flags,
    narrowed: bool,
    mask: Flags,
) -> bool:
    """Write to `mask` which servers have anything free and are not chosen; tells whether there are any.

    When `narrowed` they must be in a rack of `reach`, and have the bandwidth free on their link.
    """
    checked = narrowed and room.counts[0] > 0
    some = False
    for server in range(len(free)):
        allowed = room.chosen[server] != room.counts[3] and has_any(free, server)
        if allowed and checked:
            allowed = reach[routes.rack_of[server]] and link_free[server] >= bandwidth
        mask[server] = allowed
        some |= allowed
    return some
