"""Best home: every rack is tried as the one to start from."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np

from agents.heuristics.network import Network, NetworkAgent, answered, largest, reaches, take, widest
from fabric.filling import COMPLETE, GOES_ON, begin, has_any
from fabric.network import NetworkView
from fabric.topology import Indices
from simcore.errors import UserError
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
FURTHEST = 2
NONE = -1
MOST = np.iinfo(np.int64).max


class Homes(NamedTuple):
    """`first`, `neighbour` and `via` are the topology's; `most` int64 [resources + 1] is the largest server, and the
    capacity of its link; `weight` is that of what is stranded. `able` int32 [servers] is scratch, the servers with
    anything free, rack by rack: those of rack r are `able[until[r]:until[r + 1]]`, `until` int32 [racks + 1].
    """

    network: Network
    switches: int
    first: Indices
    neighbour: Indices
    via: Indices
    most: Ints
    weight: int
    able: Indices
    until: Indices


@kernel
def find_able(homes: Homes, free: Ints) -> None:
    """Write which servers have anything free, rack by rack."""
    count = 0
    for rack in range(len(homes.until) - 1):
        for edge in range(homes.first[rack], homes.first[rack + 1]):
            server = homes.neighbour[edge] - homes.switches
            if server < 0:  # servers come before switches
                break
            if has_any(free, server):
                homes.able[count] = server
                count += 1
        homes.until[rack + 1] = count


@kernel
def share(amount: int, of: int) -> int:
    """In billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@kernel
def distance(pod_of: Indices, home: int, rack: int) -> int:
    """0 for home itself, 1 for its neighbours, 2 beyond."""
    if rack == home:
        return 0
    return 1 if pod_of[rack] == pod_of[home] and pod_of[home] >= 0 else FURTHEST


@kernel
def worth(free: Ints, need: Ints, most: Ints, server: int) -> tuple[int, int, bool]:
    """What this server would give, how much more it would have stranded then, and whether the request is complete.

    Stranded is how much more it has left of one resource than of another.
    """
    given, complete = 0, True
    low, high, low_before, high_before = MOST, 0, MOST, 0
    for r in range(len(need)):
        there = 0
        for node in range(free.shape[1]):
            there += free[server, node, r]
        amount = min(there, need[r])
        complete &= bool(amount == need[r])
        given += share(amount, most[r])
        before, left = share(there, most[r]), share(there - amount, most[r])
        low_before, high_before = min(low_before, before), max(high_before, before)
        low, high = min(low, left), max(high, left)
    return given, (high - low) - (high_before - low_before), complete


@kernel
def next_server(
    homes: Homes, free: Ints, link_free: Ints, bandwidth: int, weighted: bool, home: int
) -> tuple[int, int]:
    """The nearest server that works, and what it strands.

    Of these what completes the request, then what gives most, less what it strands; the first of equals, rack by rack.
    If none works, the first that would give anything; -1 without any.
    """
    room, pod_of = homes.network.room, homes.network.routes.pod_of
    able, until, most, weight = homes.able, homes.until, homes.most, homes.weight
    servers, need, chosen, stamp = homes.network.routes.servers, room.need, room.chosen, room.counts[3]
    best, best_complete, best_value, best_growth, passed = NONE, False, 0, 0, NONE
    for away in range(FURTHEST + 1):
        for rack in range(len(pod_of)):
            if distance(pod_of, home, rack) != away:
                continue
            for place in range(until[rack], until[rack + 1]):
                server = able[place]
                if chosen[server] == stamp:
                    continue
                given, growth, complete = worth(free, need, most, server)
                value = WHOLE * given - weight * growth
                if given == 0 and not complete:
                    continue
                if best >= 0 and (complete, value) <= (best_complete, best_value):
                    continue
                # The first server needs a link, too, unless it completes the request.
                alone = complete and room.counts[0] == 0
                link = servers[server, 1]
                wire = link_free[link] if link >= 0 else widest(homes.first, homes.via, link_free, rack)
                if alone or (wire >= bandwidth and reaches(homes.network, link_free, server, bandwidth, weighted)):
                    best, best_complete, best_value, best_growth = server, complete, value, growth
                elif passed < 0:
                    passed = server
        if best >= 0:
            return best, best_growth
    return passed, 0


@kernel
def fill(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, home: int
) -> tuple[int, int]:
    """Provision from this rack on: the status, as `choose` says it, and the cost."""
    network = homes.network
    begin(network.room, demand)
    status, cost = GOES_ON, 0
    while status == GOES_ON:
        server, growth = next_server(homes, free, link_free, bandwidth, weighted, home)
        if server < 0:
            break
        cost += homes.weight * growth
        status = take(network, free, link_free, server, bandwidth, weighted)
    return status, cost + WHOLE * network.room.counts[2] * share(bandwidth, homes.most[len(demand)])


@kernel
def best_home(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """A `Rule`: from every rack, the cheapest; the first of equals. Always masked; says what the first rack lacks."""
    best, least, lack = NONE, MOST, 0
    find_able(homes, free)
    for home in range(len(homes.network.routes.pod_of)):
        status, cost = fill(homes, free, link_free, demand, bandwidth, weighted, home)
        if status == COMPLETE and cost < least:
            best, least = home, cost
        elif home == 0:
            lack = status
    if best < 0:
        return lack
    status, _ = fill(homes, free, link_free, demand, bandwidth, weighted, best)
    return answered(homes.network, status)


class BestHome(NetworkAgent):
    """The cheapest of one placement for each rack as home: links x bandwidth, and `stranded` times what it strands.

    Both count in servers: a server's whole link reserved once is 1, a server with all of one resource left and nothing
    of another is 1.
    """

    reference = "ours: docs/agents.md has the rule and the measurements"
    rule = best_home

    def __init__(self, stranded: float = 0.5) -> None:
        if not (isfinite(stranded) and 0 <= stranded <= WHOLE):
            raise UserError(f"must be from 0 to {WHOLE}", key="stranded", value=stranded)
        self.stranded = stranded

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Homes:
        """The topology, and the weight as a whole number."""
        topology = view.topology
        return Homes(
            network=shared,
            switches=topology.switches,
            first=topology.first,
            neighbour=topology.neighbour,
            via=topology.via,
            most=np.array(largest(view), np.int64),
            weight=round(self.stranded * WHOLE),
            able=np.zeros(topology.servers, np.int32),
            until=np.zeros(topology.racks + 1, np.int32),
        )
