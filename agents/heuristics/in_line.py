"""Asks another agent for the requests that wait, in a certain order: In-line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np

from agents.nested_agent import inner
from simcore.agent_state import named
from simcore.errors import UserError, suggest
from simcore.types import Agent, Placement, Refusal, Request, View

Order = Literal["arrival", "longest", "random"]


class InLine(Agent):
    """Another agent is asked for the requests that wait, one after another, up to the first that gets no place.

    `agent` is its name, `options` are its own. `order` is that of arrival, the longest first, or random. With `passing`
    later ones may get a place where an earlier one gets none.
    """

    reference = "lists in order: Graham 1969, Bounds on multiprocessing timing anomalies (longest first)"

    def __init__(
        self,
        agent: str = "first-fit",
        order: Order = "arrival",
        passing: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        if order not in get_args(Order):
            raise UserError("unknown order", key="order", value=order, remedy=suggest(order, get_args(Order)))
        self.agent = inner(agent, options)
        self.order, self.passing, self.any_size = order, passing, self.agent.any_size
        self.needs_lifetimes = order == "longest" or self.agent.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent, with a random stream of its own."""
        self._rng, of_agent = rng.spawn(2)
        self.agent.start(view, of_agent)
        self.remembers = named(self.agent, "agent")

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent."""
        return self.agent.decide(view, request)

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        """Ask the agent for one request after another."""
        line = list(requests)
        if self.order == "longest":
            line.sort(key=lambda request: -request.duration)
        elif self.order == "random":
            line = [line[number] for number in self._rng.permutation(len(line)).tolist()]
        for request in line:
            answer = self.agent.decide(view, request)
            yield request, answer
            if not (self.passing or isinstance(answer, Placement)):
                return
