"""Places the machines of a virtual network one after the other: each on the first server with room, or on any."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from binwright.agents.heuristics.virtual.common import tenants_of, warm
from binwright.fabric.network import NetworkView
from binwright.fabric.virtual import hosed, routed
from binwright.fabric.virtual_paths import route_pairs
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Agent, Embedding, Floats, Form, Ints, Refusal, Request, View, VirtualNetwork

NO_ROOM, NO_PATHS = Refusal("no servers have the room"), Refusal("no paths have the bandwidth")
TRIES = 32
"""Nodes drawn blindly for a machine, before those with room are counted: the odds are the same."""


@kernel
def first_with_room(free: Ints, machine: Ints, start: int) -> int:
    """Return the first node from `start` on that this machine fits, `free` int64 [nodes, resources]; -1 for none."""
    for node in range(start, len(free)):
        if has_room(free, machine, node):
            return node
    return -1


@kernel
def has_room(free: Ints, machine: Ints, node: int) -> bool:
    """Tell whether this machine fits on this node."""
    fits = True
    for r in range(len(machine)):
        fits = fits and free[node, r] >= machine[r]
    return fits


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


def connected(view: NetworkView, network: VirtualNetwork, hosts: Ints) -> Embedding | Refusal:
    """Return the answer with machines on these nodes, along the first paths with the bandwidth, pair by pair."""
    nodes = view.free.shape[1]
    if network.form == "hose":
        answer = hosed(view.topology, network, hosts, nodes)
        fits = (view.link_free[list(answer.links)] >= answer.amounts).all()
        return answer if fits else NO_PATHS
    assert network.pairs is not None
    assert network.rates is not None
    order, left = np.arange(len(network.pairs)), view.link_free.copy()
    lacking, first, links = route_pairs(
        view.routing.routes, left, hosts // nodes, network.pairs, network.rates, order, False
    )
    return routed(network, hosts, nodes, first, links) if lacking < 0 else NO_PATHS


class VMFirstFit(Agent):
    """Each machine on the first server with room, and first paths: a control that looks at no bandwidth."""

    reference = "first fit, as in Johnson 1973, Near-optimal bin packing algorithms; no published system"
    embeds: ClassVar[tuple[Form, ...]] = ("pairs", "hose")
    rule: Any = staticmethod(first_fit)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Look at the network, and take the run's random stream."""
        self._view, self._rng = tenants_of(self, view), rng
        if self._view.virtual:
            warm(self._view, self._view.virtual)
        free, none = self._view.free.copy(), np.zeros(0, np.int64)
        prepared(self.rule, free.reshape(-1, free.shape[2]), none.reshape(0, 1), *self.draws(0), none)

    def draws(self, machines: int) -> tuple[Floats, ...]:
        """Return the random numbers that the rule wants for so many machines, if any."""
        return ()

    def decide(self, view: View, request: Request) -> Embedding | Refusal:
        """Place every machine, if the links then have the bandwidth."""
        network = request.network
        assert network is not None
        hosts, free = np.zeros(len(network), np.int64), self._view.free.copy()
        if not self.rule(free.reshape(-1, free.shape[2]), network.machines, *self.draws(len(network)), hosts):
            return NO_ROOM
        return connected(self._view, network, hosts)


class VMRandom(VMFirstFit):
    """Each machine on any server with room, and first paths: a control that looks at no bandwidth."""

    reference = "uniformly at random; no published system"
    rule: Any = staticmethod(random_fit)

    def draws(self, machines: int) -> tuple[Floats, ...]:
        """Draw numbers in [0, 1)."""
        return (self._rng.random((machines, TRIES + 1)),)
