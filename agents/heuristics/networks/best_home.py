"""Tries every rack as the one to start from: Best home."""

from __future__ import annotations

from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, answered, joins, take
from binwright.agents.heuristics.networks.homes import (
    NONE,
    WHOLE,
    CostWeights,
    Homes,
    can_better,
    holds,
    homes_of,
    is_able,
    see,
    share,
    want,
    worth,
)
from binwright.fabric.multi_server import COMPLETE, GOES_ON, begin
from binwright.fabric.network import NetworkView, Provisioned
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, lean, lean_inlined
from binwright.simcore.types import Amounts, Ints, Refusal, Request, View

DECLINED = Refusal("declined")


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
def look_in(
    homes: Homes,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    weighted: bool,
    every: bool,
    rack: int,
    best: Found,
) -> Found:
    """Look for a better server in a rack."""
    room, order, until, wires, there = homes.network.room, homes.order, homes.until, homes.wires, homes.there
    chosen, first, stamp, everything = room.chosen, room.counts[0] == 0, room.counts[3], len(demand)
    server, complete, value, cost, passed = best
    joined = first or bool(homes.tree[len(homes.tree) // 2 + rack, everything] >= bandwidth)
    joined = joined and (first or joins(homes.network, homes.joined, link_free, rack, bandwidth, weighted))
    if not joined and (server >= 0 or passed >= 0):
        return best
    for place in range(until[rack], until[rack + 1]):
        one = int(order[place])
        if chosen[one] == stamp or there[place, everything] == 0:
            continue
        if not every and wires[place] < bandwidth and not holds(there, place, demand):
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
def is_out(homes: Homes, demand: Amounts, bandwidth: int, every: bool, at: int, best: Found) -> bool:
    """Tell whether nobody below a place of the tree can be chosen, or none can be better."""
    tree, room, everything = homes.tree, homes.network.room, len(demand)
    first = room.counts[0] == 0
    if tree[at, everything + 1] < 0:
        return True
    if tree[at, everything] < bandwidth:
        if not every and not holds(tree, at, demand):
            return True
        if not first and (best.server >= 0 or best.passed >= 0):
            return True
    return best.server >= 0 and not can_better(homes, at, best.complete, best.value)


@lean
def next_server(
    homes: Homes,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    weighted: bool,
    home: int,
    every: bool,
    spare: float,
) -> tuple[int, int]:
    """Find the nearest server that works, and what it costs: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it costs; the first of equals, rack by rack.
    If none works, the first that would give anything; -1 without any. Servers without the bandwidth count if they hold
    the whole request, or with `every`. Racks are passed over where nobody can be better, and all farther ones where the
    links that lead there would cost as much as there is to spare, or more: it is -1 then, too.
    """
    room, pod_of, leaves = homes.network.room, homes.network.routes.pod_of, len(homes.tree) // 2
    first, pod = room.counts[0] == 0, pod_of[home]
    best = Found(NONE, False, 0, 0, NONE)
    for away in range(3):
        if away > 0 and not first and leading(homes, home, away, bandwidth, weighted) >= spare:
            return NONE, 0
        step, end, at = 0, 1, 1  # one loop for all three: a look into a rack takes long to compile
        if away == 1:
            step, end = (homes.pods[pod], homes.pods[pod + 1]) if pod >= 0 else (0, 0)
        while step < end and at > 0:
            if away < 2:
                rack = home if away == 0 else homes.mates[step]
                place = leaves + rack
                step += 1
            else:
                place, rack = at, at - leaves
            out = is_out(homes, demand, bandwidth, every, place, best)
            if away == 2:
                at = after(at, leaves, out)
                out |= place < leaves or rack == home or (pod >= 0 and pod_of[rack] == pod)
            if not (out or (away == 1 and rack == home)):
                best = look_in(homes, link_free, demand, bandwidth, weighted, every, rack, best)
        if best.server >= 0:
            return best.server, best.cost
    return best.passed, 0


@lean_inlined
def after(at: int, leaves: int, out: bool) -> int:
    """Return the next place of a tree in order, after one that is left `out` with all below it or not; 0 at the end."""
    if not out and at < leaves:
        return 2 * at
    while at & 1:
        at //= 2
    return at + (at > 0)


@lean
def fill(
    homes: Homes,
    free: Ints,
    link_free: Ints,
    demand: Amounts,
    bandwidth: int,
    weighted: bool,
    home: int,
    every: bool,
    limit: float,
) -> tuple[int, int]:
    """Provision from this rack on; returns the status, as `choose` does, and the cost, WHOLE billions for a server.

    It gives up, and the status is `GOES_ON`, where the cost can't be below the limit any more.
    """
    network = homes.network
    begin(network.room, demand)
    status, cost = GOES_ON, 0
    while status == GOES_ON:
        want(homes.wanted, homes.network.room.need, homes.most)
        spare = limit - (cost + of_links(homes, bandwidth) + to_come(homes, bandwidth))
        if spare <= 0:
            return GOES_ON, 0
        server, more = next_server(homes, link_free, demand, bandwidth, weighted, home, every, spare)
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


@lean_inlined
def to_come(homes: Homes, bandwidth: int) -> float:
    """Return what the servers still to be chosen, and their own links, cost at least.

    As many of the largest servers are needed as hold what is left, each with a link of its own. They cannot earn more
    than if all that they give had been stranded and cut off. Shares are rounded, by up to 2 for each server.
    """
    room, most, weights = homes.network.room, homes.most, homes.weights
    servers, given = 1, 0
    for r in range(len(room.need)):
        given += homes.wanted[r] + 2 * len(homes.order)
        if most[r] > 0:
            servers = max(servers, -(-room.need[r] // most[r]))
    # One server alone needs no link; the first server's own link is still to be taken when the second is.
    links = (0 if servers == 1 else servers) if room.counts[0] == 0 else servers + (room.counts[0] == 1)
    wide = share(bandwidth, most[-1])
    return float(min(weights.links, weights.uplinks)) * links * wide - float(weights.stranded + weights.cut_off) * given


@lean_inlined
def leading(homes: Homes, home: int, away: int, bandwidth: int, weighted: bool) -> float:
    """Return what the links cost at least that lead farther than those taken so far, in a fabric.

    Two lead to another rack; and three, one in another pod's rack and two to the spines, to another pod. A detour to a
    rack of the same pod may have taken those already; the shortest paths of a fabric are none.
    """
    room, routes, farthest = homes.network.room, homes.network.routes, 0
    if routes.planes == 0:
        return 0.0
    for j in range(room.counts[0]):
        rack = routes.servers[room.servers[j], 0]
        if rack != home:
            farthest = max(farthest, 1 if routes.pod_of[rack] == routes.pod_of[home] else 2)
    detours = farthest > 0 and (weighted or not routes.arithmetic_in)
    links = 0 if away <= farthest or detours else 1 + away
    return float(links * homes.weights.uplinks) * share(bandwidth, homes.most[-1])


@kernel
def best_home(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Try, as a `Rule`, every rack."""
    return answered(homes.network, try_homes(homes, free, link_free, demand, bandwidth, weighted))


@lean
def try_homes(homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool) -> int:
    """Try every rack, and take the cheapest, the first of equals; returns the status, else that of the first rack.

    A home is given up once it cannot be cheaper. Racks of a pod in which nobody is able are homes to the same
    placement, so one of them is enough.
    """
    best, least, limit, nobody = NONE, 0, inf, homes.nobody
    see(homes, free, link_free)
    nobody[:] = 0
    for home in range(len(homes.until) - 1):
        if not is_able(homes, home, demand, bandwidth):
            pod = homes.network.routes.pod_of[home]
            nobody[pod] += 1
            if nobody[pod] > 1:
                continue
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home, False, limit)
        if status == COMPLETE and (best < 0 or cost < least):
            best, least, limit = home, cost, float(cost)
    # Once more for the placement; or for what is to blame, with the first rack as home.
    status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, max(0, best), best < 0, inf)
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
