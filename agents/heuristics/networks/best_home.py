"""Tries every rack as the one to start from: Best home."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, joins, largest, take, wire_of
from binwright.fabric.multi_server import COMPLETE, GOES_ON, begin
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.topology import Indices
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, lean, lean_inlined
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


class Homes(NamedTuple):
    """Holds what a search for the best home reads and writes.

    `first` and `via` are the topology's; `most` int64 [resources + 1] is the largest server, and the
    capacity of its link. `cost` int64 [1] is what the last answer costs, see `fill`. The racks of pod p are
    `mates[pods[p]:pods[p + 1]]`, int32 [racks].

    Servers stand rack by rack: those of rack r are `order[until[r]:until[r + 1]]`, int32 [servers]. In the same places
    `there` int64 [servers, resources + 1] is what they have free, and all of it together, `parts` int64 [servers,
    resources] the same as shares, `apart` int64 [servers] how much of it is stranded, `behind` int64 [servers] how much
    is cut off, and `wires` int64 [servers] what their own links have free (of several, the widest). The places of
    servers that may be chosen are `able[since[r]:since[r + 1]]`, int64 [servers].

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
    until: Indices
    there: Ints
    parts: Ints
    apart: Ints
    behind: Ints
    wires: Ints
    able: Ints
    since: Ints
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
        until=np.searchsorted(topology.rack_of[order], np.arange(topology.racks + 1)).astype(np.int32),
        there=np.zeros((topology.servers, resources + 1), np.int64),
        parts=np.zeros((topology.servers, resources), np.int64),
        apart=np.zeros(topology.servers, np.int64),
        behind=np.zeros(topology.servers, np.int64),
        wires=np.zeros(topology.servers, np.int64),
        able=np.zeros(topology.servers, np.int64),
        since=np.zeros(topology.racks + 1, np.int64),
        joined=np.zeros((topology.racks, 2), np.int64),
        nobody=np.zeros(topology.pod_of.max() + 2, np.int64),
        wanted=np.zeros(resources, np.int64),
    )


@lean
def see(homes: Homes, free: Ints, link_free: Ints) -> None:
    """Write what every server has."""
    there, parts = homes.there, homes.parts
    resources: int = free.shape[2]
    for place in range(len(homes.order)):
        server = homes.order[place]
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
def gather(homes: Homes, demand: Amounts, bandwidth: int, every: bool) -> None:
    """Write which servers may be chosen: those with anything free and the bandwidth, or that hold the whole request.

    With `every` all that have anything free.
    """
    there, count = homes.there, 0
    for rack in range(len(homes.until) - 1):
        homes.since[rack] = count
        for place in range(homes.until[rack], homes.until[rack + 1]):
            wide = every or homes.wires[place] >= bandwidth
            if there[place, len(demand)] > 0 and (wide or holds(there, place, demand)):
                homes.able[count] = place
                count += 1
    homes.since[-1] = count


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


class Found(NamedTuple):
    """Holds the best server so far, NONE without any, and the first that would give anything though it does not work.

    It completes the request or not; `value` is what it gives, less what it costs.
    """

    server: int
    complete: bool
    value: int
    cost: int
    passed: int


@lean
def look_in(homes: Homes, link_free: Ints, bandwidth: int, weighted: bool, rack: int, best: Found) -> Found:
    """Look for a better server in a rack."""
    room, order, wires, since = homes.network.room, homes.order, homes.wires, homes.since
    chosen, first, stamp = room.chosen, room.counts[0] == 0, room.counts[3]
    server, complete, value, cost, passed = best
    joined = since[rack] < since[rack + 1]
    joined = joined and (first or joins(homes.network, homes.joined, link_free, rack, bandwidth, weighted))
    for k in range(since[rack], since[rack + 1]):
        place = homes.able[k]
        one = int(order[place])
        if chosen[one] == stamp:
            continue
        given, costs, completes = worth(homes, place, bandwidth, first)
        gain = WHOLE * given - costs
        if (given == 0 and not completes) or (server >= 0 and (completes, gain) <= (complete, value)):
            continue
        # The first server needs a link, too, unless it completes the request.
        if (completes and first) or (joined and wires[place] >= bandwidth):
            server, complete, value, cost = one, completes, gain, costs
        elif passed < 0:
            passed = one
    return Found(server, complete, value, cost, passed)


@lean
def next_server(homes: Homes, link_free: Ints, bandwidth: int, weighted: bool, home: int) -> tuple[int, int]:
    """Find the nearest server that works, and what it costs: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it costs; the first of equals, rack by rack.
    If none works, the first that would give anything; -1 without any.
    """
    pod_of = homes.network.routes.pod_of
    pod, best = pod_of[home], Found(NONE, False, 0, 0, NONE)
    for away in range(3):
        start, end = (home, home + 1) if away == 0 else (0, len(homes.since) - 1)
        if away == 1:
            start, end = (homes.pods[pod], homes.pods[pod + 1]) if pod >= 0 else (0, 0)
        for step in range(start, end):
            rack = homes.mates[step] if away == 1 else step
            distance = 0 if rack == home else 1 if pod >= 0 and pod_of[rack] == pod else 2
            if distance == away:
                best = look_in(homes, link_free, bandwidth, weighted, rack, best)
        if best.server >= 0:
            return best.server, best.cost
    return best.passed, 0


@lean
def fill(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, home: int
) -> tuple[int, int]:
    """Provision from this rack on; returns the status, as `choose` does, and the cost, WHOLE billions for a server."""
    network = homes.network
    begin(network.room, demand)
    status, cost = GOES_ON, 0
    while status == GOES_ON:
        want(homes.wanted, network.room.need, homes.most)
        server, more = next_server(homes, link_free, bandwidth, weighted, home)
        if server < 0:
            break
        cost += more
        status = take(network, free, link_free, server, bandwidth, weighted)
    return status, cost + of_links(homes, bandwidth)


@lean_inlined
def of_links(homes: Homes, bandwidth: int) -> int:
    """Compute what the links cost that are taken so far."""
    network, weights, links = homes.network, homes.weights, 0
    for j in range(network.room.counts[2]):
        links += weights.links if network.link_tier[network.room.links[j]] == 0 else weights.uplinks
    return links * share(bandwidth, homes.most[-1])


@kernel
def best_home(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Try, as a `Rule`, every rack, and take the cheapest, the first of equals; else the status is the first rack's.

    Racks of a pod in which nobody is able are homes to the same placement, so one of them is enough.
    """
    best, least, nobody = NONE, 0, homes.nobody
    see(homes, free, link_free)
    gather(homes, demand, bandwidth, False)
    nobody[:] = 0
    for home in range(len(homes.until) - 1):
        if homes.since[home] == homes.since[home + 1]:
            pod = homes.network.routes.pod_of[home]
            nobody[pod] += 1
            if nobody[pod] > 1:
                continue
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home)
        if status == COMPLETE and (best < 0 or cost < least):
            best, least = home, cost
    if best < 0:  # for what is to blame, with the first rack as home
        gather(homes, demand, bandwidth, True)
    status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, max(0, best))
    if best >= 0:
        homes.cost[0] = cost
    return status


class BestHome(NetworkAgent):
    """The cheapest of one placement for each rack as home.

    The cost is counted in servers. A server's whole link reserved once costs `links`, any other link as wide `uplinks`.
    Every server taken costs `stranded` times what more it has left of one resource than of another, `cut_off` times
    what more it has left without bandwidth to use it, and `leftover` times all that it has left.

    With `reject`, a request is declined that takes more than so many times as much as requests do in the mean so far:
    size x holding period, where the size of what is judged is that of the request and `effort` times its cost. While
    the cluster is free, `spare` times as much more.
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
        self.weights = CostWeights(
            links=_parts("links", links),
            uplinks=_parts("uplinks", uplinks),
            stranded=_parts("stranded", stranded),
            cut_off=_parts("cut_off", cut_off),
            leftover=_parts("leftover", leftover),
        )
        self.reject = None if reject is None else _parts("reject", reject)
        self.needs_lifetimes = reject is not None
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
        """Return what is known of servers and racks, and room to work in."""
        return homes_of(view, shared, self.weights)


def _free(view: View) -> int:
    """Add up the share of every resource that all servers have free."""
    totals = zip(view.free.sum(axis=(0, 1)).tolist(), view.capacity.sum(axis=(0, 1)).tolist(), strict=True)
    return sum(share(amount, of) for amount, of in totals)


def _parts(name: str, weight: float) -> int:
    if not (isfinite(weight) and 0 <= weight <= WHOLE):
        raise UserError(f"must be from 0 to {WHOLE}", key=name, value=weight)
    return round(weight * WHOLE)
