"""State requests on servers with NUMA nodes as a problem: requests are balls, nodes of servers are bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from agents.solver.online.incremental import Online
from agents.solver.online.setup import Setup, Stated
from agents.solver.online.sizes import BySize, exceeds, in_units
from simcore.errors import UserError
from simcore.types import Ints, Placement, Request, View, part


class Servers:
    """Answers requests on servers. Node n of a server is bin server * nodes + n.

    Several requests are one problem, in which as many as are found get a place.
    """

    def __init__(self, setup: Setup, view: View) -> None:
        self.servers, self.nodes, self.kinds = view.capacity.shape
        self.setup, self.capacity = setup, view.capacity.copy()
        self.total = view.capacity.sum(axis=(0, 1))
        self.most = view.capacity.sum(axis=1).max(axis=0).tolist()
        self.online = BySize(self._online)

    def _online(self, balls: int) -> Online:
        nodes, kinds = self.nodes, self.kinds
        capacity = in_units(self.capacity)
        online = self.setup.online(
            Stated(
                "numa",
                {"SERVERS": self.servers, "NODES": nodes, "KINDS": kinds},
                {
                    "FREE": capacity,
                    "CAPACITY": capacity,
                    "DEMAND": np.zeros((balls, kinds)),
                    "PART": np.zeros((balls, nodes, kinds)),
                    "SPREAD": np.zeros(balls, np.int64),
                },
                {"FREE": int(self.capacity.max()), "DEMAND": max(self.most), "PART": max(self.most), "SPREAD": 1},
                balls=balls,
                bins=self.servers * nodes,
            )
        )
        if len(online.problem.units) != balls:
            remedy = "Remove FRIENDS, or let requests be answered one by one."
            raise UserError("FRIENDS would join requests", file=self.setup.path, remedy=remedy)
        return online

    def answers(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Choose where requests go; those that get no place are left out."""
        asked = [one for one in requests if not exceeds(one, self.most)]
        if not asked:
            return
        setup, nodes, count = self.setup, self.nodes, len(asked)
        online, these = self.online(count), slice(count)
        online.write("FREE", view.free)
        online.write("DEMAND", [one.demand for one in asked], these)
        online.write("SPREAD", [one.spread for one in asked], these)
        if any(one.spread for one in asked):
            parts = [[part(one.demand, node, nodes) for node in range(nodes)] for one in asked]
            online.write("PART", parts, these)
        if count > 1:
            online.value(self._worth(asked))
        found = online.find(setup.next_seed(), setup.attempts, setup.deadline, count)
        for one, place in zip(asked, found[:count].tolist(), strict=True):
            if place >= 0:
                server, node = divmod(place, nodes)
                yield one, one.across(server, nodes) if one.spread else one.on(server, node)

    def _worth(self, asked: Sequence[Request]) -> Ints:
        """Compute what a place is worth, int64 [requests].

        It is the shares of the cluster that a request needs, times its rank from the line's end: by number alone large
        requests would wait for ever.
        """
        demand = np.array([one.demand for one in asked], np.int64)
        shares = (demand * 10**6 // np.maximum(self.total, 1)).sum(axis=1)
        worth: Ints = (1 + shares) * np.arange(len(asked), 0, -1)
        return worth
