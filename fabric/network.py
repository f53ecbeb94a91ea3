"""Servers in a network: the book that takes links and servers together, all or nothing."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from binwright.simcore.errors import InfeasiblePlacement, LedgerError
from binwright.simcore.faults import Kind
from binwright.simcore.jit import prepared
from binwright.simcore.types import Amounts, Ints, Placement, Request, Share, View, read_only
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

    A link that has failed has `FAILED` free. A request takes its demand from any number of servers. `weighted` says how
    the routes between them are chosen. `holding(row)` returns what a request that runs holds: its shares, its links,
    and the quanta on each.
    """

    topology: Topology
    routing: Routing
    link_capacity: Ints
    link_free: Ints
    weighted: bool
    holding: Callable[[int], tuple[Sequence[Share], Sequence[int], Sequence[int]]]


@dataclass(slots=True)
class Provisioned(Placement):
    """Holds a placement by the rules of `binwright.fabric.multi_server`; `chosen` servers may give nothing."""

    chosen: tuple[int, ...] = ()


class Wired(NamedTuple):
    """Says what a request holds in a network: a placement as numbers (`fabric.network_accounting`), and for whom.

    `notes` are its servers, span, links, and the quanta reserved on each tier.
    """

    numbers: Ints
    bandwidth: int
    demand: Amounts
    notes: tuple[int, ...]

    @property
    def wires(self) -> tuple[list[int], list[int]]:
        """The links, and the quanta held on each."""
        shares, links, amounts, _ = self.numbers[:HEAD].tolist()
        first = HEAD + shares * (2 + len(self.demand))
        wires = self.numbers[first : first + links].tolist()
        return wires, self.numbers[first + links : first + 2 * links].tolist() if amounts else [self.bandwidth] * links


class NetworkBook:
    """Takes links for requests, and what they take of servers with them: any, as long as the links connect these.

    Every placement is checked, and taken, by `binwright.fabric.network_accounting`.
    """

    def __init__(self, ledger: Ledger, routing: Routing, weighted: bool, remembers: bool) -> None:
        """Begin with an empty network; one that `remembers` knows where placements lay after their end, too."""
        self._ledger, self._names = ledger, ledger.cluster.resources
        topology = self.topology = routing.topology
        self._link_free, self._links_shown = topology.link_capacity.copy(), topology.link_capacity.copy()
        self._cuts: dict[int, int] = {}  # links out of service, and for how many reasons
        _, shown, free = ledger.arrays
        self._books = books(topology, routing.routes, free, shown, self._link_free, self._links_shown)
        self.notes: dict[int, tuple[int, ...]] = {}
        """The `notes` of every row that was placed."""
        self._remembered: dict[int, Wired] | None = {} if remembers else None
        """What every row held that was placed."""
        self.moved: dict[int, list[Wired]] = {}
        """Of every row that moved, what it held at first, and then at the place of each move, arrived or not."""
        self.room: list[int] = free.sum(axis=(0, 1)).tolist()
        """Quanta free of each resource, over all servers."""
        self._view = ledger.view = NetworkView(
            self._names,
            ledger.view.capacity,
            ledger.view.free,
            topology=topology,
            routing=routing,
            link_capacity=topology.link_capacity,
            link_free=read_only(self._links_shown),
            weighted=weighted,
            holding=self._holding,
        )

    @cached_property
    def _settle(self) -> Any:
        return prepared(take, self._books, np.zeros(HEAD, np.int64), (1,) * len(self._names), 1, True)

    @cached_property
    def _give_back(self) -> Any:
        return prepared(give_back, self._books, np.zeros(HEAD, np.int64), 1)

    def prepare(self) -> None:
        """Compile what takes and gives back, which otherwise happens with the first placement."""
        _ = self._settle, self._give_back

    # -- taking, and giving back ---------------------------------------------------------------------------------------

    def take(self, request: Request, placement: Placement) -> tuple[tuple[int, ...], tuple[Share, ...], tuple[Wired]]:
        """Take shares and links; returns the servers that the placement names, and what is held.

        Raises `InfeasiblePlacement` when they break a rule or do not fit. A virtual network is checked from its
        machines on (`binwright.fabric.virtual`).
        """
        network = request.network
        if network is None:
            numbers = self._numbers(placement)
        else:
            servers, nodes, _ = self._books.free.shape
            found = check_embedding(self.topology, network, placement, servers, nodes)
            numbers = self._numbers(found, found.amounts)
        mistake = self._settle(self._books, numbers, request.demand, request.bandwidth, network is None)
        if mistake != TAKEN:
            raise InfeasiblePlacement(self._mistake(mistake, numbers, request))
        self._count(request.demand, -1)
        notes = tuple(self._books.report[:-1].tolist())
        wired = Wired(numbers, request.bandwidth, request.demand, notes)
        named = tuple(self._books.chosen[: notes[0], 0].tolist())
        return named, tuple(self._shares(numbers)), (wired,)

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
        if any(len(share) != 2 + len(self._names) for share in shares):
            raise InfeasiblePlacement(f"a share says what it takes of each of {len(self._names)} resources")
        return np.frombuffer(numbers, np.int64)

    def _mistake(self, mistake: int, numbers: Ints, request: Request) -> str:
        """Put what the kernel `take` has found in words."""
        place = int(self._books.report[0])
        number = int(numbers[place])
        if mistake in (NO_PLACE, NEGATIVE, TOO_MUCH, TWICE):
            node = int(numbers[place + 1])
            return {
                NO_PLACE: f"there is no node {node} of server {number}",
                NEGATIVE: f"takes less than nothing on node {node} of server {number}",
                TWICE: f"has two shares on node {node} of server {number}: add them up",
            }.get(mistake) or self._ledger.too_much(number, node)
        if mistake == LINK_FULL:
            free, links = int(self._link_free[number]), int(numbers[1])
            wanted = int(numbers[place + links]) if numbers[2] else request.bandwidth
            why = "failed" if free == FAILED else f"{say([free], _LINK)} free, and {say([wanted], _LINK)} is wanted"
            return f"link {number} has {why}"
        names = self._names
        given = numbers[HEAD : HEAD + numbers[0] * (2 + len(self._names))].reshape(-1, 2 + len(self._names))[:, 2:]
        return {
            NOTHING: "placed nothing at all",
            WRONG_SUM: f"its shares give {say(given.sum(axis=0).tolist(), names)} of {say(request.demand, names)}",
            NO_LINK: f"there is no link {number}",
            LINK_TWICE: f"reserves link {number} twice",
            NO_SERVER: f"there is no server {number}",
            APART: "its links do not connect its servers: use fabric.multi_server, or reserve a route",
        }[mistake]

    def _shares(self, numbers: Ints) -> Iterable[Share]:
        values, width = numbers.tolist(), 2 + len(self._names)
        for place in range(HEAD, HEAD + values[0] * width, width):
            yield values[place], values[place + 1], tuple(values[place + 2 : place + width])

    def _count(self, demand: Amounts, sign: int) -> None:
        for r, amount in enumerate(demand):
            self.room[r] += sign * amount

    def give(self, held: Iterable[Wired]) -> None:
        """Give back shares and links."""
        for wired in held:
            self._give_back(self._books, wired.numbers, wired.bandwidth)
            self._count(wired.demand, 1)

    def take_again(self, held: Iterable[Wired]) -> None:
        """Take what was given back for a moment."""
        for wired in held:
            self._settle(self._books, wired.numbers, wired.demand, wired.bandwidth, False)
            self._count(wired.demand, -1)

    def reserved_of(self, held: Iterable[Wired], shares: Sequence[Share]) -> tuple[Wired, ...]:
        """Return what is held with other amounts on the same nodes: these shares, in order."""
        found, width, each = [], 2 + len(self._names), iter(shares)
        for wired in held:
            numbers = wired.numbers.copy()
            own = numbers[HEAD : HEAD + numbers[0] * width].reshape(-1, width)[:, 2:]
            own[:] = [amounts for _, _, amounts in islice(each, len(own))]
            found.append(wired._replace(numbers=numbers, demand=tuple(own.sum(axis=0).tolist())))
        return tuple(found)

    def _holding(self, row: int) -> tuple[Sequence[Share], Sequence[int], Sequence[int]]:
        held = self._ledger.reserved_by(row)
        links, amounts = zip(*(wired.wires for wired in held.wired), strict=True)
        return held.shares, [*chain(*links)], [*chain(*amounts)]

    def settle(self, row: int, wired: Wired) -> None:
        """Note what a request holds from now on."""
        self.notes[row] = wired.notes
        if self._remembered is not None:
            self._remembered[row] = wired

    # -- failures ------------------------------------------------------------------------------------------------------

    def parts(self, kind: Kind) -> int:
        """Count the links or switches, which can fail."""
        return self.topology.links if kind == "link" else self.topology.switches

    def links_of(self, part: int, kind: Kind) -> set[int]:
        """Return which links are out of service when a link or a switch is: it, or all of it."""
        return {part} if kind == "link" else set(np.flatnonzero((self.topology.link_ends == part).any(axis=1)).tolist())

    def cut(self, links: Iterable[int]) -> None:
        """Take empty links out of service, for one more reason where they are so already."""
        for link in links:
            self._cuts[link] = self._cuts.get(link, 0) + 1
            self._link_free[link] = self._links_shown[link] = FAILED

    def mend(self, links: Iterable[int]) -> None:
        """Bring links back that are not out of service for another reason."""
        for link in links:
            self._cuts[link] -= 1
            if not self._cuts[link]:
                del self._cuts[link]
                self._link_free[link] = self._links_shown[link] = self.topology.link_capacity[link]

    def changed(self, server: int = -1) -> None:
        """Count again what is free, as a server has failed or is back, or peaks were predicted anew."""
        self.room[:] = self._books.free.sum(axis=(0, 1)).tolist()

    # -- what there is, and what lay where -----------------------------------------------------------------------------

    def why_not(self, request: Request) -> int:
        """Return 1 more than the first resource of which the network has less than a request asks for; 0 for none."""
        return next((r + 1 for r, amount in enumerate(request.demand) if amount > self.room[r]), 0)

    @property
    def tiers(self) -> dict[str, int]:
        """The tiers of links, and the quanta that each has in all."""
        total = np.bincount(self.topology.link_tier, self.topology.link_capacity).astype(np.int64)
        return dict(zip(self.topology.tiers, total.tolist(), strict=True))

    def spans(self, rows: Ints) -> Ints:
        """Return servers, span and links of the last places of these rows [k], int64 [k, 3]."""
        return np.array([self.notes[row][:3] for row in rows.tolist()], np.int64).reshape(-1, 3)

    def reserved(self, rows: Ints) -> Ints:
        """Return the quanta that the first places of these rows [k] reserve on each tier, int64 [k, tiers]."""
        first = [self.moved[row][0].notes if row in self.moved else self.notes[row] for row in rows.tolist()]
        return np.array(first, np.int64).reshape(-1, 3 + len(self.topology.tiers))[:, 3:]

    def places(self, rows: Ints, numbers: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Tell where these rows [k] lay, each at one of its places, `numbers` [k]: 0, or more after moves.

        Returns places in `rows` int64 [n], servers [n], nodes [n], and quanta [n, resources]. The book has to be one
        that remembers.
        """
        lain, width = self._lain(rows, numbers), 2 + len(self._names)
        shares = [held.numbers[HEAD : HEAD + held.numbers[0] * width].reshape(-1, width) for held in lain]
        flat = np.concatenate([np.zeros((0, width), np.int64), *shares])
        return np.repeat(np.arange(len(rows)), [len(share) for share in shares]), flat[:, 0], flat[:, 1], flat[:, 2:]

    def wires(self, rows: Ints, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """List places in `rows`, links, and the quanta reserved on each, int64 [n] each; arguments as of `places`."""
        lain = self._lain(rows, numbers)
        found = [(at, *wire) for at, held in enumerate(lain) for wire in zip(*held.wires, strict=True)]
        who, link, amount = np.array(found, np.int64).reshape(-1, 3).T
        return who, link, amount

    def _lain(self, rows: Ints, numbers: Ints) -> list[Wired]:
        if self._remembered is None:
            raise LedgerError("the ledger was not asked to remember where placements lay")
        pairs = zip(rows.tolist(), numbers.tolist(), strict=True)
        return [self.moved[row][number] if row in self.moved else self._remembered[row] for row, number in pairs]

    # -- nothing is lost -----------------------------------------------------------------------------------------------

    def is_intact(self) -> bool:
        """Tell whether nobody has written to what the view shows."""
        return np.array_equal(self._view.link_free, self._link_free)

    def check(self, held: Mapping[int, Any]) -> None:
        """Count again from all that is held; raises `LedgerError` when a quantum is missing."""
        free = self.topology.link_capacity.copy()
        for links, amounts in (wired.wires for holding in held.values() for wired in holding.wired):
            np.subtract.at(free, links, amounts)
            if not self._cuts.keys().isdisjoint(links):
                raise LedgerError("a link that has failed carries something")
        if free.min(initial=0) < 0:
            raise LedgerError("a link carries more than it can")
        free[list(self._cuts)] = FAILED
        if not np.array_equal(free, self._link_free):
            raise LedgerError("what links have free is not what was there less what is reserved")
        if self.room != self._books.free.sum(axis=(0, 1)).tolist():
            raise LedgerError("the count of what is free is wrong")
