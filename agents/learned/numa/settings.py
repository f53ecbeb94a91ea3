"""Types for the settings of trainers on NUMA servers, checked where a scenario gives them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from agents.learned.numa.rollouts import compiled_agent
from simcore.errors import UserError


def _compiled(name: str) -> str:
    compiled_agent(name)
    return name


def _some(shares: tuple[float, ...]) -> tuple[float, ...]:
    if not shares:
        raise UserError("names no share", remedy="Give one or more, from 0 to less than 1: [0.0, 0.3].")
    return shares


WarmStarts: TypeAlias = Annotated[
    tuple[Annotated[float, Field(ge=0, lt=1)], ...], AfterValidator(_some), Field(json_schema_extra={"minItems": 1})
]
"""The shares of the cluster's first resource that are in use when an episode begins."""
CompiledAgent: TypeAlias = Annotated[str, AfterValidator(_compiled)]
"""The name of an agent that is one kernel."""
