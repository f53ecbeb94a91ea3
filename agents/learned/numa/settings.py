"""Types for the settings of trainers on NUMA servers, checked where a scenario gives them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field

from agents.learned.numa.rollouts import compiled_agent
from simcore.errors import UserError


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
_WithOptions: TypeAlias = Annotated[dict[str, dict[str, Any]], Field(min_length=1, max_length=1)]
CompiledAgent: TypeAlias = Annotated[str | _WithOptions, AfterValidator(_compiled)]
"""An agent that is one kernel: its name, or its name with options, {value-es: {weights: huawei-month}}."""
