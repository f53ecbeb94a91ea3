"""Applies and releases placements, all or nothing. Nothing else writes what is free.

There is one ledger. What changes no holdings is in `fabric.inventory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from itertools import chain
from operator import ge
from typing import Any, TypeAlias

import numpy as np

from binwright.fabric.book import GIVE, TAKE, Book, Holding, plain_shares, usual_place
from binwright.fabric.cluster import Cluster
from binwright.fabric.device_book import DeviceBook
from binwright.fabric.inventory import Inventory
from binwright.fabric.network import NetworkBook
from binwright.fabric.routing import Routing
from binwright.fabric.servers import with_room
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError
from binwright.simcore.faults import Kind
from binwright.simcore.types import Flags, Ints, Placement, Request
from binwright.simcore.units import say

COUNTED = 100_000
"""So many requests at most are counted again at the end of a run."""
MakeBook: TypeAlias = "Callable[[Ledger], Any]"
WRITTEN = "the agent has written to what it was shown: let it work on a copy"


class Ledger(Inventory):
    """Knows who holds what. Refuses what breaks the rules or does not fit, and changes nothing when it refuses.

    With a `routing` requests take servers and links of a network. Features bring the other books: `rules` makes the
    one of rules of placement, `peaks` that of predicted peaks, which admit requests.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        routing: Routing | None = None,
        peaks: MakeBook | None = None,
        rules: MakeBook | None = None,
    ) -> None:
        super().__init__(cluster)
        self.moving: dict[int, tuple[Holding, Holding]] = {}
        """Of every request on its way, what it holds at its old place and at its new one: `held` has both."""
        self.devices = None if cluster.devices is None else DeviceBook(self)
        self.network = None if routing is None else NetworkBook(self, routing)
        self.peaks = peaks and peaks(self)
        self.rules = rules and rules(self)
        books: tuple[Book | None, ...] = (self.devices, self.network, self.peaks, self.rules)
        self._books = [book for book in books if book is not None]
        self.plain = not self._books
        self.view.holding = self.reserved_by

    @property
    def running(self) -> Set[int]:
        """The rows of all requests that hold something, now and whenever it is looked at."""
        return self.held.keys()

    # -- taking a place, and giving it back ----------------------------------------------------------------------------

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take what the placement says; returns the server and the node of its first share.

        Raises `InfeasiblePlacement` when it breaks a rule or does not fit.
        """
        row = request.index
        if row in self.held:
            raise LedgerError(f"request {row} is placed already")
        holding = self.hold(request, placement)
        self.held[row] = holding
        for book in self._books:
            book.enter(row, holding)
        return holding.shares[0][:2]

    def release(self, row: int) -> None:
        """Give back what this request holds."""
        if row not in self.held:
            raise LedgerError(f"request {row} holds nothing")
        holding = self.reserved_by(row)
        del self.held[row]
        for book in self._books:
            book.leave(row, holding)
        self._move(holding, GIVE)

    def reserved_by(self, row: int) -> Holding:
        """Return what a request that runs takes of what is free: less than it asks for where peaks are predicted."""
        held = self.held[row]
        return held if self.peaks is None else held._replace(shares=self.peaks.reserved(row, held.shares))

    def hold(self, request: Request, placement: Placement) -> Holding:
        """Take what the placement says, and leave it to the caller to note who holds it; returns what it is.

        Raises `InfeasiblePlacement` as `apply`.
        """
        holding = self._checked(request, placement)
        self._check_free(holding)
        if self.devices is not None:
            devices = self.devices.checked(request, placement, holding.servers[0])
            holding = holding._replace(devices=devices)
        if self.rules is not None:
            if problem := self.rules.problem(request, holding.servers):
                raise InfeasiblePlacement(problem)
            self.view.free = self.view.everything_free
        self._move(holding, TAKE)
        return holding

    def _checked(self, request: Request, placement: Placement) -> Holding:
        """Return the shares and links of a placement that keeps the rules for these, in plain numbers."""
        if self.network is not None:
            checked: Holding = self.network.checked(request, placement)
            return checked
        usual = usual_place(request, placement)
        shares = ((*usual, request.demand),) if usual else plain_shares(placement)
        server, node, _ = shares[0]
        if not (0 <= server < self._servers and 0 <= node < self._nodes):
            raise InfeasiblePlacement(f"there is no node {node} of server {server}")
        if not usual and request.spread and shares != request.across(server, self._nodes).shares:
            remedy = f"answer request.across(server, {self._nodes})"
            raise InfeasiblePlacement(f"this request takes an even part of all nodes of one server: {remedy}")
        if not usual and not request.spread and shares != request.on(server, node).shares:
            raise InfeasiblePlacement("this request goes whole to one node: answer request.on(server, node)")
        return Holding(request.role, (server,), shares)

    def _check_free(self, holding: Holding) -> None:
        """Raise `InfeasiblePlacement` where a node has less free than is to be taken of it."""
        free, nodes, resources = self._flat, self._nodes, self._resources
        for server, node, amounts in holding.shares:
            first = (server * nodes + node) * resources
            if not all(map(ge, free[first : first + resources], amounts)):
                if server in self.down:
                    raise InfeasiblePlacement(f"server {server} has failed")
                left = say(self._free[server, node].tolist(), self.cluster.resources)
                raise InfeasiblePlacement(f"it does not fit on node {node} of server {server}, which has {left} free")

    def _move(self, holding: Holding, sign: int) -> None:
        """Take what is held, or give it back: `sign` is TAKE or GIVE. No node is in two of its shares."""
        free, nodes, resources = self._flat, self._nodes, self._resources
        for server, node, amounts in holding.shares:
            k = (server * nodes + node) * resources
            for amount in amounts:
                free[k] += sign * amount
                k += 1
        if self.log is not None:
            self.note(share[0] for share in holding.shares)
        for book in self._books:
            book.move(holding, sign)

    def note(self, servers: Iterable[int]) -> None:
        """Note that what is free on these servers has changed."""
        if self.log is None:
            return
        log, last = self._ring, len(self._ring) - 2
        for server in servers:
            log[1 + (log[0] & last)] = server
            log[0] += 1

    # -- moves ---------------------------------------------------------------------------------------------------------

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take the place that a request is to move to, beside its old one; returns the server and the node.

        Both are held until `end_move`, or until `release`. Rules are to let it lie there without its old place; until
        it has arrived, it counts at both, once in a domain of both. Raises `InfeasiblePlacement` when the place breaks
        a rule or does not fit.
        """
        row = request.index
        old = self.held.get(row)
        if old is None or row in self.moving:
            raise LedgerError(f"request {row} {'holds nothing' if old is None else 'is on its way'}")
        new = self.hold(request, placement)
        self.held[row], self.moving[row] = old.beside(new), (old, new)
        for book in self._books:
            book.begin_move(row, old, new)
        return new.shares[0][:2]

    def end_move(self, row: int, arrived: bool) -> None:
        """Give back the old place of a request on its way that has arrived, or else its new one.

        One that was released on its way has given back both, and is only forgotten.
        """
        old, new = self.moving.pop(row)
        if row not in self.held:
            return
        stays, leaves = (new, old) if arrived else (old, new)
        part = slice(len(old.shares)) if arrived else slice(len(old.shares), None)
        leaves = leaves._replace(shares=self.reserved_by(row).shares[part])
        self.held[row] = stays
        for book in self._books:
            book.end_move(row, stays, leaves, part)
        self._move(leaves, GIVE)

    def rehearse(self, moves: Iterable[tuple[Request, Placement]]) -> Ints:
        """Return what would be free, int64 [servers, nodes, resources], after these moves, one after another.

        Raises `InfeasiblePlacement` for one that is malformed, stays where it is (but in a network), or lacks the
        amounts, or links. Devices and rules of placement are not looked at. Nothing changes.
        """
        at: dict[int, Holding] = {}
        made: list[tuple[Holding, Holding]] = []
        try:
            for request, placement in moves:
                row = request.index
                old = (at.get(row) or self.reserved_by(row))._replace(devices=())
                new = self._checked(request, placement)
                stays = self.network is None and type(placement) is Placement
                if stays and new.shares == at.get(row, self.held[row]).shares:
                    server, node, _ = old.shares[0]
                    raise InfeasiblePlacement(f"it is on server {server}, node {node} already")
                self._check_free(new)
                self._move(new, TAKE)
                self._move(old, GIVE)
                made.append((old, new))
                at[row] = new
            return self._free.copy()
        finally:
            for old, new in reversed(made):
                self._move(old, TAKE)
                self._move(new, GIVE)

    # -- failures, evictions, growth -----------------------------------------------------------------------------------

    def parts(self, kind: Kind) -> int:
        """Count the parts of a kind that can fail."""
        return self._servers if kind == "server" else self.network.topology.links if self.network else 0

    def out(self, kind: Kind) -> set[int]:
        """Return the parts of a kind that are out of service."""
        return self.down if kind == "server" else self.network.down

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a part out of service; returns the requests that lost their place, released, in order."""
        if part in self.out(kind):
            return []
        hit = self.evict(self._on(part, kind))
        if kind == "server":
            self.down.add(part)
            self._write(part, 0)
        else:
            self.network.fail(part)
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed part back, empty; does nothing to one in service."""
        if part not in self.out(kind):
            return
        if kind == "server":
            self.down.remove(part)
            self._write(part, self._capacity[part])
        else:
            self.network.repair(part)

    def _write(self, server: int, free: Ints | int) -> None:
        """Set what an empty server, which fails or is back, has free."""
        self._free[server] = free
        self.note((server,))
        for book in self._books:
            book.changed(server)

    def _on(self, part: int, kind: Kind) -> Iterable[int]:
        """Return the requests that hold something of a part that can fail."""
        on: Callable[[int], Iterable[int]] | None = getattr(self.held, "on", None)
        if on:  # what servers without links hold is in arrays
            return on(part)
        lies_on = self.lies_on(part, kind)
        return [row for row, held in self.held.items() if lies_on(held)]

    def lies_on(self, part: int, kind: Kind) -> Callable[[Holding], bool]:
        """Return what tells of a holding whether it has something of a part that can fail."""
        if kind == "server":
            return lambda holding: any(share[0] == part for share in holding.shares)
        return lambda holding: any(link == part for link, _ in holding.links)

    def evict(self, rows: Iterable[int]) -> list[int]:
        """Release requests before their time; returns them, in order."""
        hit = sorted(rows)
        for row in hit:
            self.release(row)
        return hit

    def give_way(self, request: Request, where: int | Flags, victims: Sequence[Sequence[int]]) -> list[int]:
        """Find which of these victims, each some rows, have to go so that a request has room; returns their places.

        `where` is a server, or for a gang and in a network the servers that may be taken, bool [servers]. Those are
        spared that leave room, the first ones first; nobody goes where all are not enough. Nothing changes.
        """
        held = [[self.reserved_by(row) for row in rows] for rows in victims]
        for holding in chain(*held):
            self._move(holding, GIVE)
        gone = []
        enough = self._has_room_in(where, request)
        for place, own in enumerate(held):
            for holding in own:
                self._move(holding, TAKE)
            if enough and not self._has_room_in(where, request):
                for holding in own:
                    self._move(holding, GIVE)
                gone.append(place)
        for holding in chain(*(held[place] for place in gone)):
            self._move(holding, TAKE)
        return gone

    def _has_room_in(self, where: int | Flags, request: Request) -> bool:
        """Tell whether a request fits on a server by its amounts, or on these as many parts as a gang needs."""
        if not isinstance(where, int):
            return self.room_for_parts(request, where) >= request.parts
        if self.devices is not None:
            return bool(self.rooms(request, self._free)[where])
        return bool(with_room(self._free[where : where + 1], request.demand, request.spread)[0])

    def grow(self, by: int) -> None:
        """Add empty servers. The view's arrays are new ones afterwards."""
        if self.network is not None:
            raise LedgerError("a network does not grow")
        added = np.repeat(self.cluster.growth[None], by, axis=0)
        self._capacity = np.concatenate([self._capacity, added])
        self._free = np.concatenate([self._free, added])
        self._lay_out()
        for book in self._books:
            book.grow(by)

    def confirm(self) -> None:
        """Raise an `AgentError` if what nodes have free is not what those who run leave: an agent has written to it.

        Of more than `COUNTED` requests nothing is looked at, as that would take as long as many runs do.
        """
        if len(self.held) > COUNTED:
            return
        free = self._capacity.copy()
        free[list(self.down)] = 0
        for row in self.held:
            for server, node, amounts in self.reserved_by(row).shares:
                free[server, node] -= amounts
        if not np.array_equal(free, self.view.everything_free):
            raise AgentError(WRITTEN)
