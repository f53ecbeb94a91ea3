"""Applies and releases placements, all or nothing. Nothing else writes what is free.

There is one ledger. What changes no holdings is in `fabric.inventory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from operator import ge, index
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.device_book import DeviceBook, HeldDevices
from binwright.fabric.inventory import Holding, Inventory
from binwright.fabric.network import NetworkBook
from binwright.fabric.peak_book import PeakBook
from binwright.fabric.peak_predictors import PeakPredictor
from binwright.fabric.placement.rule_book import RuleBook
from binwright.fabric.placement.rules import Rule, ServerLabels
from binwright.fabric.routing import Routing
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError
from binwright.simcore.faults import Kind
from binwright.simcore.types import Ints, Placement, Request, Share, part
from binwright.simcore.units import say

WRITTEN = "the agent has written to what it was shown, which changes nothing: let it work on a copy"


class Ledger(Inventory):
    """Knows who holds what. Refuses what breaks the rules or does not fit, and changes nothing when it refuses.

    With `labels` it keeps rules of placement, `rules`; with a `routing` requests take servers and links of a network,
    whose routes may be `weighted`; with `predictors`, by the place of a resource, predicted peaks admit requests.

    The view shows copies of the arrays that count: what an agent's kernel writes to them changes nothing here, and
    `confirm` tells.
    """

    def __init__(
        self,
        cluster: Cluster,
        labels: ServerLabels | None = None,
        rules: Sequence[Rule] = (),
        *,
        routing: Routing | None = None,
        weighted: bool = False,
        predictors: Mapping[int, PeakPredictor] | None = None,
    ) -> None:
        super().__init__(cluster)
        self.moving: dict[int, tuple[Holding, Holding]] = {}
        """Of every request on its way, what it holds at its old place and at its new one: `held` has both."""
        self._evicted: set[int] = set()
        self.devices = None if cluster.devices is None else DeviceBook(self)
        self.network = None if routing is None else NetworkBook(self, routing, weighted)
        self.peaks = None if predictors is None else PeakBook(self, predictors)
        self.rules = None if labels is None else RuleBook(self, labels, rules)
        books = self.devices, self.network, self.peaks, self.rules
        self._books: list[Any] = [book for book in books if book is not None]
        self.plain = not self._books

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
        holding = self._hold(request, placement)
        self.held[row] = holding
        if self.rules is not None:
            self.rules.count(holding.servers, holding.role, 1)
        if self.peaks is not None:
            self.peaks.enter(row, holding.shares)
        self._settle(row, holding)
        return holding.shares[0][:2]

    def take(self, request: Request, placement: Placement) -> tuple[int, int, tuple[Share, ...]]:
        """Take the amounts that the placement says, and leave it to the caller to note who holds them.

        Returns the server and the node of its first share, and all shares. Raises `InfeasiblePlacement` as `apply`.
        """
        try:
            # request.on(server, node), the usual answer, needs no closer look than this.
            ((server, node, amounts),) = placement.shares
            usual = amounts is request.demand and type(server) is int is type(node) and not request.spread
        except (AttributeError, TypeError, ValueError):
            usual = False
        if usual and 0 <= server < self._servers:
            shares: tuple[Share, ...] = ((server, node, amounts),)
        else:
            shares = self._checked(request, placement)
            server, node, _ = shares[0]
        self._take(shares)
        return server, node, shares

    def _hold(self, request: Request, placement: Placement) -> Holding:
        """Take what the placement says of amounts, links and devices, if rules let it lie there; returns what it is."""
        devices: tuple[HeldDevices, ...] = ()
        if self.devices is not None:
            devices = self.devices.checked(request, placement, self._checked(request, placement)[0][0])
        holding = self._place(request, placement)
        if self.devices is not None:
            self.devices.take(devices)
            holding = holding._replace(devices=devices)
        if self.rules is not None:
            if problem := self.rules.problem(request, holding.servers):
                self._return(holding)
                raise InfeasiblePlacement(problem)
            self.view.free = self.view.everything_free
        return holding

    def _place(self, request: Request, placement: Placement) -> Holding:
        """Take the amounts and links that the placement says."""
        if self.network is not None:
            servers, shares, wired = self.network.checked(request, placement)
            self._take(shares)
            self.network.take((wired,))
            return Holding(request.role, servers, shares, (wired,))
        server, _, shares = self.take(request, placement)
        return Holding(request.role, (server,), shares)

    def _settle(self, row: int, holding: Holding) -> None:
        """Note where a request lies from now on."""
        if self.devices is not None:
            self.devices.settle(row, holding.devices)
        if self.network is not None:
            self.network.wired[row] = holding.wired[0]

    def _take(self, shares: tuple[Share, ...]) -> None:
        """Take amounts, or raise `InfeasiblePlacement` and take nothing."""
        nodes, resources = self._nodes, self._resources
        for server, node, amounts in shares:
            if not 0 <= node < nodes:
                raise InfeasiblePlacement(f"there is no node {node} of server {server}")
            first = (server * nodes + node) * resources
            if not all(map(ge, self._flat[first : first + resources], amounts)):
                raise InfeasiblePlacement(self.too_much(server, node))
        self._move(shares, -1)

    def _move(self, shares: Iterable[Share], sign: int) -> None:
        """Free the amounts of these shares, or with sign -1 take them, each of a node of its own."""
        free, seen, nodes, resources = self._flat, self._seen, self._nodes, self._resources
        for server, node, amounts in shares:
            k = (server * nodes + node) * resources
            for amount in amounts:
                free[k] = seen[k] = free[k] + sign * amount
                k += 1
        self.note(share[0] for share in shares)

    def note(self, servers: Iterable[int]) -> None:
        """Note that what is free on these servers has changed."""
        if self.log is None:
            return
        log, last = self._ring, len(self._ring) - 2
        for server in servers:
            log[1 + (log[0] & last)] = server
            log[0] += 1

    def _return(self, holding: Holding) -> None:
        """Free what is held."""
        self._move(holding.shares, 1)
        if self.network is not None:
            self.network.give(holding.wired)
        if self.devices is not None:
            self.devices.give(holding.devices)

    def _take_again(self, holding: Holding) -> None:
        """Take what was freed for a moment."""
        self._take(holding.shares)
        if self.network is not None:
            self.network.take(holding.wired)
        if self.devices is not None:
            self.devices.take(holding.devices)

    def _checked(self, request: Request, placement: object) -> tuple[Share, ...]:
        """Return the shares of a placement that keeps the rules, as plain numbers."""
        if not isinstance(placement, Placement):
            raise InfeasiblePlacement(f"answered {placement!r}, which is neither a Placement nor None")
        try:
            shares = tuple(
                (index(server), index(node), tuple(map(index, part))) for server, node, part in placement.shares
            )
        except (TypeError, ValueError):
            raise InfeasiblePlacement(f"answered {placement!r}, whose shares are not (server, node, amounts)") from None
        if not shares:
            raise InfeasiblePlacement("placed nothing at all")
        server, node, _ = shares[0]
        if request.spread:
            right, remedy = request.across(server, self._nodes), f"request.across(server, {self._nodes})"
        else:
            right, remedy = request.on(server, node), "request.on(server, node)"
        if shares != right.shares:
            rule = (
                f"takes an even part of all {self._nodes} nodes of one server"
                if request.spread
                else "goes whole to one node"
            )
            raise InfeasiblePlacement(f"this request {rule}: answer {remedy}")
        if not 0 <= server < self._servers:
            raise InfeasiblePlacement(f"there is no node {node} of server {server}")
        return shares

    def too_much(self, server: int, node: int) -> str:
        """Say that more is asked of a node than it has free."""
        if server in self.down:
            return f"server {server} has failed"
        free = say(self._free[server, node].tolist(), self.cluster.resources)
        return f"it does not fit on node {node} of server {server}, which has {free} free"

    def release(self, row: int) -> None:
        """Give back what this request holds; does nothing, once, if a failure has done so before its time."""
        if row not in self.held:
            if row not in self._evicted:
                raise LedgerError(f"request {row} holds nothing")
            self._evicted.remove(row)
            return
        holding = self.reserved_by(row)
        del self.held[row]
        if self.rules is not None:
            self.rules.count(holding.servers, holding.role, -1)
        if self.peaks is not None:
            self.peaks.leave(row)
        self._return(holding)

    def reserved_by(self, row: int) -> Holding:
        """Return what a request that runs takes of what is free: less than it asks for where peaks are predicted."""
        held = self.held[row]
        return held if self.peaks is None else held._replace(shares=self.peaks.reserved(row, held.shares))

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
        if self.rules is not None:
            self.rules.count(old.servers, old.role, -1)
        both = old
        try:
            new = self._hold(request, placement)
            self.held[row], self.moving[row] = both, _ = old.beside(new), (old, new)
            if self.peaks is not None:
                self.peaks.enter(row, new.shares)
            if self.network is not None:
                self.network.moved.setdefault(row, [*old.wired]).extend(new.wired)
        finally:
            if self.rules is not None:
                self.rules.count(both.servers, old.role, 1)
        return new.shares[0][:2]

    def end_move(self, row: int, arrived: bool) -> None:
        """Give back the old place of a request on its way that has arrived, or else its new one.

        One that was released on its way has given back both, and is only forgotten.
        """
        old, new = self.moving.pop(row)
        if row not in self.held:
            return
        stays, part = (new, slice(len(old.shares))) if arrived else (old, slice(len(old.shares), None))
        both, wires = self.reserved_by(row), slice(1) if arrived else slice(1, None)
        leaves = Holding(old.role, (), both.shares[part], both.wired[wires], (old if arrived else new).devices)
        if self.peaks is not None:
            self.peaks.leave(row, part)
        if self.rules is not None:
            self.rules.count(old.servers + new.servers, old.role, -1)
            self.rules.count(stays.servers, old.role, 1)
        self.held[row] = stays
        self._return(leaves)
        if arrived:
            self._settle(row, stays)

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
                stays = self.network is None and type(placement) is Placement
                if stays and self._checked(request, placement) == at.get(row, self.held[row]).shares:
                    server, node, _ = old.shares[0]
                    raise InfeasiblePlacement(f"it is on server {server}, node {node} already")
                new = self._place(request, placement)
                self._return(old)
                made.append((old, new))
                at[row] = new
            return self._free.copy()
        finally:
            for old, new in reversed(made):
                self._take_again(old)
                self._return(new)

    # -- failures, evictions, growth -----------------------------------------------------------------------------------

    def parts(self, kind: Kind) -> int:
        """Count the parts of a kind that can fail."""
        return self._servers if kind == "server" else self.network.parts(kind) if self.network else 0

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a part out of service; returns the requests that lost their place, released, in order."""
        if kind != "server":
            assert self.network is not None
            hit = self.evict(row for row, held in self.held.items() if self.lies_on(held, part, kind))
            self.network.cut(self.network.links_of(part, kind))
            return hit
        if part in self.down:
            return []
        hit = self.evict(self._on(part))
        self.down.add(part)
        self._write(part, 0)
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed part back, empty; does nothing to a server in service."""
        if kind != "server":
            assert self.network is not None
            self.network.mend(self.network.links_of(part, kind))
        elif part in self.down:
            self.down.remove(part)
            self._write(part, self._capacity[part])

    def _write(self, server: int, free: Ints | int) -> None:
        """Set what an empty server, which fails or is back, has free."""
        self._free[server] = self._shown[server] = free
        self.note((server,))
        for book in self._books:
            book.changed(server)

    def _on(self, server: int) -> Iterable[int]:
        """Yield the requests that hold something on this server."""
        on: Callable[[int], Iterable[int]] | None = getattr(self.held, "on", None)
        if on:
            return on(server)
        return (row for row, held in self.held.items() if self.lies_on(held, server, "server"))

    def lies_on(self, holding: Holding, part: int, kind: Kind) -> bool:
        """Tell whether somebody holds something of a part that can fail."""
        if kind == "server":
            return any(share[0] == part for share in holding.shares)
        links = self.network.links_of(part, kind)
        return any(not links.isdisjoint(wired.links) for wired in holding.wired)

    def evict(self, rows: Iterable[int]) -> list[int]:
        """Release requests before their time; returns them, in order. Their own release does nothing then, once."""
        hit = sorted(rows)
        for row in hit:
            self.release(row)
        self._evicted.update(hit)
        return hit

    def give_way(
        self, request: Request, where: int | npt.NDArray[np.bool_], victims: Sequence[Sequence[int]]
    ) -> list[int]:
        """Find which of these victims, each some rows, have to go so that a request has room; returns their places.

        `where` is a server, or for a gang and in a network the servers that may be taken, bool [servers]. Those are
        spared that leave room, the first ones first; nobody goes where all are not enough. Nothing changes.
        """
        held = [[self.reserved_by(row) for row in rows] for rows in victims]
        for holding in chain(*held):
            self._return(holding)
        gone = []
        enough = self._has_room_in(where, request)
        for place, own in enumerate(held):
            for holding in own:
                self._take_again(holding)
            if enough and not self._has_room_in(where, request):
                for holding in own:
                    self._return(holding)
                gone.append(place)
        for holding in chain(*(held[place] for place in gone)):
            self._take_again(holding)
        return gone

    def _has_room_in(self, where: int | npt.NDArray[np.bool_], request: Request) -> bool:
        """Tell whether a request fits on a server by its amounts, or on these as many parts as a gang needs."""
        if not isinstance(where, int):
            return self.room_for_parts(request, where) >= request.parts
        if self.devices is not None:
            return bool(self.devices.fitting(request)[where])
        nodes, free = self._nodes, self._free[where].tolist()
        if request.spread:
            wanted = [part(request.demand, node, nodes) for node in range(nodes)]
            return all(map(all, (map(ge, *each) for each in zip(free, wanted, strict=True))))
        return any(all(map(ge, node, request.demand)) for node in free)

    def grow(self, by: int) -> None:
        """Add empty servers. The view's arrays are new ones afterwards."""
        if self.network is not None:
            raise LedgerError("a network does not grow")
        self.confirm()
        added = np.repeat(self.cluster.growth[None], by, axis=0)
        self._capacity = np.concatenate([self._capacity, added])
        self._free = np.concatenate([self._free, added])
        self._lay_out()
        for book in self._books:
            book.grow(by)

    # -- nothing is lost -----------------------------------------------------------------------------------------------

    def confirm(self) -> None:
        """Raise an `AgentError` if somebody else has written to what the view shows."""
        view = self.view
        same = np.array_equal(view.everything_free, self._free) and np.array_equal(view.capacity, self._capacity)
        if not (same and all(book.is_intact() for book in self._books)):
            raise AgentError(WRITTEN)

    def check(self) -> None:
        """Count again from every placement held; raises `LedgerError` when a quantum is missing."""
        free = self._capacity.copy()
        free[list(self.down)] = 0
        for row in self.held:
            for server, node, amounts in self.reserved_by(row).shares:
                free[server, node] -= amounts
        self.confirm()
        if not np.array_equal(free, self._free) or free.min(initial=0) < 0:
            raise LedgerError("what is free is not what was there less what is held")
        for book in self._books:
            book.check(self.held)
