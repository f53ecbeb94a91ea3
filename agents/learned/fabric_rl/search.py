"""How fabric-rl places a request: a candidate for every rack as home and every style of picking; the cheapest wins.

A candidate takes servers from its home first, then from neighbouring racks, then from anywhere, each time the one that
its style likes best of those with a working route to all chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.learned.fabric_rl.network import (
    FEATURES,
    HIDDEN,
    STYLES,
    TERMS,
    Weights,
    describe,
    rejects,
    score,
    squashed,
)
from fabric.allowed import Flags
from fabric.episodes import Rules, State, answer
from fabric.filling import COMPLETE, GOES_ON, Filling, begin, choose, filling
from fabric.network import NetworkView
from fabric.routing import Routes, find_path
from fabric.topology import Indices, Small
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Floats, Ints

DECLINED = 0
"""What `place` answers when the network rejects a request that it could place."""


class Sight(NamedTuple):
    """A network of servers, and room to look at it; make it with `sight`.

    `first`, `neighbour`, `via` and `switches` are the topology's; `pod_of` int32 [racks] counts all racks without a pod
    as one more. `most` int64 [resources + 1] is the largest server, and the widest link of a server; `total` int64
    [resources]. The racks by pod are `mates` int32 [racks], those of pod p from `pods[p]` on.

    Scratch: the servers that may be chosen are `able` int32 [servers], those of rack r from `until[r]` on; in the same
    places `parts` float64 [servers, resources] is what they have free, and `wires` [servers] their links,
    `linked` bool [servers] whether these have the bandwidth. `gives`
    float64 [racks, resources] and `pod_gives` [pods, resources] sum that up, `uplinks` [racks] is the share free of a
    rack's links upwards. `joined` int64 [racks, 2] is the stamp of the filling that asked, and how many of its servers
    the rack is known to reach: -1 when it does not reach one. `known` float64 [5] is what this run has been asked for
    (requests, duration, size), and of the request on offer the relative duration and the share of the cluster in use.
    Servers `described` int32 have `features` [any, features] and `scores` [any, STYLES + 1].
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
    joined: Ints
    known: Floats
    described: Indices
    features: Floats
    hidden: Floats
    scores: Floats
    terms: Floats


def sight(view: NetworkView) -> Sight:
    """Room for one agent, or one simulation at a time."""
    topology = view.topology
    servers, nodes, resources = view.capacity.shape
    wires = topology.link_capacity[topology.server_link[topology.server_link >= 0]]
    pods = np.where(topology.pod_of < 0, topology.pod_of.max(initial=-1) + 1, topology.pod_of).astype(np.int32)
    sizes = view.capacity.sum(axis=1)
    return Sight(
        routes=view.routing.routes,
        link_tier=topology.link_tier,
        link_capacity=topology.link_capacity,
        first=topology.first,
        neighbour=topology.neighbour,
        via=topology.via,
        switches=topology.switches,
        pod_of=pods,
        pods=np.concatenate([[0], np.cumsum(np.bincount(pods))]).astype(np.int32),
        mates=np.argsort(pods, kind="stable").astype(np.int32),
        most=np.array([*sizes.max(axis=0), wires.max(initial=0) or topology.link_capacity.max()], np.int64),
        total=sizes.sum(axis=0),
        room=filling(view.routing, nodes, resources),
        able=np.zeros(servers, np.int32),
        until=np.zeros(topology.racks + 1, np.int32),
        parts=np.zeros((servers, resources)),
        wires=np.zeros(servers),
        linked=np.zeros(servers, np.bool_),
        gives=np.zeros((topology.racks, resources)),
        pod_gives=np.zeros((int(pods.max()) + 1, resources)),
        uplinks=np.zeros(topology.racks),
        joined=np.zeros((topology.racks, 2), np.int64),
        known=np.zeros(5),
        described=np.zeros(servers, np.int32),
        features=np.zeros((servers, len(FEATURES))),
        hidden=np.zeros(HIDDEN + STYLES + 1),
        scores=np.zeros((servers, STYLES + 1)),
        terms=np.zeros(len(TERMS)),
    )


@kernel
def look(sight: Sight, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> float:
    """Write all that is the same for the whole request; returns the share of the cluster that is free."""
    resources, most, count = len(demand), sight.most, 0
    sight.pod_gives[:] = 0.0
    rest = 0.0
    for rack in range(len(sight.until) - 1):
        up, all_up = 0, 0
        sight.gives[rack] = 0.0
        for edge in range(sight.first[rack], sight.first[rack + 1]):
            link, server = sight.via[edge], sight.neighbour[edge] - sight.switches
            if server < 0:
                up += max(0, link_free[link])
                all_up += sight.link_capacity[link]
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
        sight.uplinks[rack] = up / all_up if all_up > 0 else 1.0
    return rest / resources


@kernel
def joins(sight: Sight, link_free: Ints, rack: int, bandwidth: int, weighted: bool) -> bool:
    """Has this rack a working path to the racks of all servers chosen so far? Asks for each only once."""
    room, joined = sight.room, sight.joined
    if joined[rack, 0] != room.counts[3]:
        joined[rack, 0], joined[rack, 1] = room.counts[3], 0
    while 0 <= joined[rack, 1] < room.counts[0]:
        other = sight.routes.servers[room.servers[joined[rack, 1]], 0]
        works = find_path(sight.routes, link_free, other, rack, bandwidth, weighted) >= 0
        joined[rack, 1] = joined[rack, 1] + 1 if works else -1
    return bool(joined[rack, 1] >= 0)


@kernel
def enough(need: Ints, most: Ints, gives: Floats) -> float:
    """How much of what is needed this gives, of the scarcest resource, squashed."""
    least = np.inf
    for r in range(len(need)):
        if need[r] > 0:
            least = min(least, gives[r] * most[r] / need[r])
    return squashed(least)


@kernel
def best_in(
    sight: Sight, weights: Weights, link_free: Ints, rack: int, bandwidth: int, weighted: bool, style: int
) -> tuple[int, float, float]:
    """The server of this rack that the style likes best, how much, and what it costs; -1 without any that works."""
    room, most, resources = sight.room, sight.most, sight.parts.shape[1]
    need, chosen, wires, parts, x = room.need, room.chosen, sight.wires, sight.parts, sight.features
    first, wide, stamp = room.counts[0] == 0, float(bandwidth / most[resources]), room.counts[3]
    best, best_score, best_cost = -1, -np.inf, 0.0
    if sight.until[rack] == sight.until[rack + 1]:
        return best, best_score, best_cost
    if not first and not joins(sight, link_free, rack, bandwidth, weighted):
        return best, best_score, best_cost
    pod = sight.pod_of[rack]
    new_rack = new_pod = 0.0 if first else 1.0
    for j in range(room.counts[0]):
        other = sight.routes.servers[room.servers[j], 0]
        if other == rack:
            new_rack = 0.0
        if sight.pod_of[other] == pod:
            new_pod = 0.0
    of_rack, of_pod = enough(need, most, sight.gives[rack]), enough(need, most, sight.pod_gives[pod])
    uplinks, duration, used = sight.uplinks[rack], sight.known[3], sight.known[4]
    count = 0
    for place in range(sight.until[rack], sight.until[rack + 1]):
        if chosen[sight.able[place]] == stamp:
            continue
        complete, given = describe(x, count, need, most, parts, place, float(wires[place]), wide, first)
        if (given == 0.0 and not complete) or not (sight.linked[place] or (first and complete)):
            continue
        x[count, 14], x[count, 15], x[count, 16] = of_rack, of_pod, uplinks
        x[count, 17], x[count, 18], x[count, 19] = new_rack, new_pod, 1.0 if first else 0.0
        x[count, 20], x[count, 21] = duration, used
        sight.described[count] = sight.able[place]
        count += 1
    score(weights.server, weights.bias, weights.out, x, count, sight.hidden, sight.scores)
    for n in range(count):
        if sight.scores[n, style] > best_score:
            best, best_score = int(sight.described[n]), sight.scores[n, style]
            best_cost = sight.scores[n, STYLES]
    return best, best_score, best_cost


@kernel
def next_server(
    sight: Sight, weights: Weights, link_free: Ints, home: int, bandwidth: int, weighted: bool, style: int
) -> tuple[int, float]:
    """The nearest server that works: of those at home, of neighbouring racks or of all, the one the style likes best.

    And what it costs; -1 without any.
    """
    best, best_score, best_cost = best_in(sight, weights, link_free, home, bandwidth, weighted, style)
    pod = sight.pod_of[home]
    for away in range(1, 3):
        if best >= 0 or sight.room.counts[0] == 0:
            break
        for place in range(len(sight.mates)):
            rack = sight.mates[place]
            near = sight.pods[pod] <= place < sight.pods[pod + 1]
            if rack == home or near != (away == 1):
                continue
            server, liked, cost = best_in(sight, weights, link_free, rack, bandwidth, weighted, style)
            if liked > best_score:
                best, best_score, best_cost = server, liked, cost
    return best, best_cost


@kernel
def fill(
    sight: Sight,
    weights: Weights,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    weighted: bool,
    home: int,
    style: int,
) -> tuple[int, float]:
    """Make a candidate in `sight.room`: the status, as `choose` says it, and what it costs."""
    room = sight.room
    begin(room, demand)
    status, total = GOES_ON, 0.0
    while status == GOES_ON:
        server, cost = next_server(sight, weights, link_free, home, bandwidth, weighted, style)
        if server < 0:
            break
        total += cost
        status = choose(sight.routes, link_free, sight.link_tier, free, room, server, bandwidth, weighted)
    return status, total + weights.links[0] * room.counts[2] * bandwidth / sight.most[len(demand)]


@kernel
def place(
    sight: Sight,
    weights: Weights,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    duration: float,
    weighted: bool,
    reject: bool,
) -> int:
    """Leave the cheapest candidate in `sight.room`, and answer `COMPLETE`; or `DECLINED`; or -1 when nothing works.

    `free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged.
    """
    unused = look(sight, free, link_free, demand, bandwidth)
    if unused == 0.0:
        return -1
    remember(sight, demand, duration)
    mean = sight.known[1] / sight.known[0]
    sight.known[3] = squashed(duration / mean) if 0 < mean < np.inf else 0.5
    sight.known[4] = 1.0 - unused
    best, best_style, least = -1, 0, np.inf
    for home in range(len(sight.until) - 1):
        if sight.until[home] == sight.until[home + 1]:
            continue
        for style in range(STYLES):
            status, cost = fill(sight, weights, free, link_free, demand, bandwidth, weighted, home, style)
            if status == COMPLETE and (best < 0 or cost < least):
                best, best_style, least = home, style, cost
    if best < 0:
        return -1
    fill(sight, weights, free, link_free, demand, bandwidth, weighted, best, best_style)
    if reject:
        weigh(sight, demand, bandwidth, least)
        if rejects(weights, sight.terms):
            return DECLINED
    return COMPLETE


@kernel
def size_of(sight: Sight, demand: Amounts) -> float:
    """In servers, the mean over the resources."""
    size = 0.0
    for r in range(len(demand)):
        size += demand[r] / max(1, sight.most[r])
    return size / len(demand)


@kernel
def remember(sight: Sight, demand: Amounts, duration: float) -> None:
    """Count this request among those that this run has been asked for."""
    sight.known[0] += 1.0
    sight.known[1] += duration
    sight.known[2] += size_of(sight, demand)


@kernel
def weigh(sight: Sight, demand: Amounts, bandwidth: int, cost: float) -> None:
    """Write the `TERMS` of the candidate in `sight.room`: volume is the logarithm of duration times size, each
    relative to the mean so far."""
    terms, size, room = sight.terms, size_of(sight, demand), sight.room
    relative = size * sight.known[0] / sight.known[2] if sight.known[2] > 0 else 1.0
    longer = sight.known[3] / max(1e-3, 1.0 - sight.known[3])
    terms[0] = np.log(max(1e-3, relative * longer))
    terms[1], terms[2] = sight.known[3], squashed(relative)
    terms[3] = bandwidth / sight.most[len(demand)]
    terms[4] = squashed(room.counts[2] * terms[3] / 4)
    terms[5] = squashed(room.counts[0] / 4)
    terms[6], terms[7] = sight.known[4], cost / 4


@kernel
def play(rules: Rules, state: State, fillings: Filling, sight: Sight, weights: Weights, reject: bool) -> bool:
    """Answer the requests of simulation 0, which is what `sight` is of; says whether all were, or a log is full."""
    placing, wiring = sight.room.amounts.shape[0], sight.room.links.shape[0]
    while state.at[0, 0] < state.at[0, 1]:
        if state.logged[0, 0] + placing > state.places.shape[1] or state.logged[0, 1] + wiring > state.wires.shape[1]:
            return False
        row = state.at[0, 0]
        status = place(
            sight,
            weights,
            state.free[0],
            state.link_free[0],
            state.demand[0, row],
            state.bandwidth[0, row],
            state.duration[0, row],
            rules.weighted,
            reject,
        )
        answer(rules, state, fillings, sight.room, 0, status == COMPLETE)
    return True
