"""Looks at a network: the servers that may be chosen, rack by rack, and what is known of the run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.candidates.scoring import FEATURES, STYLES, likes
from binwright.fabric.multi_server import Filling, filling
from binwright.fabric.network import FAILED, NetworkView
from binwright.fabric.reachable_servers import Flags
from binwright.fabric.routing import Routes
from binwright.fabric.topology import Indices, Small
from binwright.simcore.jit import lean
from binwright.simcore.types import Amounts, Floats, Ints

MOST_NEEDS, FAR_BYTES = 1021, 2**28
"""For so many needs it is kept how much styles like far racks, in so much room, taken from the machine as it fills."""


class Sight(NamedTuple):
    """Holds a network of servers, and room to look at it; made by `sight`.

    `first`, `neighbour`, `via` and `switches` are the topology's; `pod_of` int32 [racks] counts all racks without a pod
    as one more. `most` int64 [resources + 1] is the largest server, and the widest link of a server. The racks by pod
    are `mates` int32 [racks], those of pod p from `pods[p]` on.

    Scratch: the servers that may be chosen are `able` int32 [servers], those of rack r from `until[r]` on; in the same
    places `parts` float64 [servers, resources] is what they have free, and `wires` [servers] their links, `linked` bool
    [servers] whether these have the bandwidth. Of a rack's links upwards `widest` int64 [racks] is the most that one
    has free. `joined` int64 [racks, 2] is the stamp of the filling that asked, and how many of its servers the rack is
    known to reach: -1 when it does not reach one. Servers `described` int32 have `features` [any, features], and
    `scores` [any, STYLES + 1] that `likes` makes of them.

    `known` float64 [5] is how many requests this run has been asked for, the sum of their durations, the duration of
    the one on offer relative to the mean, when that is, and the mean duration. `ends` float64 [servers] is when the
    last request that was placed on a server will have left it.

    How much styles like the servers of a pod where nobody is chosen depends on nothing but what is still needed. For
    needs that came up, `far_need` int64 [any, resources], `far` float64 [any, racks, STYLES] is the most that each
    style likes a server of a rack, inf where that isn't known, by the places of racks in `mates`; `leaders` int32 [any,
    STYLES] are the places of those that were best when last asked, -1 for none. That holds for the look of the number
    `far_look` int64 [any]; `looks` int64 [1] counts them. `close` int64 [pods] is the stamp of the last filling that
    chose somebody there.

    Of the candidates with one home: style s chose `lengths[s]` int64 [STYLES] servers, `picked[s]` int32 [STYLES, any],
    and where it was the first to have chosen what comes before, `liked[s, step]` int32 [STYLES, any, STYLES] is which
    server each style would choose next, at `costs` float64; `alike` bool [STYLES] is scratch. `best` float64 [STYLES]
    is how much each style likes the server that it likes best so far, and `turns` int64 [STYLES] the place of its rack
    in `mates`; `top` float64 [STYLES] is how much they like anybody of one rack.

    `lots` float64 [racks, STYLES] is added to what candidates cost: zeros, but for a control.
    """

    routes: Routes
    link_tier: Small
    first: Indices
    neighbour: Indices
    via: Indices
    switches: int
    pod_of: Indices
    pods: Indices
    mates: Indices
    most: Ints
    room: Filling
    able: Indices
    until: Indices
    parts: Floats
    wires: Floats
    linked: Flags
    widest: Ints
    joined: Ints
    known: Floats
    ends: Floats
    described: Indices
    features: Floats
    scores: Floats
    picked: Indices
    liked: Indices
    costs: Floats
    alike: Flags
    best: Floats
    turns: Ints
    top: Floats
    close: Ints
    far: Floats
    leaders: Indices
    far_need: Ints
    far_look: Ints
    looks: Ints
    lengths: Ints
    likes: Floats
    lots: Floats


def sight(view: NetworkView) -> Sight:
    """Make room for one agent, or for one simulation at a time."""
    topology = view.topology
    servers, nodes, resources = view.capacity.shape
    wires = topology.link_capacity[topology.server_link[topology.server_link >= 0]]
    pod_of = np.where(topology.pod_of < 0, topology.pod_of.max(initial=-1) + 1, topology.pod_of).astype(np.int32)
    pods = np.bincount(pod_of)
    kept = min(MOST_NEEDS, max(1, FAR_BYTES // (8 * STYLES * topology.racks)))
    sizes = view.capacity.sum(axis=1)
    return Sight(
        routes=view.routing.routes,
        link_tier=topology.link_tier,
        first=topology.first,
        neighbour=topology.neighbour,
        via=topology.via,
        switches=topology.switches,
        pod_of=pod_of,
        pods=np.concatenate([[0], np.cumsum(pods)]).astype(np.int32),
        mates=np.argsort(pod_of, kind="stable").astype(np.int32),
        most=np.array([*sizes.max(axis=0), wires.max(initial=0) or topology.link_capacity.max()], np.int64),
        room=filling(view.routing, nodes, resources),
        able=np.zeros(servers, np.int32),
        until=np.zeros(topology.racks + 1, np.int32),
        parts=np.zeros((servers, resources)),
        wires=np.zeros(servers),
        linked=np.zeros(servers, np.bool_),
        widest=np.zeros(topology.racks, np.int64),
        joined=np.zeros((topology.racks, 2), np.int64),
        known=np.zeros(5),
        ends=np.zeros(servers),
        described=np.zeros(servers, np.int32),
        features=np.zeros((servers, len(FEATURES))),
        scores=np.zeros((servers, STYLES + 1)),
        picked=np.zeros((STYLES, servers), np.int32),
        liked=np.zeros((STYLES, servers + 1, STYLES), np.int32),  # one more: nothing is left to choose
        costs=np.zeros((STYLES, servers + 1, STYLES)),
        alike=np.zeros(STYLES, np.bool_),
        best=np.zeros(STYLES),
        turns=np.zeros(STYLES, np.int64),
        top=np.zeros(STYLES),
        close=np.zeros(len(pods), np.int64),
        far=np.zeros((kept, topology.racks, STYLES)),
        leaders=np.zeros((kept, STYLES), np.int32),
        far_need=np.zeros((kept, resources), np.int64),
        far_look=np.zeros(kept, np.int64),
        looks=np.zeros(1, np.int64),
        lengths=np.zeros(STYLES, np.int64),
        likes=likes(),
        lots=np.zeros((topology.racks, STYLES)),
    )


@lean
def look(sight: Sight, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> bool:
    """Write all that is the same for the whole request; tells whether anything is free."""
    resources, most, count = len(demand), sight.most, 0
    sight.looks[0] += 1
    some = False
    for rack in range(len(sight.until) - 1):
        widest = FAILED
        for edge in range(sight.first[rack], sight.first[rack + 1]):
            link, server = sight.via[edge], sight.neighbour[edge] - sight.switches
            if server < 0:
                widest = max(widest, link_free[link])
                continue
            anything, whole = False, True
            for r in range(resources):
                there = 0
                for node in range(free.shape[1]):
                    there += free[server, node, r]
                anything |= there > 0
                whole &= there >= demand[r]
                sight.parts[count, r] = there / most[r] if most[r] > 0 else 0.0
            some |= anything
            if anything and (whole or link < 0 or link_free[link] >= bandwidth):
                sight.able[count] = server
                sight.linked[count] = link < 0 or link_free[link] >= bandwidth
                sight.wires[count] = max(0, link_free[link]) / most[resources] if link >= 0 else 1.0
                count += 1
        sight.until[rack + 1] = count
        sight.widest[rack] = widest
    return some


@lean
def forget(sight: Sight, free: Ints, capacity: Ints) -> None:
    """Let nothing stay on servers that are empty, `free` and `capacity` int64 [servers, nodes, resources]."""
    for server in range(len(sight.ends)):
        empty = sight.ends[server] != 0.0
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                empty &= free[server, node, r] == capacity[server, node, r]
        if empty:
            sight.ends[server] = 0.0
