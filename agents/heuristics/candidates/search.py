"""Makes candidates for every rack as home and every style of picking servers, and finds the cheapest.

A candidate takes servers from its home first, then from neighbouring racks, then from anywhere, each time the one that
its style likes best of those with a working route to all chosen.

How much a style likes a server in a pod where nobody is chosen depends on what is still needed, and not on who is
chosen. Most homes that come to look anywhere need what another did. So it is kept how much each style likes anybody of
such a rack, and racks where nobody is liked better than who was found are left out.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.heuristics.candidates.observation import Sight, look
from binwright.agents.heuristics.candidates.scoring import STYLES, describe, score
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, begin, choose, has_any
from binwright.fabric.reachable_servers import Flags
from binwright.fabric.routing import Routes, find_path
from binwright.fabric.topology import Indices
from binwright.simcore.jit import lean
from binwright.simcore.types import Amounts, Floats, Ints


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
    """Write the features of the servers from place `begin` to `end` that may be chosen; returns their number."""
    count, duration, now, mean = 0, known[2], known[3], known[4]
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
def like(
    sight: Sight,
    link_free: Ints,
    bandwidth: int,
    weighted: bool,
    home: int,
    liked: Indices,
    costs: Floats,
) -> None:
    """Write to `liked` int32 [STYLES] which server each style would choose next, -1 for none, and their `costs`.

    Of those that it likes alike it is the first, by the places of racks in `mates`.
    """
    mates, pods, pod = sight.mates, sight.pods, sight.pod_of[home]
    for style in range(STYLES):
        sight.best[style], sight.turns[style], liked[style] = -np.inf, -1, -1
    rate(sight, link_free, bandwidth, weighted, home, 0, liked, costs)
    # From a rack without an uplink that is wide enough there is no path to any other.
    if sight.room.counts[0] == 0 or liked[0] >= 0 or sight.widest[home] < bandwidth:
        return
    for turn in range(pods[pod], pods[pod + 1]):
        if mates[turn] != home:
            rate(sight, link_free, bandwidth, weighted, mates[turn], turn, liked, costs)
    if liked[0] < 0:
        like_far(sight, link_free, bandwidth, weighted, pod, liked, costs)


@lean
def like_far(
    sight: Sight,
    link_free: Ints,
    bandwidth: int,
    weighted: bool,
    pod: int,
    liked: Indices,
    costs: Floats,
) -> None:
    """Do what `like` does, with all racks outside this pod: first with those that were best when last asked."""
    room, mates, pod_of, close, turns = sight.room, sight.mates, sight.pod_of, sight.close, sight.turns
    slot, stamp = slot_of(sight), room.counts[3]
    for j in range(room.counts[0]):
        close[pod_of[sight.routes.servers[room.servers[j], 0]]] = stamp
    for style in range(STYLES):
        turn = sight.leaders[slot, style]
        if turn >= 0:
            rate(sight, link_free, bandwidth, weighted, mates[turn], turn, liked, costs)
    for turn in range(len(mates)):
        other = pod_of[mates[turn]]
        hopeful = close[other] == stamp
        for style in range(STYLES):
            most, best = sight.far[slot, turn, style], sight.best[style]
            hopeful |= most > best or (most == best and turn < turns[style])
        if other == pod or not hopeful:
            continue
        seen = rate(sight, link_free, bandwidth, weighted, mates[turn], turn, liked, costs)
        if seen and close[other] != stamp:
            for style in range(STYLES):
                sight.far[slot, turn, style] = sight.top[style]
    for style in range(STYLES):
        sight.leaders[slot, style] = turns[style]


@lean
def slot_of(sight: Sight) -> int:
    """Return the row of `far` for what is still needed; nothing is known in it if it was for something else."""
    need, mixed, same = sight.room.need, 0, True
    for r in range(len(need)):
        mixed = mixed * 1_000_003 + need[r]
    slot = mixed % len(sight.far)
    for r in range(len(need)):
        same &= sight.far_need[slot, r] == need[r]
        sight.far_need[slot, r] = need[r]
    if not same or sight.far_look[slot] != sight.looks[0]:
        sight.far_look[slot] = sight.looks[0]
        sight.far[slot], sight.leaders[slot] = np.inf, -1
    return int(slot)


@lean
def rate(
    sight: Sight,
    link_free: Ints,
    bandwidth: int,
    weighted: bool,
    rack: int,
    turn: int,
    liked: Indices,
    costs: Floats,
) -> bool:
    """Put servers of a rack in place of those whom styles like less; tells whether it has paths to all that are chosen.

    Without them it does nothing. `turn` is the rack's place in `mates`. Changes `liked`, `costs`, and of `sight` what
    is scratch: `top` is then how much each style likes any server of the rack.
    """
    room, until, scores, best, turns, top = sight.room, sight.until, sight.scores, sight.best, sight.turns, sight.top
    first, count = room.counts[0] == 0, until[rack + 1] - until[rack]
    if count > 0 and not first and not joins(sight.routes, link_free, room, sight.joined, rack, bandwidth, weighted):
        return False
    for style in range(STYLES):
        top[style] = -np.inf
    if count == 0:
        return True
    wide = float(bandwidth / sight.most[len(room.need)])
    count = describe_all(
        sight.described,
        sight.features,
        sight.able,
        until[rack],
        until[rack + 1],
        room.chosen,
        room.counts[3],
        sight.ends,
        sight.linked,
        sight.wires,
        sight.parts,
        room.need,
        sight.most,
        wide,
        first,
        sight.known,
    )
    if count == 0:
        return True
    score(sight.likes, sight.features, count, scores)
    for n in range(count):
        for style in range(STYLES):
            value = scores[n, style]
            if value > top[style]:
                top[style] = value
            if value > best[style] or (value == best[style] and turn < turns[style]):
                best[style], turns[style], liked[style] = value, turn, sight.described[n]
                costs[style] = scores[n, STYLES]
    return True


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
