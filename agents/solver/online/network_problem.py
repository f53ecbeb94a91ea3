"""State requests in networks as a problem: pieces of requests are balls, servers are bins.

The solver chooses servers. What they give and the links between them follow from the rules of `fabric.multi_server`.
"""

from __future__ import annotations

import numpy as np

from binwright.agents.solver.online.explore import Online
from binwright.agents.solver.online.template import Formulation, Setup, exceeds, in_units
from binwright.fabric.multi_server import begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Amounts, Ints, Refusal, Request

PIECES = 16
"""What a request is cut into, of each resource."""


class Connected(Formulation):
    """Cuts each request into pieces of one resource, which are connected with one another."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        topology = view.topology
        self.pieces = self.kinds * PIECES
        self.capacity = view.capacity.sum(axis=1)
        self.home = topology.rack_of.astype(np.int64)
        self.pod = topology.pod_of[self.home].astype(np.int64)
        self.most = self.capacity.sum(axis=0).tolist()
        self.widest = max(1, int(topology.link_capacity.max(initial=0)))
        self.open, self.reach = np.ones(self.servers, np.int64), np.ones((topology.racks,) * 2, np.int64)
        self.online = self._online()
        self.room = room = filling(view.routing, self.nodes, self.kinds)
        self.refusals = [Refusal(f"no path: {tier}") for tier in topology.tiers]
        routes, links = view.routing.routes, view.link_free
        self.reaching = prepared(reaching, routes, links, 1, True, self.open, self.reach)
        self.begin = prepared(begin, room, (1,) * self.kinds)
        self.choose = prepared(choose, routes, links, topology.link_tier, view.free, room, 1, 1, True)

    def _online(self) -> Online:
        capacity, racks = in_units(self.capacity), len(self.reach)
        sizes = {"SERVERS": self.servers, "RACKS": racks, "KINDS": self.kinds, "PIECES": self.pieces}
        largest = in_units(np.maximum(self.capacity.max(axis=0), 1))
        fixed = {"CAPACITY": capacity, "LARGEST": largest, "RACK": self.home, "POD": self.pod}
        varying = {
            "FREE": capacity,
            "WIRE": np.full(self.servers, in_units(self.widest)),
            "NEED": np.full(1, in_units(self.widest)),
            "OPEN": self.open[None],
            "REACH": self.reach[None],
            "DEMAND": np.full((self.pieces, self.kinds), in_units(max(self.most))),
        }
        return Online(self.setup, "fabric", sizes, fixed, varying, self.pieces, self.servers)

    def answer(self, view: NetworkView, request: Request) -> Provisioned | Refusal | None:
        """Choose the servers of a request, and fill them."""
        if exceeds(request, self.most) or request.bandwidth > self.widest:
            return None
        servers = self._servers(view, request)
        return None if servers is None else self._filled(view, request, servers)

    def _servers(self, view: NetworkView, request: Request) -> Ints | None:
        """Find the servers of the pieces of a request [pieces]."""
        seed = self.setup.next_seed()  # taken without a search, too, so that those that follow are the same
        links, free = view.link_free, view.free.sum(axis=1)
        self.reaching(view.routing.routes, links, request.bandwidth, view.weighted, self.open, self.reach)
        if not may_hold(free, request.demand, self.home, self.open, self.reach):
            return None
        cut = np.zeros((self.kinds, PIECES, self.kinds), np.int64)
        for r, amount in enumerate(request.demand):
            each, odd = divmod(amount, PIECES)
            cut[r, :, r] = each
            cut[r, :odd, r] += 1
        online = self.online
        online.write("OPEN", self.open)
        online.write("REACH", self.reach)
        online.write("FREE", free)
        online.write("WIRE", np.maximum(links[: self.servers], 0))
        online.write("NEED", request.bandwidth)
        online.write("DEMAND", cut.reshape(-1, self.kinds))
        servers = online.find(seed, self.setup.attempts, self.pieces)
        return servers if servers.min() >= 0 else None

    def _filled(self, view: NetworkView, request: Request, servers: Ints) -> Provisioned | Refusal | None:
        """Fill the servers of the pieces, as the cluster is now; None if they have not enough any more.

        Servers give what they can, which may be more than the pieces: those after it find less.
        """
        self.begin(self.room, request.demand)
        # Those that take most pieces first: the request may be complete without the last ones.
        counts = np.bincount(servers, minlength=self.servers)
        routes, links, tier = view.routing.routes, view.link_free, view.topology.link_tier
        for server in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
            status = self.choose(routes, links, tier, view.free, self.room, server, request.bandwidth, view.weighted)
            if status < 0:
                return self.refusals[-1 - status]
            if status:
                return self._placement()
        return None

    def _placement(self) -> Provisioned:
        room = self.room
        servers, shares, links, _ = room.counts.tolist()
        chosen = room.servers[:servers].tolist()
        places, amounts = room.places[:shares].tolist(), room.amounts[:shares].tolist()
        taken = tuple((server, node, tuple(each)) for (server, node), each in zip(places, amounts, strict=True))
        nothing = ((chosen[0], 0, (0,) * self.kinds),)
        return Provisioned(taken or nothing, tuple(room.links[:links].tolist()), tuple(chosen))


@kernel
def reaching(routes: Routes, link_free: Ints, bandwidth: int, weighted: bool, open_: Ints, reach: Ints) -> None:
    """Write which servers' own links have the bandwidth, and which racks have a path between them.

    These are `open_` [servers] and `reach` [racks, racks].
    """
    for server in range(len(open_)):
        open_[server] = 1 if link_free[server] >= bandwidth else 0
    for rack in range(len(reach)):
        for other in range(rack + 1):
            reachable = find_path(routes, link_free, rack, other, bandwidth, weighted) >= 0
            reach[rack, other] = reach[other, rack] = 1 if reachable else 0


def may_hold(free: Ints, demand: Amounts, home: Ints, opens: Ints, reach: Ints) -> bool:
    """Tell whether one server, or those around one rack together, may hold a demand; where none may, no search helps.

    `free` is [servers, kinds], `home` [servers] is the rack; `opens` and `reach` are as `reaching` writes them.
    """
    if (free >= demand).all(axis=1).any():
        return True
    racks = np.zeros((len(reach), len(demand)), np.int64)
    np.add.at(racks, home, free * opens[:, None])
    return bool((reach @ racks >= demand).all(axis=1).any())
