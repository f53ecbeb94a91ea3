"""Tries every rack as the one to start from: Best home."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import NetworkAgent, largest, one_by_one
from binwright.fabric.multi_server import COMPLETE, Filling, Flags, has_any, joins
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.topology import Indices
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Amounts, Ints, Refusal, Request, View

DECLINED = Refusal("declined")
WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
MOST = 2**62
"""More than any share."""


class CostWeights(NamedTuple):
    """Holds what counts how much, each a multiple of one part in WHOLE: see `BestHome`."""

    links: int
    uplinks: int
    stranded: int
    cut_off: int
    leftover: int


class RackIndex(NamedTuple):
    """Holds what a search for the best home reads and writes.

    `most` int64 [resources + 1] is the largest server, and the capacity of its link. `state` int64 [2] is the rack that
    is tried as home, and what its answer costs.

    Servers stand rack by rack: those of rack r are `order[until[r]:until[r + 1]]`. In the same places `free` int64
    [servers, resources] is what they have free, `shares` the same as shares, `wires` what their own links have free,
    `wasted` what it costs that this is not in proportion, and `able` whether they may be chosen. `wanted`, what is
    still needed in shares, is scratch.
    """

    room: Filling
    most: Ints
    weights: CostWeights
    state: Ints
    order: Indices
    until: Indices
    free: Ints
    shares: Ints
    wires: Ints
    wasted: Ints
    able: Flags
    wanted: Ints


HOME, COST = range(2)


@lean
def look(index: RackIndex, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> None:
    """Write what every server has, and whether it may be chosen.

    Those may with anything free that have the bandwidth, or that hold the whole request.
    """
    for place in range(len(index.order)):
        server = index.order[place]
        low, high, total, anything, everything = MOST, 0, 0, False, True
        for r in range(len(demand)):
            amount = 0
            for node in range(free.shape[1]):
                amount += free[server, node, r]
            part = share(amount, index.most[r])
            index.free[place, r], index.shares[place, r] = amount, part
            low, high, total = min(low, part), max(high, part), total + part
            anything |= amount > 0
            everything &= bool(amount >= demand[r])
        wire = int(link_free[server])
        index.wires[place], index.wasted[place] = wire, waste(index, low, high, total, wire)
        index.able[place] = anything and (everything or wire >= bandwidth)


@lean_inlined
def share(amount: int, of: int) -> int:
    """Return a share in billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@lean_inlined
def waste(index: RackIndex, least: int, most: int, total: int, wire: int) -> int:
    """Compute what it costs that a server has left more of one resource than of another, and more than its link serves.

    Cut off is the part of the `total` that the `wire` lacks to the widest: nothing with a whole link free.
    """
    cost = index.weights.stranded * (most - least)
    if index.weights.cut_off > 0:
        lacking = 1000000 - share(max(0, wire), index.most[-1]) // 1000
        cost += index.weights.cut_off * (total * lacking // 1000000)
    return cost


@lean_inlined
def worth(index: RackIndex, place: int, bandwidth: int, first: bool) -> tuple[int, int, bool]:
    """Compute what the server at a place would give, what taking it costs without links, and whether that is all.

    One server alone needs no link.
    """
    need = index.room.need
    gives, complete, low, high, total = 0, True, MOST, 0, 0
    for r in range(len(need)):
        complete &= bool(index.free[place, r] >= need[r])
        taken = min(index.shares[place, r], index.wanted[r])
        left = index.shares[place, r] - taken
        gives += taken
        low, high, total = min(low, left), max(high, left), total + left
    wire = index.wires[place] - (0 if first and complete else bandwidth)
    cost = waste(index, low, high, total, wire) - index.wasted[place] + index.weights.leftover * total
    return gives, cost, complete


@lean
def nearest(index: RackIndex, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Find the nearest server that works, and add its cost: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it costs; the first of equals. If none works,
    the first that would give anything; -1 without any.
    """
    room, pod_of, home = index.room, index.room.routes.pod_of, index.state[HOME]
    for r in range(len(room.need)):
        index.wanted[r] = share(room.need[r], index.most[r])
    pod, first, passed = pod_of[home], room.counts[0] == 0, NONE
    for away in range(3):
        server, complete, value, cost = NONE, False, 0, 0
        for rack in range(len(pod_of)):
            if away != (0 if rack == home else 1 if pod >= 0 and pod_of[rack] == pod else 2):
                continue
            for place in range(index.until[rack], index.until[rack + 1]):
                other = int(index.order[place])
                if not index.able[place] or room.chosen[other] == room.counts[3]:
                    continue
                gives, costs, completes = worth(index, place, bandwidth, first)
                gain = WHOLE * gives - costs
                if (gives == 0 and not completes) or (server >= 0 and (completes, gain) <= (complete, value)):
                    continue
                # The first server needs a link, too, unless it completes the request.
                works = (completes and first) or index.wires[place] >= bandwidth
                if works and (first or joins(room, link_free, rack, bandwidth)):
                    server, complete, value, cost = other, completes, gain, costs
                elif passed < 0:
                    passed = other
        if server >= 0:
            index.state[COST] += cost
            return server
    return passed


place_from_home = one_by_one(nearest)


@lean
def fill(index: RackIndex, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, home: int) -> int:
    """Provision from this rack on; returns the status, as `choose` does, and notes the cost in WHOLE billions."""
    room, weights, links = index.room, index.weights, 0
    index.state[HOME], index.state[COST] = home, 0
    status: int = place_from_home(index, free, link_free, demand, bandwidth, False)
    for j in range(room.counts[2]):
        links += weights.links if room.routes.link_tier[room.links[j]] == 0 else weights.uplinks
    index.state[COST] += links * share(bandwidth, index.most[-1])
    return status


@lean
def best_home(index: RackIndex, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, masked: bool) -> int:
    """Try, as a `Rule`, every rack, and take the cheapest, the first of equals; else the status is the first rack's."""
    best, least = NONE, 0
    look(index, free, link_free, demand, bandwidth)
    for home in range(len(index.until) - 1):
        status = fill(index, free, link_free, demand, bandwidth, home)
        if status == COMPLETE and (best < 0 or index.state[COST] < least):
            best, least = home, index.state[COST]
    if best < 0:  # for what is to blame, with the first rack as home
        for place in range(len(index.order)):
            index.able[place] = has_any(free, index.order[place])
    return fill(index, free, link_free, demand, bandwidth, max(0, best))


class BestHome(NetworkAgent):
    """The cheapest of one placement for each rack as home.

    The cost is counted in servers. A server's whole link reserved once costs `links`, any other link as wide `uplinks`.
    Every server taken costs `stranded` times what more it has left of one resource than of another, `cut_off` times
    what more it has left without bandwidth to use it, and `leftover` times all that it has left.

    With `reject`, a request is declined that takes more than so many times as much as requests do in the mean so far:
    size x holding period, where its size counts with `effort` times its cost. While the cluster is free, `spare` times
    as much more.
    """

    reference = "ours: the page 'Agents' has the rule and the measurements"
    rule = staticmethod(best_home)

    def __init__(
        self,
        links: float = 1.0,
        uplinks: float = 1.0,
        stranded: float = 0.5,
        cut_off: float = 0.0,
        leftover: float = 0.0,
        reject: float | None = None,
        effort: float = 0.5,
        spare: float = 0.0,
    ) -> None:
        costs = {"links": links, "uplinks": uplinks, "stranded": stranded, "cut_off": cut_off, "leftover": leftover}
        self.weights = CostWeights(*(_parts(name, weight) for name, weight in costs.items()))
        self.reject = None if reject is None else _parts("reject", reject)
        self.needs_lifetimes = reject is not None
        self.effort, self.spare = _parts("effort", effort), _parts("spare", spare)

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self._taken, self._asked, self._last = 0, 0, NONE

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule, unless the request takes too much."""
        answer = super().decide(view, request)
        if self.reject is None or not isfinite(request.duration):
            return answer
        index: RackIndex = self._scratch
        seconds = round(request.duration * 1e6)
        size = sum(map(share, request.demand, index.most.tolist())) * WHOLE * WHOLE
        if request.index != self._last:  # one that waits is asked about again
            self._taken, self._asked, self._last = self._taken + size * seconds, self._asked + 1, request.index
        if isinstance(answer, Provisioned):
            size += len(request.demand) * self.effort * int(index.state[COST])
            free, every = (array.sum(axis=(0, 1)).tolist() for array in (view.free, view.capacity))
            bound = self.reject * len(free) * 10**9 + self.spare * sum(map(share, free, every))
            if size * seconds * self._asked * WHOLE * len(request.demand) * 10**9 > bound * self._taken:
                return DECLINED
        return answer

    def scratch(self, view: NetworkView, room: Filling, rng: np.random.Generator) -> RackIndex:
        topology, resources = view.topology, view.free.shape[2]
        order = np.argsort(topology.rack_of, kind="stable").astype(np.int32)
        until = np.searchsorted(topology.rack_of[order], np.arange(topology.racks + 1)).astype(np.int32)
        free, shares = np.zeros((2, topology.servers, resources), np.int64)
        wires, wasted = np.zeros((2, topology.servers), np.int64)
        of_servers = free, shares, wires, wasted, np.zeros(topology.servers, np.bool_)
        most, state, wanted = np.array(largest(view), np.int64), np.zeros(2, np.int64), np.zeros(resources, np.int64)
        return RackIndex(room, most, self.weights, state, order, until, *of_servers, wanted)


def _parts(name: str, weight: float) -> int:
    if not (isfinite(weight) and 0 <= weight <= WHOLE):
        raise UserError(f"must be from 0 to {WHOLE}", key=name, value=weight)
    return round(weight * WHOLE)
