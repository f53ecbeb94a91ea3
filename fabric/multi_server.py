"""Provisions one request in a network, a server at a time: all agents' kernels share these functions.

A chosen server gives min(free, still needed) of every resource, node by node. It must have a route to every server
chosen before, with the request's bandwidth free as of before the request; the links of these routes are reserved once.
"""

from typing import NamedTuple

import numpy as np

from binwright.fabric.routing import Routes, Routing, find_path, find_route
from binwright.fabric.topology import Indices
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Amounts, Flags, Ints

GOES_ON, COMPLETE = 0, 1
"""What `choose` answers; -1 - t when no route has the bandwidth, for want of it on tier t."""


class Filling(NamedTuple):
    """Holds room to provision in, one for each agent; every array is scratch and written by the kernels.

    `need` int64 [resources] is what is still missing. `counts` int64 [4]: servers chosen, shares, links, and the
    stamp of this request. `servers` int32 [n] in order of choice; `places` int32 [shares, 2] server and node with
    `amounts` int64 [shares, resources]; `links` int32 [links]; `chosen` int64 [servers] and `wired` int64 [links] hold
    the stamp of the request that has them; `route` int32 [longest route]; `joined` int64 [racks, 2] is what `joins`
    remembers. `routes` say which way servers reach one another.
    """

    routes: Routes
    need: Ints
    counts: Ints
    servers: Indices
    places: Indices
    amounts: Ints
    links: Indices
    chosen: Ints
    wired: Ints
    route: Indices
    joined: Ints


def filling(routing: Routing, nodes: int, resources: int) -> Filling:
    """Make scratch for a network's agents."""
    servers, links = routing.topology.servers, routing.topology.links
    return Filling(
        routes=routing.routes,
        need=np.zeros(resources, np.int64),
        counts=np.zeros(4, np.int64),
        servers=np.zeros(servers, np.int32),
        places=np.zeros((servers * nodes, 2), np.int32),
        amounts=np.zeros((servers * nodes, resources), np.int64),
        links=np.zeros(links, np.int32),
        chosen=np.zeros(servers, np.int64),
        wired=np.zeros(links, np.int64),
        route=np.zeros(routing.longest, np.int32),
        joined=np.zeros((routing.topology.racks, 2), np.int64),
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
def blocked_tier(room: Filling, link_free: Ints, s: int, t: int, bandwidth: int) -> int:
    """Return the tier for want of which no route leads from server s to t.

    It is that of the first link too full of t, of s, and then on the way of the first path.
    """
    count = find_route(room.routes, link_free, s, t, -1, room.route)  # whatever it has free
    for place in range(-1, count - 1):
        link = room.route[place % count]
        if link_free[link] < bandwidth:
            return int(room.routes.link_tier[link])
    return 0


@lean
def choose(room: Filling, free: Ints, link_free: Ints, server: int, bandwidth: int) -> int:
    """Take the next server: `GOES_ON`, `COMPLETE`, or -1 - tier when it can't be reached. Changes `room` only."""
    for j in range(room.counts[0]):
        other = room.servers[j]
        count = find_route(room.routes, link_free, other, server, bandwidth, room.route)
        if count < 0:
            return -1 - blocked_tier(room, link_free, other, server, bandwidth)
        for place in range(count):
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
        gives = False
        for r in range(free.shape[2]):
            amount = min(free[server, node, r], room.need[r])
            room.amounts[share, r] = amount
            room.need[r] -= amount
            gives |= amount > 0
        if gives:
            room.places[share, 0] = server
            room.places[share, 1] = node
            room.counts[1] += 1
    for r in range(free.shape[2]):
        complete &= room.need[r] == 0
    return COMPLETE if complete else GOES_ON


@lean
def joins(room: Filling, link_free: Ints, rack: int, bandwidth: int) -> bool:
    """Tell whether servers of a rack with the bandwidth have working routes to all servers chosen so far.

    Each path is looked for once: `joined` has the stamp of the filling that came by, and to how many of its servers the
    rack has working routes, -1 when one has none.
    """
    joined, routes = room.joined, room.routes
    if joined[rack, 0] != room.counts[3]:
        joined[rack, 0], joined[rack, 1] = room.counts[3], 0
    while 0 <= joined[rack, 1] < room.counts[0]:
        other = room.servers[joined[rack, 1]]
        works = link_free[other] >= bandwidth
        works = works and find_path(routes, link_free, routes.rack_of[other], rack, bandwidth) >= 0
        joined[rack, 1] = joined[rack, 1] + 1 if works else -1
    return bool(joined[rack, 1] >= 0)


@lean
def reaches(room: Filling, link_free: Ints, server: int, bandwidth: int) -> bool:
    """Tell whether this server, which is not chosen, has a working route to every server chosen so far."""
    if room.counts[0] > 0 and link_free[server] < bandwidth:
        return False
    return joins(room, link_free, room.routes.rack_of[server], bandwidth)


@lean_inlined
def may_be_chosen(room: Filling, free: Ints, server: int) -> bool:
    """Tell whether a server has anything free and is not chosen."""
    return bool(room.chosen[server] != room.counts[3] and has_any(free, server))


@lean
def allow(room: Filling, free: Ints, link_free: Ints, bandwidth: int, masked: bool, mask: Flags) -> bool:
    """Write to `mask` which servers may be chosen, if `masked` of those that can be reached; tells whether any may."""
    some = False
    for server in range(len(free)):
        mask[server] = may_be_chosen(room, free, server) and (not masked or reaches(room, link_free, server, bandwidth))
        some |= mask[server]
    return some
