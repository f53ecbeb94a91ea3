"""One entry of `agents:`: an agent and its options."""

import re
from collections.abc import Mapping
from inspect import getsourcefile, getsourcelines
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from binwright.agents import AGENTS
from binwright.simcore.agent_calls import WRITE_DECIDE
from binwright.simcore.errors import UserError, from_working_folder
from binwright.simcore.fields import Model, Shown, Text, wrong
from binwright.simcore.options import check_options
from binwright.simcore.types import Agent


class AgentSpec(Model):
    """An agent and its options. Short forms: `best-fit`, and `{best-fit: {node: loose}}`."""

    name: Text = Field(examples=["best-fit"])
    """A registered name, `package.module:Class`, or `file.py:Class` relative to this file."""
    options: dict[str, Any] = Field(default_factory=dict, examples=["{node: loose}"])
    """Arguments of the agent's constructor."""
    label: Text = ""
    """What tables and figures call it; by default name and options, as in `best-fit(node=loose)`."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        at_name: tuple[str, ...] = ("name",)
        at_options: tuple[str, ...] = ("options",)
        if isinstance(data, str):
            at_name, at_options, data = (), (), {"name": data}
        elif isinstance(data, Mapping) and "name" not in data and len(data) == 1:
            [(name, options)] = data.items()
            at_name = at_options = (name,)
            data = {"name": name, "options": options}
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            at = at_name if isinstance(data, Mapping) and "name" in data else ()
            raise wrong("is not an agent", "Write a name, or {name: {option: value}}.", at)
        name, options = data["name"], data.get("options") or {}
        if ":" not in name and name not in AGENTS:
            problem, remedy = AGENTS.unknown(name)
            remedy = f"Name the class in it, too: {name}:Class." if name.endswith(".py") else remedy
            raise wrong(problem, remedy, at_name, name)
        if options or ":" in name:
            # Only here the class is imported: validating plain names stays fast.
            kind = _load(name, at_name)
            check_options(kind, options, at_options)
            data = {"label": _label(name, _short(options)), **data, "options": options}
        return {"label": name, **data}

    def make(self) -> Agent:
        """Make a new agent with these options."""
        kind = AGENTS.load(self.name)
        return construct(kind, check_options(kind, self.options))


def construct(kind: type[Agent], options: Mapping[str, Any]) -> Agent:
    """Make an agent; whatever else than a `UserError` its constructor raises becomes one."""
    try:
        return kind(**options)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        problem = f"its constructor raised {error!r}"
        remedy = "Check arguments, and raise a UserError that names the option and a remedy."
        raise UserError(problem, key=kind.__name__, remedy=remedy, **defined_at(kind)) from error


def defined_at(kind: type) -> dict[str, Any]:
    """Find the file and line of a class, for a message; nothing where Python does not know."""
    try:
        file = getsourcefile(kind)
        return {"file": from_working_folder(file or ""), "line": getsourcelines(kind)[1]} if file else {}
    except (OSError, TypeError):
        return {}


def _load(name: str, at: tuple[str, ...]) -> type[Agent]:
    try:
        result = AGENTS.load(name)
    except UserError as error:
        raise wrong(error.problem, error.remedy, at) from None
    if not (isinstance(result, type) and issubclass(result, Agent)):
        raise wrong("is not an agent", "Name a subclass of binwright.Agent.", at, name)
    if result.decide is Agent.decide and result.decide_line is Agent.decide_line:
        raise wrong("decide is missing", WRITE_DECIDE, at, name)
    return result


def _label(name: str, options: Mapping[str, Any]) -> str:
    short = Path(name).name
    return f"{short}({', '.join(f'{key}={_in_words(value)}' for key, value in options.items())})" if options else short


def _in_words(value: Any) -> Any:
    """Write a choice with options of its own as an agent with its options is written."""
    if isinstance(value, Mapping) and len(value) == 1:
        [(name, options)] = value.items()
        return _label(name, options) if isinstance(options, Mapping) else value
    return value


def _short(value: Any, key: str = "") -> Any:
    """Shorten what a label shows: a `path` to its last two parts, code to its file."""
    if isinstance(value, Mapping):
        return {name: _short(each, name) for name, each in value.items()}
    if isinstance(value, str) and re.fullmatch(r".+\.py:\w+", value):
        return Path(value).name
    if key == "path" and isinstance(value, str):
        return str(Path(*Path(value).parts[-2:])).removesuffix(".safetensors")
    return value


AgentEntry: TypeAlias = Annotated[AgentSpec, Shown("name, {name: {option: value}}, or [Agent](#agent)")]
