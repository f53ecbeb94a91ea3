"""Places where a request outlives least, and of such places where another agent says: NILAS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from agents.heuristics.lifetimes.exits import Exits
from agents.inner import inner
from fabric.network import NetworkView
from simcore.errors import UserError
from simcore.memory import named
from simcore.units import TIME
from simcore.vocabulary import Agent, Ints, Placement, Refusal, Request, View, part

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
        self.remembers = named(self.agent, "agent") if view.asking is None else None

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
        end, exits = view.now + request.duration, np.maximum(self._exits.look(view), view.now)
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
