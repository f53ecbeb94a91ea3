"""Places the machines of a virtual network one after the other, each on any server with room."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from agents.heuristics.virtual.common import NO_ROOM, connected, has_room, tenants_of, warm
from simcore.jit import kernel, prepared
from simcore.types import Agent, Embedding, Floats, Form, Ints, Refusal, Request, View

TRIES = 32
"""Nodes drawn blindly for a machine, before those with room are counted: the odds are the same."""


@kernel
def random_fit(free: Ints, machines: Ints, draws: Floats, hosts: Ints) -> bool:
    """Write a node for every machine to `hosts` int64 [machines], all with room equally likely.

    `free` int64 [nodes, resources] is written, too; `draws` float64 [machines, TRIES + 1] in [0, 1).
    """
    able = np.empty(len(free), np.int64)
    for machine in range(len(machines)):
        node = -1
        for place in range(TRIES):
            drawn = int(draws[machine, place] * len(free))
            if has_room(free, machines[machine], drawn):
                node = drawn
                break
        if node < 0:
            count = 0
            for other in range(len(free)):
                if has_room(free, machines[machine], other):
                    able[count] = other
                    count += 1
            if count == 0:
                return False
            node = able[int(draws[machine, TRIES] * count)]
        free[node] -= machines[machine]
        hosts[machine] = node
    return True


class VMRandom(Agent):
    """Each machine on any server with room, and first paths: a control that looks at no bandwidth."""

    reference = "uniformly at random; no published system"
    remembers = ()
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at the network, and take the run's random stream."""
        self._view, self._rng = tenants_of(self, view), rng
        if self._view.virtual:
            warm(self._view, self._view.virtual)
        free, none = self._view.free.copy(), np.zeros(0, np.int64)
        prepared(random_fit, free.reshape(-1, free.shape[2]), none.reshape(0, 1), np.zeros((0, 1)), none)

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        """Place every machine on any server, if the links then have the bandwidth."""
        network = request.network
        assert network is not None
        hosts, free = np.zeros(len(network), np.int64), self._view.free.copy()
        draws = self._rng.random((len(network), TRIES + 1))
        if not random_fit(free.reshape(-1, free.shape[2]), network.machines, draws, hosts):
            return NO_ROOM
        return connected(self._view, network, hosts)
