"""Keeps the most that any server of a block has free, to find the best server in a network without a look at all.

It is for rules that weigh what a server has free: of every resource, and on its own link, each times a weight that the
request determines. Weights differ from request to request, so there is no best server to keep. But of every set of
these parts there is a most that any server of a block has of their sum, and no weighted sum on the block is above the
one made of these. So a search goes down a tree over blocks to where the sum may be largest, and leaves the rest out.

The tree follows the log of servers that changed (`fabric.changed_servers`). Its root is at 1, 2 k and 2 k + 1 are below
k.
"""

from __future__ import annotations

from math import gcd, lcm
from operator import mul
from typing import NamedTuple

import numpy as np

from binwright.fabric.changed_servers import BLOCK, blocks_of
from binwright.fabric.topology import Indices, Topology
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Floats, Ints

MOST_PARTS = 5
"""Of more resources, and the link, too many sets would have to be kept."""
EXACT = 2**53
"""Floats are whole numbers up to here."""
ABSENT = -1
"""What blocks have whose servers have nothing free at all."""


class Peaks(NamedTuple):
    """Holds the tree; it has no rows where it isn't kept.

    `log` is that of the servers that changed, and `seen` int64 [1] how many of these changes the tree knows, -1 before
    the first. `tree` int64 [2 * blocks, 2 ** parts] has of every set of parts, as bits, the most of their sum, each
    part times its `unit`, int64 [parts]; the last part is the link. `spans` int32 [racks, 2] are the first server of a
    rack, and the one behind its last.

    The rest is scratch: `sums` int64 [2, 2 ** parts]; `sets` int64 [parts] and `steps` float64 [parts] are the
    request's (`weigh`); `ahead` int64 [any, 2] and `keys` float64 [any] are what a search has still to look at.
    """

    log: Ints
    seen: Ints
    tree: Ints
    unit: Ints
    spans: Indices
    sums: Ints
    sets: Ints
    steps: Floats
    ahead: Ints
    keys: Floats


def units(most: list[int]) -> list[int]:
    """Return what each part is multiplied with, so that the largest server has as much of one as of another."""
    common = lcm(*(each for each in most if each))
    found = [common // each if each else 0 for each in most]
    shared = gcd(*found)
    return [each // shared for each in found]


def peaks(topology: Topology, log: Ints | None, most: list[int]) -> Peaks:
    """Make room for a tree, where there is a log; `most` is the largest server's of each resource, and its link's."""
    unit, parts = units(most), len(most)
    kept = log is not None and parts <= MOST_PARTS and max(unit) ** 2 < EXACT > sum(map(mul, unit, most))
    order = np.argsort(topology.rack_of, kind="stable")
    counts = np.bincount(topology.rack_of, minlength=topology.racks)
    spans = np.zeros((topology.racks, 2), np.int32)
    ends = np.cumsum(counts)[counts > 0]
    spans[counts > 0, 0], spans[counts > 0, 1] = order[ends - counts[counts > 0]], order[ends - 1] + 1
    return Peaks(
        log=np.zeros(1, np.int64) if log is None else log,
        seen=np.full(1, -1),
        tree=np.zeros((2 * blocks_of(topology.servers) if kept else 0, 2**parts), np.int64),
        unit=np.array(unit, np.int64),
        spans=spans,
        sums=np.zeros((2, 2**parts), np.int64),
        sets=np.zeros(parts, np.int64),
        steps=np.zeros(parts, np.float64),
        ahead=np.zeros((128, 2), np.int64),
        keys=np.zeros(128, np.float64),
    )


@lean_inlined
def wire_of(servers: Ints, first: Indices, via: Indices, link_free: Ints, server: int) -> int:
    """Return what a server has free on its own link, or on the widest of several; 0 or less if that has failed.

    `servers` are those of `binwright.fabric.routing.Routes`, `first` and `via` those of `Topology`.
    """
    rack, link = servers[server]
    if link >= 0:
        return int(link_free[link])
    most = -1
    for edge in range(first[rack], first[rack + 1]):
        if via[edge] >= 0:
            most = max(most, link_free[via[edge]])
    return int(most)


@lean
def _look(peaks: Peaks, free: Ints, link_free: Ints, servers: Ints, first: Indices, via: Indices, block: int) -> bool:
    """Compute the peaks of a block; tells whether they changed. Changes `tree`."""
    resources, tree = free.shape[2], peaks.tree
    most, here = peaks.sums[0], peaks.sums[1]
    for bits in range(len(most)):
        most[bits] = ABSENT
    for server in range(block * BLOCK, min(block * BLOCK + BLOCK, len(free))):
        anything = False
        here[0] = 0
        for r in range(resources + 1):
            amount = 0
            if r < resources:
                for node in range(free.shape[1]):
                    amount += free[server, node, r]
                anything |= amount > 0
            else:
                amount = max(wire_of(servers, first, via, link_free, server), 0)
            amount *= peaks.unit[r]
            for bits in range(1 << r):
                here[bits + (1 << r)] = here[bits] + amount
        if anything:
            for bits in range(len(most)):
                most[bits] = max(most[bits], here[bits])
    at, changed = len(tree) // 2 + block, False
    for bits in range(len(most)):
        changed |= tree[at, bits] != most[bits]
        tree[at, bits] = most[bits]
    return changed


@lean
def join(tree: Ints, at: int) -> bool:
    """Compute the peaks of a place from those below it; tells whether they changed. Changes `tree`."""
    changed = False
    for bits in range(tree.shape[1]):
        most = max(tree[2 * at, bits], tree[2 * at + 1, bits])
        changed |= tree[at, bits] != most
        tree[at, bits] = most
    return changed


@lean
def follow(peaks: Peaks, free: Ints, link_free: Ints, servers: Ints, first: Indices, via: Indices) -> None:
    """Take in what changed since the last time; changes `tree` and `seen`."""
    tree, log = peaks.tree, peaks.log
    seen, changes, blocks = peaks.seen[0], log[0], len(tree) // 2
    if seen < 0 or changes - seen >= len(log):
        for block in range(blocks):
            _look(peaks, free, link_free, servers, first, via, block)
        for at in range(blocks - 1, 0, -1):
            join(tree, at)
    else:
        for change in range(seen, changes):
            block = log[1 + (change & (len(log) - 2))] // BLOCK
            changed = _look(peaks, free, link_free, servers, first, via, block)
            at = (blocks + block) // 2
            while changed and at > 0:
                changed = join(tree, at)
                at //= 2
    peaks.seen[0] = changes


@lean
def weigh(peaks: Peaks, weights: Floats) -> bool:
    """Get ready to search for the largest sum with these weights, float64 [parts], whole numbers of 0 or more.

    Parts weighed alike count together: by how much the least of them weighs, all do; then those without it, and so
    on. Tells whether all sums are whole numbers that floats hold exactly, without which nothing is to be left out.
    """
    sets, steps, unit = peaks.sets, peaks.steps, peaks.unit
    parts, largest = len(unit), 0.0
    for part in range(parts):  # each by its weight, the largest first
        weight = weights[part] / unit[part] if unit[part] > 0 else 0.0
        largest += weight * peaks.tree[1, 1 << part]
        place = part
        while place > 0 and steps[place - 1] < weight:
            steps[place], sets[place] = steps[place - 1], sets[place - 1]
            place -= 1
        steps[place], sets[place] = weight, 1 << part
    for place in range(parts):
        if place > 0:
            sets[place] += sets[place - 1]
        if place + 1 < parts:
            steps[place] -= steps[place + 1]
    return largest < EXACT


@lean_inlined
def peak(peaks: Peaks, at: int) -> float:
    """Return what no weighted sum below a place is above; less than 0 where nobody has anything free."""
    if peaks.tree[at, 0] == ABSENT:
        return -1.0
    total = 0.0
    for place in range(len(peaks.sets)):
        total += peaks.steps[place] * peaks.tree[at, peaks.sets[place]]
    return total
