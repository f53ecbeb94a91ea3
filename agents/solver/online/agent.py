"""Ask the solver for decisions: requests become a problem, stated by a template and searched anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from binwright.agents.nested_agent import inner
from binwright.agents.solver.online.explore import Online
from binwright.agents.solver.online.jobs import Jobs
from binwright.agents.solver.online.network_problem import Connected
from binwright.agents.solver.online.template import Setup, by_size, exceeds, in_units
from binwright.agents.solver.online.virtual import Virtual
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Form, Placement, Refusal, Request, View, part
from binwright.simcore.units import TIME


class Servers:
    """Answers requests on servers. Node n of a server is bin server * nodes + n.

    Several requests are one problem, in which as many as are found get a place.
    """

    def __init__(self, setup: Setup, view: View) -> None:
        self.servers, self.nodes, self.kinds = view.capacity.shape
        self.setup, self.capacity = setup, view.capacity.copy()
        self.total = view.capacity.sum(axis=(0, 1))
        self.most = view.capacity.sum(axis=1).max(axis=0).tolist()
        self.online = by_size(self._online)

    def _online(self, balls: int) -> Online:
        nodes, kinds = self.nodes, self.kinds
        capacity, most = in_units(self.capacity), in_units(max(self.most))
        sizes = {"SERVERS": self.servers, "NODES": nodes, "KINDS": kinds}
        varying = {
            "FREE": capacity,
            "DEMAND": np.full((balls, kinds), most),
            "PART": np.full((balls, nodes, kinds), most),
            "SPREAD": np.ones(balls, np.int64),
        }
        online = Online(self.setup, "numa", sizes, {"CAPACITY": capacity}, varying, balls, self.servers * nodes)
        if len(online.problem.units) != balls:
            remedy = "Remove FRIENDS, or let requests be answered one by one."
            raise UserError("FRIENDS would join requests", file=self.setup.path, remedy=remedy)
        return online

    def answers(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Choose where requests go; those that get no place are left out."""
        requests = [request for request in requests if not exceeds(request, self.most)]
        if not requests:
            return
        setup, nodes, count = self.setup, self.nodes, len(requests)
        online, these = self.online(count), slice(count)
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
            online.value((1 + shares) * np.arange(count, 0, -1))
        bins = online.find(setup.next_seed(), setup.attempts, setup.deadline, count)[:count].tolist()
        for request, place in zip(requests, bins, strict=True):
            if place >= 0:
                server, node = divmod(place, nodes)
                yield request, request.across(server, nodes) if request.spread else request.on(server, node)


class Model(Protocol):
    """Turns requests into a problem: `Servers`, `Connected`, `Virtual` or `Jobs`. The view is of the kind it is for."""

    servers: int

    def answers(self, view: Any, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement | Refusal]]: ...


MOST = {"attempts": 10_000, "pieces": 10_000, "slots": 256, "balls": 2}
"""Of options."""


class Solver(Agent):
    """Decides what the solver finds for a template in the allocation language; a line of requests is one problem.

    `path` is a template of your own. `attempts` limits the search, and so does `deadline`, with which results depend on
    the machine. `pieces` of each resource are what a request in a network is cut into. `params` are the template's.
    `fallback` is another agent, a name or {name: {option: value}}, that is asked where nothing is found. With `slot`, a
    time, requests are jobs: it is planned, too, when they start, for that many `slots` ahead.
    """

    reference = "Rai, Bhagwan, Guha 2012, Generalized resource allocation for the cloud, SoCC; this use of it is ours"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")

    def __init__(
        self,
        path: str | None = None,
        attempts: int = 32,
        deadline: float | str | None = None,
        pieces: int = 16,
        params: dict[str, float] | None = None,
        fallback: str | dict[str, Any] | None = None,
        slot: float | str | None = None,
        slots: int = 32,
        balls: int = 1,
    ) -> None:
        for (key, most), value in zip(MOST.items(), (attempts, pieces, slots, balls), strict=True):
            if not 1 <= value <= most:
                raise UserError("is out of range", key=key, value=value, remedy=f"Give 1 to {most:,}.")
        self._setup = Setup(path, dict(params or {}), attempts, _time("deadline", deadline), pieces, balls)
        self._slot, self._slots = _time("slot", slot), slots
        if self._slot is not None and (not self._slot or fallback is not None):
            remedy = "Give a time above 0, and no fallback: who gets no place now waits for its slot."
            raise UserError("unknown plan", key="slot", value=slot, remedy=remedy)
        self._fallback: Agent | None = None
        if isinstance(fallback, dict) and len(fallback) != 1:
            remedy = "Write a name, or {name: {option: value}}."
            raise UserError("is not an agent", key="fallback", value=fallback, remedy=remedy)
        if fallback is not None:
            [(name, options)] = fallback.items() if isinstance(fallback, dict) else [(fallback, {})]
            self._fallback = inner(name, options, ("fallback", "fallback"))
        self.needs_lifetimes = self._slot is not None or (self._fallback is not None and self._fallback.needs_lifetimes)

    _model: Model

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Compile the template for this cluster."""
        self._setup.seed = int(rng.integers(2**62))
        self._model = self._for(view)
        if self._fallback is not None:
            if view.virtual and view.virtual not in self._fallback.embeds:
                name = type(self._fallback).__name__
                problem = f"{name} does not place virtual networks of this form ({view.virtual})"
                raise UserError(problem, key="fallback", remedy="Take an agent that places them, or none.")
            self._fallback.start(view, rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Return the cheapest answer that is found, or what the fallback says."""
        return next((answer for _, answer in self.decide_line(view, [request])), None)

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        """Answer requests so that the fewest are left, and of such answers choose the cheapest.

        The fallback answers those that are left.
        """
        if len(view.free) != self._model.servers:  # the cluster has grown
            before, self._model = self._model, self._for(view)
            if isinstance(before, Jobs) and isinstance(self._model, Jobs):
                self._model.running, self._model.plan = before.running, before.plan
        left = list(requests)
        for request, answer in self._model.answers(view, requests):
            left.remove(request)
            yield request, answer
        if self._fallback is not None:
            for request in left:
                yield request, self._fallback.decide(view, request)

    def _for(self, view: View) -> Model:
        """Choose how requests become a problem on this cluster."""
        if self._slot is not None:
            return Jobs(self._setup, view, self._slot, self._slots)
        if not isinstance(view, NetworkView):
            return Servers(self._setup, view)
        return Virtual(self._setup, view) if view.virtual else Connected(self._setup, view)


def _time(key: str, value: float | str | None) -> float | None:
    try:
        return None if value is None else TIME.parse(value)
    except UserError as error:
        raise UserError(error.problem, key=key, value=value, remedy=error.remedy) from None
