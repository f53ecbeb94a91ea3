"""What agents share that place virtual networks: the view that they need, and what they compile ahead."""

from __future__ import annotations

import numpy as np

from binwright.agents.networked import network_of
from binwright.fabric.network import NetworkView
from binwright.fabric.virtual import hosed
from binwright.fabric.virtual_paths import route_pairs
from binwright.simcore.errors import UserError
from binwright.simcore.jit import prepared
from binwright.simcore.types import Agent, Form, View, VirtualNetwork


def tenants_of(agent: Agent, view: View) -> NetworkView:
    """Return the view of a network whose requests are virtual networks that the agent places, and refuse any other."""
    found = network_of(agent, view)
    if view.virtual not in agent.embeds:
        asked = f"virtual networks of the form {view.virtual}" if view.virtual else "no virtual networks"
        remedy = "Take an agent for such requests: `binwright list agents` lists them."
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
