"""Takes the cheapest of several candidates, in one compiled call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from binwright.agents.heuristics.candidates.observation import forget, sight
from binwright.agents.heuristics.candidates.search import place
from binwright.agents.networked import network_of, provisioned
from binwright.fabric.multi_server import COMPLETE
from binwright.fabric.network import NetworkView, Provisioned
from binwright.simcore.jit import prepared
from binwright.simcore.types import Agent, Refusal, Request, View


class CheapestCandidate(Agent):
    """Makes a placement for every rack as home in each of four styles, and takes the cheapest.

    It costs what the tuned best-home's placements cost, and more where the request will outlast what a server holds.
    With `choice: random` it takes any of the candidates: a control.
    """

    reference = "ours: the page 'Agents' has the rule"
    needs_lifetimes = True

    def __init__(self, choice: Literal["cheapest", "random"] = "cheapest") -> None:
        self._random = choice == "random"

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make room to work in."""
        view = network_of(self, view)
        self._rng, self._sight = rng, sight(view)
        self._refusals = [Refusal(f"no path: {tier}") for tier in view.topology.tiers]
        self._demand: Any = np.zeros(len(view.resources), np.int64)
        seen = view.free, view.link_free, self._demand
        self._place = prepared(place, self._sight, *seen, 1, 0.0, 1.0, False)
        self._forget = prepared(forget, self._sight, view.free, view.capacity)

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        assert isinstance(view, NetworkView)
        if self._random:
            self._sight.lots[:] = 1e9 * self._rng.random(self._sight.lots.shape)
        self._forget(self._sight, view.free, view.capacity)  # what a failure interrupted has not left at its end
        self._demand[:] = request.demand
        status = self._place(
            self._sight,
            view.free,
            view.link_free,
            self._demand,
            request.bandwidth,
            view.now,
            request.duration,
            view.weighted,
        )
        if status == COMPLETE:
            return provisioned(self._sight.room)
        return self._refusals[-1 - status] if status < 0 else None
