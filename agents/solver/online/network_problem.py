"""State requests in networks as a problem: pieces of requests are balls, servers are bins.

The solver chooses servers. What they give and the links between them follow from the rules of `fabric.multi_server`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, one_by_one
from binwright.agents.solver.online.template import Formulation, Online, Setup, exceeds, in_units
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import Routes, find_path
from binwright.simcore.jit import kernel, lean, prepared
from binwright.simcore.types import Amounts, Ints, Refusal, Request

PIECES = 16
"""What a request is cut into, of each resource."""


class Ordered(NamedTuple):
    """The servers to be filled, in this order; -1 behind them."""

    network: Network
    order: Ints


@lean
def next_in_order(scratch: Ordered, free: Ints, link_free: Ints, bandwidth: int, weighted: bool, masked: bool) -> int:
    """Return the server behind those that are chosen."""
    return int(scratch.order[scratch.network.room.counts[0]])


class InOrder(NetworkAgent):
    """Fills the servers of `order`, an array that is written before every decision."""

    rule = one_by_one(next_in_order)

    def scratch(self, view: NetworkView, network: Network, rng: np.random.Generator) -> Ordered:
        self.order = np.full(len(view.free) + 1, -1)
        return Ordered(network, self.order)


class Connected(Formulation):
    """Cuts each request into pieces of one resource, which are connected with one another."""

    def __init__(self, setup: Setup, view: NetworkView) -> None:
        super().__init__(setup, view)
        topology = view.topology
        self.capacity = view.capacity.sum(axis=1)
        self.home = topology.rack_of.astype(np.int64)
        self.most = self.capacity.sum(axis=0).tolist()
        self.widest = max(1, int(topology.link_capacity.max(initial=0)))
        self.open, self.reach = np.ones(self.servers, np.int64), np.ones((topology.racks,) * 2, np.int64)
        self.online = self._online(topology.pod_of[self.home].astype(np.int64))
        self.reaching = prepared(reaching, view.routing.routes, view.link_free, 1, True, self.open, self.reach)
        self.filler = InOrder()
        self.filler.start(view, np.random.default_rng())  # nothing is drawn

    def _online(self, pod: Ints) -> Online:
        pieces, capacity = self.kinds * PIECES, in_units(self.capacity)
        largest = in_units(np.maximum(self.capacity.max(axis=0), 1))
        fixed = {"CAPACITY": capacity, "LARGEST": largest, "RACK": self.home, "POD": pod}
        varying = {
            "FREE": capacity,
            "WIRE": np.full(self.servers, in_units(self.widest)),
            "NEED": np.full(1, in_units(self.widest)),
            "OPEN": self.open[None],
            "REACH": self.reach[None],
            "DEMAND": np.full((pieces, self.kinds), in_units(max(self.most))),
        }
        sizes = self.sizes | {"RACKS": len(self.reach), "PIECES": pieces}
        return Online(self.setup, "fabric", sizes, fixed, varying, pieces, self.servers)

    def answer(self, view: NetworkView, request: Request) -> Provisioned | Refusal | None:
        """Choose the servers of a request, and fill them as the cluster is now; None if they have not enough any more.

        Servers give what they can, which may be more than the pieces: those after it find less.
        """
        if exceeds(request, self.most) or request.bandwidth > self.widest:
            return None
        servers = self._servers(view, request)
        if servers.min() < 0:
            return None
        # Those that take most pieces first: the request may be complete without the last ones.
        counts = np.bincount(servers, minlength=self.servers)
        used = np.count_nonzero(counts)
        self.filler.order[:used] = np.argsort(-counts, kind="stable")[:used]
        self.filler.order[used] = -1
        return self.filler.decide(view, request)

    def _servers(self, view: NetworkView, request: Request) -> Ints:
        """Find the servers of the pieces of a request [pieces], -1 for those that find none."""
        seed = self.setup.next_seed()  # taken without a search, too, so that those that follow are the same
        links, free = view.link_free, view.free.sum(axis=1)
        self.reaching(view.routing.routes, links, request.bandwidth, view.weighted, self.open, self.reach)
        if not may_hold(free, request.demand, self.home, self.open, self.reach):
            return np.full(1, -1)
        demand = np.array(request.demand)[:, None]
        share = demand // PIECES + (np.arange(PIECES) < demand % PIECES)
        cut = share[:, :, None] * np.eye(self.kinds, dtype=np.int64)[:, None]  # [kind, piece, kind]
        online = self.online
        online.write("OPEN", self.open)
        online.write("REACH", self.reach)
        online.write("FREE", free)
        online.write("WIRE", np.maximum(links[: self.servers], 0))
        online.write("NEED", request.bandwidth)
        online.write("DEMAND", cut.reshape(-1, self.kinds))
        return online.find(seed, self.setup.attempts, self.kinds * PIECES)


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
