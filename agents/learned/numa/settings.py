"""Checks settings of trainers on NUMA servers, and which servers agents for two nodes can serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from binwright.agents import AGENTS
from binwright.agents.learned.numa.rollouts import compiled_agent
from binwright.simcore.errors import UserError
from binwright.simcore.options import by_name
from binwright.simcore.types import View


def _compiled(said: str | dict[str, Any]) -> str | dict[str, Any]:
    compiled_agent(said)
    return said


def _some(shares: tuple[float, ...]) -> tuple[float, ...]:
    if not shares:
        raise UserError("names no share", remedy="Give one or more, from 0 to less than 1: [0.0, 0.3].")
    return shares


WarmStarts: TypeAlias = Annotated[
    tuple[Annotated[float, Field(ge=0, lt=1)], ...], AfterValidator(_some), Field(json_schema_extra={"minItems": 1})
]
"""The shares of the cluster's first resource that are in use when an episode begins."""


class _OptionsOfAgents:
    """Says in a JSON schema which options each agent has."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), "properties": by_name(AGENTS)}


_WithOptions: TypeAlias = Annotated[dict[str, dict[str, Any]], Field(min_length=1, max_length=1), _OptionsOfAgents()]
CompiledAgent: TypeAlias = Annotated[str | _WithOptions, AfterValidator(_compiled)]
"""An agent that is one kernel: its name, or its name with options, {value-es: {weights: huawei-month}}."""


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
