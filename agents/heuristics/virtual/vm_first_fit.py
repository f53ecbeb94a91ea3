"""Places the machines of a virtual network one after the other, each on the first server with room."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from agents.heuristics.virtual.common import NO_ROOM, connected, first_with_room, tenants_of, warm
from simcore.jit import kernel, prepared
from simcore.types import Agent, Embedding, Form, Ints, Refusal, Request, View


@kernel
def first_fit(free: Ints, machines: Ints, hosts: Ints) -> bool:
    """Write a node for every machine to `hosts` int64 [machines]; changes `free` int64 [nodes, resources], too."""
    node = 0
    for machine in range(len(machines)):
        alike = machine > 0 and (machines[machine] == machines[machine - 1]).all()
        node = first_with_room(free, machines[machine], node if alike else 0)
        if node < 0:
            return False
        free[node] -= machines[machine]
        hosts[machine] = node
    return True


class VMFirstFit(Agent):
    """Each machine on the first server with room, and first paths: a control that looks at no bandwidth."""

    reference = "first fit, as in Johnson 1973, Near-optimal bin packing algorithms; no published system"
    remembers = ()
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at the network."""
        self._view = view = tenants_of(self, view)
        if view.virtual:
            warm(view, view.virtual)
        free, none = view.free.reshape(-1, view.free.shape[2]).copy(), np.zeros(0, np.int64)
        prepared(first_fit, free, none.reshape(0, 1), none)

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        """Place every machine first-fit, if the links then have the bandwidth."""
        network = request.network
        assert network is not None
        hosts, free = np.zeros(len(network), np.int64), self._view.free.copy()
        if not first_fit(free.reshape(-1, free.shape[2]), network.machines, hosts):
            return NO_ROOM
        return connected(self._view, network, hosts)
