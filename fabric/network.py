"""Servers in a network: the book that takes links, all or nothing, for whatever servers a request takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from binwright.fabric.book import Book, Holding, plain_shares
from binwright.fabric.routing import Routing
from binwright.fabric.topology import Topology
from binwright.fabric.virtual import check_embedding
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.types import Ints, Placement, Request, View, read_only
from binwright.simcore.units import say

if TYPE_CHECKING:
    from binwright.fabric.ledger import Ledger

_LINK = ("bandwidth",)
FAILED = -1
"""What a link out of service has free: not enough for anything, not even for a request without bandwidth."""
SPANS = ("one server", "one rack", "neighbouring racks", "beyond")
"""How far a placement is spread, by its span from 0."""


@dataclass(slots=True, kw_only=True)
class NetworkView(View):
    """A view with a network: `link_capacity` and `link_free` int64 [links] quanta, read-only; `routes` for kernels.

    A link that has failed has `FAILED` free. A request takes its demand from any number of servers.
    """

    topology: Topology
    routing: Routing
    link_capacity: Ints
    link_free: Ints


@dataclass(slots=True)
class Provisioned(Placement):
    """Holds a placement by the rules of `binwright.fabric.multi_server`; `chosen` servers may give nothing."""

    chosen: tuple[int, ...] = ()


class NetworkBook(Book):
    """Takes links for requests, which take any servers, as long as the links connect these."""

    def __init__(self, ledger: Ledger, routing: Routing) -> None:
        self._ledger, self._names = ledger, ledger.cluster.resources
        topology = self.topology = routing.topology
        self._link_free = topology.link_capacity.copy()
        self.down: set[int] = set()
        """The links that are out of service."""
        self._ends = topology.link_ends.tolist()
        self.last: dict[int, Holding] = {}
        """What every row holds that was placed, or held last."""
        self.moved: dict[int, list[Holding]] = {}
        """Of every row that moved, what it held at first, and then at the place of each move, arrived or not."""
        self._view = ledger.view = NetworkView(
            self._names,
            ledger.view.capacity,
            ledger.view.free,
            topology=topology,
            routing=routing,
            link_capacity=topology.link_capacity,
            link_free=read_only(self._link_free),
        )

    # -- taking, and giving back ---------------------------------------------------------------------------------------

    def checked(self, request: Request, placement: Placement) -> Holding:
        """Return what a placement takes, if its links are free and connect the servers that it names.

        Raises `InfeasiblePlacement` when it breaks a rule. Whether servers have so much free is not looked at. A
        virtual network is checked from its machines on (`binwright.fabric.virtual`).
        """
        network, (servers, nodes, _) = request.network, self._view.capacity.shape
        chosen: tuple[int, ...] = ()
        if network is None:
            shares = plain_shares(placement)
            try:
                links = tuple(map(index, placement.links))
                chosen = tuple(map(index, placement.chosen)) if isinstance(placement, Provisioned) else ()
            except TypeError:
                raise InfeasiblePlacement(f"answered {placement!r:.200}, whose links are no numbers") from None
            amounts: tuple[int, ...] = (request.bandwidth,) * len(links)
        else:
            embedding = check_embedding(self.topology, network, placement, servers, nodes)
            shares, links, amounts = embedding.shares, embedding.links, embedding.amounts
        named = (*dict.fromkeys(chain((share[0] for share in shares), chosen)),)
        holding = Holding(request.role, named, shares, tuple(zip(links, amounts, strict=True)))
        problem = self._wrong_shares(holding, request) or self._wrong_links(holding)
        if not problem and network is None and len(named) > 1 and not self._joined(named, links):
            problem = "its links do not connect its servers: use fabric.multi_server, or reserve a route"
        if problem:
            raise InfeasiblePlacement(problem)
        return holding

    def _wrong_shares(self, holding: Holding, request: Request) -> str:
        """Say why shares do not add up to the demand, each of a node of its own; empty where they do."""
        (servers, nodes, resources), shares = self._view.capacity.shape, holding.shares
        for server in holding.servers:
            if not 0 <= server < servers:
                return f"there is no server {server}"
        for server, node, part in shares:
            if not (0 <= node < nodes and len(part) == resources and min(part) >= 0):
                return f"takes {part} on node {node} of server {server}, which has {nodes} with {resources} resources"
        if len({share[:2] for share in shares}) < len(shares):
            return "has two shares on a node: add them up"
        total = (*map(sum, zip(*(part for _, _, part in shares), strict=True)),)
        if total == request.demand:
            return ""
        return f"its shares give {say(total, self._names)} of {say(request.demand, self._names)}"

    def _wrong_links(self, holding: Holding) -> str:
        """Say which links there are not, or not with so much free, or that one is there twice; empty for none."""
        for link, wanted in holding.links:
            if not 0 <= link < self.topology.links:
                return f"there is no link {link}"
            free = self._link_free.data[link]
            if free < wanted:
                has = f"{say([free], _LINK)} free, and {say([wanted], _LINK)} is wanted"
                return f"link {link} has {'failed' if free == FAILED else has}"
        return "reserves a link twice" if len(dict(holding.links)) < len(holding.links) else ""

    def _joined(self, servers: Iterable[int], links: Iterable[int]) -> bool:
        """Tell whether a way along these links leads from every server to every other."""
        vertices, ends = [self.topology.switches + server for server in servers], [self._ends[link] for link in links]
        reached = {vertices[0]}
        while more := {vertex for pair in ends if not reached.isdisjoint(pair) for vertex in pair} - reached:
            reached |= more
        return reached.issuperset(vertices)

    def _span(self, servers: Iterable[int]) -> int:
        """Return how far apart these servers are, an index into `SPANS`."""
        racks = {*self.topology.rack_of[[*servers]].tolist()}
        pods = {*self.topology.pod_of[[*racks]].tolist()}
        return 0 if len({*servers}) == 1 else 1 if len(racks) == 1 else 3 if len(pods) > 1 or -1 in pods else 2

    def move(self, holding: Holding, sign: int) -> None:
        """Take links, or give them back."""
        free = self._link_free.data
        for link, amount in holding.links:
            free[link] += sign * amount

    def enter(self, row: int, holding: Holding) -> None:
        """Note where a request lies from now on."""
        self.last[row] = holding

    def begin_move(self, row: int, old: Holding, new: Holding) -> None:
        """Note the place that a request moves to."""
        self.moved.setdefault(row, [old]).append(new)

    def end_move(self, row: int, stays: Holding, leaves: Holding, part: slice) -> None:
        """Note where a request lies from now on."""
        self.last[row] = stays

    def fail(self, link: int) -> None:
        """Take an empty link out of service."""
        self.down.add(link)
        self._link_free[link] = FAILED

    def repair(self, link: int) -> None:
        """Bring a link back."""
        self.down.remove(link)
        self._link_free[link] = self.topology.link_capacity[link]

    # -- what there is, and what lay where -----------------------------------------------------------------------------

    @property
    def tiers(self) -> dict[str, int]:
        """The tiers of links, and the quanta that each has in all."""
        total = np.bincount(self.topology.link_tier, self.topology.link_capacity).astype(np.int64)
        return dict(zip(self.topology.tiers, total.tolist(), strict=True))

    def spans(self, rows: Ints) -> Ints:
        """Return servers, span and links of the last places of these rows [k], int64 [k, 3]."""
        last = [self.last[row] for row in rows.tolist()]
        spans = [(len(held.servers), self._span(held.servers), len(held.links)) for held in last]
        return np.array(spans, np.int64).reshape(-1, 3)

    def reserved(self, rows: Ints, numbers: Ints) -> Ints:
        """Return the quanta reserved on each tier, int64 [k, tiers]; arguments as of `places`."""
        who, link, amount = self.wires(rows, numbers)
        reserved = np.zeros((len(rows), len(self.topology.tiers)), np.int64)
        np.add.at(reserved, (who, self.topology.link_tier[link]), amount)
        return reserved

    def places(self, rows: Ints, numbers: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Tell where these rows [k] lay, each at one of its places, `numbers` [k]: 0, or more after moves.

        Returns places in `rows` int64 [n], servers [n], nodes [n], and quanta [n, resources].
        """
        places = enumerate(self._held_at(rows, numbers))
        shares = [(at, server, node, *part) for at, held in places for server, node, part in held.shares]
        table = np.array(shares, np.int64).reshape(-1, 3 + len(self._names))
        return table[:, 0], table[:, 1], table[:, 2], table[:, 3:]

    def wires(self, rows: Ints, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """List places in `rows`, links, and the quanta reserved on each, int64 [n] each; arguments as of `places`."""
        wires = [(at, *wire) for at, held in enumerate(self._held_at(rows, numbers)) for wire in held.links]
        who, link, amount = np.array(wires, np.int64).reshape(-1, 3).T
        return who, link, amount

    def _held_at(self, rows: Ints, numbers: Ints) -> list[Holding]:
        pairs = zip(rows.tolist(), numbers.tolist(), strict=True)
        return [self.moved[row][number] if row in self.moved else self.last[row] for row, number in pairs]
