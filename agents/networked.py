"""Gives agents for networks the view that they need."""

from __future__ import annotations

from fabric.network import NetworkView
from simcore.errors import UserError
from simcore.vocabulary import Agent, View


def network_of(agent: Agent, view: View) -> NetworkView:
    """Return the view as one of a network; raises a `UserError` where the cluster has none."""
    if not isinstance(view, NetworkView):
        raise UserError(
            f"{type(agent).__name__} takes servers from a network, and this cluster has none",
            remedy="Give the cluster a network, or take another agent, such as best-fit.",
        )
    return view
