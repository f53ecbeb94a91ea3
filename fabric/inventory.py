"""What a cluster has, and what fits in what is free: all of a ledger that changes no holdings."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from binwright.fabric.book import Book, Holding
from binwright.fabric.cluster import Cluster
from binwright.fabric.ranking import SERVERS_WORTH_IT, log_of
from binwright.fabric.servers import look, why_not, with_room
from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import Flags, Ints, Request, View, part, read_only
from binwright.simcore.workload import Workload

UNLIMITED = 2**31
"""How many requests that take nothing fit on a server: more than there are."""
NO_MOVES: Mapping[int, Sequence[int]] = {}


def rooms_on(request: Request, free: Ints) -> Ints:
    """Count how many like this request fit on each node, int64 [servers, nodes], or [servers, 1] if it takes all."""
    nodes = range(free.shape[1])
    each = np.array([part(request.demand, node, len(nodes)) for node in nodes] if request.spread else request.demand)
    fit = np.where(each > 0, free // np.maximum(each, 1), UNLIMITED).min(axis=2)
    rooms: Ints = np.maximum(fit.min(axis=1, keepdims=True) if request.spread else fit, 0)
    return rooms


class Inventory:
    """Knows what the servers have, what is free, and what keeps requests out.

    Books count devices, links, requests in the domains of rules of placement, and predicted peaks, each only where a
    cluster has such.
    """

    devices: Any = None
    network: Any = None
    peaks: Any = None
    rules: Any = None
    _books: list[Book]
    plain: bool
    """Whether it has the amounts of nodes, and nothing else."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.held: MutableMapping[int, Holding] = {}
        """What every request holds that holds something, by its row. It may be kept elsewhere while nobody does."""
        self.down: set[int] = set()
        """The servers that are out of service."""
        self._capacity = cluster.capacity.copy()
        self._free = self._capacity.copy()
        self.view: Any = View(cluster.resources, self._capacity, self._free)
        self.log: Ints | None = None
        """The log of changed servers (`binwright.fabric.ranking`), writable; `None` with few servers."""
        self._lay_out()

    def _lay_out(self) -> None:
        """Have the view show arrays that were made anew, and make a flat window to them.

        A flat memoryview reads and writes one number several times faster than numpy's indexing does.
        """
        self.view.capacity, self.view.free = read_only(self._capacity), read_only(self._free)
        self._servers, self._nodes, self._resources = self._free.shape
        self._installed = self._capacity.sum(axis=(0, 1))
        self._counts = np.zeros((self._servers, 1 + 2 * self._resources), np.int64)
        self._total = np.zeros(1 + 2 * self._resources, np.int64)
        self._seen = -1
        """How many changes of servers the counts know; -1: all servers may have changed."""
        self._flat = self._free.reshape(-1).data
        if self._servers >= SERVERS_WORTH_IT:
            log = log_of(self._servers, self.log)
            if log is not self.log:
                self.log, self.view.changed, self._ring = log, read_only(log), log.data

    @property
    def installed(self) -> Ints:
        """What the servers have, overcommitted or not, int64 [servers, nodes, resources]."""
        return self.cluster.installed(len(self._capacity))

    @property
    def arrays(self) -> tuple[Ints, Ints]:
        """Return the capacity and what is free, for books and compiled runs, which keep the rules by themselves."""
        return self._capacity, self._free

    def used(self) -> Ints:
        """Add up the quanta held of each resource, int64 [resources]."""
        taken = self._capacity - self._free if self.peaks is None else self.peaks.requested.copy()
        taken[list(self.down)] = 0
        total: Ints = taken.sum(axis=(0, 1))
        return total

    def spreads(self, demand: Ints) -> Flags:
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
        if self.rules is not None:
            roles: Ints = self.rules.roles_of(workload)
            return roles
        asks = workload.roles is not None and any(role.where for role in workload.roles.all)
        if asks or (workload.gangs is not None and workload.gangs.ruled):
            what = "requests say on which servers they may lie" if asks else "gangs say where their parts may lie"
            remedy = "Give the servers `labels`, or those of a network `marked`."
            raise WorkloadError(f"{what}, and the servers have no labels", remedy=remedy)
        return None

    def drain(self, servers: Iterable[int]) -> None:
        """Let these servers take no more requests; what is there stays until its end."""
        if self.rules is None:
            raise WorkloadError("servers are drained by ledgers that keep rules", remedy="Give the ledger labels.")
        self.rules.drain(servers)

    def reopen(self, servers: Iterable[int]) -> None:
        """Let these servers take requests again."""
        if self.rules is not None:
            self.rules.reopen(servers)

    def open_to(self, request: Request, after: Mapping[int, Sequence[int]] = NO_MOVES) -> Flags:
        """Tell on which servers rules let a request lie, bool [servers].

        Where it lies, it does not count itself. `after` says to which servers rows are moved before that.
        """
        if self.rules is None:
            return np.ones(self._servers, np.bool_)
        come = [(servers, self.held[row].role) for row, servers in after.items() if row != request.index]
        may: Flags = self.rules.open_to(request, {*after, request.index}, come)
        return may

    @property
    def drains(self) -> list[tuple[float, float, Flags]]:
        """From when until when servers take no requests by rules, and which, bool [servers]."""
        return [] if self.rules is None else [*self.rules.drains]

    def possible(self, demand: Ints, models: Ints | None = None, roles: Ints | None = None) -> Flags:
        """Tell which demands [n, resources], of `models` and `roles` [n], an empty server could hold, bool [n].

        Of the rules, only labels and taints count: what is counted may change, and what is emptied was there.
        """
        fits = self._possible(demand, models, None)
        if self.rules is not None and roles is not None:
            for role in np.unique(roles).tolist():
                servers, some = self.rules.never_closed(role), roles == role
                if not servers.all():
                    fits[some] &= self._possible(demand[some], None if models is None else models[some], servers)
        return fits

    def _possible(self, demand: Ints, models: Ints | None, servers: Flags | None) -> Flags:
        """Tell which fit on one of these servers, bool [servers]; `None` for all, and those that may be added."""
        own = self._capacity if servers is None else self._capacity[servers]
        if self.network is not None:
            return np.array((demand <= own.sum(axis=(0, 1))).all(axis=1))
        if servers is None:
            own = np.concatenate([own, self.cluster.growth[None]])
        if self.devices is None:
            return self.cluster.possible(demand, own)
        fits: Flags = self.devices.possible(demand, models, own, servers)
        return fits

    @property
    def tiers(self) -> dict[str, int]:
        """The tiers of links there are, and the quanta that each has in all."""
        return {} if self.network is None else self.network.tiers

    def has_room(self, request: Request) -> bool:
        """Tell whether as much is free, over all servers together."""
        return not any(self._lacking(request, self._free))

    def lacks_room(self, request: Request) -> bool:
        """Tell whether a request has no room now, a gang for as many parts as it needs."""
        if request.gang:
            return self.room_for_parts(request, self.open_to(request)) < request.gang.parts
        return bool(self.why_not(request))

    def room_for_parts(self, request: Request, may: Flags | None = None, free: Ints | None = None) -> int:
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
        return int(rooms.sum() if self.rules is None else self.rules.most_parts(request, rooms).max(initial=0))

    def rooms(self, request: Request, free: Ints) -> Ints:
        """Count how many requests like this one fit on each server together, int64 [servers].

        `free` int64 [servers, nodes, resources] is what the servers have, or as much as they have when empty.
        """
        rooms: Ints = np.minimum(rooms_on(request, free), UNLIMITED // self._nodes).sum(axis=1)
        return rooms if self.devices is None else self.devices.rooms(request, rooms, free is self._capacity)

    # -- why not -------------------------------------------------------------------------------------------------------

    def why_not(self, request: Request) -> int:
        """Return the index into `reasons` of what keeps this request out now.

        Of what keeps it from servers that have the amounts, that is what takes the last of them; in a network the last
        that there is enough of.
        """
        if self.network is None:
            code = why_not(self._free, request.demand, request.spread)
        else:
            code = next((1 + r for r, lacks in enumerate(self._lacking(request, self._free)) if lacks), 0)
        if code or self.plain:
            return code
        free, network = self._free, self.network is not None
        room = np.ones(len(free), np.bool_) if network else with_room(free, request.demand, request.spread)
        first = len(self._lacks)
        for book in self._books:
            keeps = book.keeps(request)
            for number in np.unique(keeps[keeps >= 0]).tolist():
                room &= keeps != number
                if any(self._lacking(request, free[room])) if network else not room.any():
                    return first + int(number)
            first += len(book.reasons)
        return 0

    @staticmethod
    def _lacking(request: Request, free: Ints) -> list[bool]:
        """Tell of each resource whether less than is asked for is free in all, int64 [servers, nodes, resources]."""
        total = free.sum(axis=(0, 1)).tolist()
        return [left < amount for left, amount in zip(total, request.demand, strict=True)]

    @property
    def _lacks(self) -> tuple[str, ...]:
        """What keeps a request out for the amounts of servers."""
        names = self.cluster.resources
        if self.network is not None:
            return "agent declined", *(f"not enough {name} in the cluster" for name in names)
        alone = "fits no single node", "no server has enough of everything at once"
        return "agent declined", *alone, *(f"no server has enough {name}" for name in names)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        return sum((book.reasons for book in self._books), self._lacks)

    def excluded(self, request: Request) -> dict[int, str]:
        """Say why of every server that a request is kept from by something else than the amounts that are free."""
        why = dict.fromkeys(self.down, "has failed")
        for book in self._books:
            numbers = enumerate(book.keeps(request).tolist())
            why = {server: book.of_a_server(number) for server, number in numbers if number >= 0} | why
        return why

    def look(self, flavours: Ints) -> tuple[int, Ints, Ints, Ints]:
        """Return how many servers hold something, and the quanta free, used and stranded, each int64 [resources].

        Stranded is what none of the demands `flavours` int64 [k, resources] can use. They are the same at every call:
        where there are many servers, those that have not changed are not looked at again.
        """
        log, first = np.zeros(1, np.int64), self._seen
        if self.plain and self.log is not None:
            log, self._seen = self.log, int(self.log[0])
        spread = self.spreads(flavours).astype(np.int64)
        look(self._free, self._capacity, flavours, spread, log, first, self._counts, self._total)
        (with_some,), free, stranded = np.split(self._total.copy(), (1, 1 + self._resources))
        in_use = int(with_some) - len(self.down)
        used: Ints = self._installed - free - self._capacity[list(self.down)].sum(axis=(0, 1))
        if self.devices is not None:
            stranded = self.devices.stranded(flavours)
        if self.peaks is not None:
            in_use, used = self.peaks.in_use(), self.used()
        return in_use, free, used, stranded
