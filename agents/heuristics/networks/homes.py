"""Knows what Best-Home needs of every server and rack of a network, and looks again only at what changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, largest
from fabric.network import NetworkView
from fabric.peaks import wire_of
from fabric.topology import Indices
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Amounts, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
MOST = np.iinfo(np.int64).max


class CostWeights(NamedTuple):
    """Holds what counts how much, each a multiple of one part in WHOLE: see `BestHome`."""

    links: int
    uplinks: int
    stranded: int
    cut_off: int
    leftover: int


class Homes(NamedTuple):
    """Holds what a search for the best home reads and writes.

    `first`, `neighbour` and `via` are the topology's; `most` int64 [resources + 1] is the largest server, and the
    capacity of its link. `cost` int64 [1] is what the last answer costs, see `fill`. The racks of pod p are
    `mates[pods[p]:pods[p + 1]]`, int32 [racks].

    Servers stand rack by rack: those of rack r are `order[until[r]:until[r + 1]]`, int32 [servers], and `places` int32
    [servers] is where each stands. In the same places `there` int64 [servers, resources + 1] is what they have free,
    and all of it together, `parts` int64 [servers, resources] the same as shares, `apart` int64 [servers] how much of
    it is stranded, `behind` int64 [servers] how much is cut off, and `wires` int64 [servers] what their own links have
    free (of several, the widest). `racks` int64 [racks, resources + 2] has the most of what a rack's servers have free
    of each resource, and, of those with anything free, on their links, and the most that one can be worth. All this
    follows what changed where there is a `log`, of which `seen` int64 [1] is known, -1 before the first time.

    `joined` int64 [racks, 2] is what `joins` remembers; `nobody` int64 [pods + 1] is scratch.
    """

    network: Network
    first: Indices
    via: Indices
    most: Ints
    weights: CostWeights
    cost: Ints
    pods: Indices
    mates: Indices
    order: Indices
    places: Indices
    until: Indices
    there: Ints
    parts: Ints
    apart: Ints
    behind: Ints
    wires: Ints
    racks: Ints
    log: Ints
    seen: Ints
    joined: Ints
    nobody: Ints


def homes_of(view: NetworkView, network: Network, weights: CostWeights) -> Homes:
    """Make what one agent needs."""
    topology, resources = view.topology, view.free.shape[2]
    pods = topology.pod_of[topology.pod_of >= 0]
    order = np.argsort(topology.rack_of, kind="stable").astype(np.int32)
    return Homes(
        network=network,
        first=topology.first,
        via=topology.via,
        most=np.array(largest(view), np.int64),
        weights=weights,
        cost=np.zeros(1, np.int64),
        pods=np.concatenate([[0], np.cumsum(np.bincount(pods))]).astype(np.int32),
        mates=np.argsort(topology.pod_of, kind="stable")[topology.racks - len(pods) :].astype(np.int32),
        order=order,
        places=np.argsort(order).astype(np.int32),
        until=np.searchsorted(topology.rack_of[order], np.arange(topology.racks + 1)).astype(np.int32),
        there=np.zeros((topology.servers, resources + 1), np.int64),
        parts=np.zeros((topology.servers, resources), np.int64),
        apart=np.zeros(topology.servers, np.int64),
        behind=np.zeros(topology.servers, np.int64),
        wires=np.zeros(topology.servers, np.int64),
        racks=np.zeros((topology.racks, resources + 2), np.int64),
        log=np.zeros(1, np.int64) if view.changed is None else view.changed,
        seen=np.full(1, -1),
        joined=np.zeros((topology.racks, 2), np.int64),
        nobody=np.zeros(topology.pod_of.max() + 2, np.int64),
    )


@lean
def see(homes: Homes, free: Ints, link_free: Ints) -> None:
    """Look at the servers that changed since the last time, or at all."""
    log, order, until, servers = homes.log, homes.order, homes.until, homes.network.routes.servers
    seen, changes, length = homes.seen[0], log[0], len(log)
    if length == 1 or seen < 0 or changes - seen >= length:
        for place in range(len(order)):
            see_server(homes, free, link_free, place)
        for rack in range(len(until) - 1):
            see_rack(homes, rack)
    else:
        for change in range(seen, changes):
            server = log[1 + (change & (length - 2))]
            see_server(homes, free, link_free, homes.places[server])
        for change in range(seen, changes):
            see_rack(homes, servers[log[1 + (change & (length - 2))], 0])
    homes.seen[0] = changes


@lean
def see_server(homes: Homes, free: Ints, link_free: Ints, place: int) -> None:
    """Write what is known of the server at a place."""
    server, there, parts = homes.order[place], homes.there, homes.parts
    resources: int = free.shape[2]
    low, high, total, everything = MOST, 0, 0, 0
    for r in range(resources):
        amount = 0
        for node in range(free.shape[1]):
            amount += free[server, node, r]
        part = share(amount, homes.most[r])
        there[place, r], parts[place, r] = amount, part
        low, high, total, everything = min(low, part), max(high, part), total + part, everything + amount
    wire = wire_of(homes.network.routes.servers, homes.first, homes.via, link_free, server)
    there[place, resources], homes.wires[place], homes.apart[place] = everything, wire, high - low
    homes.behind[place] = cut_off(total, wire, homes.most[-1])


@lean
def see_rack(homes: Homes, rack: int) -> None:
    """Write what is known of a rack."""
    racks, there, parts, weights = homes.racks, homes.there, homes.parts, homes.weights
    resources: int = parts.shape[1]
    for column in range(resources + 2):
        racks[rack, column] = NONE
    for place in range(homes.until[rack], homes.until[rack + 1]):
        if there[place, resources] == 0:
            continue
        value = weights.stranded * homes.apart[place] + weights.cut_off * homes.behind[place]
        for r in range(resources):
            racks[rack, r] = max(racks[rack, r], there[place, r])
            value += WHOLE * parts[place, r]
        racks[rack, resources] = max(racks[rack, resources], homes.wires[place])
        racks[rack, resources + 1] = max(racks[rack, resources + 1], value)


@lean
def is_able(homes: Homes, rack: int, demand: Amounts, bandwidth: int) -> bool:
    """Tell whether any server of a rack may be chosen: has anything free and the bandwidth, or holds the request."""
    everything = len(demand)
    if homes.racks[rack, everything] >= bandwidth and homes.racks[rack, everything + 1] >= 0:
        return True
    for place in range(homes.until[rack], homes.until[rack + 1]):
        if homes.there[place, everything] > 0 and holds(homes.there, place, demand):
            return True
    return False


@lean_inlined
def holds(there: Ints, row: int, amounts: Any) -> bool:
    """Tell whether as much is there."""
    enough = True
    for r in range(len(amounts)):
        enough &= bool(there[row, r] >= amounts[r])
    return enough


@lean_inlined
def share(amount: int, of: int) -> int:
    """Return a share in billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@lean_inlined
def cut_off(left: int, wire: int, most: int) -> int:
    """Return the part of what a server has left that its link lacks to the widest: 0 of one with a whole link free."""
    return left * (1000000 - share(max(0, wire), most) // 1000) // 1000000


@lean_inlined
def worth(homes: Homes, place: int, bandwidth: int, first: bool) -> tuple[int, int, bool]:
    """Compute what the server at a place would give, what taking it costs, and whether the request is complete.

    Links are not part of that cost. Stranded is how much more it has left of one resource than of another; one server
    alone needs no link.
    """
    need, most, weights, there = homes.network.room.need, homes.most, homes.weights, homes.there
    given, complete, low, high, total = 0, True, MOST, 0, 0
    for r in range(len(need)):
        amount, left = there[place, r], 0
        complete &= bool(amount >= need[r])
        if amount <= need[r]:
            given += homes.parts[place, r]
        else:
            given += share(need[r], most[r])
            left = share(amount - need[r], most[r])
        low, high, total = min(low, left), max(high, left), total + left
    cost = weights.stranded * (high - low - homes.apart[place]) + weights.leftover * total
    if weights.cut_off > 0:
        wire = homes.wires[place] - (0 if first and complete else bandwidth)
        cost += weights.cut_off * (cut_off(total, wire, most[-1]) - homes.behind[place])
    return given, cost, complete
