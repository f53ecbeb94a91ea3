"""Applies and releases placements, all or nothing. Nothing else writes what is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence, Set
from dataclasses import replace
from operator import ge, index
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.changed_servers import SERVERS_WORTH_IT, log_of
from binwright.fabric.cluster import Cluster
from binwright.fabric.servers import why_not
from binwright.fabric.survey import Survey
from binwright.fabric.unconstrained import Unconstrained
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError, WorkloadError
from binwright.simcore.faults import Kind
from binwright.simcore.gangs import Gangs
from binwright.simcore.types import Ints, Placement, Request, Share, View, Workload, part
from binwright.simcore.units import say

UNLIMITED = 2**31
"""How many requests that take nothing fit on a server: more than there are."""
WRITTEN = "the agent has written to what it was shown, which changes nothing: let it work on a copy"


class Ledger(Unconstrained):
    """Knows who holds what. Refuses what breaks the rules or does not fit, and changes nothing when it refuses.

    The view shows copies of the arrays that count: what an agent's kernel writes to them changes nothing here, and
    `confirm` tells.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._held: MutableMapping[int, Any] = {}
        self._moving: dict[int, tuple[Any, Any]] = {}
        """Of every request on its way, what it holds at its old place and at its new one: `_held` has both."""
        self._down: set[int] = set()
        self._evicted: set[int] = set()
        self.missing: list[str] = []
        """Models of devices that no server has, and without which requests are impossible."""
        self.unasked: dict[str, str] = {}
        """Groups that rules of placement name and no request has, with what may have been meant."""
        self._capacity = cluster.capacity.copy()
        self._free = self._capacity.copy()
        self.view = View(cluster.resources, self._capacity, self._free)
        self._log: Ints | None = None
        self._survey: Survey | None = None
        self._surveyed = 0
        self._lay_out()

    def hold_in(self, holdings: MutableMapping[int, Any]) -> None:
        """Keep in `holdings` what every row holds, which may come from somewhere else; nobody may hold anything yet."""
        self._held = holdings

    def prepare(self) -> None:
        """Compile what this kind of ledger needs; nothing on servers, where Python is as fast."""

    def _lay_out(self) -> None:
        """Give the view new copies, and make flat windows, after the arrays were made anew.

        A flat memoryview reads and writes one number several times faster than numpy's indexing does.
        """
        self._shown = self._free.copy()
        self.view.capacity, self.view.free = read_only(self._capacity.copy()), read_only(self._shown)
        self._servers, self._nodes, self._resources = self._free.shape
        self._flat, self._seen = self._free.reshape(-1).data, self._shown.reshape(-1).data
        if self._servers >= SERVERS_WORTH_IT:
            log = log_of(self._servers, self._log)
            if log is not self._log:
                self._log, self.view.changed, self._ring = log, read_only(log), log.data

    @property
    def installed(self) -> Ints:
        """What the servers have, overcommitted or not, int64 [servers, nodes, resources]."""
        return self.cluster.installed(len(self._capacity))

    @property
    def running(self) -> Set[int]:
        """The rows of all requests that hold something, now and whenever it is looked at."""
        return self._held.keys()

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take what the placement says; returns the server and the node of its first share.

        Raises `InfeasiblePlacement` when it breaks a rule or does not fit.
        """
        row = request.index
        if row in self._held:
            raise LedgerError(f"request {row} is placed already")
        server, node, self._held[row] = self.take(request, placement)
        return server, node

    def take(self, request: Request, placement: Placement) -> tuple[int, int, tuple[Share, ...]]:
        """Take what the placement says, and leave it to the caller to note who holds it.

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
                    raise InfeasiblePlacement(self._too_much(server, node))
                free[k] = seen[k] = left
                k += 1
        if self._log is not None:
            self._note(shares)

    def _note(self, shares: Any) -> None:
        """Note that what is free on these servers has changed."""
        log = self._ring
        last, count = len(log) - 2, log[0]
        for share in shares:
            log[1 + (count & last)] = share[0]
            count += 1
        log[0] = count

    def _give_back(self, shares: Any) -> None:
        """Free what one placement holds, as `_held` has it."""
        free, seen, nodes, resources = self._flat, self._seen, self._nodes, self._resources
        for server, node, amounts in shares:
            k = (server * nodes + node) * resources
            for amount in amounts:
                free[k] = seen[k] = free[k] + amount
                k += 1
        if self._log is not None:
            self._note(shares)

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

    def _too_much(self, server: int, node: int) -> str:
        if server in self._down:
            return f"server {server} has failed"
        free = say(self._free[server, node].tolist(), self.cluster.resources)
        return f"it does not fit on node {node} of server {server}, which has {free} free"

    def release(self, row: int) -> None:
        """Give back what this request holds; does nothing, once, if a failure has done so before its time."""
        shares = self._held.pop(row, None)
        if shares is not None:
            self._give_back(shares)
        elif row in self._evicted:
            self._evicted.remove(row)
        else:
            raise LedgerError(f"request {row} holds nothing")

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take the place that a request is to move to, beside its old one; returns the server and the node.

        Both are held until `end_move`, or until `release`. Raises `InfeasiblePlacement` when the place breaks a rule or
        does not fit.
        """
        row = request.index
        old = self._held.get(row)
        if old is None or row in self._moving:
            raise LedgerError(f"request {row} {'holds nothing' if old is None else 'is on its way'}")
        new = self._checked(request, placement)
        self._take(new)
        self._held[row], self._moving[row] = old + new, (old, new)
        return new[0][0], new[0][1]

    def end_move(self, row: int, arrived: bool) -> None:
        """Give back the old place of a request on its way that has arrived, or else its new one.

        One that was released on its way has given back both, and is only forgotten.
        """
        old, new = self._moving.pop(row)
        if row in self._held:
            self._held[row] = new if arrived else old
            self._give_back(old if arrived else new)

    def rehearse(self, moves: Iterable[tuple[Request, Placement]]) -> Ints:
        """Return what would be free, int64 [servers, nodes, resources], after these moves, one after another.

        Raises `InfeasiblePlacement` for one that is malformed, goes nowhere, or lacks the amounts. Nothing changes.
        """
        free = self._free.copy()
        at: dict[int, Any] = {}
        for request, placement in moves:
            row = request.index
            old, new = at.get(row, self._held[row]), self._checked(request, placement)
            if new == old and type(placement) is Placement:
                raise InfeasiblePlacement(f"it is on server {new[0][0]}, node {new[0][1]} already")
            for server, node, amounts in new:
                if not 0 <= node < self._nodes:
                    raise InfeasiblePlacement(f"there is no node {node} of server {server}")
                free[server, node] -= amounts
                if free[server, node].min() < 0:
                    raise InfeasiblePlacement(f"it does not fit on node {node} of server {server} by then")
            for server, node, amounts in old:
                free[server, node] += amounts
            at[row] = new
        return free

    def parts(self, kind: Kind) -> int:
        """Count the parts of a kind that can fail."""
        return self._servers if kind == "server" else 0

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a server out of service; returns the requests that lost their place, released, in order."""
        if part in self._down:
            return []
        hit = self.evict(self._on(part))
        self._free[part] = self._shown[part] = 0
        if self._log is not None:
            self._note(((part,),))
        self._down.add(part)
        return hit

    def _on(self, server: int) -> Iterable[int]:
        """Yield the requests that hold something on this server."""
        on: Callable[[int], Iterable[int]] | None = getattr(self._held, "on", None)
        if on:
            return on(server)
        return (
            row
            for row, shares in self._held.items()
            if shares[0][0] == server or (len(shares) > 1 and any(share[0] == server for share in shares))
        )

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
        for rows in victims:
            self._lend(rows, -1)
        found = []
        enough = self._has_room_in(where, request)
        for place, rows in enumerate(victims):
            self._lend(rows, 1)
            if enough and not self._has_room_in(where, request):
                self._lend(rows, -1)
                found.append(place)
        for place in found:
            self._lend(victims[place], 1)
        return found

    def _has_room_in(self, where: int | npt.NDArray[np.bool_], request: Request) -> bool:
        """Tell whether a request fits on a server by its amounts, or on these as many parts as a gang needs."""
        if isinstance(where, int):
            return self._has_room_on(where, request)
        return self.room_for_parts(request, where) >= request.least_parts

    def _lend(self, rows: Sequence[int], sign: int) -> None:
        """Free what requests hold for a moment (sign -1), or take it again (sign 1)."""
        for row in rows:
            (self._take if sign > 0 else self._give_back)(self._held[row])

    def _has_room_on(self, server: int, request: Request) -> bool:
        """Tell whether a request fits on a server by its amounts."""
        nodes, free = self._nodes, self._free[server].tolist()
        if request.spread:
            wanted = [part(request.demand, node, nodes) for node in range(nodes)]
            return all(map(all, (map(ge, *each) for each in zip(free, wanted, strict=True))))
        return any(all(map(ge, node, request.demand)) for node in free)

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed server back, empty; does nothing to a server in service."""
        if part in self._down:
            self._down.remove(part)
            self._free[part] = self._shown[part] = self._capacity[part]
            if self._log is not None:
                self._note(((part,),))

    def has_room(self, request: Request) -> bool:
        """Tell whether as much is free, over all servers together."""
        return bool((self._free.sum(axis=(0, 1)) >= request.demand).all())

    def grow(self, by: int) -> None:
        """Add empty servers. The view's arrays are new ones afterwards."""
        self.confirm()
        added = np.repeat(self.cluster.growth[None], by, axis=0)
        self._capacity = np.concatenate([self._capacity, added])
        self._free = np.concatenate([self._free, added])
        self._lay_out()

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """Return the capacity that the view shows, what it shows as free, and what is free (both may be written).

        It is for compiled runs only, which keep the rules by themselves.
        """
        return self.view.capacity, self._shown, self._free

    @property
    def log(self) -> Ints | None:
        """Return the log of changed servers (`binwright.fabric.changed_servers`), writable; `None` with few servers."""
        return self._log

    def confirm(self) -> None:
        """Raise an `AgentError` if somebody else has written to what the view shows."""
        if not (np.array_equal(self.view.free, self._free) and np.array_equal(self.view.capacity, self._capacity)):
            raise AgentError(WRITTEN)

    def used(self) -> Ints:
        """Add up the quanta held of each resource, int64 [resources]."""
        taken = self._capacity - self._free
        taken[list(self._down)] = 0
        total: Ints = taken.sum(axis=(0, 1))
        return total

    @property
    def down(self) -> int:
        """How many servers are out of service."""
        return len(self._down)

    def spreads(self, demand: Ints) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources] must be spread, bool [n]."""
        return self.cluster.spreads(demand)

    def expect(self, workload: Workload) -> Ints | None:
        """Get ready for a workload; returns which models of devices each request may take, as bits int64 [n]."""
        if workload.models is not None and (workload.models != "").any():
            remedy = "Give the servers `devices`."
            raise WorkloadError("requests name models of devices, and the servers have none", remedy=remedy)
        return None

    def possible(self, demand: Ints, models: Ints | None = None, roles: Ints | None = None) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources], of `models` and `roles` [n], an empty server could hold, bool [n]."""
        return self._possible(demand, models, None)

    def _possible(
        self, demand: Ints, models: Ints | None, servers: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.bool_]:
        """Do so for these servers, bool [servers], which are not those that may be added; `None` for all and those."""
        if servers is None:
            return self.cluster.possible(demand)
        own = self._capacity[servers]
        if not len(own):
            return np.zeros(len(demand), np.bool_)
        return replace(self.cluster, capacity=own, growth=own[0]).possible(demand)

    def rule_parts(self, gangs: Gangs) -> None:
        """Get ready for gangs, whose parts keep no rules here."""
        if gangs.ruled:
            remedy = "Take a ledger that keeps rules of placement, or rules from `parts`."
            raise WorkloadError("parts of requests keep rules, and the ledger has none", remedy=remedy)

    def domains(self, label: str) -> Ints | None:
        """Return the domain of every server by a label, int64 [servers]; None where servers have none such."""
        return np.arange(self._servers) if label == "server" else None

    def room_for_parts(self, request: Request, may: npt.NDArray[np.bool_] | None = None) -> int:
        """Count for how many parts like this request there is room, as far as rules among them say.

        That is what is free on the servers that they `may` take, bool [servers], or without it the empty cluster.
        """
        rooms = self.rooms(request, self._capacity if may is None else self._free)
        return int(rooms.sum(where=True if may is None else may))

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
        return rooms

    def why_not(self, request: Request) -> int:
        """Return the index into `reasons` of what keeps this request out now."""
        return why_not(self._shown, request.demand, request.spread)

    def kept_out(self, request: Request) -> dict[int, str]:
        """Say why of every server that a request is kept from by something else than the amounts that are free."""
        return dict.fromkeys(sorted(self._down), "has failed")

    def look(self, flavours: Ints) -> tuple[int, Ints, Ints, Ints]:
        """Return how many servers hold something, and the quanta free, used and stranded, each int64 [resources].

        Stranded is what none of the demands `flavours` int64 [k, resources] can use. They are the same at every call:
        where there are many servers, those that have not changed are not looked at again.
        """
        log = self._log if type(self) is Ledger else None
        if self._survey is None or self._survey.log is not log or self._surveyed != self._servers:
            self._survey = Survey(self._servers, flavours, self.spreads(flavours), log)
            self._surveyed = self._servers
            self._installed = self._capacity.sum(axis=(0, 1))
        in_use, free, stranded = self._survey(self._free, self._capacity)
        used: Ints = self._installed - free
        if self._down:
            used -= self._capacity[list(self._down)].sum(axis=(0, 1))
        return in_use - self.down, free, used, stranded

    @property
    def tiers(self) -> dict[str, int]:
        """The kinds of links there are, and the quanta that each has in all."""
        return {}

    def reserved(self, rows: Ints) -> Ints:
        """Return the quanta that the placements of these rows [k] reserve on each tier, int64 [k, tiers]."""
        return np.zeros((len(rows), 0), np.int64)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        lacking = (f"no server has enough {name}" for name in self.cluster.resources)
        return ("agent declined", "fits no single node", "no server has enough of everything at once", *lacking)

    def check(self) -> None:
        """Count again from every placement held; raises `LedgerError` when a quantum is missing."""
        free = self._capacity.copy()
        for server in self._down:
            free[server] = 0
        for held in self._held.values():
            for server, node, amounts in self._shares(held):
                free[server, node] -= amounts
        self.confirm()
        if not np.array_equal(free, self._free) or free.min(initial=0) < 0:
            raise LedgerError("what is free is not what was there less what is held")

    def _shares(self, held: Any) -> Iterable[Any]:
        """Return server, node and amount of what one placement holds, as `_held` has it."""
        shares: Iterable[Any] = held
        return shares


def read_only(array: Ints) -> Ints:
    """Return a view of the array that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view
