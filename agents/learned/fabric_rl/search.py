"""Places a request as fabric-rl does: the cheapest of candidates for every rack as home and every style of picking.

A candidate takes servers from its home first, then from neighbouring racks, then from anywhere, each time the one that
its style likes best of those with a working route to all chosen.
"""

from __future__ import annotations

import numpy as np

from agents.learned.fabric_rl.liking import like, relative
from agents.learned.fabric_rl.network import STYLES, Weights, rejects, squashed
from agents.learned.fabric_rl.sight import Sight, look
from fabric.allowed import Flags
from fabric.compiled.network_episodes import NetworkRules, NetworkState, answer
from fabric.filling import COMPLETE, GOES_ON, Filling, begin, choose
from fabric.topology import Indices
from simcore.jit import kernel, lean
from simcore.vocabulary import Amounts, Floats, Ints

DECLINED = 0
"""What `place` answers when the network rejects a request that it could place."""


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
    """
    room, routes, liked, costs, picked = sight.room, sight.routes, sight.liked, sight.costs, sight.picked
    wide = float(bandwidth / sight.most[len(demand)])
    step, total, same = follow(style, known, sight.alike, sight.lengths, liked, picked, costs)
    if same:
        sight.lengths[style] = step
        return GOES_ON, 0.0
    begin(room, demand)
    status = GOES_ON
    for before in range(step):
        status = choose(routes, link_free, sight.link_tier, free, room, picked[style, before], bandwidth, weighted)
    while status == GOES_ON:
        like(sight, weights, link_free, bandwidth, weighted, home, liked[style, step], costs[style, step])
        server = liked[style, step, style]
        if server < 0:
            break
        total += costs[style, step, style]
        picked[style, step] = server
        step += 1
        status = choose(routes, link_free, sight.link_tier, free, room, server, bandwidth, weighted)
    sight.lengths[style] = step
    links = 0.0
    for j in range(room.counts[2]):
        links += weights.links[0 if sight.link_tier[room.links[j]] == 0 else 1]
    return status, total + links * wide


@lean
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


@lean
def size_of(sight: Sight, demand: Amounts) -> float:
    """Return a size in servers, the mean over the resources."""
    size = 0.0
    for r in range(len(demand)):
        size += demand[r] / max(1, sight.most[r])
    return size / len(demand)


@lean
def remember(sight: Sight, demand: Amounts, duration: float) -> None:
    """Count this request among those that this run has been asked for."""
    size = size_of(sight, demand)
    sight.known[0] += 1.0
    sight.known[1] += duration
    sight.known[2] += size
    sight.known[3] += size * duration


@lean
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
