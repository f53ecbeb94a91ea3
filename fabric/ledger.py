"""Applies and releases placements, all or nothing. Nothing else writes what is free.

There is one ledger. It counts what nodes have free; books beside it count devices, links, requests in the domains of
rules of placement, and predicted peaks. Each is there only where a cluster has such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from operator import add, ge, index
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.device_book import DeviceBook, HeldDevices
from binwright.fabric.network import NetworkBook, Wired
from binwright.fabric.peak_book import PeakBook
from binwright.fabric.peak_predictors import PeakPredictor
from binwright.fabric.placement.rule_book import RuleBook
from binwright.fabric.placement.rules import Rule, ServerLabels
from binwright.fabric.ranking import SERVERS_WORTH_IT, log_of
from binwright.fabric.routing import Routing
from binwright.fabric.servers import why_not
from binwright.fabric.survey import Survey
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError, WorkloadError
from binwright.simcore.faults import Kind
from binwright.simcore.gangs import Gangs
from binwright.simcore.types import Ints, Placement, Request, Share, View, Workload, part, read_only
from binwright.simcore.units import say

UNLIMITED = 2**31
"""How many requests that take nothing fit on a server: more than there are."""
WRITTEN = "the agent has written to what it was shown, which changes nothing: let it work on a copy"
NO_MOVES: Mapping[int, Sequence[int]] = {}


class Holding(NamedTuple):
    """Says what a request holds: shares, in a network links, and devices; at both places on its way.

    Its `servers` count for rules of placement, as those of its `role` do.
    """

    role: int
    servers: tuple[int, ...]
    shares: tuple[Share, ...]
    wired: tuple[Wired, ...] = ()
    devices: tuple[HeldDevices, ...] = ()

    def beside(self, other: Holding) -> Holding:
        """Return what is held by who holds both."""
        both: Any = map(add, self[1:], other[1:])
        return Holding(self.role, *both)


class Ledger:
    """Knows who holds what. Refuses what breaks the rules or does not fit, and changes nothing when it refuses.

    With `labels` it keeps rules of placement, `rules`; with a `routing` requests take servers and links of a network,
    whose routes may be `weighted`, and of which it `remembers` where placements lay after their end; with `predictors`,
    by the place of a resource, predicted peaks admit requests.

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
        remembers: bool = False,
        predictors: Mapping[int, PeakPredictor] | None = None,
    ) -> None:
        self.cluster = cluster
        self.held: MutableMapping[int, Holding] = {}
        """What every request holds that holds something, by its row. It may be kept elsewhere while nobody does."""
        self.moving: dict[int, tuple[Holding, Holding]] = {}
        """Of every request on its way, what it holds at its old place and at its new one: `held` has both."""
        self.down: set[int] = set()
        """The servers that are out of service."""
        self._evicted: set[int] = set()
        self._capacity = cluster.capacity.copy()
        self._free = self._capacity.copy()
        self.view: Any = View(cluster.resources, self._capacity, self._free)
        self.log: Ints | None = None
        """The log of changed servers (`binwright.fabric.ranking`), writable; `None` with few servers."""
        self._survey: Survey | None = None
        self._surveyed = 0
        self._lay_out()
        self.devices: Any = None if cluster.devices is None else DeviceBook(self)
        self.network: Any = None if routing is None else NetworkBook(self, routing, weighted, remembers)
        self.peaks: Any = None if predictors is None else PeakBook(self, predictors)
        self.rules: Any = None if labels is None else RuleBook(self, labels, rules)
        books = self.devices, self.network, self.peaks, self.rules
        self._books: list[Any] = [book for book in books if book is not None]
        self.plain = not self._books
        """Has it the amounts of nodes, and nothing else?"""

    def _lay_out(self) -> None:
        """Give the view new copies, and make flat windows, after the arrays were made anew.

        A flat memoryview reads and writes one number several times faster than numpy's indexing does.
        """
        self._shown = self._free.copy()
        self.view.capacity, self.view.free = read_only(self._capacity.copy()), read_only(self._shown)
        self._servers, self._nodes, self._resources = self._free.shape
        self._flat, self._seen = self._free.reshape(-1).data, self._shown.reshape(-1).data
        if self._servers >= SERVERS_WORTH_IT:
            log = log_of(self._servers, self.log)
            if log is not self.log:
                self.log, self.view.changed, self._ring = log, read_only(log), log.data

    @property
    def installed(self) -> Ints:
        """What the servers have, overcommitted or not, int64 [servers, nodes, resources]."""
        return self.cluster.installed(len(self._capacity))

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
            self.network.settle(row, holding.wired[0])

    def _take(self, shares: tuple[Share, ...]) -> None:
        free, seen, nodes, resources = self._flat, self._seen, self._nodes, self._resources
        for taken, (server, node, amounts) in enumerate(shares):
            if not 0 <= node < nodes:
                self._give_back(shares[:taken])
                raise InfeasiblePlacement(f"there is no node {node} of server {server}")
            k = first = (server * nodes + node) * resources
            for amount in amounts:
                left = free[k] - amount
                if left < 0:
                    self._give_back((*shares[:taken], (server, node, amounts[: k - first])))
                    raise InfeasiblePlacement(self.too_much(server, node))
                free[k] = seen[k] = left
                k += 1
        if self.log is not None:
            self.note(shares)

    def note(self, shares: Iterable[Sequence[Any]]) -> None:
        """Note that what is free on the servers of these shares has changed."""
        if self.log is None:
            return
        log = self._ring
        last, count = len(log) - 2, log[0]
        for share in shares:
            log[1 + (count & last)] = share[0]
            count += 1
        log[0] = count

    def _give_back(self, shares: Iterable[Share]) -> None:
        """Free the amounts of these shares."""
        free, seen, nodes, resources = self._flat, self._seen, self._nodes, self._resources
        for server, node, amounts in shares:
            k = (server * nodes + node) * resources
            for amount in amounts:
                free[k] = seen[k] = free[k] + amount
                k += 1
        self.note(shares)

    def _return(self, holding: Holding) -> None:
        """Free what is held."""
        self._give_back(holding.shares)
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
        holding = self.held.pop(row, None)
        if holding is None:
            if row not in self._evicted:
                raise LedgerError(f"request {row} holds nothing")
            self._evicted.remove(row)
            return
        if self.rules is not None:
            self.rules.count(holding.servers, holding.role, -1)
        reserved = self._reserved(row, holding)
        if self.peaks is not None:
            self.peaks.leave(row)
        self._return(reserved)

    def reserved_by(self, row: int) -> Holding:
        """Return what a request that runs takes of what is free: less than it asks for where peaks are predicted."""
        return self._reserved(row, self.held[row])

    def _reserved(self, row: int, holding: Holding) -> Holding:
        if self.peaks is None:
            return holding
        return holding._replace(shares=self.peaks.reserved(row, holding.shares))

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
        both, wires = self._reserved(row, self.held[row]), slice(1) if arrived else slice(1, None)
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
        self.note(((server,),))
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

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """Return the capacity that the view shows, what it shows as free, and what is free (both may be written).

        It is for compiled runs only, which keep the rules by themselves.
        """
        return self.view.capacity, self._shown, self._free

    # -- what there is, and what fits ----------------------------------------------------------------------------------

    def used(self) -> Ints:
        """Add up the quanta held of each resource, int64 [resources]."""
        taken = self._capacity - self._free if self.peaks is None else self.peaks.asked.copy()
        taken[list(self.down)] = 0
        total: Ints = taken.sum(axis=(0, 1))
        return total

    def spreads(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources] must be spread, bool [n]; in a network none, as they lie where room is."""
        return self.cluster.spreads(demand) if self.network is None else np.zeros(len(demand), np.bool_)

    def expect(self, workload: Workload) -> Ints | None:
        """Get ready for a workload; returns which models of devices each request may take, as bits int64 [n]."""
        bits: Ints | None = None
        if self.devices is not None:
            bits = self.devices.expect(workload)
        elif workload.models is not None and (workload.models != "").any():
            remedy = "Give the servers `devices`."
            raise WorkloadError("requests name models of devices, and the servers have none", remedy=remedy)
        return bits

    def roles_of(self, workload: Workload) -> Ints | None:
        """Get ready for the roles of a workload's requests; returns them, int64 [n], where there are rules for them."""
        roles: Ints | None = None
        if self.rules is not None:
            roles = self.rules.roles_of(workload)
        elif workload.roles is not None and any(role.where for role in workload.roles.all):
            remedy = "Give the servers `labels`, or those of a network `marked`."
            raise WorkloadError("requests say on which servers they may lie, and these have no labels", remedy=remedy)
        return roles

    def rule_parts(self, gangs: Gangs) -> None:
        """Get ready for gangs, whose parts may keep rules."""
        if self.rules is not None:
            self.rules.rule_parts(gangs)
        elif gangs.ruled:
            remedy = "Take a ledger that keeps rules of placement, or rules from `parts`."
            raise WorkloadError("parts of requests keep rules, and the ledger has none", remedy=remedy)

    def drain(self, servers: Iterable[int]) -> None:
        """Let these servers take no more requests; what is there stays until its end."""
        if self.rules is None:
            raise WorkloadError("servers are drained by ledgers that keep rules", remedy="Give the ledger labels.")
        self.rules.drain(servers)

    def reopen(self, servers: Iterable[int]) -> None:
        """Let these servers take requests again."""
        if self.rules is not None:
            self.rules.reopen(servers)

    def may_lie(self, request: Request, after: Mapping[int, Sequence[int]] = NO_MOVES) -> Any:
        """Tell on which servers rules let a request lie, bool [servers]; None without rules.

        Where it lies, it does not count itself. `after` says to which servers rows are moved before that.
        """
        if self.rules is None:
            return None
        come = [(servers, self.held[row].role) for row, servers in after.items() if row != request.index]
        return self.rules.open_to(request, {*after, request.index}, come)

    def open_to(self, request: Request, after: Mapping[int, Sequence[int]] = NO_MOVES) -> npt.NDArray[np.bool_]:
        """Tell on which servers a request may lie as `may_lie` does: on all without rules, bool [servers]."""
        may = self.may_lie(request, after)
        return np.ones(self._servers, np.bool_) if may is None else may

    @property
    def drains(self) -> list[tuple[float, float, npt.NDArray[np.bool_]]]:
        """From when until when servers take no requests by rules, and which, bool [servers]."""
        return [] if self.rules is None else [*self.rules.drains]

    def domains(self, label: str) -> Ints | None:
        """Return the domain of every server by a label, int64 [servers]; None where servers have none such."""
        alone = np.arange(self._servers) if label == "server" else None
        return alone if self.rules is None else self.rules.domains(label)

    def possible(self, demand: Ints, models: Ints | None = None, roles: Ints | None = None) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources], of `models` and `roles` [n], an empty server could hold, bool [n].

        Of the rules, only labels and taints count: what is counted may change, and what is emptied was there.
        """
        fits = self._possible(demand, models, None)
        if self.rules is not None and roles is not None:
            for some, servers in self.rules.never_closed_to(roles):
                fits[some] &= self._possible(demand[some], None if models is None else models[some], servers)
        return fits

    def _possible(
        self, demand: Ints, models: Ints | None, servers: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.bool_]:
        """Do so for these servers, bool [servers], which are not those that may be added; `None` for all and those."""
        own = self._capacity if servers is None else self._capacity[servers]
        fits = np.zeros(len(demand), np.bool_)
        if self.network is not None:
            fits = (demand <= own.sum(axis=(0, 1))).all(axis=1)
        elif self.devices is not None:
            fits = self.devices.possible(demand, models, own, servers)
        elif servers is None:
            fits = self.cluster.possible(demand)
        elif len(own):
            fits = replace(self.cluster, capacity=own, growth=own[0]).possible(demand)
        return fits

    @property
    def tiers(self) -> dict[str, int]:
        """The tiers of links there are, and the quanta that each has in all."""
        return {} if self.network is None else self.network.tiers

    def reserved(self, rows: Ints) -> Ints:
        """Return the quanta that the first places of these rows [k] reserve on each tier, int64 [k, tiers]."""
        return np.zeros((len(rows), 0), np.int64) if self.network is None else self.network.reserved(rows)

    def has_room(self, request: Request) -> bool:
        """Tell whether as much is free, over all servers together."""
        return all(map(ge, self._free.sum(axis=(0, 1)).tolist(), request.demand))

    def lacks_room(self, request: Request) -> bool:
        """Tell whether a request has no room now, a gang for as many parts as it needs."""
        if request.gang:
            return self.room_for_parts(request, self.open_to(request)) < request.gang.parts
        return bool(self.why_not(request))

    def room_for_parts(
        self, request: Request, may: npt.NDArray[np.bool_] | None = None, free: Ints | None = None
    ) -> int:
        """Count for how many parts like this request there is room, as far as rules among them say.

        That is what is free on the servers that they `may` take, bool [servers], or without it the empty cluster.
        Another `free` int64 [servers, nodes, resources] counts instead, but not for devices.
        """
        if free is None:
            free = self._capacity if may is None else self._free
        if may is None and self.rules is not None:
            may = self.rules.never_closed(request.role)
        if self.network is not None:
            total = (free if may is None else free[may]).sum(axis=(0, 1)).tolist()
            return min(
                left // amount if amount else UNLIMITED for left, amount in zip(total, request.demand, strict=True)
            )
        rooms = self.rooms(request, free)
        if may is not None:
            rooms = np.where(may, rooms, 0)
        return int(rooms.sum()) if self.rules is None else self.rules.most_parts(request, rooms)

    def rooms(self, request: Request, free: Ints) -> Ints:
        """Count how many requests like this one fit on each server together, int64 [servers].

        `free` int64 [servers, nodes, resources] is what the servers have, or as much as they have when empty.
        """
        if request.spread:
            each = np.array([part(request.demand, node, self._nodes) for node in range(self._nodes)])
        else:
            each = np.tile(request.demand, (self._nodes, 1))
        fit = np.where(each > 0, free // np.maximum(each, 1), UNLIMITED).min(axis=2)
        rooms: Ints = fit.min(axis=1) if request.spread else np.minimum(fit, UNLIMITED // self._nodes).sum(axis=1)
        return rooms if self.devices is None else self.devices.rooms(request, rooms, free is self._capacity)

    # -- why not -------------------------------------------------------------------------------------------------------

    def why_not(self, request: Request) -> int:
        """Return the index into `reasons` of what keeps this request out now."""
        code: int = (
            self.network.why_not(request) if self.network else why_not(self._shown, request.demand, request.spread)
        )
        first = len(self._lacks)
        for book in filter(None, (self.devices, self.rules)):
            if not code and (reason := book.why_not(request)) >= 0:
                code = first + reason
            first += len(book.reasons)
        return code

    @property
    def _lacks(self) -> tuple[str, ...]:
        """What amounts keep a request out for."""
        if self.network is not None:
            return ("agent declined", *(f"not enough {name} in the cluster" for name in self.cluster.resources))
        lacking = (f"no server has enough {name}" for name in self.cluster.resources)
        return ("agent declined", "fits no single node", "no server has enough of everything at once", *lacking)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        more = (book.reasons for book in (self.devices, self.rules) if book is not None)
        return sum(more, self._lacks)

    def kept_out(self, request: Request) -> dict[int, str]:
        """Say why of every server that a request is kept from by something else than the amounts that are free."""
        failed = dict.fromkeys(sorted(self.down), "has failed")
        if self.devices is not None:
            failed |= self.devices.kept_out(request)
        return failed if self.rules is None else self.rules.kept_out(request, failed)

    def look(self, flavours: Ints) -> tuple[int, Ints, Ints, Ints]:
        """Return how many servers hold something, and the quanta free, used and stranded, each int64 [resources].

        Stranded is what none of the demands `flavours` int64 [k, resources] can use. They are the same at every call:
        where there are many servers, those that have not changed are not looked at again.
        """
        log = self.log if self.plain else None
        if self._survey is None or self._survey.log is not log or self._surveyed != self._servers:
            self._survey = Survey(self._servers, flavours, self.spreads(flavours), log)
            self._surveyed = self._servers
            self._installed = self._capacity.sum(axis=(0, 1))
        in_use, free, stranded = self._survey(self._free, self._capacity)
        in_use -= len(self.down)
        used: Ints = self._installed - free
        if self.down:
            used -= self._capacity[list(self.down)].sum(axis=(0, 1))
        if self.devices is not None:
            stranded = self.devices.stranded(flavours)
        if self.peaks is not None:
            in_use, used = self.peaks.in_use(), self.used()
        return in_use, free, used, stranded

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
