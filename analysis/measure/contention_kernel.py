"""Adds up what servers are asked for in a step of the grid of use, and what they lack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.simcore.jit import inlined, kernel
from binwright.simcore.types import Floats, Ints

ROUNDED = 1 + 1e-9
"""What floats round is no contention."""


class Items(NamedTuple):
    """Lists what is held on nodes of servers, in order of servers and of `start`.

    `server`, `node` int64 [n]; `start`, `end` float64 [n]; `amounts` int64 [n, resources] quanta; `priority` int64 [n].
    """

    server: Ints
    node: Ints
    start: Floats
    end: Floats
    amounts: Ints
    priority: Ints


@kernel
def account(
    begin: float,
    end: float,
    active: Ints,
    shares: Floats,
    items: Items,
    capacity: Ints,
    wanted: Floats,
    missing: Floats,
    contended: Floats,
    totals: Floats,
    power: int,
    drawn: Floats,
) -> int:
    """Add up the time from `begin` to `end`, in which `active` items int64 [n] use `shares` float64 [n, resources].

    The active items are in order, and so are their servers. `capacity` is int64 [servers, nodes, resources]. Adds
    quanta x seconds to `wanted` and `missing` float64 [items, resources], and seconds to `contended` float64 [servers];
    `totals` float64 [3, resources] gets the sums of what is wanted and missing, and of the seconds in which servers
    lack a resource. Where `power` is a resource and not -1, `drawn` float64 [3 * items, 4] gets, of every time in which
    nothing changes on a server that holds something, the server, begin and end, and the quanta of it that are used;
    returns how many there are.
    """
    server, starts, ends, amounts = items.server, items.start, items.end, items.amounts
    nodes, resources = capacity.shape[1:]
    load, left, noted, granted = np.empty((nodes, resources)), np.empty((nodes, resources)), 0, np.empty(1)
    moments, first = np.empty(2 * len(active) + 2), 0
    while first < len(active):
        s, last, changes = server[active[first]], first, 0
        while last < len(active) and server[active[last]] == s:
            item = active[last]
            changes += (begin < starts[item] < end) + (begin < ends[item] < end)
            for r in range(resources):
                shares[last, r] *= amounts[item, r]
            last += 1
        moments[0], moments[1], count = begin, end, 2
        for place in range(first, last if changes else first):
            for moment in (starts[active[place]], ends[active[place]]):
                if begin < moment < end:
                    moments[count] = moment
                    count += 1
        if changes:
            moments[:count].sort()
        for k in range(changes + 1):
            if moments[k + 1] > moments[k]:
                part = active[first:last], shares[first:last], items, capacity[s], load, left, wanted, missing, totals
                lacks = between(moments[k], moments[k + 1], *part, power, granted)
                contended[s] += lacks * (moments[k + 1] - moments[k])
                if granted[0] >= 0:
                    drawn[noted, 0], drawn[noted, 1], drawn[noted, 2] = s, moments[k], moments[k + 1]
                    drawn[noted, 3] = granted[0]
                    noted += 1
        first = last
    return noted


@inlined
def between(
    begin: float,
    end: float,
    active: Ints,
    use: Floats,
    items: Items,
    capacity: Ints,
    load: Floats,
    left: Floats,
    wanted: Floats,
    missing: Floats,
    totals: Floats,
    power: int,
    granted: Floats,
) -> bool:
    """Account for one server and a time in which nothing changes on it; returns whether it lacks anything.

    `active` are the items on it, and `use` float64 [n, resources] the quanta that each would use. `granted` float64 [1]
    gets what is used of the resource `power`, -1 where there is none or nothing is held.
    """
    node, starts, ends, priority = items.node, items.start, items.end, items.priority
    nodes, resources = load.shape
    seconds, lacks = end - begin, False
    load[:], granted[0] = 0.0, -1.0
    for place in range(len(active)):
        item = active[place]
        if starts[item] <= begin and ends[item] >= end:
            for r in range(resources):
                load[node[item], r] += use[place, r]
                wanted[item, r] += use[place, r] * seconds
                if power >= 0 and items.amounts[item, r] > 0:
                    granted[0] = 0.0
    if granted[0] == 0.0:
        for n in range(nodes):
            granted[0] += min(load[n, power], float(capacity[n, power]))
    for r in range(resources):
        some = False
        for n in range(nodes):
            totals[0, r] += load[n, r] * seconds
            totals[1, r] += max(load[n, r] - capacity[n, r], 0.0) * seconds
            some |= load[n, r] > capacity[n, r] * ROUNDED
        totals[2, r] += seconds * some
        lacks |= some
    if not lacks:
        return False
    # The highest priority takes what it uses, then the next one what is left.
    left[:] = capacity
    above = np.iinfo(np.int64).max
    while True:
        level, found = above, False
        for item in active:
            there = starts[item] <= begin and ends[item] >= end
            if there and priority[item] < above and (not found or priority[item] > level):
                level, found = priority[item], True
        if not found:
            return True
        load[:] = 0.0
        for adds in (True, False):
            for place in range(len(active)):
                item = active[place]
                if starts[item] <= begin and ends[item] >= end and priority[item] == level:
                    for r in range(resources):
                        total, there_is = load[node[item], r], left[node[item], r]
                        if adds:
                            load[node[item], r] = total + use[place, r]
                        elif total > there_is * ROUNDED:
                            missing[item, r] += use[place, r] * (1 - there_is / total) * seconds
        left[:] = np.maximum(left - load, 0.0)
        above = level
