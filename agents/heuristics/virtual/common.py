"""Makes the answers of agents that place virtual networks, machine by machine."""

from __future__ import annotations

import numpy as np

from agents.networked import network_of
from fabric.network import NetworkView
from fabric.virtual import hosed, routed
from fabric.virtual_paths import route_pairs
from simcore.errors import UserError
from simcore.jit import kernel, prepared
from simcore.types import Agent, Embedding, Form, Ints, Refusal, View, VirtualNetwork

NO_ROOM, NO_PATHS = Refusal("no servers have the room"), Refusal("no paths have the bandwidth")


def tenants_of(agent: Agent, view: View) -> NetworkView:
    """Return the view of a network whose requests are virtual networks that the agent places, and refuse any other."""
    found = network_of(agent, view)
    if view.virtual not in agent.embeds:
        asked = f"virtual networks of the form {view.virtual}" if view.virtual else "no virtual networks"
        remedy = "Take an agent for such requests: `binwright agents` lists them."
        raise UserError(
            f"places virtual networks ({', '.join(agent.embeds)}), and requests here are {asked}", remedy=remedy
        )
    return found


def warm(view: NetworkView, form: Form) -> None:
    """Compile what `connected` and its like need, so that no decision waits for it."""
    two = np.zeros(2, np.int64)
    if form == "hose":
        hosed(view.topology, VirtualNetwork(np.zeros((2, view.free.shape[2]), np.int64), hose=1), two, 1)
    else:
        prepared(route_pairs, view.routing.routes, view.link_free.copy(), two, two.reshape(1, 2), two, two, False)


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
