"""Takes servers from a network one by one by learned scores, scoring again after every choice."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agents.networked import network_of, provisioned
from fabric.multi_server import begin, choose, filling
from fabric.network import NetworkView, Provisioned
from fabric.reachable_servers import allow, homes, narrow
from simcore.jit import prepared
from simcore.types import Agent, Refusal, Request, View


class Choosing(Agent):
    """Takes servers from a network one by one, each time the one with the largest score; equals go to the first.

    `mask` is "any" to choose from all servers that have anything free and are not chosen, or "feasible" for those that
    also have a working route to all chosen. Subclasses make themselves ready in `prepare`, and score in `scores`.
    """

    def __init__(self, mask: Literal["any", "feasible"] = "any") -> None:
        self.feasible = mask == "feasible"

    @abstractmethod
    def prepare(self, view: NetworkView, rng: np.random.Generator) -> None:
        """Make the agent ready, as `start` does, for a network."""

    @abstractmethod
    def scores(self, view: NetworkView, request: Request) -> npt.NDArray[Any]:
        """Return a score for every server, given `self.room`: what is chosen so far and still needed."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make the arrays to work in."""
        view = network_of(self, view)
        servers, nodes, resources = view.capacity.shape
        topology, routes = view.topology, view.routing.routes
        self.room = room = filling(view.routing, nodes, resources)
        self.allowed = np.zeros(servers, np.bool_)
        self._home, self._reach = homes(topology), np.zeros(topology.racks, np.bool_)
        self._refusals = [Refusal(f"no path: {tier}") for tier in topology.tiers]
        free, wires = view.free, view.link_free
        self._begin = prepared(begin, room, (1,) * resources)
        self._allow = prepared(allow, routes, free, wires, room, 1, self._reach, True, self.allowed)
        self._choose = prepared(choose, routes, wires, topology.link_tier, free, room, 1, 1, True)
        self._narrow = prepared(narrow, routes, self._home, wires, room, 1, 1, True, self._reach)
        self.prepare(view, rng)

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Take servers until the request is complete, or one has no route."""
        assert isinstance(view, NetworkView)
        self._begin(self.room, request.demand)
        self._reach[:] = True
        while self._may_choose(view, request, self.feasible):
            scores = np.where(self.allowed, self.scores(view, request), -np.inf)
            server = int(scores.argmax())
            status = self._take(view, request, server)
            if status:
                return self._refusals[-1 - status] if status < 0 else provisioned(self.room)
            if self.feasible:
                routes, bandwidth = view.routing.routes, request.bandwidth
                self._narrow(
                    routes, self._home, view.link_free, self.room, server, bandwidth, view.weighted, self._reach
                )
        if self.feasible and self._may_choose(view, request, False):  # tell for want of what
            return self._refusals[-1 - self._take(view, request, int(self.allowed.argmax()))]
        return None

    def _may_choose(self, view: NetworkView, request: Request, feasible: bool) -> bool:
        routes, bandwidth = view.routing.routes, request.bandwidth
        return self._allow(routes, view.free, view.link_free, self.room, bandwidth, self._reach, feasible, self.allowed)

    def _take(self, view: NetworkView, request: Request, server: int) -> int:
        routes, tiers = view.routing.routes, view.topology.link_tier
        return self._choose(
            routes, view.link_free, tiers, view.free, self.room, server, request.bandwidth, view.weighted
        )
