"""What the settings of trainers may be: types of their fields, which are checked where a scenario gives them."""

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


Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
CountFromZero: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
WarmStarts: TypeAlias = Annotated[tuple[Annotated[float, Field(ge=0, lt=1)], ...], AfterValidator(_some)]
CompiledAgent: TypeAlias = Annotated[str, AfterValidator(_compiled)]
"""The name of an agent that is one kernel."""
