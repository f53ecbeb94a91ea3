"""Makes the agent that an option of another one names."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

from binwright.agents import AGENTS
from binwright.simcore.errors import UnknownName, UserError
from binwright.simcore.types import Agent


def inner(name: str, options: Mapping[str, Any] | None) -> Agent:
    """Make the agent of that name, with these options; a mistake is reported under `agent` or `options`."""
    try:
        kind = AGENTS.load(name)
    except UnknownName as error:
        raise UserError(error.problem, key="agent", value=name, remedy=error.remedy) from None
    try:
        signature(kind).bind(**(options or {}))
    except TypeError as error:
        known = ", ".join(signature(kind).parameters) or "none"
        raise UserError(f"{name}: {error}", key="options", value=options, remedy=f"Options: {known}.") from None
    made: Agent = kind(**(options or {}))
    return made
