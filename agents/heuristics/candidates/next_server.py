"""Finds whom every style likes best next: at home, else in neighbouring racks, else anywhere.

How much a style likes a server in a pod where nobody is chosen depends on what is still needed, and not on who is
chosen. Most homes that come to look anywhere need what another did. So it is kept how much each style likes anybody of
such a rack, and racks where nobody is liked better than who was found are left out.
"""

from __future__ import annotations

import numpy as np

from agents.heuristics.candidates.observation import Sight
from agents.heuristics.candidates.scoring import STYLES, describe, score
from fabric.multi_server import Filling
from fabric.reachable_servers import Flags
from fabric.routing import Routes, find_path
from fabric.topology import Indices
from simcore.jit import lean
from simcore.types import Floats, Ints


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
