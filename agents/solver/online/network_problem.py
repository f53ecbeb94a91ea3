"""State requests in networks as a problem: pieces of requests are balls, servers are bins.

The solver chooses servers. What they give and the links between them follow from the rules of `fabric.multi_server`.
"""

import numpy as np

from binwright.agents.heuristics.networks.common import provisioned
from binwright.agents.solver.online.template import Formulation, Online, Setup, in_units
from binwright.fabric.multi_server import COMPLETE, GOES_ON, Filling, begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Amounts, Ints, Request

PIECES = 16
"""What a request is cut into, of each resource."""


class Connected(Formulation):
    """Cuts each request into pieces of one resource, which are connected with one another."""

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
