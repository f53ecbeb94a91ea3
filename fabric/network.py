"""Servers in a network: the ledger that reserves links and servers together, all or nothing."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import UNLIMITED, WRITTEN, Ledger, read_only
from binwright.fabric.network_accounting import (
    APART,
    HEAD,
    LINK_FULL,
    LINK_TWICE,
    NEGATIVE,
    NO_LINK,
    NO_PLACE,
    NO_SERVER,
    NOTHING,
    TAKEN,
    TOO_MUCH,
    TWICE,
    WRONG_SUM,
    books,
    give_back,
    take,
)
from binwright.fabric.routing import Routing
from binwright.fabric.topology import Topology
from binwright.fabric.virtual import check_embedding
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError
from binwright.simcore.faults import Kind
from binwright.simcore.jit import prepared
from binwright.simcore.types import Ints, Placement, Request, View
from binwright.simcore.units import say

_LINK = ("bandwidth",)
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
    """Holds a placement by the rules of `binwright.fabric.multi_server`; `chosen` servers may give nothing."""

    chosen: tuple[int, ...] = ()


class NetworkLedger(Ledger):
    """Who holds what, links included. Shares lie on any servers, as long as the links reserved connect these.

    Every placement is checked, and taken, by `binwright.fabric.network_accounting`.
    """

    view: NetworkView

    def __init__(self, cluster: Cluster, routing: Routing, weighted: bool = False, *, remembers: bool = False) -> None:
        """Begin with an empty cluster; a ledger that `remembers` knows where placements lay after their end, too."""
        super().__init__(cluster)
        self._log = None  # agents in networks look at all servers
        topology = self.topology = routing.topology
        self._link_free, self._links_shown = topology.link_capacity.copy(), topology.link_capacity.copy()
        self._cuts: dict[int, int] = {}  # links out of service, and for how many reasons
        arrays = self._free, self._shown, self._link_free, self._links_shown
        self._books = books(topology, routing.routes, *arrays)
        self.notes: dict[int, tuple[int, ...]] = {}
        """Of every row that was placed: servers, span, links, and the quanta reserved on each tier."""
        self._remembered: dict[int, Any] | None = {} if remembers else None
        """What every row held that was placed."""
        self.room = self._free.sum(axis=(0, 1)).tolist()
        """Quanta free of each resource, over all servers."""
        self.view = NetworkView(
            cluster.resources,
            self.view.capacity,
            self.view.free,
            topology=topology,
            routing=routing,
            link_capacity=topology.link_capacity,
            link_free=read_only(self._links_shown),
            weighted=weighted,
        )

    @cached_property
    def _settle(self) -> Any:
        return prepared(take, self._books, np.zeros(HEAD, np.int64), (1,) * self._resources, 1, True)

    @cached_property
    def _return(self) -> Any:
        return prepared(give_back, self._books, np.zeros(HEAD, np.int64), 1)

    def prepare(self) -> None:
        """Compile what applies and releases placements, which otherwise happens with the first of them."""
        _ = self._settle, self._return

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take shares and links; returns the server and the node of the first share.

        Raises `InfeasiblePlacement` when they break a rule or do not fit. A virtual network is checked from its
        machines on (`binwright.fabric.virtual`).
        """
        if request.index in self._held:
            raise LedgerError(f"request {request.index} is placed already")
        network = request.network
        if network is None:
            numbers = self._numbers(placement)
        else:
            found = check_embedding(self.topology, network, placement, self._servers, self._nodes)
            numbers = self._numbers(found, found.amounts)
        said = self._settle(self._books, numbers, request.demand, request.bandwidth, network is None)
        if said != TAKEN:
            raise InfeasiblePlacement(self._mistake(said, numbers, request))
        room = self.room
        for r, amount in enumerate(request.demand):
            room[r] -= amount
        self._held[request.index] = numbers, request.bandwidth, request.demand
        self.notes[request.index] = tuple(self._books.report[:-1].tolist())
        if self._remembered is not None:
            self._remembered[request.index] = self._held[request.index]
        server, node = numbers[HEAD : HEAD + 2].tolist()
        return server, node

    def _numbers(self, placement: object, amounts: Sequence[int] = ()) -> Ints:
        """Flatten a placement for `fabric.network_accounting`; `InfeasiblePlacement` where numbers are not whole."""
        if not isinstance(placement, Placement):
            raise InfeasiblePlacement(f"answered {placement!r:.200}, which is not a Placement, Refusal or None")
        chosen = placement.chosen if isinstance(placement, Provisioned) else ()
        try:
            shares = [(server, node, *part) for server, node, part in placement.shares]
            lists = tuple(placement.links), tuple(amounts), tuple(chosen)
            # An array takes whole numbers of any type, and no others.
            numbers = array("q", (len(shares), *map(len, lists)))
            for each in (*shares, *lists):
                numbers.extend(each)
        except (TypeError, ValueError, OverflowError):
            problem = "whose shares are not (server, node, amounts), or its links no numbers"
            raise InfeasiblePlacement(f"answered {placement!r:.200}, {problem}") from None
        if any(len(share) != 2 + self._resources for share in shares):
            raise InfeasiblePlacement(f"a share says what it takes of each of {self._resources} resources")
        return np.frombuffer(numbers, np.int64)

    def _mistake(self, said: int, numbers: Ints, request: Request) -> str:
        """Put what `take` has found in words."""
        place = int(self._books.report[0])
        number = int(numbers[place])
        if said in (NO_PLACE, NEGATIVE, TOO_MUCH, TWICE):
            node = int(numbers[place + 1])
            return {
                NO_PLACE: f"there is no node {node} of server {number}",
                NEGATIVE: f"takes less than nothing on node {node} of server {number}",
                TWICE: f"has two shares on node {node} of server {number}: add them up",
            }.get(said) or self._too_much(number, node)
        if said == LINK_FULL:
            free, links = int(self._link_free[number]), int(numbers[1])
            wanted = int(numbers[place + links]) if numbers[2] else request.bandwidth
            why = "failed" if free == FAILED else f"{say([free], _LINK)} free, and {say([wanted], _LINK)} is wanted"
            return f"link {number} has {why}"
        names = self.cluster.resources
        given = numbers[HEAD : HEAD + numbers[0] * (2 + self._resources)].reshape(-1, 2 + self._resources)[:, 2:]
        return {
            NOTHING: "placed nothing at all",
            WRONG_SUM: f"its shares give {say(given.sum(axis=0).tolist(), names)} of {say(request.demand, names)}",
            NO_LINK: f"there is no link {number}",
            LINK_TWICE: f"reserves link {number} twice",
            NO_SERVER: f"there is no server {number}",
            APART: "its links do not connect its servers: use fabric.multi_server, or reserve a route",
        }[said]

    def _take(self, shares: Any) -> None:
        """Take again what was given back for a moment."""
        numbers, bandwidth, demand = shares
        self._settle(self._books, numbers, demand, bandwidth, False)
        for r, amount in enumerate(demand):
            self.room[r] -= amount

    def _give_back(self, shares: Any) -> None:
        numbers, bandwidth, demand = shares
        self._return(self._books, numbers, bandwidth)
        room = self.room
        for r, amount in enumerate(demand):
            room[r] += amount

    def _shares(self, held: Any) -> Iterable[Any]:
        numbers = held[0].tolist()
        width = 2 + self._resources
        for place in range(HEAD, HEAD + numbers[0] * width, width):
            yield numbers[place], numbers[place + 1], numbers[place + 2 : place + width]

    def _wires(self, held: Any) -> tuple[list[int], list[int]]:
        """List the links of what one placement holds, and the quanta held on each."""
        numbers, bandwidth, _ = held
        shares, links, amounts, _ = numbers[:HEAD].tolist()
        first = HEAD + shares * (2 + self._resources)
        wires = numbers[first : first + links].tolist()
        return wires, numbers[first + links : first + 2 * links].tolist() if amounts else [bandwidth] * links

    def place(self, row: int) -> tuple[list[tuple[int, int, tuple[int, ...]]], list[tuple[int, int]]] | None:
        """Find the shares that a request holds now, and its links with the quanta reserved on each; None if none."""
        held = self._held.get(row)
        if held is None:
            return None
        shares = [(server, node, tuple(amounts)) for server, node, amounts in self._shares(held)]
        return shares, list(zip(*self._wires(held), strict=True))

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
        hit = self.evict(row for row, held in self._held.items() if not links.isdisjoint(self._wires(held)[0]))
        for link in links:
            self._cuts[link] = self._cuts.get(link, 0) + 1
            self._link_free[link] = self._links_shown[link] = FAILED
        return hit

    def _on(self, server: int) -> Iterable[int]:
        return (row for row, held in self._held.items() if any(share[0] == server for share in self._shares(held)))

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a part back. A link is back when it and both its switches are."""
        if kind == "server":
            super().repair(part)
            self._recount()
            return
        links = self._links_of(part, kind)
        for link in links:
            self._cuts[link] -= 1
            if not self._cuts[link]:
                del self._cuts[link]
                self._link_free[link] = self._links_shown[link] = self.topology.link_capacity[link]

    def _links_of(self, part: int, kind: Kind) -> set[int]:
        return {part} if kind == "link" else set(np.flatnonzero((self.topology.link_ends == part).any(axis=1)).tolist())

    def _recount(self) -> None:
        self.room[:] = self._free.sum(axis=(0, 1)).tolist()

    def grow(self, by: int) -> None:
        """Refuse to grow: a network has the servers that its topology says."""
        raise LedgerError("a network does not grow")

    def spreads(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """None must be spread evenly: they are taken from wherever there is room."""
        return np.zeros(len(demand), np.bool_)

    def _possible(
        self, demand: Ints, models: Ints | None, servers: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources] these servers, bool [servers], or all, could hold together, bool [n]."""
        there = self._capacity if servers is None else self._capacity[servers]
        fits: npt.NDArray[np.bool_] = np.all(demand <= there.sum(axis=(0, 1)), axis=1)
        return fits

    def has_room(self, request: Request) -> bool:
        """Tell whether as much is free, over all servers together."""
        return all(amount <= free for amount, free in zip(request.demand, self.room, strict=True))

    def room_for_parts(self, request: Request, may: npt.NDArray[np.bool_] | None = None) -> int:
        """Count for how many parts like this request all servers together have room.

        That is what is free on the servers that they `may` take, bool [servers], or without it the empty cluster.
        """
        return self.together(request, self._capacity if may is None else self._free[may])

    @staticmethod
    def together(request: Request, free: Ints) -> int:
        """Count how many requests like this one servers have room for together, int64 [servers, nodes, resources]."""
        total = free.sum(axis=(0, 1)).tolist()
        return min(left // amount if amount else UNLIMITED for left, amount in zip(total, request.demand, strict=True))

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
        return self._noted(rows)[:, 3:]

    def spans(self, rows: Ints) -> Ints:
        """Servers, span and links of the placements of these rows [k], int64 [k, 3]."""
        return self._noted(rows)[:, :3]

    def places(self, rows: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Tell where the placements of these rows [k] lay, of which there may be none now.

        Returns places in `rows` int64 [n], servers [n], nodes [n], and quanta [n, resources]. The ledger has to be one
        that remembers.
        """
        known, width = self._lain(), 2 + self._resources
        shares = [known[row][0][HEAD : HEAD + known[row][0][0] * width].reshape(-1, width) for row in rows.tolist()]
        lain = np.concatenate([np.zeros((0, width), np.int64), *shares])
        return np.repeat(np.arange(len(rows)), [len(share) for share in shares]), lain[:, 0], lain[:, 1], lain[:, 2:]

    def wires(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """List places in `rows`, links, and the quanta reserved on each by these placements, int64 [n] each."""
        known = self._lain()
        found = [
            (at, *wire) for at, row in enumerate(rows.tolist()) for wire in zip(*self._wires(known[row]), strict=True)
        ]
        who, link, amount = np.array(found, np.int64).reshape(-1, 3).T
        return who, link, amount

    def _lain(self) -> dict[int, Any]:
        if self._remembered is None:
            raise LedgerError("the ledger was not asked to remember where placements lay")
        return self._remembered

    def _noted(self, rows: Ints) -> Ints:
        notes = [self.notes[row] for row in rows.tolist()]
        return np.array(notes, np.int64).reshape(-1, 3 + len(self.topology.tiers))

    def confirm(self) -> None:
        """Confirm what the view shows, as for servers, of links, too."""
        super().confirm()
        if not np.array_equal(self.view.link_free, self._link_free):
            raise AgentError(WRITTEN)

    def check(self) -> None:
        """Conservation of servers and links, recomputed from every placement held."""
        super().check()
        free = self.topology.link_capacity.copy()
        for links, amounts in map(self._wires, self._held.values()):
            free[links] -= np.array(amounts, np.int64)
            if not self._cuts.keys().isdisjoint(links):
                raise LedgerError("a link that has failed carries something")
        if free.min(initial=0) < 0:
            raise LedgerError("a link carries more than it can")
        free[list(self._cuts)] = FAILED
        if not np.array_equal(free, self._link_free):
            raise LedgerError("what links have free is not what was there less what is reserved")
        if self.room != self._free.sum(axis=(0, 1)).tolist():
            raise LedgerError("the count of what is free is wrong")
