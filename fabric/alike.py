"""Keeps which servers are alike, so that a decision looks at one of each kind.

Alike are servers of the same capacity that have the same amounts free on the same nodes. A rule that sees nothing else
of a server says the same of all of them, whatever was asked for, and of places that are equal it takes the first. So
of every class of servers that are alike only the first is worth a look. That holds for rules of which no score stays
as it was, too, as something that all places share changes with every request; `fabric.standings` is for the others.

Classes follow the log of servers that changed (`fabric.changes`). They are found by the amounts, in a hash table, and
the servers of each are a skew heap: its root is the first of them, and any of them can leave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fabric.changes import BLOCK, blocks_of
from fabric.topology import Indices
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Ints

SEEN, SERVERS, CLASSES = range(3)
"""Places in `Alike.counts`: how many changes are known, and how many servers, 0 before the first look; how many classes
there are.
"""
LEFT, RIGHT, ABOVE = range(3)
"""Columns of `Alike.heaps`: the servers below a server and the one above it, -1 for none."""


class Alike(NamedTuple):
    """Holds the classes, which have numbers from 0 on.

    `counts` is int64 [3]. `totals` int64 [2, resources] is what all servers together have free, and their capacity.
    `known` int64 [servers, nodes, resources] is what was free when the log was followed last, and `heaps` int32
    [servers, 3] has the heaps. `links` int32 [2 * servers] is the hash table: of each hash the first class that has it,
    and behind these of each class the next one of the same hash, -1 for none. `firsts` int32 [servers] is the first
    server of each class, and `states` int64 [2, servers, nodes, resources] what its servers have free, and their
    capacity: one after another in memory, so that a look at all classes takes no longer than at as many servers.
    """

    counts: Ints
    totals: Ints
    known: Ints
    heaps: Indices
    links: Indices
    firsts: Indices
    states: Ints


def alike(free: Ints) -> Alike:
    """Make room for as many servers as a log is for that suits `free` int64 [servers, nodes, resources]."""
    servers, nodes, resources = blocks_of(len(free)) * BLOCK, *free.shape[1:]
    return Alike(
        counts=np.zeros(3, np.int64),
        totals=np.zeros((2, resources), np.int64),
        known=np.zeros((servers, nodes, resources), np.int64),
        heaps=np.zeros((servers, 3), np.int32),
        links=np.zeros(2 * servers, np.int32),
        firsts=np.zeros(servers, np.int32),
        states=np.zeros((2, servers, nodes, resources), np.int64),
    )


@lean
def follow(kept: Alike, free: Ints, capacity: Ints, log: Ints) -> None:
    """Bring all up to date with what is free now, int64 [servers, nodes, resources]; changes `kept`."""
    counts, servers, changes = kept.counts, len(free), log[0]
    if counts[SERVERS] == 0 or changes - counts[SEEN] >= len(log):
        counts[SERVERS] = counts[CLASSES] = 0
        kept.totals[:] = 0
        kept.links[: len(kept.firsts)] = -1
    else:
        for change in range(counts[SEEN], changes):
            server = log[1 + (change & (len(log) - 2))]
            if server < counts[SERVERS] and not _same(kept.known[server], free[server]):
                _leave(kept, capacity, server)
                _enter(kept, free, capacity, server)
    for server in range(servers - 1, counts[SERVERS] - 1, -1):  # backwards, so that each becomes a root at once
        _enter(kept, free, capacity, server)
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                kept.totals[1, r] += capacity[server, node, r]
    counts[SEEN], counts[SERVERS] = changes, servers


@lean
def _enter(kept: Alike, free: Ints, capacity: Ints, server: int) -> None:
    """Put a server into the class of what it has free now; changes `kept`."""
    heaps = kept.heaps
    for node in range(free.shape[1]):
        for r in range(free.shape[2]):
            kept.known[server, node, r] = free[server, node, r]
            kept.totals[0, r] += free[server, node, r]
    heaps[server, LEFT] = heaps[server, RIGHT] = heaps[server, ABOVE] = -1
    link = _link_of(kept, capacity, server)
    number = kept.links[link]
    if number >= 0:
        root = _merged(heaps, kept.firsts[number], server)
        heaps[root, ABOVE] = -1
        kept.firsts[number] = root
    else:
        number = kept.counts[CLASSES]
        kept.counts[CLASSES] = number + 1
        kept.links[link], kept.links[len(kept.firsts) + number], kept.firsts[number] = number, -1, server
        _copy(kept.known[server], kept.states[0, number])
        _copy(capacity[server], kept.states[1, number])


@lean
def _leave(kept: Alike, capacity: Ints, server: int) -> None:
    """Take a server out of the class of what it had free; changes `kept`."""
    heaps = kept.heaps
    for node in range(capacity.shape[1]):
        for r in range(capacity.shape[2]):
            kept.totals[0, r] -= kept.known[server, node, r]
    above, below = heaps[server, ABOVE], _merged(heaps, heaps[server, LEFT], heaps[server, RIGHT])
    if below >= 0:
        heaps[below, ABOVE] = above
    if above >= 0:
        heaps[above, LEFT if heaps[above, LEFT] == server else RIGHT] = below
        return
    link = _link_of(kept, capacity, server)
    if below >= 0:
        kept.firsts[kept.links[link]] = below
    else:
        _drop(kept, capacity, link)


@lean
def _drop(kept: Alike, capacity: Ints, link: int) -> None:
    """Drop the class of a link, which is empty, and give its number to the last class; changes `kept`."""
    links, firsts = kept.links, kept.firsts
    number, last = links[link], kept.counts[CLASSES] - 1
    links[link] = links[len(firsts) + number]
    if number != last:
        links[_link_of(kept, capacity, firsts[last])] = number
        links[len(firsts) + number], firsts[number] = links[len(firsts) + last], firsts[last]
        for of in kept.states:
            _copy(of[last], of[number])
    kept.counts[CLASSES] = last


@lean
def _link_of(kept: Alike, capacity: Ints, server: int) -> int:
    """Return which of `links` leads to the class of a server, or is to lead there: it is -1 then."""
    links, known, states = kept.links, kept.known, kept.states
    hashed = 0
    for node in range(known.shape[1]):
        for r in range(known.shape[2]):
            hashed = _mixed(_mixed(hashed, known[server, node, r]), capacity[server, node, r])
    link = hashed & (len(known) - 1)
    while links[link] >= 0:
        number = links[link]
        if _same(states[0, number], known[server]) and _same(states[1, number], capacity[server]):
            break
        link = len(known) + number
    return link


@lean_inlined
def _mixed(hashed: int, amount: int) -> int:
    """Return another hash, which depends on an amount, too; products are cut to 64 bits."""
    product = (hashed ^ amount) * 0x2545F4914F6CDD1D
    return product ^ (product >> 32)


@lean_inlined
def _copy(one: Ints, other: Ints) -> None:
    """Write one server's amounts, int64 [nodes, resources], over those of another."""
    for node in range(one.shape[0]):
        for r in range(one.shape[1]):
            other[node, r] = one[node, r]


@lean_inlined
def _same(one: Ints, other: Ints) -> bool:
    """Tell whether two servers have the same amounts, int64 [nodes, resources]."""
    same = True
    for node in range(one.shape[0]):
        for r in range(one.shape[1]):
            same &= one[node, r] == other[node, r]
    return same


@lean
def _merged(heaps: Indices, one: int, other: int) -> int:
    """Merge two heaps, of which either may be empty, -1; returns the root. Changes `heaps`, not what is above it."""
    if one < 0 or other < 0:
        return max(one, other)
    root, rest = min(one, other), max(one, other)
    at = root
    while rest >= 0:  # it goes below `at`, to what was on the right, which is on the left then: so depths even out
        right = heaps[at, RIGHT]
        heaps[at, RIGHT] = heaps[at, LEFT]
        below = rest if right < 0 else min(right, rest)
        rest = -1 if right < 0 else max(right, rest)
        heaps[at, LEFT], heaps[below, ABOVE] = below, at
        at = below
    return root
