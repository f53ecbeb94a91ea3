"""Knows what Best-Home needs of every server and rack of a network, and looks again only at what changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, largest
from fabric.allowed import Flags
from fabric.network import NetworkView
from fabric.peaks import wire_of
from fabric.topology import Indices
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Amounts, Floats, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
FAR, FAR_KEPT = 64, 8
"""For so many different needs of one request so many of the best servers are kept."""
RACKS_WORTH_IT = 64
"""From so many racks on it pays to bound what homes cost."""
MOST = 2**62
"""More than any placement costs."""
SERVER = 10**9
"""A whole share."""
LEVELS, STRONG = 8, 3
"""Of each rack it is known what servers have whose links have at least so many LEVELS-ths of the widest free, and what
the STRONG ones that would be worth most have.
"""


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

    `tree` int64 [levels + 1, 2 * leaves, columns] has the most of what servers with anything free have, each
    column on its own: what is free of each resource, the link, what one can be worth, the shares of each resource, what
    is stranded, what is cut off, then of whole racks the shares of each resource, and how many servers have any of it;
    NONE of nobody. Of these servers level 0 has all, every other those whose links have as much free (`level_of`). Rack
    r is at leaves + r, and what lies below place k at 2 k and 2 k + 1. Where homes
    are not bounded, there is level 0 only, and nothing of whole racks.

    `strong` int32 [LEVELS + 1, STRONG, resources, racks] are the shares of the servers of a rack that would be worth
    most if they were taken whole, of those whose links work and are of that level or above; NONE where there are no
    more. It has no racks where homes are not bounded.

    All this follows what changed where there is a `log`, of which `seen` int64 [1] is known, -1 before the first time.
    `rough` bool [1] tells whether any share had to be rounded.

    Scratch: `joined` int64 [racks, 2] is what `joins` remembers, `nobody` int64 [pods + 1] counts racks, `wanted` int64
    [resources] is what is still needed in shares, `plain` float64 [racks] how much of that homes give plainly at least
    (see `bounds`), `ranks` int64 [LEVELS + 1, STRONG, 2] what the `strong` of one rack are worth, and where they stand.
    While one request is answered, `needs` int64 [FAR, resources] is what was looked for everywhere, the first `asked`
    int64 [1] rows, and `far` int64 [FAR, FAR_KEPT, 4] are the servers that are best for it, NONE where there are no
    more: see `far`.
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
    strong: Indices
    log: Ints
    seen: Ints
    rough: Flags
    joined: Ints
    nobody: Ints
    wanted: Ints
    plain: Floats
    ranks: Ints
    needs: Ints
    asked: Ints
    far: Ints


def homes_of(view: NetworkView, network: Network, weights: CostWeights) -> Homes:
    """Make what one agent needs."""
    topology, resources = view.topology, view.free.shape[2]
    pods = topology.pod_of[topology.pod_of >= 0]
    order = np.argsort(topology.rack_of, kind="stable").astype(np.int32)
    bounds = view.changed is not None and topology.racks >= RACKS_WORTH_IT
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
        tree=np.full(
            (1 + LEVELS * bounds, 2 << (topology.racks - 1).bit_length(), (4 if bounds else 2) * resources + 4), NONE
        ),
        strong=np.full((LEVELS + 1, STRONG, resources, topology.racks * bounds), NONE, np.int32),
        log=np.zeros(1, np.int64) if view.changed is None else view.changed,
        seen=np.full(1, -1),
        rough=np.zeros(1, np.bool_),
        joined=np.zeros((topology.racks, 2), np.int64),
        nobody=np.zeros(topology.pod_of.max() + 2, np.int64),
        wanted=np.zeros(resources, np.int64),
        plain=np.zeros(topology.racks),
        ranks=np.zeros((LEVELS + 1, STRONG, 2), np.int64),
        needs=np.zeros((FAR, resources), np.int64),
        asked=np.zeros(1, np.int64),
        far=np.zeros((FAR, FAR_KEPT, 4), np.int64),
    )


@lean
def see(homes: Homes, free: Ints, link_free: Ints) -> None:
    """Look at the servers that changed since the last time, or at all."""
    log, servers, tree = homes.log, homes.network.routes.servers, homes.tree
    seen, changes, length, leaves = homes.seen[0], log[0], len(log), tree.shape[1] // 2
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
    """Write the most of what lies below a place of the tree, on all levels; tells whether anything changed."""
    changed = False
    for level in range(tree.shape[0]):
        for column in range(tree.shape[2]):
            most = max(tree[level, 2 * at, column], tree[level, 2 * at + 1, column])
            changed |= tree[level, at, column] != most
            tree[level, at, column] = most
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
        if len(homes.tree) > 1:
            homes.rough[0] |= is_rounded(amount, homes.most[r])
        there[place, r], parts[place, r] = amount, part
        low, high, total, everything = min(low, part), max(high, part), total + part, everything + amount
    wire = wire_of(homes.network.routes.servers, homes.first, homes.via, link_free, server)
    there[place, resources], homes.wires[place], homes.apart[place] = everything, wire, high - low
    homes.behind[place] = cut_off(total, wire, homes.most[-1])


@lean_inlined
def level_of(levels: int, wire: int, widest: int) -> int:
    """Return which of so many levels of `Homes.tree` a link with so much free belongs to: LEVELS-ths, rounded down."""
    return int(min(levels - 1, LEVELS * max(0, wire) // max(1, widest))) if levels > 1 else 0


@lean
def see_rack(homes: Homes, rack: int) -> None:
    """Write what is known of a rack; `join` of all places above it is to follow."""
    tree, there, parts, weights = homes.tree, homes.there, homes.parts, homes.weights
    resources: int = parts.shape[1]
    levels, columns, at = len(tree), tree.shape[2], tree.shape[1] // 2 + rack
    for level in range(levels):
        for column in range(columns):
            tree[level, at, column] = NONE
        for one in range(STRONG if levels > 1 else 0):
            homes.ranks[level, one, 0] = NONE
    for place in range(homes.until[rack], homes.until[rack + 1]):
        if there[place, resources] == 0:
            continue
        value = weights.stranded * homes.apart[place] + weights.cut_off * homes.behind[place]
        level = level_of(levels, homes.wires[place], homes.most[-1])
        for r in range(resources):
            tree[level, at, r] = max(tree[level, at, r], there[place, r])
            tree[level, at, resources + 2 + r] = max(tree[level, at, resources + 2 + r], parts[place, r])
            value += WHOLE * parts[place, r]
        tree[level, at, resources] = max(tree[level, at, resources], homes.wires[place])
        tree[level, at, resources + 1] = max(tree[level, at, resources + 1], value)
        tree[level, at, 2 * resources + 2] = max(tree[level, at, 2 * resources + 2], homes.apart[place])
        tree[level, at, 2 * resources + 3] = max(tree[level, at, 2 * resources + 3], homes.behind[place])
        for r in range(resources if levels > 1 else 0):
            sums, counts = 2 * resources + 4 + r, 3 * resources + 4 + r
            tree[level, at, sums] = max(0, tree[level, at, sums]) + parts[place, r]
            tree[level, at, counts] = max(0, tree[level, at, counts]) + (there[place, r] > 0)
        if levels > 1 and homes.wires[place] >= 0:
            rank(homes.ranks, level, value, place)
    for level in range(levels - 2, -1, -1):
        for column in range(columns):
            here, above = tree[level, at, column], tree[level + 1, at, column]
            adds_up = column >= 2 * resources + 4 and min(here, above) >= 0
            tree[level, at, column] = here + above if adds_up else max(here, above)
        for one in range(STRONG):  # servers of the level above are of this one, too
            rank(homes.ranks, level, homes.ranks[level + 1, one, 0], homes.ranks[level + 1, one, 1])
    for level in range(levels if levels > 1 else 0):
        for one in range(STRONG):
            for r in range(resources):
                known = homes.ranks[level, one, 0] >= 0
                homes.strong[level, one, r, rack] = parts[homes.ranks[level, one, 1], r] if known else NONE


@lean
def rank(ranks: Ints, level: int, value: int, place: int) -> None:
    """Enter a server worth so much among the strong ones of a level, where it belongs there. Changes `ranks`."""
    at = STRONG
    while at > 0 and ranks[level, at - 1, 0] < value:
        at -= 1
        if at + 1 < STRONG:
            ranks[level, at + 1, 0], ranks[level, at + 1, 1] = ranks[level, at, 0], ranks[level, at, 1]
        ranks[level, at, 0], ranks[level, at, 1] = value, place


@lean
def is_able(homes: Homes, rack: int, demand: Amounts, bandwidth: int) -> bool:
    """Tell whether any server of a rack may be chosen: has anything free and the bandwidth, or holds the request."""
    everything, tree = len(demand), homes.tree[0]
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
def is_rounded(amount: int, of: int) -> bool:
    """Tell whether a share can't be told exactly in billionths; of large numbers it is not known, and so it may be."""
    return bool(of > 0 and (of > SERVER * 9 or amount % of * SERVER % of != 0))


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
