"""Places by how long requests are expected to stay: NILAS and LAVA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf
from typing import Any

import numpy as np

from binwright.agents.availability import Running
from binwright.agents.nested_agent import inner
from binwright.fabric.network import NetworkView
from binwright.fabric.servers import with_room
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Amounts, Floats, Ints, Placed, Placement, Refusal, Request, View

HOUR, DAY = 3600.0, 86_400.0


class Exits(Running):
    """Keeps when every server is expected to be empty: the last end of what runs there."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[int, list[tuple[float, int]]] = defaultdict(list)  # of servers as `_due`, ends negative

    def note(self, placed: Placed, end: float) -> None:
        """Note when a request is expected to end, on its server, too."""
        super().note(placed, end)
        heappush(self._last[placed.server], (-end, placed.request.index))

    def ends(self, view: View) -> Floats:
        """Return when each server is expected to be empty, float64 [servers]: -inf for one that is, at least now."""
        self.follow(view)
        return np.array([self._last_of(server, view.placed.running) for server in range(len(view.free))])

    def _last_of(self, server: int, running: Set[int]) -> float:
        ends = self._last[server]
        while ends:
            end, row = ends[0]
            if row not in running:
                self.runs.pop(row, None)
            elif (self.runs[row][0].server, self.runs[row][1]) == (server, -end):  # it may have been moved
                return -end
            heappop(ends)
        return -inf


class Nilas(Agent):
    """Another agent chooses among the servers that a request outlives least, as far as is known, by steps of time.

    A server is outlived by the time for which the request stays after the last of what runs there, an empty one by all
    of it. Not at all is step 0, then come times up to 10 min, and so on: these are ours. `agent` is the other agent's
    name, `options` are its own.
    """

    reference = "NILAS, of Ling et al. 2024, LAVA, arXiv:2412.09840; the steps are ours"
    needs_lifetimes = True
    steps: Sequence[float] = (600.0, 1800.0, *(n * HOUR for n in (1, 2, 4, 8, 16)), *(n * DAY for n in (1, 2, 4, 7)))

    def __init__(self, agent: str = "best-fit", options: dict[str, Any] | None = None) -> None:
        self.agent = inner(agent, options)
        self.any_size, self.on_devices = self.agent.any_size, self.agent.on_devices
        self._exits = Exits()

    def start(self, view: View, rng: np.random.Generator) -> None:
        if isinstance(view, NetworkView):
            remedy = "Take the network out of the scenario, or another agent, such as best-home."
            raise UserError(f"{type(self).__name__} chooses one server, and here requests take several", remedy=remedy)
        self._exits = Exits()
        self.agent.start(self._showing(view, view.free), rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent with only the best servers free, then with the next best ones, until it finds a place."""
        costs, answer = self.costs(view, request), None
        fits = with_room(view.free, request.demand, request.spread)
        for cost in np.unique(costs[fits]):
            shown = np.where((costs == cost)[:, None, None], view.free, 0)
            answer = self.agent.decide(self._showing(view, shown), request)
            if isinstance(answer, Placement):
                break
        return answer

    def _showing(self, view: View, free: Ints) -> View:
        """Return what the agent is to see: the devices, too, if it chooses them."""
        return replace(view, free=free) if self.on_devices else view.showing(free)

    def costs(self, view: View, request: Request) -> Ints:
        """Return the step by which each server would be outlived, int64 [servers]."""
        end, exits = view.now + view.stays(request), np.maximum(self._exits.ends(view), view.now)
        after = np.subtract(end, exits, where=end > exits, out=np.zeros(len(exits)))
        return np.searchsorted([0.0, *self.steps], after, side="left")


@dataclass
class Server:
    """Holds what is known of a server that is not empty.

    `of` is the class of its requests, `until` when they should be gone. It is `recycling` once it was full, and takes
    shorter requests only. `rows` are the requests that it was given, `residual` those that keep it in its class.
    """

    of: int
    until: float
    recycling: bool = False
    rows: set[int] = field(default_factory=set)
    residual: set[int] = field(default_factory=set)


class Lava(Nilas):
    """As `nilas` among servers of equal rank, by the lifetime classes of requests and servers.

    `classes` are the lifetimes up to which the classes go, but for the last one, as published. An empty server takes
    the class of the first request that it gets, and is open. Once `full` of some resource is taken it is recycling, and
    keeps its class while any of the requests stays that it has then; after them it goes down one class with what it
    has. If they are not gone when their class should be, it goes up one.

    A request goes to a recycling server of a longer class, the nearest first; else to an open one of its own; else to
    another one of its own or a longer class, the nearest first; else to an empty one; else to the longest of the
    shorter ones, which takes its class.
    """

    reference = (
        "Ling et al. 2024, LAVA, arXiv:2412.09840; the page 'What do agents know of time?' says what is our reading"
    )

    classes: Sequence[float] = (HOUR, 10 * HOUR, 100 * HOUR)
    full = 0.9

    def __init__(self, agent: str = "best-fit", options: dict[str, Any] | None = None) -> None:
        super().__init__(agent, options)
        self._forget()

    def _forget(self) -> None:
        self._servers: dict[int, Server] = {}
        self._noted = 0
        self._filled: set[int] = set()  # rows whose placement left their server full, not looked at yet
        self._full: set[int] = set()  # servers that were full when the run began, until they are looked at
        self._at: dict[int, tuple[int, Amounts]] = {}  # where requests that may still run are, and their demand

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self._forget()
        taken, there = (array.sum(axis=1) for array in (view.capacity - view.free, view.capacity))
        self._full = {number for number in range(len(there)) if self._is_full(taken[number], there[number])}

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Decide as `nilas` does, and note whether the server is full then: it may be hidden when one looks again."""
        answer = super().decide(view, request)
        if isinstance(answer, Placement):
            there, free = (array[answer.shares[0][0]].sum(axis=0) for array in (view.capacity, view.free))
            if self._is_full(there - free + request.demand, there):
                self._filled.add(request.index)
        return answer

    def _is_full(self, taken: Ints, there: Ints) -> bool:
        return bool((taken >= self.full * there)[there > 0].any())

    def costs(self, view: View, request: Request) -> Ints:
        """Return the rank of each server, and within it the step, int64 [servers]."""
        self._look(view)
        of, most = self._class(request), len(self.classes) + 1
        empty = 2 * most + 1
        ranks = np.full(len(view.free), empty, np.int64)
        for number, server in self._servers.items():
            longer = server.of - of
            if longer < 0:
                ranks[number] = empty - longer
            elif server.recycling and longer:
                ranks[number] = longer
            else:
                ranks[number] = most + 1 + longer if server.recycling or longer else most
        return ranks * (len(self.steps) + 2) + super().costs(view, request)

    def _class(self, request: Request) -> int:
        return int(np.searchsorted(self.classes, request.duration, side="left"))

    def _look(self, view: View) -> None:
        """Follow what happened since: what was placed, what left, what should have left."""
        running, servers = view.placed.running, self._servers
        for _, request, number, _, began in view.placed.since(self._noted):
            row, moved = request.index, request.index in self._at
            if row in running:
                self._add(request, number, began, running)
            if number in servers and (self._looks_full(number, view) if moved else row in self._filled):
                self._recycle(servers[number], running)
        self._noted = view.placed.total
        if len(self._at) > 2 * len(running) + 1024:
            self._at = {row: at for row, at in self._at.items() if row in running}
        for number in self._full & servers.keys():
            self._recycle(servers[number], running)
        self._filled.clear()
        self._full.clear()
        for number, server in list(servers.items()):
            server.rows &= running
            server.residual &= running
            if not server.rows:
                del servers[number]
            elif server.recycling and not server.residual:
                self._settle(server, max(server.of - 1, 0), view.now)
            elif view.now > server.until:
                self._settle(server, server.of + 1, view.now)

    def _add(self, request: Request, number: int, began: float, running: Set[int]) -> None:
        """Note that a request lies on a server, and no longer where it was before."""
        row, of, server = request.index, self._class(request), self._servers.get(number)
        if before := self._servers.get(self._at.get(row, (-1, ()))[0]):
            before.rows.discard(row)
            before.residual.discard(row)
        if server is None or not server.rows & running:
            server = self._servers[number] = Server(of, self._limit(of, began))
        elif of > server.of:
            server.of, server.until = of, self._limit(of, began)
        server.rows.add(row)
        self._at[row] = number, request.demand

    def _looks_full(self, number: int, view: View) -> bool:
        """Tell whether what runs on a server by now fills it, from our own books: it may be hidden."""
        rows = self._servers[number].rows & view.placed.running
        taken = np.sum([self._at[row][1] for row in rows], axis=0) if rows else np.zeros(len(view.resources), np.int64)
        return self._is_full(taken, view.capacity[number].sum(axis=0))

    def _limit(self, of: int, since: float) -> float:
        """Return when requests of a class should be gone."""
        return since + [*self.classes, inf][of]

    def _recycle(self, server: Server, running: Set[int]) -> None:
        """Have a server that was full keep its class while any of the requests stays that it has now."""
        if not server.recycling:
            server.recycling, server.residual = True, server.rows & running

    def _settle(self, server: Server, of: int, now: float) -> None:
        """Give a server another class, in which it keeps what runs there now."""
        server.of, server.until = of, self._limit(of, now)
        server.residual = set(server.rows) if server.recycling else set()
