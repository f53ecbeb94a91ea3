"""Checks which servers the agents for two NUMA nodes can serve."""

from __future__ import annotations

from pathlib import Path

from simcore.errors import UserError
from simcore.types import View

NODES = 2


def check_servers(view: View, agent: str) -> None:
    """Raise a `UserError` unless every server has two nodes with some of two resources each."""
    _, nodes, resources = view.capacity.shape
    if nodes != NODES or resources != 2 or (view.capacity == 0).any():
        said = f"{nodes} node{'s' * (nodes != 1)} and {resources} resource{'s' * (resources != 1)}"
        if nodes == NODES and resources == 2:
            said = "none of a resource on some node"
        raise UserError(
            f"{agent} is for servers of two NUMA nodes that have both of two resources; here they have {said}",
            key="agents",
            remedy="Take another agent, such as internal.",
        )


def check_size(agent: str, trained: object, there: int, file: Path | None) -> None:
    """Raise a `UserError` unless there are as many servers as a network that sees the whole cluster was trained for."""
    if trained != there:
        raise UserError(
            f"{agent} sees the whole cluster: these weights are for {trained} servers, and there are {there}",
            file=file,
            remedy=f"Give the cluster {trained} servers, train on {there} (`binwright train`), or take value-es.",
        )
