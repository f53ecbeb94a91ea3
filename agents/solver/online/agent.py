"""Ask the solver for decisions: requests become a problem, stated by a template and searched anew."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from binwright.agents.heuristics.networks.common import provisioned
from binwright.agents.solver.online.jobs import Jobs
from binwright.agents.solver.online.template import Formulation, Online, Setup, in_units, power
from binwright.agents.solver.online.virtual import Virtual
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.simcore.errors import UserError
from binwright.simcore.fields import PositiveTime
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Agent, Amounts, Form, Ints, Placement, Refusal, Request, View, part

PIECES = 16
"""What a request in a network is cut into, of each resource."""


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
        # A request is worth the shares of the cluster that it needs, times its rank from the line's end: by number
        # alone large requests would wait for ever.
        shares = (demand * 10**6 // np.maximum(self.total, 1)).sum(axis=1)
        online.worth[:count] = (1 + shares) * np.arange(count, 0, -1)
        bins = online.find(count)[:count].tolist()
        for request, place in zip(requests, bins, strict=True):
            if place >= 0:
                server, node = divmod(place, nodes)
                yield request, request.across(server, nodes) if request.spread else request.on(server, node)


class Connected(Formulation):
    """Cuts each request in a network into pieces of one resource, which are connected: these are balls, servers bins.

    What servers give, and the links between them, follow from the rules of `fabric.multi_server`.
    """

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        topology, pieces, amounts = view.topology, self.kinds * PIECES, view.capacity.sum(axis=1)
        racks, capacity = topology.rack_of.astype(np.int64), in_units(amounts)
        pods = topology.pod_of[racks].astype(np.int64)
        self.most = amounts.sum(axis=0)
        self.widest = max(1, int(topology.link_capacity.max(initial=0)))
        self.reach = np.ones((topology.racks,) * 2, np.int64)
        largest = in_units(np.maximum(amounts.max(axis=0), 1))
        fixed = {"LARGEST": largest, "RACK": racks, "POD": pods}
        varying = {
            "FREE": capacity,
            "WIRE": np.full(self.servers, in_units(self.widest)),
            "NEED": np.full(1, in_units(self.widest)),
            "OPEN": np.ones((1, self.servers), np.int64),
            "REACH": self.reach[None],
            "DEMAND": np.full((pieces, self.kinds), in_units(self.most.max())),
        }
        sizes = self.sizes | {"RACKS": topology.racks, "PIECES": pieces}
        self.online = Online(setup, "fabric", sizes, fixed, varying, pieces, self.servers)
        self.reaching = prepared(reaching, view.routing.routes, view.link_free, 1, self.reach)
        self.room = filling(view.routing, view.free.shape[1], self.kinds)
        demand, order = (1,) * self.kinds, np.zeros(1, np.int64)
        self.filling = prepared(fill, self.room, view.free, view.link_free, demand, 1, order)

    def answer(self, view: NetworkView, request: Request) -> Provisioned | None:
        """Choose the servers of a request, and fill them as the cluster is now; None if they have not enough any more.

        Servers give what they can, which may be more than the pieces: those after it find less.
        """
        if (self.most < request.demand).any() or request.bandwidth > self.widest:
            return None
        links, online = view.link_free[: self.servers], self.online
        self.reaching(view.routing.routes, view.link_free, request.bandwidth, self.reach)
        demand = np.array(request.demand)[:, None]
        share = demand // PIECES + (np.arange(PIECES) < demand % PIECES)
        cut = share[:, :, None] * np.eye(self.kinds, dtype=np.int64)[:, None]  # [kind, piece, kind]
        online.write("OPEN", links >= request.bandwidth)
        online.write("REACH", self.reach)
        online.write("FREE", view.free.sum(axis=1))
        online.write("WIRE", np.maximum(links, 0))
        online.write("NEED", request.bandwidth)
        online.write("DEMAND", cut.reshape(-1, self.kinds))
        servers = online.find(self.kinds * PIECES)
        if servers.min() < 0:
            return None
        # Those that take most pieces first: the request may be complete without the last ones.
        counts = np.bincount(servers, minlength=self.servers)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        status = self.filling(self.room, view.free, view.link_free, request.demand, request.bandwidth, order)
        return provisioned(self.room) if status == COMPLETE else None


@kernel
def fill(room: Filling, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, servers: Ints) -> int:
    """Take these servers in order until the request is complete; returns what `choose` does."""
    begin(room, demand)
    status = GOES_ON
    for server in servers:
        if status == GOES_ON:
            status = choose(room, free, link_free, server, bandwidth)
    return status


@kernel
def reaching(routes: Routes, link_free: Ints, bandwidth: int, reach: Ints) -> None:
    """Write which racks have a path with the bandwidth between them, 0 or 1 in `reach` [racks, racks]."""
    for rack in range(len(reach)):
        for other in range(rack + 1):
            reachable = find_path(routes, link_free, rack, other, bandwidth) >= 0
            reach[rack, other] = reach[other, rack] = 1 if reachable else 0


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
