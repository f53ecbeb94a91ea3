"""Paths for the pairs of a virtual network: all or none, each over what those before it left free."""

from __future__ import annotations

import numpy as np

from binwright.fabric.routing import Routes, find_route, route_links
from binwright.fabric.topology import Indices
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


@kernel
def widest_shortest(
    routes: Routes, link_free: Ints, s: int, t: int, rate: int, reached: Ints, width: Ints, came: Indices, out: Indices
) -> int:
    """Write the links from server s to server t to `out` int32, in order; how many there are, -1 without a path.

    Of the paths whose links all have the rate free it has the fewest links, of these the largest bottleneck, and then
    it comes first in the order of the switches' numbers. `reached`, `width` int64 [switches] and `came` int32
    [switches, 2] are scratch.

    Guerin, Orda, Williams 1997, QoS routing mechanisms and OSPF extensions: the widest-shortest path.
    """
    if s == t:
        return 0
    a, b = int(routes.rack_of[s]), int(routes.rack_of[t])
    if link_free[s] < rate or link_free[t] < rate:
        return -1
    reached[:] = -1
    reached[a], width[a] = 0, np.iinfo(np.int64).max
    ahead = np.empty(len(reached), np.int32)
    ahead[0], head, tail = a, 0, 1
    while head < tail and (reached[b] < 0 or reached[ahead[head]] < reached[b]):
        switch = int(ahead[head])
        head += 1
        for edge in range(routes.first[switch], routes.first[switch + 1]):
            near, link = int(routes.edges[edge, 0]), int(routes.edges[edge, 1])
            if link_free[link] < rate:
                continue
            if reached[near] < 0:
                reached[near], width[near] = reached[switch] + 1, -1
                ahead[tail] = near
                tail += 1
            wide = min(width[switch], link_free[link])
            if reached[near] == reached[switch] + 1 and wide > width[near]:
                width[near], came[near, 0], came[near, 1] = wide, switch, link
    if reached[b] < 0:
        return -1
    count = int(reached[b]) + 2
    out[0], out[count - 1] = s, t
    for place in range(count - 2, 0, -1):
        out[place] = came[b, 1]
        b = int(came[b, 0])
    return count


@kernel
def route_pairs(
    routes: Routes, link_free: Ints, servers: Ints, pairs: Ints, rates: Ints, order: Ints, widest: bool
) -> tuple[int, Ints, Indices]:
    """Find a path for every pair, in this `order` int64 [k]; returns the pair that has none, or -1, and the paths.

    `servers` int64 [n] has the server of each machine, `pairs` int64 [k, 2] its two machines. Paths are the
    `widest_shortest` ones, or else the first of the K with the rate free. They are as `Embedding` says: where each
    begins, int64 [k + 1], and their links. `link_free` int64 [links] is written: what the paths leave.
    """
    switches = len(routes.first) - 1
    reached, width = np.empty(switches, np.int64), np.empty(switches, np.int64)
    came, out = np.empty((switches, 2), np.int32), np.empty(switches + 2, np.int32)
    begin, length = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    paths = np.empty(8 * len(pairs) + switches + 2, np.int32)
    used = 0
    for place in range(len(order)):
        pair, rate = order[place], rates[order[place]]
        s, t = servers[pairs[pair, 0]], servers[pairs[pair, 1]]
        if widest:
            count = widest_shortest(routes, link_free, s, t, rate, reached, width, came, out)
        else:
            k = find_route(routes, link_free, s, t, rate, False)
            count = -1 if k < 0 else route_links(routes, link_free, s, t, k, False, out)
        if count < 0:
            return pair, begin, paths[:0]
        if used + count > len(paths):
            paths = np.concatenate((paths, np.empty(len(paths), np.int32)))
        begin[pair], length[pair] = used, count
        for step in range(count):
            link_free[out[step]] -= rate
            paths[used] = out[step]
            used += 1
    first, links = np.zeros(len(pairs) + 1, np.int64), np.empty(used, np.int32)
    for pair in range(len(pairs)):
        first[pair + 1] = first[pair] + length[pair]
        links[first[pair] : first[pair + 1]] = paths[begin[pair] : begin[pair] + length[pair]]
    return -1, first, links
