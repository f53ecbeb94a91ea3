"""Adds up what servers are asked for in a step of the grid of use, and what they lack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcore.jit import inlined, kernel
from simcore.types import Floats, Ints

ROUNDED = 1 + 1e-9
"""What floats round is no contention."""


class Items(NamedTuple):
    """Lists what is held on nodes of servers, in order of `start`.

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
) -> None:
    """Add up the time from `begin` to `end`, in which `active` items int64 [n] use `shares` float64 [n, resources].

    `items` are columns of `Items`, `capacity` int64 [servers, nodes, resources]. Adds quanta x seconds to `wanted` and
    `missing` float64 [items, resources], and seconds to `contended` float64 [servers]; `totals` float64 [3, resources]
    gets the sums of what is wanted and missing, and of the seconds in which servers lack a resource.
    """
    server, node, starts, ends, amounts, priority = items
    servers, nodes, resources = capacity.shape
    first = np.zeros(servers + 1, np.int64)
    for item in active:
        first[server[item] + 1] += 1
    for s in range(servers):
        first[s + 1] += first[s]
    order, filled = np.empty(len(active), np.int64), first[:-1].copy()
    for place in range(len(active)):
        s = server[active[place]]
        order[filled[s]] = place
        filled[s] += 1
    use = np.empty((len(active), resources))
    load, left = np.empty((nodes, resources)), np.empty((nodes, resources))
    for s in range(servers):
        mine = order[first[s] : first[s + 1]]
        if len(mine) == 0:
            continue
        count = 2
        for place in mine:
            item = active[place]
            count += (begin < starts[item] < end) + (begin < ends[item] < end)
            for r in range(resources):
                use[place, r] = amounts[item, r] * shares[place, r]
        moments = np.empty(count)
        moments[0], moments[1], count = begin, end, 2
        for place in mine:
            item = active[place]
            for moment in (starts[item], ends[item]):
                if begin < moment < end:
                    moments[count] = moment
                    count += 1
        if count > 2:
            moments.sort()
        for k in range(count - 1):
            if moments[k + 1] > moments[k]:
                lacks = _between(
                    moments[k],
                    moments[k + 1],
                    mine,
                    active,
                    use,
                    starts,
                    ends,
                    node,
                    priority,
                    capacity[s],
                    load,
                    left,
                    wanted,
                    missing,
                    totals,
                )
                contended[s] += lacks * (moments[k + 1] - moments[k])


@inlined
def _between(
    begin: float,
    end: float,
    mine: Ints,
    active: Ints,
    use: Floats,
    starts: Floats,
    ends: Floats,
    node: Ints,
    priority: Ints,
    capacity: Ints,
    load: Floats,
    left: Floats,
    wanted: Floats,
    missing: Floats,
    totals: Floats,
) -> bool:
    """Do so for a server and a time in which nothing changes on it; returns whether it lacks anything."""
    nodes, resources = load.shape
    seconds, lacks = end - begin, False
    load[:] = 0.0
    for place in mine:
        item = active[place]
        if starts[item] <= begin and ends[item] >= end:
            for r in range(resources):
                load[node[item], r] += use[place, r]
                wanted[item, r] += use[place, r] * seconds
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
        level, found = 0, False
        for place in mine:
            item = active[place]
            there = starts[item] <= begin and ends[item] >= end
            if there and priority[item] < above and (not found or priority[item] > level):
                level, found = priority[item], True
        if not found:
            return True
        load[:] = 0.0
        for place in mine:
            item = active[place]
            if starts[item] <= begin and ends[item] >= end and priority[item] == level:
                for r in range(resources):
                    load[node[item], r] += use[place, r]
        for place in mine:
            item = active[place]
            if starts[item] <= begin and ends[item] >= end and priority[item] == level:
                for r in range(resources):
                    total, there = load[node[item], r], left[node[item], r]
                    if total > there * ROUNDED:
                        missing[item, r] += use[place, r] * (1 - there / total) * seconds
        left[:] = np.maximum(left - load, 0.0)
        above = level
