"""Does what a network's ledger does with a placement in one compiled call: every check, and then all at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.fabric.routing import Routes
from binwright.fabric.topology import Indices, Small, Topology
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Ints

TAKEN, NOTHING, NO_PLACE, NEGATIVE, TOO_MUCH, TWICE = range(6)
WRONG_SUM, NO_LINK, LINK_TWICE, LINK_FULL, NO_SERVER, APART = range(6, 12)
"""What `take` says."""
HEAD = 4
"""A placement as numbers, int64 [any]: how many shares, links, amounts on links (none, or one for each) and more
servers; then each share's server, node and amounts; the links; the amounts on them; the servers.
"""


class Books(NamedTuple):
    """Holds what is free, and scratch.

    `free` int64 [servers, nodes, resources] and `link_free` int64 [links] count; `shown` and `links_shown` are the
    copies that agents see. `servers` int64 [servers, 2], `pod_of` and `alone` as in `binwright.fabric.routing.Routes`.

    `report` int64 [4 + tiers] has, after `take`: where in the numbers the mistake is, or the servers, the span, the
    links, and the quanta reserved on each tier; its last is the stamp of the placement.
    Equal to the stamp are the `places` int64 [servers * nodes] and `wires` int64 [links] that it has. `chosen` int64
    [servers, 2] are its servers, and stamps.
    `switch` int64 [switches, 3]: another switch of the same group (see `_group`), and stamps of a round: of groups,
    and of racks that were found.
    """

    free: Ints
    shown: Ints
    link_free: Ints
    links_shown: Ints
    link_ends: Indices
    link_tier: Small
    servers: Ints
    pod_of: Indices
    alone: int
    report: Ints
    places: Ints
    wires: Ints
    chosen: Ints
    switch: Ints


def books(topology: Topology, routes: Routes, free: Ints, shown: Ints, link_free: Ints, links_shown: Ints) -> Books:
    """Make the books of one ledger, with copies of its own for agents, whose kernels could write to them."""
    return Books(
        free,
        shown,
        link_free,
        links_shown,
        topology.link_ends.copy(),
        topology.link_tier.copy(),
        np.stack([routes.rack_of, np.arange(topology.servers)], axis=1).astype(np.int64),
        topology.pod_of.copy(),
        0,
        report=np.zeros(4 + len(topology.tiers), np.int64),
        places=np.zeros(free.shape[0] * free.shape[1], np.int64),
        wires=np.zeros(topology.links, np.int64),
        chosen=np.zeros((topology.servers, 2), np.int64),
        switch=np.zeros((topology.switches, 3), np.int64),
    )


@kernel
def take(books: Books, numbers: Ints, demand: Amounts, bandwidth: int, connected: bool) -> int:
    """Take a placement, `numbers` as at `HEAD`: `TAKEN`, or the mistake that it has, and then changes nothing.

    Its shares add up to the demand, each on a place of its own that has so much free. Every link is one that there is,
    once, and has the bandwidth free, or its own amount. If it is to be `connected`, the links join its servers.
    """
    servers, nodes, resources = books.free.shape
    shares, links, amounts, more = numbers[0], numbers[1], numbers[2], numbers[3]
    report, tiers = books.report, len(books.report) - 4
    report[-1] += 1
    stamp, count = report[-1], 0
    report[0] = 0
    if shares == 0:
        return NOTHING
    first = HEAD + shares * (2 + resources)
    for j in range(links):
        link, wanted = numbers[first + j], bandwidth
        report[0] = first + j
        if not 0 <= link < len(books.wires):
            return NO_LINK
        if books.wires[link] == stamp:
            return LINK_TWICE
        books.wires[link] = stamp
        if amounts > 0:
            wanted = numbers[first + links + j]
        if books.link_free[link] < wanted:
            return LINK_FULL
    for r in range(resources):
        missing, place = demand[r], HEAD
        for _ in range(shares):
            server, node, amount = numbers[place], numbers[place + 1], numbers[place + 2 + r]
            report[0] = place
            if not (0 <= server < servers and 0 <= node < nodes):
                return NO_PLACE
            if amount < 0:
                return NEGATIVE
            if amount > books.free[server, node, r]:
                return TOO_MUCH
            if r == 0:
                if books.places[server * nodes + node] == stamp:
                    return TWICE
                books.places[server * nodes + node] = stamp
                count = _add(books, server, count)
            missing -= amount
            place += 2 + resources
        if missing != 0:
            return WRONG_SUM
    for j in range(more):
        server = numbers[first + links + amounts + j]
        if not 0 <= server < servers:
            report[0] = first + links + amounts + j
            return NO_SERVER
        count = _add(books, server, count)
    if connected and count > 1 and not _joined(books, numbers[first : first + links], count):
        return APART
    _move(books, numbers, bandwidth, -1)
    report[0] = count
    report[1], report[2] = _span(books, count), links
    for tier in range(tiers):
        report[3 + tier] = 0
    for j in range(links):
        report[3 + books.link_tier[numbers[first + j]]] += numbers[first + links + j] if amounts > 0 else bandwidth
    return TAKEN


@kernel
def give_back(books: Books, numbers: Ints, bandwidth: int) -> None:
    """Free what `take` has taken."""
    _move(books, numbers, bandwidth, 1)


@kernel
def _move(books: Books, numbers: Ints, bandwidth: int, sign: int) -> None:
    resources = books.free.shape[2]
    shares, links, amounts = numbers[0], numbers[1], numbers[2]
    place = HEAD
    for _ in range(shares):
        server, node = numbers[place], numbers[place + 1]
        for r in range(resources):
            books.free[server, node, r] += sign * numbers[place + 2 + r]
            books.shown[server, node, r] = books.free[server, node, r]
        place += 2 + resources
    for j in range(links):
        link = numbers[place + j]
        books.link_free[link] += sign * (numbers[place + links + j] if amounts > 0 else bandwidth)
        books.links_shown[link] = books.link_free[link]


@kernel
def _add(books: Books, server: int, count: int) -> int:
    """Note a server that has something to do with the placement; returns how many there are then."""
    if books.chosen[server, 1] == books.report[-1]:
        return count
    books.chosen[server, 1] = books.report[-1]
    books.chosen[count, 0] = server
    return count + 1


@kernel
def _joined(books: Books, links: Ints, count: int) -> bool:
    """Tell whether a way along these links, through switches only, leads from every server chosen to every other.

    Where no server is a rack of its own, it is enough that the first reaches all others. Else not: two servers may both
    be reached from a third one, on different links, and nothing passes through that.
    """
    alone, stamp, switch = books.alone, books.report[-1], books.switch
    for link in links:
        for end in range(2):
            vertex = books.link_ends[link, end]
            if vertex < len(switch):
                switch[vertex, 0], switch[vertex, 1], switch[vertex, 2] = vertex, -1, -1
    for j in range(count):
        rack, own = books.servers[books.chosen[j, 0]]
        if own < 0:
            switch[rack, 2] = -1
    for link in links:
        one, other = books.link_ends[link, 0], books.link_ends[link, 1]
        if alone <= one < len(switch) and alone <= other < len(switch):
            switch[_group(switch, one), 0] = _group(switch, other)
    for turn in range(count if alone > 0 else 1):
        rack, own = books.servers[books.chosen[turn, 0]]
        if own >= 0:
            if books.wires[own] != stamp:
                return False
            switch[_group(switch, rack), 1] = turn
        else:
            for link in links:
                one, other = books.link_ends[link, 0], books.link_ends[link, 1]
                near = other if one == rack else one
                if (one == rack or other == rack) and alone <= near < len(switch):
                    switch[_group(switch, near), 1] = turn
        found = 0
        for link in links:
            one, other = books.link_ends[link, 0], books.link_ends[link, 1]
            for _ in range(2):
                if one < alone <= other < len(switch) and switch[_group(switch, other), 1] == turn:
                    switch[one, 2] = turn
                one, other = other, one
        for j in range(count):
            rack, own = books.servers[books.chosen[j, 0]]
            if own >= 0:
                found += books.wires[own] == stamp and switch[_group(switch, rack), 1] == turn
            else:
                found += j == turn or switch[rack, 2] == turn
        if found < count:
            return False
    return True


@kernel
def _group(switch: Ints, vertex: int) -> int:
    """Return the switch that stands for all that are joined with this one."""
    while switch[vertex, 0] != vertex:
        switch[vertex, 0] = switch[switch[vertex, 0], 0]
        vertex = switch[vertex, 0]
    return vertex


@kernel
def _span(books: Books, count: int) -> int:
    """Return how far apart the servers chosen are, an index into `binwright.fabric.network.SPANS`."""
    found = 0
    for j in range(1, count):
        rack = books.servers[books.chosen[j, 0], 0]
        for i in range(j):
            other, far = books.servers[books.chosen[i, 0], 0], 1
            if rack != other:
                far = 2 if books.pod_of[rack] == books.pod_of[other] and books.pod_of[other] >= 0 else 3
            found = max(found, far)
    return found
