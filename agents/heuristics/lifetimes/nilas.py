"""Places where a request outlives least, and of such places where another agent says: NILAS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.agents.nested_agent import inner
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Floats, Ints, Placement, Refusal, Request, View, part
from binwright.simcore.units import TIME


class Exits:
    """Keeps when every server is expected to be empty: the last end of what runs there.

    An end that has passed while its request still runs is asked for again.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._runs: dict[int, tuple[Request, float, float, int]] = {}  # when it began, its end, its server
        self._due: list[tuple[float, int]] = []  # a heap of ends, and whose
        self._last: list[list[tuple[float, int]]] = []  # of each server a heap of ends, negative, and whose

    def look(self, view: View) -> Floats:
        """Return when each server is expected to be empty, float64 [servers]: -inf for one that is, at least now."""
        now, running = view.now, view.placed.running
        self._last += [[] for _ in range(len(view.free) - len(self._last))]
        for _, request, server, _, began in view.placed.since(self._seen):
            self._note(request, began, began + request.duration, server)
        self._seen = view.placed.total
        late = []
        while self._due and self._due[0][0] <= now:
            end, row = heappop(self._due)
            known = self._runs.get(row)
            if known and known[2] == end and row in running:
                late.append(known)
        for request, began, _, server in late:
            end = began + view.expected(request, now - began)
            self._note(request, began, max(end, float(np.nextafter(now, np.inf))), server)
        return np.array([self._last_of(server, view) for server in range(len(view.free))])

    def _note(self, request: Request, began: float, end: float, server: int) -> None:
        row = request.index
        self._runs[row] = request, began, end, server
        heappush(self._due, (end, row))
        heappush(self._last[server], (-end, row))

    def _last_of(self, server: int, view: View) -> float:
        ends = self._last[server]
        while ends:
            end, row = ends[0]
            known = self._runs.get(row)
            if known and row not in view.placed.running:
                del self._runs[row]
            elif known and known[2] == -end and known[3] == server:  # it may have been moved
                return -end
            heappop(ends)
        return -np.inf


Flags: TypeAlias = npt.NDArray[np.bool_]
STEPS = ("10 min", "30 min", "1 h", "2 h", "4 h", "8 h", "16 h", "1 d", "2 d", "4 d", "7 d")
"""Times by which a request may outlive its server that are told apart: ours."""


class Nilas(Agent):
    """Another agent chooses among the servers that a request outlives least, as far as is known, in `steps`.

    A server is outlived by the time for which the request stays after the last of what runs there. Not at all is
    step 0, then come times up to the first of `steps`, up to the second, and so on. An empty server is outlived by as
    long as the request stays. `agent` is the other agent's name, `options` are its own.
    """

    reference = "NILAS, of Ling et al. 2024, LAVA, arXiv:2412.09840; the steps are ours"
    needs_lifetimes = True

    def __init__(
        self, agent: str = "best-fit", options: dict[str, Any] | None = None, steps: Sequence[str | float] = STEPS
    ) -> None:
        self.agent = inner(agent, options)
        self.any_size, self.on_devices = self.agent.any_size, self.agent.on_devices
        self.steps = times("steps", steps)
        self._exits = Exits()

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Begin a run; what runs already counts."""
        if isinstance(view, NetworkView):
            problem = f"{type(self).__name__} chooses one server, and here requests take several"
            raise UserError(
                problem, remedy="Take the network out of the scenario, or another agent, such as best-home."
            )
        self._exits = Exits()
        self.agent.start(self._showing(view, view.free), rng)
        # What was predicted depends on when it was asked for; the truth does not.

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent with only the best servers free, then with the next best ones, until it finds a place."""
        costs, answer = self.costs(view, request), None
        fits = fitting(view, request)
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
        end, exits = view.now + view.stays(request), np.maximum(self._exits.look(view), view.now)
        after = np.subtract(end, exits, where=end > exits, out=np.zeros(len(exits)))
        return np.searchsorted([0.0, *self.steps], after, side="left")


def fitting(view: View, request: Request) -> Flags:
    """Find the servers on which a request fits, bool [servers]."""
    nodes = view.free.shape[1]
    wanted = [part(request.demand, node, nodes) if request.spread else request.demand for node in range(nodes)]
    enough: Any = (view.free >= np.array(wanted)).all(axis=2)
    found: Flags = enough.all(axis=1) if request.spread else enough.any(axis=1)
    return found


def times(key: str, given: Sequence[str | float]) -> list[float]:
    """Read times that ascend, in seconds."""
    found = [TIME.parse(one) for one in given]
    if found != sorted(set(found)):
        raise UserError("must ascend", key=key, value=list(given), remedy="Give each time once, the shortest first.")
    return found
