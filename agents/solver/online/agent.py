"""Ask the solver for decisions: requests become a problem, stated by a template and searched anew."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from binwright.agents.solver.online.jobs import Jobs
from binwright.agents.solver.online.network_problem import Connected
from binwright.agents.solver.online.template import Formulation, Online, Setup, in_units, power
from binwright.agents.solver.online.virtual import Virtual
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.fields import PositiveTime
from binwright.simcore.types import Agent, Form, Placement, Refusal, Request, View, part


class Servers(Formulation):
    """Answers requests on servers. Node n of a server is bin server * nodes + n.

    Several requests are one problem, in which as many as are found get a place.
    """

    def __init__(self, setup: Setup, view: View) -> None:
        super().__init__(setup, view)
        self.capacity = view.capacity.copy()
        self.total = view.capacity.sum(axis=(0, 1))
        self.most = view.capacity.sum(axis=1).max(axis=0)
        self.online = cache(self._online)
        self.online(1)  # what a single request needs is compiled at once

    def _online(self, balls: int) -> Online:
        capacity, most = in_units(self.capacity), in_units(self.most.max())
        varying = {
            "FREE": capacity,
            "DEMAND": np.full((balls, self.kinds), most),
            "PART": np.full((balls, self.nodes, self.kinds), most),
            "SPREAD": np.ones(balls, np.int64),
        }
        online = Online(self.setup, "numa", self.sizes, {}, varying, balls, self.servers * self.nodes)
        if len(online.problem.units) != balls:
            remedy = "Remove FRIENDS, or let requests be answered one by one."
            raise UserError("FRIENDS would join requests", file=self.setup.path, remedy=remedy)
        return online

    def answers(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Choose where requests go; those that get no place are left out."""
        requests = [request for request in requests if not (self.most < request.demand).any()]
        if not requests:
            return
        nodes, count = self.nodes, len(requests)
        online, these = self.online(power(count)), slice(count)
        demand = np.array([request.demand for request in requests], np.int64)
        online.write("FREE", view.free)
        online.write("DEMAND", demand, these)
        online.write("SPREAD", [request.spread for request in requests], these)
        if any(request.spread for request in requests):
            parts = [[part(request.demand, node, nodes) for node in range(nodes)] for request in requests]
            online.write("PART", parts, these)
        if count > 1:
            # A request is worth the shares of the cluster that it needs, times its rank from the line's end: by number
            # alone large requests would wait for ever.
            shares = (demand * 10**6 // np.maximum(self.total, 1)).sum(axis=1)
            online.worth[:count] = (1 + shares) * np.arange(count, 0, -1)
        bins = online.find(count)[:count].tolist()
        for request, place in zip(requests, bins, strict=True):
            if place >= 0:
                server, node = divmod(place, nodes)
                yield request, request.across(server, nodes) if request.spread else request.on(server, node)


class Solver(Agent):
    """Decides what the solver finds for a template in the allocation language.

    A line of requests for servers is one problem. `path` is a template of your own, and `params` are its parameters.
    `attempts` limits the search. With `slot`, a time, requests are jobs: it is planned, too, when they start, for that
    many `slots` ahead.
    """

    reference = "Rai, Bhagwan, Guha 2012, Generalized resource allocation for the cloud, SoCC; this use of it is ours"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")

    def __init__(
        self,
        path: str | None = None,
        attempts: Annotated[int, Field(ge=1, le=10_000)] = 32,
        params: dict[str, float] | None = None,
        slot: PositiveTime | None = None,
        slots: Annotated[int, Field(ge=1, le=256)] = 32,
    ) -> None:
        self._setup = Setup(path, dict(params or {}), attempts)
        self._slot, self._slots = slot, slots
        self.needs_lifetimes = slot is not None

    _formulation: Formulation

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Compile the template for this cluster."""
        self._setup.seed = int(rng.integers(2**62))
        self._formulation = self._for(view)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Return the cheapest answer that is found."""
        return next((answer for _, answer in self.decide_line(view, [request])), None)

    def decide_line(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement | Refusal]]:
        """Answer requests so that the fewest are left, and of such answers choose the cheapest."""
        if len(view.free) != self._formulation.servers:  # the cluster has grown
            before, self._formulation = self._formulation, self._for(view)
            if isinstance(before, Jobs) and isinstance(self._formulation, Jobs):
                self._formulation.running, self._formulation.plan = before.running, before.plan
        yield from self._formulation.answers(view, requests)

    def _for(self, view: View) -> Formulation:
        """Choose how requests become a problem on this cluster."""
        if self._slot is not None:
            return Jobs(self._setup, view, self._slot, self._slots)
        if not isinstance(view, NetworkView):
            return Servers(self._setup, view)
        return Virtual(self._setup, view) if view.virtual else Connected(self._setup, view)
