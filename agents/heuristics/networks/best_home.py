"""Tries every rack as the one to start from: Best home."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, answered, largest, take, widest
from fabric.filling import COMPLETE, GOES_ON, begin
from fabric.network import NetworkView, Provisioned
from fabric.routing import find_path
from fabric.topology import Indices
from simcore.errors import UserError
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints, Refusal, Request, View

WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
MOST = np.iinfo(np.int64).max
DECLINED = Refusal("declined")


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
    `mates[pods[p]:pods[p + 1]]`, int32 [racks]. The rest is scratch.

    `able` int32 [servers] are the servers that may be chosen, rack by rack: those of rack r are
    `able[until[r]:until[r + 1]]`, `until` int32 [racks + 1]. In the same places `there` int64 [servers, resources] is
    what they have free, `parts` the same as shares, `apart` int64 [servers] how much of it is stranded, `behind` int64
    [servers] how much is cut off, and `wires` int64 [servers] what their own links have free (of several, the widest).

    `joined` int64 [racks, 2] is the stamp of the filling that came by, and of how many of its servers it is known that
    the rack has working routes to them: -1 when one has none.
    """

    network: Network
    switches: int
    first: Indices
    neighbour: Indices
    via: Indices
    most: Ints
    weights: CostWeights
    cost: Ints
    pods: Indices
    mates: Indices
    able: Indices
    until: Indices
    there: Ints
    parts: Ints
    apart: Ints
    behind: Ints
    wires: Ints
    joined: Ints


@kernel
def find_able(homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, every: bool) -> None:
    """Write which servers may be chosen: who has anything free and the bandwidth, or hold the whole request.

    With `every`, also those without bandwidth.
    """
    count, there, parts, servers = 0, homes.there, homes.parts, homes.network.routes.servers
    for rack in range(len(homes.until) - 1):
        for edge in range(homes.first[rack], homes.first[rack + 1]):
            server = homes.neighbour[edge] - homes.switches
            if server < 0:  # servers come before switches
                break
            anything, whole = False, True
            for r in range(len(demand)):
                there[count, r] = 0
                for node in range(free.shape[1]):
                    there[count, r] += free[server, node, r]
                anything |= there[count, r] > 0
                whole &= there[count, r] >= demand[r]
            link = servers[server, 1]
            wire = link_free[link] if link >= 0 else widest(homes.first, homes.via, link_free, rack)
            if anything and (every or whole or wire >= bandwidth):
                for r in range(len(demand)):
                    parts[count, r] = share(there[count, r], homes.most[r])
                homes.apart[count] = parts[count].max() - parts[count].min()
                homes.behind[count] = cut_off(parts[count].sum(), wire, homes.most[-1])
                homes.able[count], homes.wires[count] = server, wire
                count += 1
        homes.until[rack + 1] = count


@kernel
def share(amount: int, of: int) -> int:
    """Return a share in billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@kernel
def cut_off(left: int, wire: int, most: int) -> int:
    """Return the part of what a server has left that its link lacks to the widest: 0 of one with a whole link free."""
    return left * (1000000 - share(max(0, wire), most) // 1000) // 1000000


@kernel
def worth(homes: Homes, place: int, bandwidth: int, first: bool) -> tuple[int, int, bool]:
    """Compute what the server at a place would give, what taking it costs, and whether the request is complete.

    Links are not part of that cost.     Stranded is how much more it has left of one resource than of another; one
    server alone needs no link.
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


@kernel
def joins(homes: Homes, link_free: Ints, rack: int, bandwidth: int, weighted: bool) -> bool:
    """Tell whether this rack has a working path to the racks of all servers chosen; looks for each path only once."""
    room, routes, joined = homes.network.room, homes.network.routes, homes.joined
    if joined[rack, 0] != room.counts[3]:
        joined[rack, 0], joined[rack, 1] = room.counts[3], 0
    while 0 <= joined[rack, 1] < room.counts[0]:
        other = routes.servers[room.servers[joined[rack, 1]], 0]
        joined[rack, 1] = (
            joined[rack, 1] + 1 if find_path(routes, link_free, other, rack, bandwidth, weighted) >= 0 else -1
        )
    return bool(joined[rack, 1] >= 0)


@kernel
def next_server(homes: Homes, link_free: Ints, bandwidth: int, weighted: bool, home: int) -> tuple[int, int]:
    """Find the nearest server that works, and what it costs: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it costs; the first of equals, rack by rack.
    If none works, the first that would give anything; -1 without any.
    """
    room, pod_of, able, until, wires = (
        homes.network.room,
        homes.network.routes.pod_of,
        homes.able,
        homes.until,
        homes.wires,
    )
    chosen, first, stamp = room.chosen, room.counts[0] == 0, room.counts[3]
    pod, joined = pod_of[home], True
    link = homes.network.routes.servers[room.servers[0], 1]
    linked = first or link < 0 or link_free[link] >= bandwidth  # only the first may be without
    best, best_complete, best_value, best_cost, passed = NONE, False, 0, 0, NONE
    for away in range(3):
        begin, end = home, home + 1
        if away == 1:
            begin, end = (homes.pods[pod], homes.pods[pod + 1]) if pod >= 0 else (0, 0)
        elif away == 2:
            begin, end = 0, len(pod_of)
        for step in range(begin, end):
            rack = homes.mates[step] if away == 1 else step
            if away > 0 and (rack == home or (away == 2 and pod >= 0 and pod_of[rack] == pod)):
                continue
            if not first and until[rack] < until[rack + 1]:
                joined = linked and joins(homes, link_free, rack, bandwidth, weighted)
                if passed >= 0 and not joined:
                    continue
            for place in range(until[rack], until[rack + 1]):
                server = int(able[place])
                if chosen[server] == stamp:
                    continue
                given, cost, complete = worth(homes, place, bandwidth, first)
                value = WHOLE * given - cost
                if given == 0 and not complete:
                    continue
                if best >= 0 and (complete, value) <= (best_complete, best_value):
                    continue
                # The first server needs a link, too, unless it completes the request.
                if (complete and first) or (joined and wires[place] >= bandwidth):
                    best, best_complete, best_value, best_cost = server, complete, value, cost
                elif passed < 0:
                    passed = server
        if best >= 0:
            return best, best_cost
    return passed, 0


@kernel
def fill(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, home: int
) -> tuple[int, int]:
    """Provision from this rack on; returns the status, as `choose` does, and the cost, WHOLE billions for a server."""
    network, weights = homes.network, homes.weights
    begin(network.room, demand)
    status, cost = GOES_ON, 0
    while status == GOES_ON:
        server, more = next_server(homes, link_free, bandwidth, weighted, home)
        if server < 0:
            break
        cost += more
        status = take(network, free, link_free, server, bandwidth, weighted)
    links = 0
    for j in range(network.room.counts[2]):
        links += weights.links if network.link_tier[network.room.links[j]] == 0 else weights.uplinks
    return status, cost + links * share(bandwidth, homes.most[-1])


@kernel
def same_as_before(homes: Homes, home: int) -> bool:
    """Tell whether nobody is able at home, nor in a neighbouring rack before it: then both give the same placement."""
    until, pod_of = homes.until, homes.network.routes.pod_of
    before = False
    for rack in range(home):
        before |= bool(until[rack] == until[rack + 1] and pod_of[rack] == pod_of[home])
    return before and bool(until[home] == until[home + 1])


@kernel
def best_home(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Try, as a `Rule`, every rack, and take the cheapest, the first of equals; says what the first rack lacks."""
    best, least = NONE, MOST
    find_able(homes, free, link_free, demand, bandwidth, False)
    for home in range(len(homes.until) - 1):
        if same_as_before(homes, home):
            continue
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home)
        if status == COMPLETE and cost < least:
            best, least = home, cost
    if best < 0:
        find_able(homes, free, link_free, demand, bandwidth, True)
        status, _ = fill(homes, free, link_free, demand, bandwidth, weighted, 0)
        return answered(homes.network, status)
    status, homes.cost[0] = fill(homes, free, link_free, demand, bandwidth, weighted, best)
    return answered(homes.network, status)


class BestHome(NetworkAgent):
    """The cheapest of one placement for each rack as home.

    The cost is counted in servers. A server's whole link reserved once costs `links`, any other link as wide `uplinks`.
    Every server taken costs `stranded` times what more it has left of one resource than of another, `cut_off` times
    what more it has left without bandwidth to use it, and `leftover` times all that it has left.

    With `reject`, a request is declined that takes more than so many times as much as requests do in the mean so far:
    size x holding period, where the size of what is judged is that of the request and `effort` times its cost. While
    the cluster is free, `spare` times as much more.
    """

    reference = "ours: docs/guides/agents.md has the rule and the measurements"
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
        self.weights = CostWeights(
            links=_parts("links", links),
            uplinks=_parts("uplinks", uplinks),
            stranded=_parts("stranded", stranded),
            cut_off=_parts("cut_off", cut_off),
            leftover=_parts("leftover", leftover),
        )
        self.reject = None if reject is None else _parts("reject", reject)
        self.effort, self.spare = _parts("effort", effort), _parts("spare", spare)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Forget what was asked for before."""
        super().start(view, rng)
        self._taken, self._asked, self._last = 0, 0, NONE

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule, unless the request takes too much."""
        found = super().decide(view, request)
        if self.reject is None or not isfinite(request.duration):
            return found
        homes: Homes = self._scratch
        seconds, sizes = round(request.duration * 1e6), zip(request.demand, homes.most.tolist(), strict=False)
        size = sum(share(amount, of) for amount, of in sizes) * WHOLE * WHOLE
        if request.index != self._last:  # one that waits is asked about again
            self._taken, self._asked, self._last = self._taken + size * seconds, self._asked + 1, request.index
        if isinstance(found, Provisioned):
            size += len(request.demand) * self.effort * int(homes.cost[0])
            bound = self.reject * len(request.demand) * 10**9 + self.spare * _free(view)
            if size * seconds * self._asked * WHOLE * len(request.demand) * 10**9 > bound * self._taken:
                return DECLINED
        return found

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Homes:
        """Return the topology, and room to work in."""
        topology, resources = view.topology, view.free.shape[2]
        pods = topology.pod_of[topology.pod_of >= 0]
        return Homes(
            network=shared,
            switches=topology.switches,
            first=topology.first,
            neighbour=topology.neighbour,
            via=topology.via,
            most=np.array(largest(view), np.int64),
            weights=self.weights,
            cost=np.zeros(1, np.int64),
            pods=np.concatenate([[0], np.cumsum(np.bincount(pods))]).astype(np.int32),
            mates=np.argsort(topology.pod_of, kind="stable")[topology.racks - len(pods) :].astype(np.int32),
            able=np.zeros(topology.servers + 1, np.int32),
            until=np.zeros(topology.racks + 1, np.int32),
            there=np.zeros((topology.servers + 1, resources), np.int64),
            parts=np.zeros((topology.servers + 1, resources), np.int64),
            apart=np.zeros(topology.servers + 1, np.int64),
            behind=np.zeros(topology.servers + 1, np.int64),
            wires=np.zeros(topology.servers + 1, np.int64),
            joined=np.zeros((topology.racks, 2), np.int64),
        )


def _free(view: View) -> int:
    """Add up the share of every resource that all servers have free."""
    totals = zip(view.free.sum(axis=(0, 1)).tolist(), view.capacity.sum(axis=(0, 1)).tolist(), strict=True)
    return sum(share(amount, of) for amount, of in totals)


def _parts(name: str, weight: float) -> int:
    if not (isfinite(weight) and 0 <= weight <= WHOLE):
        raise UserError(f"must be from 0 to {WHOLE}", key=name, value=weight)
    return round(weight * WHOLE)
