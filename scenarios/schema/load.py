"""From a file to a scenario, and back."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import ValidationError

from binwright.agents import AGENTS
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.yaml_source import LIBRARY, Source, read, with_relative_paths
from binwright.simcore.errors import ScenarioError, UserError, meant, suggest

LISTED = "`binwright list scenarios`"
"""Lists the scenarios that are shipped."""
_HEADER = "# Every default written out. Amounts and times carry their unit.\n"


Override: TypeAlias = str | Mapping[str, Any]
"""A change of a scenario: `"cluster.servers=100"`, or `{"cluster.servers": 100}` for one or several."""


def load_scenario(path: str | Path, overrides: Iterable[Override] = ()) -> Scenario:
    """Load the scenario in a file, or the shipped one of that name, with overrides like `cluster.servers=100`."""
    file = _find(path)
    source = read(file)
    entries = source.data.get("agents")
    for override in as_text(overrides):
        source.override(override)
    if source.data.get("name") is None:
        source.data["name"] = file.stem
    _take_labels(source.data.get("agents"), entries)
    return validate(source)


def _take_labels(agents: Any, entries: Any) -> None:
    """Replace what is no agent's name and a label of the file's entries by the entry that has it."""
    if agents is not entries and isinstance(agents, list) and isinstance(entries, list):
        for number, name in enumerate(agents):
            if isinstance(name, str) and name not in AGENTS:
                agents[number] = next((entry for entry in entries if _label_of(entry) == name), name)


def _label_of(entry: Any) -> str:
    """Tell what an entry of `agents:` is called; nothing where it is none."""
    try:
        return AgentSpec.model_validate(entry).label
    except ValidationError:
        return ""


def as_text(overrides: Iterable[Override]) -> Iterator[str]:
    """Write overrides as the command line has them."""
    for override in overrides:
        if isinstance(override, str):
            yield override
            continue
        if not isinstance(override, Mapping):
            remedy = "Write 'replications=3' or {'replications': 3}, and several one after another, without a list."
            raise UserError("is not an override", value=override, remedy=remedy)
        for key, value in override.items():
            if key == "agents" and isinstance(value, str | Mapping):
                value = [value]
            plain = [str(value) if isinstance(value, Path) else value]
            yield f"{key}={yaml.safe_dump(plain, default_flow_style=True, width=inf).strip()[1:-1]}"


def load_to_run(path: str | Path, overrides: Iterable[Override] = ()) -> Scenario:
    """Load as `load_scenario` does, and refuse overrides that the sweep overrides again at every point."""
    overrides_text = list(as_text(overrides))
    scenario = load_scenario(path, overrides_text)
    assert scenario._source
    for override in overrides_text:
        key = override.partition("=")[0].strip()
        for swept in (*scenario.sweep.product, *scenario.sweep.zip):
            if f"{key}.".startswith(f"{swept}.") or f"{swept}.".startswith(f"{key}."):
                raise ScenarioError(
                    f"has no effect: the sweep sets {swept} at every point",
                    file=scenario._source.place_of_override(override).file,
                    remedy="Set `sweep=null` as well, or change the sweep.",
                )
    return scenario


def scenario_from(data: Mapping[str, Any]) -> Scenario:
    """Make a scenario of plain data, such as a file holds; paths are relative to the working folder."""
    return validate(Source(None, dict(data)))


def loaded(
    scenario: str | Path | Scenario,
    overrides: Iterable[Override] = (),
    load: Callable[[str | Path, Iterable[Override]], Scenario] = load_scenario,
) -> Scenario:
    """Take a scenario as it is, or load the one of this name by `load`."""
    if not isinstance(scenario, Scenario):
        return load(scenario, overrides)
    if overrides:
        raise TypeError("a loaded scenario takes no overrides: give them to binwright.scenario(...)")
    return scenario


def folder_for(scenario: Scenario, out: str | Path | None, *below: str) -> Path:
    """Choose the folder that is named, or else the default one, or what is `below` that."""
    if out == "":
        remedy = "Name a folder, or leave it out: then it is in results/NAME."
        raise UserError("is empty", key="out", remedy=remedy)
    return Path(out) if out is not None else Path("results", scenario.name, *below)


def validate(source: Source) -> Scenario:
    """Make the scenario that a source describes; a mistake in it is a `ScenarioError` with its place."""
    try:
        scenario = Scenario.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source) from None
    scenario._source = source
    return scenario


def source_of(scenario: Scenario) -> Source:
    """Return what describes a scenario, with every default written out: to be changed and validated again."""
    places = dict(scenario._source.places) if scenario._source else {}
    return Source(scenario.file, copy.deepcopy(scenario.dump()), places)


def resolved(scenario: Scenario, folder: Path) -> str:
    """YAML with every default written out, which loads to an equal scenario from a file in this folder.

    Where that is below the working folder, so are the paths of files below it: both can be moved together.
    """
    data, root = scenario.dump(), Path.cwd()
    if folder.resolve().is_relative_to(root):
        data = with_relative_paths(data, root, folder.resolve())
    return _HEADER + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)


def shipped() -> dict[str, Path]:
    """List the scenarios that come with Binwright, by name."""
    files = sorted(LIBRARY.rglob("*.yaml"))
    return {file.relative_to(LIBRARY).with_suffix("").as_posix(): file for file in files}


def _find(path: str | Path) -> Path:
    if not str(path):
        raise ScenarioError("names no file", remedy="Name a scenario file, or one that is shipped (quickstart).")
    if Path(path).is_dir():
        remedy = "Name a scenario file in it, or one that is shipped (quickstart)."
        raise ScenarioError("this is a folder", file=path, remedy=remedy)
    if Path(path).exists():
        return Path(path)
    known = shipped()
    if str(path) not in known:
        remedy = f"Give the path of a YAML file, or the name of a shipped scenario. {suggest(str(path), known, LISTED)}"
        remedy = meant(path, ".yaml") or remedy
        raise ScenarioError("there is no such file", file=path, remedy=remedy)
    return known[str(path)]
