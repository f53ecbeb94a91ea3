"""Gives agents for networks the view that they need, and makes their answers."""

from __future__ import annotations

from binwright.fabric.multi_server import Filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, View


def network_of(agent: Agent, view: View) -> NetworkView:
    """Return the view as one of a network; raises a `UserError` where the cluster has none."""
    if not isinstance(view, NetworkView):
        raise UserError(
            f"{type(agent).__name__} takes servers from a network, and this cluster has none",
            remedy="Give the cluster a network, or take another agent, such as best-fit.",
        )
    return view


def provisioned(room: Filling) -> Provisioned:
    """Return the placement that was filled into `room`."""
    servers, shares, links, _ = room.counts.tolist()
    chosen = room.servers[:servers].tolist()
    places, amounts = room.places[:shares].tolist(), room.amounts[:shares].tolist()
    given = tuple((server, node, tuple(part)) for (server, node), part in zip(places, amounts, strict=True))
    nothing = ((chosen[0], 0, (0,) * len(room.need)),)
    return Provisioned(given or nothing, tuple(room.links[:links].tolist()), tuple(chosen))
