"""Best home: every rack is tried as the one to start from."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np

from agents.heuristics.network import Network, NetworkAgent, answered, largest, take, widest
from fabric.filling import COMPLETE, GOES_ON, begin
from fabric.network import NetworkView
from fabric.routing import find_path
from fabric.topology import Indices
from simcore.errors import UserError
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Ints

WHOLE = 1000
"""Weights are multiples of one part in this many."""
NONE = -1
MOST = np.iinfo(np.int64).max


class Homes(NamedTuple):
    """`first`, `neighbour` and `via` are the topology's; `most` int64 [resources + 1] is the largest server, and the
    capacity of its link; `weight` is that of what is stranded. The racks of pod p are `mates[pods[p]:pods[p + 1]]`,
    int32 [racks]. The rest is scratch.

    `able` int32 [servers] are the servers that may be chosen, rack by rack: those of rack r are
    `able[until[r]:until[r + 1]]`, `until` int32 [racks + 1]. In the same places `there` int64 [servers, resources] is
    what they have free, `parts` the same as shares, `apart` int64 [servers] how much of it is stranded, and `wires`
    int64 [servers] what their own links have free (of several, the widest).

    `joined` int64 [racks, 2] is the stamp of the filling that came by, and of how many of its servers it is known that
    the rack has working routes to them: -1 when one has none.
    """

    network: Network
    switches: int
    first: Indices
    neighbour: Indices
    via: Indices
    most: Ints
    weight: int
    pods: Indices
    mates: Indices
    able: Indices
    until: Indices
    there: Ints
    parts: Ints
    apart: Ints
    wires: Ints
    joined: Ints


@kernel
def find_able(homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, every: bool) -> None:
    """Write which servers may be chosen: who has anything free and the bandwidth, or holds the whole request.

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
                homes.able[count], homes.wires[count] = server, wire
                count += 1
        homes.until[rack + 1] = count


@kernel
def share(amount: int, of: int) -> int:
    """In billionths, so that the last bits of a float decide no tie; 0 of nothing."""
    return int(amount / of * 1e9 + 0.5) if of > 0 else 0


@kernel
def worth(need: Ints, most: Ints, there: Ints, parts: Ints, apart: Ints, place: int) -> tuple[int, int, bool]:
    """What the server at this place would give, how much more it would have stranded then, and whether the request is
    complete.

    Stranded is how much more it has left of one resource than of another.
    """
    given, complete, low, high = 0, True, MOST, 0
    for r in range(len(need)):
        amount, left = there[place, r], 0
        complete &= bool(amount >= need[r])
        if amount <= need[r]:
            given += parts[place, r]
        else:
            given += share(need[r], most[r])
            left = share(amount - need[r], most[r])
        low, high = min(low, left), max(high, left)
    return given, high - low - apart[place], complete


@kernel
def joins(homes: Homes, link_free: Ints, rack: int, bandwidth: int, weighted: bool) -> bool:
    """Has this rack a working path to the racks of all servers chosen so far? Asks for each only once."""
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
    """The nearest server that works, and what it strands: at home, in a neighbouring rack, or anywhere.

    Of these what completes the request, then what gives most, less what it strands; the first of equals, rack by rack.
    If none works, the first that would give anything; -1 without any.
    """
    room, pod_of, most, weight = homes.network.room, homes.network.routes.pod_of, homes.most, homes.weight
    able, until, there, parts, apart, wires = (
        homes.able,
        homes.until,
        homes.there,
        homes.parts,
        homes.apart,
        homes.wires,
    )
    need, chosen, first, stamp = room.need, room.chosen, room.counts[0] == 0, room.counts[3]
    pod, joined = pod_of[home], True
    link = homes.network.routes.servers[room.servers[0], 1]
    linked = first or link < 0 or link_free[link] >= bandwidth  # only the first may be without
    best, best_complete, best_value, best_growth, passed = NONE, False, 0, 0, NONE
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
                given, growth, complete = worth(need, most, there, parts, apart, place)
                value = WHOLE * given - weight * growth
                if given == 0 and not complete:
                    continue
                if best >= 0 and (complete, value) <= (best_complete, best_value):
                    continue
                # The first server needs a link, too, unless it completes the request.
                if (complete and first) or (joined and wires[place] >= bandwidth):
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
        server, growth = next_server(homes, link_free, bandwidth, weighted, home)
        if server < 0:
            break
        cost += homes.weight * growth
        status = take(network, free, link_free, server, bandwidth, weighted)
    return status, cost + WHOLE * network.room.counts[2] * share(bandwidth, homes.most[len(demand)])


@kernel
def same_as_before(homes: Homes, home: int) -> bool:
    """Is nobody able at home, nor in a neighbouring rack before it? Then both are homes to the same placement."""
    until, pod_of = homes.until, homes.network.routes.pod_of
    before = False
    for rack in range(home):
        before |= bool(until[rack] == until[rack + 1] and pod_of[rack] == pod_of[home])
    return before and bool(until[home] == until[home + 1])


@kernel
def best_home(
    homes: Homes, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """A `Rule`: from every rack, the cheapest; the first of equals. Always masked; says what the first rack lacks."""
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
        topology, resources = view.topology, view.free.shape[2]
        pods = topology.pod_of[topology.pod_of >= 0]
        return Homes(
            network=shared,
            switches=topology.switches,
            first=topology.first,
            neighbour=topology.neighbour,
            via=topology.via,
            most=np.array(largest(view), np.int64),
            weight=round(self.stranded * WHOLE),
            pods=np.concatenate([[0], np.cumsum(np.bincount(pods))]).astype(np.int32),
            mates=np.argsort(topology.pod_of, kind="stable")[topology.racks - len(pods) :].astype(np.int32),
            able=np.zeros(topology.servers + 1, np.int32),
            until=np.zeros(topology.racks + 1, np.int32),
            there=np.zeros((topology.servers + 1, resources), np.int64),
            parts=np.zeros((topology.servers + 1, resources), np.int64),
            apart=np.zeros(topology.servers + 1, np.int64),
            wires=np.zeros(topology.servers + 1, np.int64),
            joined=np.zeros((topology.racks, 2), np.int64),
        )
