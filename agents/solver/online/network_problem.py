"""State requests in networks as a problem: pieces of requests are balls, servers are bins.

The solver chooses servers. What they give and the links between them follow from the rules of `fabric.multi_server`.
"""

from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import NetworkAgent, one_by_one
from binwright.agents.solver.online.template import OneByOne, Online, Setup, exceeds, in_units
from binwright.fabric.multi_server import Filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.simcore.jit import kernel, lean, prepared
from binwright.simcore.types import Ints, Refusal, Request

PIECES = 16
"""What a request is cut into, of each resource."""


class Ordered(NamedTuple):
    """The servers to be filled, in this order; -1 behind them."""

    room: Filling
    order: Ints


@lean
def next_in_order(scratch: Ordered, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Return the server behind those that are chosen."""
    return int(scratch.order[scratch.room.counts[0]])


class InOrder(NetworkAgent):
    """Fills the servers of `order`, an array that is written before every decision."""

    rule = one_by_one(next_in_order)

    def scratch(self, view: NetworkView, room: Filling, rng: np.random.Generator) -> Ordered:
        self.order = np.full(len(view.free) + 1, -1)
        return Ordered(room, self.order)


class Connected(OneByOne):
    """Cuts each request into pieces of one resource, which are connected with one another."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        topology, pieces, amounts = view.topology, self.kinds * PIECES, view.capacity.sum(axis=1)
        racks, capacity = topology.rack_of.astype(np.int64), in_units(amounts)
        pods = topology.pod_of[racks].astype(np.int64)
        self.most = amounts.sum(axis=0).tolist()
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
            "DEMAND": np.full((pieces, self.kinds), in_units(max(self.most))),
        }
        sizes = self.sizes | {"RACKS": topology.racks, "PIECES": pieces}
        self.online = Online(setup, "fabric", sizes, fixed, varying, pieces, self.servers)
        self.reaching = prepared(reaching, view.routing.routes, view.link_free, 1, self.reach)
        self.filler = InOrder()
        self.filler.start(view, np.random.default_rng())  # nothing is drawn

    def answer(self, view: NetworkView, request: Request) -> Provisioned | Refusal | None:
        """Choose the servers of a request, and fill them as the cluster is now; None if they have not enough any more.

        Servers give what they can, which may be more than the pieces: those after it find less.
        """
        if exceeds(request, self.most) or request.bandwidth > self.widest:
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
        used = np.count_nonzero(counts)
        self.filler.order[:used] = np.argsort(-counts, kind="stable")[:used]
        self.filler.order[used] = -1
        return self.filler.decide(view, request)


@kernel
def reaching(routes: Routes, link_free: Ints, bandwidth: int, reach: Ints) -> None:
    """Write which racks have a path with the bandwidth between them, 0 or 1 in `reach` [racks, racks]."""
    for rack in range(len(reach)):
        for other in range(rack + 1):
            reachable = find_path(routes, link_free, rack, other, bandwidth) >= 0
            reach[rack, other] = reach[other, rack] = 1 if reachable else 0
