"""Places a request as fabric-rl does: the cheapest of candidates for every rack as home and every style of picking.

A candidate takes servers from its home first, then from neighbouring racks, then from anywhere, each time the one that
its style likes best of those with a working route to all chosen.
"""

from __future__ import annotations

import numpy as np

from agents.learned.fabric_rl.network import STYLES, Weights, describe, rejects, score, squashed
from agents.learned.fabric_rl.sight import Sight, look
from fabric.allowed import Flags
from fabric.compiled.network_episodes import NetworkRules, NetworkState, answer
from fabric.filling import COMPLETE, GOES_ON, Filling, begin, choose
from fabric.routing import Routes, find_path
from fabric.topology import Indices
from simcore.jit import kernel, lean
from simcore.vocabulary import Amounts, Floats, Ints

DECLINED = 0
"""What `place` answers when the network rejects a request that it could place."""


@lean
def joins(
    routes: Routes, link_free: Ints, room: Filling, joined: Ints, rack: int, bandwidth: int, weighted: bool
) -> bool:
    """Tell whether this rack has a working path to the racks of all servers chosen; looks for each path only once."""
    if joined[rack, 0] != room.counts[3]:
        joined[rack, 0], joined[rack, 1] = room.counts[3], 0
    while 0 <= joined[rack, 1] < room.counts[0]:
        other = routes.servers[room.servers[joined[rack, 1]], 0]
        works = other == rack or find_path(routes, link_free, other, rack, bandwidth, weighted) >= 0
        joined[rack, 1] = joined[rack, 1] + 1 if works else -1
    return bool(joined[rack, 1] >= 0)


@lean
def enough(need: Ints, most: Ints, gives: Floats, row: int) -> float:
    """Return how much of what is needed `gives[row]` is, of the scarcest resource, squashed."""
    least = np.inf
    for r in range(len(need)):
        if need[r] > 0:
            least = min(least, gives[row, r] * most[r] / need[r])
    return squashed(least)


@lean
def relative(duration: float, mean: float) -> float:
    """Return the amount relative to the mean; 1 where there is no mean."""
    return duration / mean if 0 < mean < np.inf else 1.0


@lean
def describe_all(
    described: Indices,
    features: Floats,
    able: Indices,
    begin: int,
    end: int,
    chosen: Ints,
    stamp: int,
    ends: Floats,
    linked: Flags,
    wires: Floats,
    parts: Floats,
    need: Ints,
    most: Ints,
    wide: float,
    first: bool,
    known: Floats,
) -> int:
    """Write the `OWN` features of the servers from place `begin` to `end` that may be chosen; returns their number."""
    count, duration, now, mean = 0, known[4], known[6], known[7]
    for place in range(begin, end):
        server = able[place]
        if chosen[server] == stamp:
            continue
        stays = relative(ends[server] - now, mean) if ends[server] > now else 0.0
        complete, given = describe(
            features, count, need, most, parts, place, wires[place], wide, first, stays, duration
        )
        if (given > 0.0 or complete) and (linked[place] or (first and complete)):
            described[count] = server
            count += 1
    return count


@lean
def share(
    shared: Floats,
    rack: int,
    routes: Routes,
    room: Filling,
    pod_of: Indices,
    most: Ints,
    gives: Floats,
    pod_gives: Floats,
    uplinks: Floats,
    wide: float,
    known: Floats,
) -> None:
    """Write the `SHARED` features of a rack's servers."""
    first = room.counts[0] == 0
    new_rack = new_pod = 0.0 if first else 1.0
    for j in range(room.counts[0]):
        other = routes.servers[room.servers[j], 0]
        if other == rack:
            new_rack = 0.0
        if pod_of[other] == pod_of[rack]:
            new_pod = 0.0
    needed = 0.0
    for r in range(len(room.need)):
        if most[r] > 0:
            needed = max(needed, room.need[r] / most[r])
    shared[0], shared[1] = wide, squashed(needed / 2)
    shared[2], shared[3] = enough(room.need, most, gives, rack), enough(room.need, most, pod_gives, pod_of[rack])
    shared[4], shared[5], shared[6], shared[7] = uplinks[rack], new_rack, new_pod, 1.0 if first else 0.0
    shared[8], shared[9] = squashed(known[4]), known[5]


@lean
def follow(
    style: int, known: int, alike: Flags, lengths: Ints, liked: Indices, picked: Indices, costs: Floats
) -> tuple[int, float, bool]:
    """Return how many choices of a style are known, as others chose alike; their cost; and whether that is all."""
    total, step, same = 0.0, 0, 0 if known > 0 else style
    for other in range(known):
        alike[other] = True
    while same != style and step < lengths[same]:
        server = liked[same, step, style]
        picked[style, step] = server
        total += costs[same, step, style]
        same = style
        for other in range(known - 1, -1, -1):
            alike[other] &= step < lengths[other] and picked[other, step] == server
            if alike[other]:
                same = other
        step += 1
    return step, total, same != style


@lean
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
    known: int,
) -> tuple[int, float]:
    """Make a candidate in `sight.room`; returns the status, as `choose` does, and what it costs.

    Of the servers that work, at home, else in neighbouring racks, else anywhere, it takes the one that the style likes
    best. The first `known` styles have made their candidates with this home; one that is the same again is not made.

    All in one: a kernel that is called counts references to all arrays that it is given, which takes longer than this.
    """
    room, routes, most, pod_of, best = sight.room, sight.routes, sight.most, sight.pod_of, sight.best
    described, features, shared, scores = sight.described, sight.features, sight.shared, sight.scores
    able, until, mates, pods, counts, need = sight.able, sight.until, sight.mates, sight.pods, room.counts, room.need
    liked, costs, picked, lengths, of_run = sight.liked, sight.costs, sight.picked, sight.lengths, sight.known
    wide, pod = float(bandwidth / most[len(demand)]), pod_of[home]
    step, total, same = follow(style, known, sight.alike, lengths, liked, picked, costs)
    if same:
        lengths[style] = step
        return GOES_ON, 0.0
    begin(room, demand)
    status = GOES_ON
    for before in range(step):
        status = choose(routes, link_free, sight.link_tier, free, room, picked[style, before], bandwidth, weighted)
    while status == GOES_ON:
        for each in range(STYLES):
            best[each] = -np.inf
        liked[style, step] = -1
        first, away = counts[0] == 0, 0
        while liked[style, step, 0] < 0 and away < (1 if first else 3):
            for turn in range(1 if away == 0 else len(mates)):
                rack = home if away == 0 else mates[turn]
                near = pods[pod] <= turn < pods[pod + 1]
                if (away > 0 and (rack == home or near != (away == 1))) or until[rack] == until[rack + 1]:
                    continue
                if not first and not joins(routes, link_free, room, sight.joined, rack, bandwidth, weighted):
                    continue
                count = describe_all(
                    described,
                    features,
                    able,
                    until[rack],
                    until[rack + 1],
                    room.chosen,
                    counts[3],
                    sight.ends,
                    sight.linked,
                    sight.wires,
                    sight.parts,
                    need,
                    most,
                    wide,
                    first,
                    of_run,
                )
                if count == 0:
                    continue
                gives, pod_gives, uplinks = sight.gives, sight.pod_gives, sight.uplinks
                share(shared, rack, routes, room, pod_of, most, gives, pod_gives, uplinks, wide, of_run)
                score(weights.server, weights.bias, weights.out, shared, features, count, sight.hidden, scores)
                for n in range(count):
                    for each in range(STYLES):
                        if scores[n, each] > best[each]:
                            best[each], liked[style, step, each] = scores[n, each], described[n]
                            costs[style, step, each] = scores[n, STYLES]
            away += 1
        server = liked[style, step, style]
        if server < 0:
            break
        total += costs[style, step, style]
        picked[style, step] = server
        step += 1
        status = choose(routes, link_free, sight.link_tier, free, room, server, bandwidth, weighted)
    lengths[style] = step
    links = 0.0
    for j in range(counts[2]):
        links += weights.links[0 if sight.link_tier[room.links[j]] == 0 else 1]
    return status, total + links * wide


@kernel
def place(
    sight: Sight,
    weights: Weights,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    now: float,
    duration: float,
    weighted: bool,
    reject: bool,
) -> int:
    """Leave the cheapest candidate in `sight.room`; returns `COMPLETE`, or `DECLINED`, or -1 when nothing works.

    `free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged.
    """
    known = sight.known
    unused = look(sight, free, link_free, demand, bandwidth)
    if unused == 0.0:
        return -1
    remember(sight, demand, duration)
    known[7] = known[1] / known[0]
    known[4], known[5], known[6] = relative(duration, known[7]), 1.0 - unused, now
    best, best_style, least = -1, 0, np.inf
    for home in range(len(sight.until) - 1):
        if sight.until[home] == sight.until[home + 1]:
            continue
        for style in range(STYLES):
            status, cost = fill(sight, weights, free, link_free, demand, bandwidth, weighted, home, style, style)
            cost += sight.lots[home, style]
            if status == COMPLETE and (best < 0 or cost < least):
                best, best_style, least = home, style, cost
    if best < 0:
        return -1
    fill(sight, weights, free, link_free, demand, bandwidth, weighted, best, best_style, 0)
    if reject:
        weigh(sight, weights.decline[0], demand, bandwidth, least)
        if rejects(weights, sight.terms):
            return DECLINED
    for j in range(sight.room.counts[0]):
        server = sight.room.servers[j]
        sight.ends[server] = max(sight.ends[server], now + duration)
    return COMPLETE


@kernel
def size_of(sight: Sight, demand: Amounts) -> float:
    """Return a size in servers, the mean over the resources."""
    size = 0.0
    for r in range(len(demand)):
        size += demand[r] / max(1, sight.most[r])
    return size / len(demand)


@kernel
def remember(sight: Sight, demand: Amounts, duration: float) -> None:
    """Count this request among those that this run has been asked for."""
    size = size_of(sight, demand)
    sight.known[0] += 1.0
    sight.known[1] += duration
    sight.known[2] += size
    sight.known[3] += size * duration


@kernel
def weigh(sight: Sight, effort: float, demand: Amounts, bandwidth: int, cost: float) -> None:
    """Write the `TERMS` of the candidate in `sight.room`.

    Volume is the logarithm of duration x (size + effort x cost), relative to the mean volume so far.
    """
    terms, size, room, known = sight.terms, size_of(sight, demand), sight.room, sight.known
    mean = known[3] / known[0]
    volume = (size + effort * cost) * known[4] * known[7] / mean if 0 < mean < np.inf else 1.0
    terms[0] = np.log(max(1e-3, volume))
    terms[1], terms[2] = squashed(known[4]), squashed(size * known[0] / known[2] if known[2] > 0 else 1.0)
    terms[3] = bandwidth / sight.most[len(demand)]
    terms[4] = squashed(room.counts[2] * terms[3] / 4)
    terms[5] = squashed(room.counts[0] / 4)
    terms[6], terms[7] = known[5], cost / 4


@kernel
def play(
    rules: NetworkRules, state: NetworkState, fillings: Filling, sight: Sight, weights: Weights, reject: bool
) -> bool:
    """Answer the requests of simulation 0, which `sight` shows; tells whether all were, or a log is full."""
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
            state.now[0],
            state.told[0, row],
            rules.weighted,
            reject,
        )
        answer(rules, state, fillings, sight.room, 0, status == COMPLETE)
    return True
