"""The schema of one entry of `agents:`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, WithJsonSchema

from agents import AGENTS
from scenarios.fields import Model, Shown, Text, checked, wrong
from scenarios.options import check_options
from simcore.errors import suggest
from simcore.vocabulary import Agent


class AgentSpec(Model):
    """An agent and its options. Short forms: `best-fit`, and `{best-fit: {node: loose}}`."""

    name: Text = Field(
        description="A registered name, `package.module:Class`, or `file.py:Class` relative to this file.",
        examples=["best-fit"],
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the agent's constructor.", examples=["{node: loose}"]
    )
    label: Text = Field(
        default="",
        description="What tables and figures call it; by default the name and its options, as in "
        "`best-fit(node=loose)`.",
        examples=["loose"],
    )

    @classmethod
    def prepare(cls, data: Any) -> Any:
        at_name: tuple[str, ...] = ()
        at_options: tuple[str, ...] = ()
        if isinstance(data, str):
            data = {"name": data}
        elif isinstance(data, Mapping) and "name" in data:
            at_name, at_options = ("name",), ("options",)
        elif isinstance(data, Mapping) and len(data) == 1:
            [(name, options)] = data.items()
            at_name = at_options = (name,)
            data = {"name": name, "options": options}
        else:
            raise wrong("is no agent", "Write a name, or {name: {option: value}}.")
        name, options = data["name"], data.get("options") or {}
        if not isinstance(name, str):
            raise wrong("is no agent", "Write a name, or {name: {option: value}}.", at_name)
        if ":" not in name and name not in AGENTS:
            raise wrong("unknown agent", suggest(name, AGENTS), at_name, name)
        if options or ":" in name:
            # Only here the class is imported: validating plain names stays fast.
            check_options(_load(name, at_name), options, at_options)
            data = {"label": _label(name, options), **data, "options": options}
        return {"label": name, **data}


def _load(name: str, at: tuple[str, ...]) -> type[Agent]:
    found = checked(AGENTS.load, at)(name)
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise wrong("is no agent", "Name a subclass of simcore.vocabulary.Agent.", at, name)
    return found


def _label(name: str, options: Mapping[str, Any]) -> str:
    short = Path(name).name
    return f"{short}({', '.join(f'{key}={value}' for key, value in options.items())})" if options else short


AgentEntry: TypeAlias = Annotated[
    AgentSpec,
    WithJsonSchema(
        {
            "description": "A name, {name: {options}}, or a mapping with name, options and label.",
            "anyOf": [
                {"enum": list(AGENTS)},
                {"type": "string", "pattern": r".+:\w+", "description": "package.module:Class or file.py:Class"},
                {"type": "object", "minProperties": 1},
            ],
        }
    ),
    Shown("name, {name: {option: value}}, or [AgentSpec](#agentspec)"),
]
