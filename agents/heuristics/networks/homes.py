"""Knows what Best-Home needs of every server and rack of a network, and looks again only at what changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, largest, wire_of
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Indices
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Amounts, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
MOST = 2**62
"""More than any placement costs."""
SERVER = 10**9
"""A whole share."""


class CostWeights(NamedTuple):
    """Holds what counts how much, each a multiple of one part in WHOLE: see `BestHome`."""

    links: int
    uplinks: int
    stranded: int
    cut_off: int
    leftover: int


class Homes(NamedTuple):
    """Holds what a search for the best home reads and writes.

    `first` and `via` are the topology's; `most` int64 [resources + 1] is the largest server, and the
    capacity of its link. `cost` int64 [1] is what the last answer costs, see `fill`. The racks of pod p are
    `mates[pods[p]:pods[p + 1]]`, int32 [racks].

    Servers stand rack by rack: those of rack r are `order[until[r]:until[r + 1]]`, int32 [servers], and `places` int32
    [servers] is where each stands. In the same places `there` int64 [servers, resources + 1] is what they have free,
    and all of it together, `parts` int64 [servers, resources] the same as shares, `apart` int64 [servers] how much of
    it is stranded, `behind` int64 [servers] how much is cut off, and `wires` int64 [servers] what their own links have
    free (of several, the widest).

    `tree` int64 [2 * leaves, columns] has the most of what servers with anything free have, each column on its own:
    what is free of each resource, the link, what one can be worth, the shares of each resource, what is stranded, what
    is cut off; NONE of nobody. Rack r is at leaves + r, and what lies below place k at 2 k and 2 k + 1.

    All this follows what changed where there is a `log`, of which `seen` int64 [1] is known, -1 before the first time.

    Scratch: `joined` int64 [racks, 2] is what `joins` remembers, `nobody` int64 [pods + 1] counts racks, `wanted` int64
    [resources] is what is still needed in shares.
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
    tree: Ints
    log: Ints
    seen: Ints
    joined: Ints
    nobody: Ints
    wanted: Ints


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
        tree=np.full((2 << (topology.racks - 1).bit_length(), 2 * resources + 4), NONE),
        log=np.zeros(1, np.int64) if view.changed is None else view.changed,
        seen=np.full(1, -1),
        joined=np.zeros((topology.racks, 2), np.int64),
        nobody=np.zeros(topology.pod_of.max() + 2, np.int64),
        wanted=np.zeros(resources, np.int64),
    )


@lean
def see(homes: Homes, free: Ints, link_free: Ints) -> None:
    """Look at the servers that changed since the last time, or at all."""
    log, servers, tree = homes.log, homes.network.routes.servers, homes.tree
    seen, changes, length, leaves = homes.seen[0], log[0], len(log), len(tree) // 2
    everything = length == 1 or seen < 0 or changes - seen >= length
    for k in range(len(homes.order) if everything else changes - seen):
        see_server(homes, free, link_free, k if everything else homes.places[log[1 + ((seen + k) & (length - 2))]])
    last = NONE
    for k in range(len(homes.until) - 1 if everything else changes - seen):
        rack = k if everything else servers[log[1 + ((seen + k) & (length - 2))], 0]
        if rack == last:
            continue
        see_rack(homes, rack)
        last = rack
        at = 0 if everything else (leaves + rack) // 2
        while at > 0 and join(tree, at):
            at //= 2
    for at in range(leaves - 1 if everything else 0, 0, -1):
        join(tree, at)
    homes.seen[0] = changes


@lean
def join(tree: Ints, at: int) -> bool:
    """Compute the most of a place from those below it; tells whether they changed. Changes `tree`."""
    changed = False
    for bits in range(tree.shape[1]):
        most = max(tree[2 * at, bits], tree[2 * at + 1, bits])
        changed |= tree[at, bits] != most
        tree[at, bits] = most
    return changed


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
    """Write what is known of a rack; `join` of all places above it is to follow."""
    there, parts, weights, row = homes.there, homes.parts, homes.weights, homes.tree[len(homes.tree) // 2 + rack]
    resources: int = parts.shape[1]
    row[:] = NONE
    for place in range(homes.until[rack], homes.until[rack + 1]):
        if there[place, resources] == 0:
            continue
        value = weights.stranded * homes.apart[place] + weights.cut_off * homes.behind[place]
        for r in range(resources):
            row[r] = max(row[r], there[place, r])
            row[resources + 2 + r] = max(row[resources + 2 + r], parts[place, r])
            value += WHOLE * parts[place, r]
        row[resources] = max(row[resources], homes.wires[place])
        row[resources + 1] = max(row[resources + 1], value)
        row[2 * resources + 2] = max(row[2 * resources + 2], homes.apart[place])
        row[2 * resources + 3] = max(row[2 * resources + 3], homes.behind[place])


@lean
def is_able(homes: Homes, rack: int, demand: Amounts, bandwidth: int) -> bool:
    """Tell whether any server of a rack may be chosen: has anything free and the bandwidth, or holds the request."""
    everything, tree = len(demand), homes.tree
    at = len(tree) // 2 + rack
    if tree[at, everything + 1] >= 0 and tree[at, everything] >= bandwidth:
        return True
    if holds(tree, at, demand):
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


@lean
def want(wanted: Ints, need: Ints, most: Ints) -> None:
    """Write what is still needed in shares to `wanted`."""
    for r in range(len(wanted)):
        wanted[r] = share(need[r], most[r])


@lean_inlined
def worth(homes: Homes, place: int, bandwidth: int, first: bool) -> tuple[int, int, bool]:
    """Compute what the server at a place would give, what taking it costs, and whether the request is complete.

    Links are not part of that cost. Stranded is how much more it has left of one resource than of another; one server
    alone needs no link.
    """
    need, wanted, there, parts, weights = homes.network.room.need, homes.wanted, homes.there, homes.parts, homes.weights
    given, complete, low, high, total = 0, True, MOST, 0, 0
    for r in range(len(need)):
        complete &= bool(there[place, r] >= need[r])
        taken = min(parts[place, r], wanted[r])
        left = parts[place, r] - taken
        given += taken
        low, high, total = min(low, left), max(high, left), total + left
    cost = weights.stranded * (high - low - homes.apart[place]) + weights.leftover * total
    if weights.cut_off > 0:
        wire = homes.wires[place] - (0 if first and complete else bandwidth)
        cost += weights.cut_off * (cut_off(total, wire, homes.most[-1]) - homes.behind[place])
    return given, cost, complete


@lean
def can_better(homes: Homes, at: int, complete: bool, value: int) -> bool:
    """Tell whether any server below a place of the tree may complete the request where it is not, or be worth more."""
    tree, weights, need, wanted = homes.tree, homes.weights, homes.network.room.need, homes.wanted
    resources = len(wanted)
    if tree[at, resources + 1] < 0:
        return False
    if complete != holds(tree, at, need):
        return not complete
    given, least, most = 0, SERVER, 0
    for r in range(resources):
        taken = min(tree[at, resources + 2 + r], wanted[r])
        given, least, most = given + taken, min(least, taken), max(most, taken)
    apart = tree[at, 2 * resources + 2]
    returned = min(apart, most)
    if weights.stranded <= WHOLE:  # otherwise it may be worth more to give less
        returned = min(apart, most - least, 2 * apart - (most - least))
    bound = WHOLE * given + weights.stranded * returned
    bound += weights.cut_off * tree[at, 2 * resources + 3]
    return bool(min(bound, tree[at, resources + 1]) > value)
