"""Servers in a network: the ledger that reserves links and servers together, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
import numpy.typing as npt

from fabric.cluster import Cluster
from fabric.ledger import Ledger, read_only
from fabric.routing import Routing
from fabric.topology import Topology
from fabric.virtual import check_embedding
from simcore.errors import InfeasiblePlacement, LedgerError
from simcore.faults import Kind
from simcore.vocabulary import Ints, Placement, Request, Share, View, VirtualNetwork

FAILED = -1
"""What a link out of service has free: not enough for anything, not even for a request without bandwidth."""
SPANS = ("one server", "one rack", "neighbouring racks", "beyond")
"""How far a placement is spread, by its span from 0."""


@dataclass(slots=True, kw_only=True)
class NetworkView(View):
    """A view with a network: `link_capacity` and `link_free` int64 [links] quanta, read-only; `routes` for kernels.

    A link that has failed has `FAILED` free. A request takes its demand from any number of servers. `weighted` says how
    the routes between them are chosen.
    """

    topology: Topology
    routing: Routing
    link_capacity: Ints
    link_free: Ints
    weighted: bool


@dataclass(slots=True)
class Provisioned(Placement):
    """A placement by the rules of `fabric.filling`: its links are known to connect its servers.

    `servers` counts those that were chosen, also without giving anything; `span` indexes `SPANS`.
    """

    servers: int = 0
    span: int = 0


class NetworkLedger(Ledger):
    """Who holds what, links included. Shares lie on any servers, as long as the links reserved connect these."""

    view: NetworkView

    def __init__(self, cluster: Cluster, routing: Routing, weighted: bool = False) -> None:
        super().__init__(cluster)
        topology = self.topology = routing.topology
        self._link_free = topology.link_capacity.copy()
        self._wires = self._link_free.data
        self._wired: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}  # links, and the quanta held on each
        self._cuts: dict[int, int] = {}  # links out of service, and for how many reasons
        self._tier = topology.link_tier.data
        self.notes: list[tuple[int, ...]] = []
        """Of every placement: row, servers, span, and the quanta reserved on each tier."""
        self.room = self._free.sum(axis=(0, 1)).tolist()
        """Quanta free of each resource, over all servers."""
        self.view = NetworkView(
            cluster.resources,
            self.view.capacity,
            self.view.free,
            topology=topology,
            routing=routing,
            link_capacity=topology.link_capacity,
            link_free=read_only(self._link_free),
            weighted=weighted,
        )

    def apply(self, request: Request, placement: Placement) -> None:
        """Take shares and links. Raises `InfeasiblePlacement` when they break a rule or do not fit.

        A virtual network is checked from its machines on (`fabric.virtual`).
        """
        if request.index in self._held:
            raise LedgerError(f"request {request.index} is placed already")
        if request.network is not None:
            placement, wanted = self._embedded(request.network, placement)
        else:
            if type(placement) is not Provisioned:
                placement = self._connected(request, placement)
            wanted = (request.bandwidth,) * len(placement.links)
        shares, links = placement.shares, placement.links
        wires = self._wires
        for link, amount in zip(links, wanted, strict=True):
            if wires[link] < amount:
                why = "failed" if wires[link] == FAILED else f"{wires[link]} free, {amount} are wanted"
                raise InfeasiblePlacement(f"link {link} has {why}")
        missing = list(request.demand)
        for _, _, amounts in shares:
            for r, amount in enumerate(amounts):
                missing[r] -= amount
        if any(missing):
            raise InfeasiblePlacement(f"its shares leave {missing} of the demand to be given")
        self._take(shares)
        tier = self._tier
        reserved = [0] * len(self.topology.tiers)
        for link, amount in zip(links, wanted, strict=True):
            wires[link] -= amount
            reserved[tier[link]] += amount
        room = self.room
        for r, amount in enumerate(request.demand):
            room[r] -= amount
        self._held[request.index] = shares
        self._wired[request.index] = links, wanted
        self.notes.append((request.index, placement.servers, placement.span, *reserved))

    def _embedded(self, network: VirtualNetwork, placement: Placement) -> tuple[Provisioned, tuple[int, ...]]:
        """A virtual network's checked placement as plain numbers, and what it reserves on each link."""
        found = check_embedding(self.topology, network, placement, self._servers, self._nodes)
        servers = list(dict.fromkeys(server for server, _, _ in found.shares))
        links = tuple(map(int, found.links))
        where = Provisioned(found.shares, links, len(servers), span(self.topology, servers))
        return where, tuple(map(int, found.amounts))

    def _connected(self, request: Request, placement: object) -> Provisioned:
        """A placement of plain numbers whose links connect its servers, with each link once."""
        shares, links = self._plain(placement)
        servers = list(dict.fromkeys(server for server, _, _ in shares))
        if not shares or min(amount for share in shares for amount in share[2]) < 0:
            raise InfeasiblePlacement("placed nothing, or less than nothing")
        if any(len(amounts) != self._resources for _, _, amounts in shares):
            raise InfeasiblePlacement(f"a share says what it takes of each of {len(request.demand)} resources")
        for server, node, _ in shares:
            if not (0 <= server < self._servers and 0 <= node < self._nodes):
                raise InfeasiblePlacement(f"there is no node {node} of server {server}")
        if len({share[:2] for share in shares}) < len(shares):
            raise InfeasiblePlacement("two shares on one node: add them up")
        if len(set(links)) < len(links) or any(not 0 <= link < self.topology.links for link in links):
            raise InfeasiblePlacement("reserves a link twice, or one that there is not")
        if not connects(self.topology, servers, links):
            raise InfeasiblePlacement("its links do not connect its servers: use fabric.filling, or reserve a route")
        return Provisioned(shares, links, len(servers), span(self.topology, servers))

    @staticmethod
    def _plain(placement: object) -> tuple[tuple[Share, ...], tuple[int, ...]]:
        if not isinstance(placement, Placement):
            raise InfeasiblePlacement(f"answered {placement!r}, which is no Placement, Refusal or None")
        try:
            return (
                tuple((index(server), index(node), tuple(map(index, part))) for server, node, part in placement.shares),
                tuple(map(index, placement.links)),
            )
        except (TypeError, ValueError):
            raise InfeasiblePlacement(f"answered {placement!r}, whose shares are not (server, node, amounts)") from None

    def release(self, row: int) -> None:
        """Give back what this request holds; nothing, once, if a failure has done so before its time."""
        shares = self._held.get(row)
        super().release(row)
        if shares is None:
            return
        room = self.room
        for _, _, amounts in shares:
            for r, amount in enumerate(amounts):
                room[r] += amount
        wires = self._wires
        for link, amount in zip(*self._wired.pop(row), strict=True):
            wires[link] += amount

    def parts(self, kind: Kind) -> int:
        """How many parts of a kind there are that can fail."""
        counts = {"server": self.topology.servers, "link": self.topology.links, "switch": self.topology.switches}
        return counts[kind]

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a server, a link, or all links of a switch out of service; returns who lost their place, in order."""
        if kind == "server":
            hit = super().fail(part)
            self._recount()
            return hit
        links = self._links_of(part, kind)
        hit = self._evict(row for row, (wires, _) in self._wired.items() if not links.isdisjoint(wires))
        for link in links:
            self._cuts[link] = self._cuts.get(link, 0) + 1
            self._wires[link] = FAILED
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a part back. A link is back when it and both its switches are."""
        if kind == "server":
            super().repair(part)
            self._recount()
            return
        for link in self._links_of(part, kind):
            self._cuts[link] -= 1
            if not self._cuts[link]:
                del self._cuts[link]
                self._wires[link] = int(self.topology.link_capacity[link])

    def _links_of(self, part: int, kind: Kind) -> set[int]:
        return {part} if kind == "link" else set(np.flatnonzero((self.topology.link_ends == part).any(axis=1)).tolist())

    def _recount(self) -> None:
        self.room[:] = self._free.sum(axis=(0, 1)).tolist()

    def grow(self, by: int) -> None:
        """A network has the servers that its topology says."""
        raise LedgerError("a network does not grow")

    def spreads(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """None must be spread evenly: they are taken from wherever there is room."""
        return np.zeros(len(demand), np.bool_)

    def possible(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """Which demands [n, resources] all servers together could hold, bool [n]."""
        fits: npt.NDArray[np.bool_] = np.all(demand <= self.cluster.capacity.sum(axis=(0, 1)), axis=1)
        return fits

    def has_room(self, request: Request) -> bool:
        """Is as much free, over all servers together?"""
        return all(amount <= free for amount, free in zip(request.demand, self.room, strict=True))

    def why_not(self, request: Request) -> int:
        """Index into `reasons` of what keeps this request out now."""
        for r, amount in enumerate(request.demand):
            if amount > self.room[r]:
                return 1 + r
        return 0

    def stranded(self, flavours: Ints) -> Ints:
        """Nothing: whatever is free anywhere can be a part of a request."""
        return np.zeros(len(self.cluster.resources), np.int64)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        return ("agent declined", *(f"not enough {name} in the cluster" for name in self.cluster.resources))

    @property
    def tiers(self) -> dict[str, int]:
        """The tiers of links, and the quanta that each has in all."""
        total = np.bincount(self.topology.link_tier, self.topology.link_capacity).astype(np.int64)
        return dict(zip(self.topology.tiers, total.tolist(), strict=True))

    def reserved(self, rows: Ints) -> Ints:
        """Quanta that the placements of these rows [k] reserve on each tier, int64 [k, tiers]."""
        return self._noted(rows)[:, 2:]

    def spans(self, rows: Ints) -> Ints:
        """Servers and span of the placements of these rows [k], int64 [k, 2]."""
        return self._noted(rows)[:, :2]

    def _noted(self, rows: Ints) -> Ints:
        notes = np.array(self.notes, np.int64).reshape(-1, 3 + len(self.topology.tiers))
        return notes[np.argsort(notes[:, 0])[np.searchsorted(np.sort(notes[:, 0]), rows)], 1:]

    def check(self) -> None:
        """Conservation of servers and links, recomputed from every placement held."""
        super().check()
        free = self.topology.link_capacity.copy()
        for links, amounts in self._wired.values():
            free[list(links)] -= np.array(amounts, np.int64)
            if not self._cuts.keys().isdisjoint(links):
                raise LedgerError("a link that has failed carries something")
        if free.min(initial=0) < 0:
            raise LedgerError("a link carries more than it can")
        free[list(self._cuts)] = FAILED
        if not np.array_equal(free, self._link_free):
            raise LedgerError("what links have free is not what was there less what is reserved")
        if self.room != self._free.sum(axis=(0, 1)).tolist():
            raise LedgerError("the count of what is free is wrong")


def connects(topology: Topology, servers: Sequence[int], links: Sequence[int]) -> bool:
    """Do these links join all these servers? One server alone needs none."""
    group: dict[int, int] = {}

    def find(vertex: int) -> int:
        while group.setdefault(vertex, vertex) != vertex:
            vertex = group[vertex]
        return vertex

    for link in links:
        one, other = map(int, topology.link_ends[link])
        group[find(one)] = find(other)
    return len({find(end) for end in topology.ends_of(np.array(servers)).tolist()}) == 1


def span(topology: Topology, servers: Sequence[int]) -> int:
    """How far apart these servers are: an index into `SPANS`."""
    if len(servers) == 1:
        return 0
    racks = {int(topology.rack_of[server]) for server in servers}
    if len(racks) == 1:
        return 1
    pods = {int(topology.pod_of[rack]) for rack in racks}
    return 2 if len(pods) == 1 and -1 not in pods else 3
