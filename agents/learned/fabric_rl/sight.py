"""Looks at a network as fabric-rl does: the servers that may be chosen, rack by rack, and what is known of the run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.learned.fabric_rl.network import COLUMNS, OWN, SHARED, STYLES, TERMS
from fabric.allowed import Flags
from fabric.filling import Filling, filling
from fabric.network import FAILED, NetworkView
from fabric.routing import Routes
from fabric.topology import Indices, Small
from simcore.jit import lean
from simcore.vocabulary import Amounts, Floats, Ints

MOST_NEEDS, FAR_BYTES = 1021, 2**28
"""For so many needs it is kept how much styles like far racks, in so much room, taken from the machine as it fills."""


class Sight(NamedTuple):
    """Holds a network of servers, and room to look at it; made by `sight`.

    `first`, `neighbour`, `via` and `switches` are the topology's; `pod_of` int32 [racks] counts all racks without a pod
    as one more. `most` int64 [resources + 1] is the largest server, and the widest link of a server; `total` int64
    [resources]. The racks by pod are `mates` int32 [racks], those of pod p from `pods[p]` on.

    Scratch: the servers that may be chosen are `able` int32 [servers], those of rack r from `until[r]` on; in the same
    places `parts` float64 [servers, resources] is what they have free, and `wires` [servers] their links,
    `linked` bool [servers] whether these have the bandwidth. `gives` float64 [racks, resources] and `pod_gives` [pods,
    resources] sum that up. Of a rack's links upwards `uplinks` [racks] is the share free, and `widest` int64 [racks]
    the most that one has free. `joined` int64 [racks, 2] is the stamp of the filling that asked, and how many of its
    servers the rack is known to reach: -1 when it does not reach one. Servers `described` int32 have `features` [any,
    OWN] and `scores` [any, STYLES + 1], with `shared` [SHARED]; `hidden` is scratch of `score`.

    `known` float64 [8] is what this run has been asked for (requests, and the sums of duration, size and volume, which
    is size x duration), and of the request on offer the duration relative to the mean, the share of the cluster in
    use, when that is, and the mean duration. `ends` float64 [servers] is when the last request that was placed on a
    server will have left it.

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
    link_capacity: Ints
    first: Indices
    neighbour: Indices
    via: Indices
    switches: int
    pod_of: Indices
    pods: Indices
    mates: Indices
    most: Ints
    total: Ints
    room: Filling
    able: Indices
    until: Indices
    parts: Floats
    wires: Floats
    linked: Flags
    gives: Floats
    pod_gives: Floats
    uplinks: Floats
    widest: Ints
    joined: Ints
    known: Floats
    ends: Floats
    described: Indices
    features: Floats
    shared: Floats
    hidden: Floats
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
    lots: Floats
    terms: Floats


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
        link_capacity=topology.link_capacity,
        first=topology.first,
        neighbour=topology.neighbour,
        via=topology.via,
        switches=topology.switches,
        pod_of=pod_of,
        pods=np.concatenate([[0], np.cumsum(pods)]).astype(np.int32),
        mates=np.argsort(pod_of, kind="stable").astype(np.int32),
        most=np.array([*sizes.max(axis=0), wires.max(initial=0) or topology.link_capacity.max()], np.int64),
        total=sizes.sum(axis=0),
        room=filling(view.routing, nodes, resources),
        able=np.zeros(servers, np.int32),
        until=np.zeros(topology.racks + 1, np.int32),
        parts=np.zeros((servers, resources)),
        wires=np.zeros(servers),
        linked=np.zeros(servers, np.bool_),
        gives=np.zeros((topology.racks, resources)),
        pod_gives=np.zeros((len(pods), resources)),
        uplinks=np.zeros(topology.racks),
        widest=np.zeros(topology.racks, np.int64),
        joined=np.zeros((topology.racks, 2), np.int64),
        known=np.zeros(8),
        ends=np.zeros(servers),
        described=np.zeros(servers, np.int32),
        features=np.zeros((servers, len(OWN))),
        shared=np.zeros(len(SHARED)),
        hidden=np.zeros((2, COLUMNS)),
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
        lots=np.zeros((topology.racks, STYLES)),
        terms=np.zeros(len(TERMS)),
    )


@lean
def look(sight: Sight, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> float:
    """Write all that is the same for the whole request; returns the share of the cluster that is free."""
    resources, most, count = len(demand), sight.most, 0
    sight.looks[0] += 1
    sight.pod_gives[:] = 0.0
    rest = 0.0
    for rack in range(len(sight.until) - 1):
        up, all_up, widest = 0, 0, FAILED
        sight.gives[rack] = 0.0
        for edge in range(sight.first[rack], sight.first[rack + 1]):
            link, server = sight.via[edge], sight.neighbour[edge] - sight.switches
            if server < 0:
                up += max(0, link_free[link])
                all_up += sight.link_capacity[link]
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
                rest += there / max(1, sight.total[r])
            if anything and (whole or link < 0 or link_free[link] >= bandwidth):
                sight.able[count] = server
                sight.linked[count] = link < 0 or link_free[link] >= bandwidth
                sight.wires[count] = max(0, link_free[link]) / most[resources] if link >= 0 else 1.0
                for r in range(resources):
                    sight.gives[rack, r] += sight.parts[count, r]
                    sight.pod_gives[sight.pod_of[rack], r] += sight.parts[count, r]
                count += 1
        sight.until[rack + 1] = count
        sight.widest[rack] = widest
        sight.uplinks[rack] = up / all_up if all_up > 0 else 1.0
    return rest / resources


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
