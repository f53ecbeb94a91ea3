"""Tries every rack as the one to start from: Best home."""

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from binwright.agents.heuristics.networks.common import NetworkAgent, largest, one_by_one
from binwright.fabric.multi_server import COMPLETE, Filling, joins, may_be_chosen
from binwright.fabric.network import NetworkView
from binwright.fabric.servers import free_on
from binwright.fabric.topology import Indices
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Amounts, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
Weight: TypeAlias = Annotated[float, Field(ge=0, le=WHOLE)]
MOST = 2**62
"""More than any share."""


class RackIndex(NamedTuple):
    """Holds what a search for the best home reads and writes.

    `most` int64 [resources + 1] is the largest server, and the capacity of its link; `stranded` and `cut_off` are
    weights in WHOLE. Servers stand rack by rack: those of rack r are `order[until[r]:until[r + 1]]`.

    `state` int64 [2] is the rack that is tried as home, and what its answer costs. By the number of a server `free`
    int64 [servers, resources] is what it has free, and `shares` the same as shares. `wanted` int64 [resources], what is
    still needed in shares, is scratch.
    """

    room: Filling
    most: Ints
    stranded: int
    cut_off: int
    order: Indices
    until: Indices
    state: Ints
    free: Ints
    shares: Ints
    wanted: Ints


HOME, COST = range(2)


@lean
def look(index: RackIndex, free: Ints) -> None:
    """Write what every server has free."""
    for server in range(len(free)):
        for r in range(free.shape[2]):
            amount = free_on(free, server, r)
            index.free[server, r], index.shares[server, r] = amount, share(amount, index.most[r])


@lean_inlined
def share(amount: int, of: int) -> int:
    """Return a share in billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@lean_inlined
def waste(index: RackIndex, least: int, most: int, total: int, wire: int) -> int:
    """Compute what it costs that a server has left more of one resource than of another, and more than its link serves.

    Cut off is the part of the `total` that the `wire` lacks to the widest: nothing with a whole link free.
    """
    cost = index.stranded * (most - least)
    if index.cut_off > 0:
        lacking = 1000000 - share(max(0, wire), index.most[-1]) // 1000
        cost += index.cut_off * (total * lacking // 1000000)
    return cost


@lean_inlined
def worth(index: RackIndex, server: int, wire: int, bandwidth: int, first: bool) -> tuple[int, int, bool]:
    """Compute what a server would give, what taking it costs without links, and whether that is all.

    Its link has `wire` free. One server alone needs no link.
    """
    gives, complete = 0, True
    least, most, total = MOST, 0, 0
    low, high, rest = MOST, 0, 0  # what is left
    for r in range(len(index.wanted)):
        complete &= bool(index.free[server, r] >= index.room.need[r])
        part = index.shares[server, r]
        taken = min(part, index.wanted[r])
        gives += taken
        least, most, total = min(least, part), max(most, part), total + part
        low, high, rest = min(low, part - taken), max(high, part - taken), rest + part - taken
    before = waste(index, least, most, total, wire)
    return gives, waste(index, low, high, rest, wire - (0 if first and complete else bandwidth)) - before, complete


@lean
def nearest(index: RackIndex, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Find the nearest server that works, and add its cost: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it costs; the first of equals. If none works,
    the first that would give anything; -1 without any.
    """
    room, pod_of, home = index.room, index.room.routes.pod_of, index.state[HOME]
    for r in range(len(room.need)):
        index.wanted[r] = share(room.need[r], index.most[r])
    pod, first, passed = pod_of[home], room.counts[0] == 0, -1
    for away in range(3):
        best, complete, value, cost = -1, False, 0, 0
        for rack in range(len(pod_of)):
            if away != (0 if rack == home else 1 if pod >= 0 and pod_of[rack] == pod else 2):
                continue
            for place in range(index.until[rack], index.until[rack + 1]):
                server = int(index.order[place])
                if not may_be_chosen(room, free, server):
                    continue
                wire = int(link_free[server])
                gives, costs, completes = worth(index, server, wire, bandwidth, first)
                gain = WHOLE * gives - costs
                if (gives == 0 and not completes) or (best >= 0 and (completes, gain) <= (complete, value)):
                    continue
                # The first server needs a link, too, unless it completes the request.
                works = (completes and first) or wire >= bandwidth
                if works and (first or joins(room, link_free, rack, bandwidth)):
                    best, complete, value, cost = server, completes, gain, costs
                elif passed < 0:
                    passed = server
        if best >= 0:
            index.state[COST] += cost
            return best
    return passed


place_from_home = one_by_one(nearest)


@lean
def fill(index: RackIndex, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, home: int) -> int:
    """Provision from this rack on; returns the status, as `choose` does, and notes the cost in WHOLE billions."""
    index.state[HOME], index.state[COST] = home, 0
    status: int = place_from_home(index, free, link_free, demand, bandwidth, False)
    index.state[COST] += WHOLE * index.room.counts[2] * share(bandwidth, index.most[-1])
    return status


@lean
def best_home(index: RackIndex, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, masked: bool) -> int:
    """Try, as a `Rule`, every rack, and take the cheapest, the first of equals; else the status is the first rack's."""
    best, least = -1, 0
    look(index, free)
    for home in range(len(index.until) - 1):
        status = fill(index, free, link_free, demand, bandwidth, home)
        if status == COMPLETE and (best < 0 or index.state[COST] < least):
            best, least = home, index.state[COST]
    return fill(index, free, link_free, demand, bandwidth, max(0, best))


class BestHome(NetworkAgent):
    """The cheapest of one placement for each rack as home.

    The cost is counted in servers: every link that is reserved costs the bandwidth as a share of a server's. Every
    server taken costs `stranded` times what more it has left of one resource than of another, and `cut_off` times what
    more it has left without bandwidth to use it.
    """

    reference = "ours: the page 'Agents' has the rule and the measurements"
    rule = staticmethod(best_home)

    def __init__(self, stranded: Weight = 0.5, cut_off: Weight = 0.0) -> None:
        self.weights = round(stranded * WHOLE), round(cut_off * WHOLE)

    def scratch(self, view: NetworkView, room: Filling) -> RackIndex:
        rack_of, (servers, _, resources) = view.topology.rack_of, view.free.shape
        order = np.argsort(rack_of, kind="stable").astype(np.int32)
        until = np.searchsorted(rack_of[order], np.arange(view.topology.racks + 1)).astype(np.int32)
        free, shares = np.zeros((2, servers, resources), np.int64)
        scratch = np.zeros(2, np.int64), free, shares, np.zeros(resources, np.int64)
        return RackIndex(room, np.array(largest(view), np.int64), *self.weights, order, until, *scratch)
