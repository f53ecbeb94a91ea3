"""Find the parts of a network, one inside the other, and the links that lead out of them.

A part of level n is what hangs together through vertices that are at most n hops above the servers: a server, then a
rack, then a pod, in fabrics and trees; larger subtrees in deeper trees. Other graphs have parts by the same rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fabric.topology import Topology
from simcore.jit import kernel
from simcore.types import Ints


class Parts(NamedTuple):
    """The parts of a network.

    `of` int64 [levels, servers] is the part of every server, numbered through all levels, servers first, `number` in
    all. Link l leads out of the parts `part[first[l] : first[l + 1]]`, int64.
    """

    of: Ints
    first: Ints
    part: Ints
    number: int


@kernel
def joined(ends: Ints, label: Ints) -> None:
    """Write the lowest vertex of each vertex's component to `label` [vertices], where `ends` [links, 2] are edges."""
    for vertex in range(len(label)):
        label[vertex] = vertex
    for link in range(len(ends)):
        one, other = ends[link, 0], ends[link, 1]
        while label[one] != one:
            one = label[one]
        while label[other] != other:
            other = label[other]
        label[max(one, other)] = min(one, other)
    for vertex in range(len(label)):  # ascending: what a label points to is settled
        label[vertex] = label[label[vertex]]


def parts_of(topology: Topology) -> Parts:
    """Find the parts of a network; a level that has all servers in one part is left out."""
    ends = topology.link_ends.astype(np.int64)
    home = topology.ends_of(np.arange(topology.servers))
    of, part, link, count = [], [], [], 0
    label = np.empty(len(topology.level), np.int64)
    for level in range(int(topology.level.max()) + 1):
        inside = topology.level[ends] <= level
        joined(ends[inside.all(axis=1)], label)
        names, servers = np.unique(label[home], return_inverse=True)
        if level and len(names) == 1:
            break
        of.append(count + servers)
        number = np.full(len(label), -1, np.int64)
        number[names] = count + np.arange(len(names))
        number = np.where(topology.level <= level, number[label], -1)
        for side in (0, 1):
            mine = number[ends[:, side]]
            (leaving,) = np.nonzero((mine >= 0) & (number[ends[:, 1 - side]] != mine))
            part.append(mine[leaving])
            link.append(leaving)
        count += len(names)
    links = np.concatenate(link)
    first = np.searchsorted(np.sort(links), np.arange(topology.links + 1))
    return Parts(np.array(of), first, np.concatenate(part)[np.argsort(links, kind="stable")], count)


@kernel
def leading_out(first: Ints, part: Ints, link_free: Ints, seen: Ints, out: Ints) -> None:
    """Update `out` [parts], what the links out of every part have free, all together: no less than 0 each.

    It was true of the `link_free` that was `seen` the last time; `seen` is written, too.
    """
    for link in range(len(link_free)):
        if link_free[link] != seen[link]:
            more = max(0, link_free[link]) - max(0, seen[link])
            for k in range(first[link], first[link + 1]):
                out[part[k]] += more
            seen[link] = link_free[link]
