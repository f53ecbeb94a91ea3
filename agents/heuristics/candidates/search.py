"""Makes candidates for every rack as home and every style of picking servers, and finds the cheapest.

A candidate takes servers from its home first, then from neighbouring racks, then from anywhere, each time the one that
its style likes best of those with a working route to all chosen.
"""

from __future__ import annotations

import numpy as np

from agents.heuristics.candidates.next_server import like, relative
from agents.heuristics.candidates.observation import Sight, look
from agents.heuristics.candidates.scoring import STYLES
from fabric.multi_server import COMPLETE, GOES_ON, begin, choose, has_any
from fabric.reachable_servers import Flags
from fabric.topology import Indices
from simcore.jit import lean
from simcore.types import Amounts, Floats, Ints


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
        like(sight, link_free, bandwidth, weighted, home, liked[style, step], costs[style, step])
        server = liked[style, step, style]
        if server < 0:
            break
        total += costs[style, step, style]
        picked[style, step] = server
        step += 1
        status = choose(routes, link_free, sight.link_tier, free, room, server, bandwidth, weighted)
    sight.lengths[style] = step
    return status, total + room.counts[2] * wide


@lean
def blamed(sight: Sight, free: Ints, link_free: Ints, bandwidth: int, weighted: bool) -> int:
    """Return for want of what the last candidate in `sight.room` could not go on, as `choose` does; else `GOES_ON`."""
    room = sight.room
    for server in range(len(free)):
        if has_any(free, server) and room.chosen[server] != room.counts[3]:
            status = choose(sight.routes, link_free, sight.link_tier, free, room, server, bandwidth, weighted)
            return min(status, GOES_ON)
    return GOES_ON


@lean
def place(
    sight: Sight,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    now: float,
    duration: float,
    weighted: bool,
) -> int:
    """Leave the cheapest candidate in `sight.room`; returns `COMPLETE`, or what `blamed` says when nothing works.

    `free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged.
    """
    known = sight.known
    if not look(sight, free, link_free, demand, bandwidth):
        return GOES_ON
    known[0], known[1] = known[0] + 1.0, known[1] + duration
    known[4] = known[1] / known[0]
    known[2], known[3] = relative(duration, known[4]), now
    best, best_style, least = -1, 0, np.inf
    for home in range(len(sight.until) - 1):
        if sight.until[home] == sight.until[home + 1]:
            continue
        for style in range(STYLES):
            status, cost = fill(sight, free, link_free, demand, bandwidth, weighted, home, style, style)
            cost += sight.lots[home, style]
            if status == COMPLETE and (best < 0 or cost < least):
                best, best_style, least = home, style, cost
    if best < 0:
        return blamed(sight, free, link_free, bandwidth, weighted)
    fill(sight, free, link_free, demand, bandwidth, weighted, best, best_style, 0)
    for j in range(sight.room.counts[0]):
        server = sight.room.servers[j]
        sight.ends[server] = max(sight.ends[server], now + duration)
    return COMPLETE
