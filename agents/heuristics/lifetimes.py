"""Places by how long requests are expected to stay: NILAS."""

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from typing import Any

import numpy as np

from binwright.agents.availability import RunningJobs
from binwright.agents.rules.on_devices import nested
from binwright.fabric.network import NetworkView
from binwright.fabric.servers import with_room
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Floats, Ints, Placed, Placement, Refusal, Request, View

HOUR, DAY = 3600.0, 86_400.0


class Exits(RunningJobs):
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
        self.agent = nested(agent, options)
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
