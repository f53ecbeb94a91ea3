"""From a scenario to its runs: points of the sweep x agents x seeds, each named by content."""

from __future__ import annotations

import copy
import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agents import AGENTS
from scenarios.explain import explain
from scenarios.schema import FIXED, Scenario
from scenarios.schema_agent import AgentSpec
from scenarios.schema_workload import Trace
from scenarios.source import Keys, Place, Source, undotted


@dataclass(frozen=True, slots=True)
class Run:
    """One point x one agent x one seed.

    `name` is a hash of everything that determines the run's results; `point` has the value of every swept key;
    `scenario` is that point, without a sweep.
    """

    name: str
    point: dict[str, Any]
    scenario: Scenario
    agent: AgentSpec
    seed: int


def plan(
    scenario: Scenario,
    versions: Mapping[str, str] | None = None,
    content: Callable[[Trace], str] | None = None,
) -> list[Run]:
    """All runs of a scenario; what would be the same run twice is there once.

    Points vary slowest, then seeds, then agents: agents of one seed share a workload, and are compared in pairs.

    Runs of other `versions` get other names. `content` names what a trace's file holds (a hash, say), so that names
    do not depend on where it lies; without it they depend on its path.
    """
    runs: dict[str, Run] = {}
    for point, at_point in points(scenario):
        identity = [_identity(at_point, content), dict(versions or {})]
        asked = [(agent, _canonical([identity, _by_content(agent.dump()), _code(agent)])) for agent in scenario.agents]
        for seed in range(scenario.seed, scenario.seed + scenario.replications):
            for agent, text in asked:
                name = hashlib.sha256(f"{text}{seed}".encode()).hexdigest()[:16]
                runs.setdefault(name, Run(name, point, at_point, agent, seed))
    return list(runs.values())


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """The swept keys' values and the scenario with them, for every point; the last key varies fastest."""
    sweep = scenario.sweep
    steps = [[{key: value} for value in values] for key, values in sweep.product.items()]
    if sweep.zip:
        steps.append([dict(zip(sweep.zip, values, strict=True)) for values in zip(*sweep.zip.values(), strict=True)])
    base = scenario.dump()
    del base["sweep"]
    found = []
    for parts in itertools.product(*steps):
        point = {key: value for part in parts for key, value in part.items()}
        found.append((point, _at(scenario, base, point)))
    return found


def _at(scenario: Scenario, base: dict[str, Any], point: dict[str, Any]) -> Scenario:
    """The scenario with the keys of a point set; a mistake is reported where the sweep says it."""
    source = Source(scenario.file, copy.deepcopy(base))
    for key, value in point.items():
        keys = undotted(key)
        source.set(keys, value, {keys: _place(scenario, key, value)})
    try:
        return Scenario.model_validate(source.data)
    except ValidationError as error:
        if scenario._source:
            swept = [undotted(key) for key in point]
            source.places |= {
                keys: place
                for keys, place in scenario._source.places.items()
                if not any(keys[: len(other)] == other for other in swept)
            }
        raise explain(error, source) from None


def _place(scenario: Scenario, key: str, value: object) -> Place:
    if scenario._source is None:
        return Place(None)
    for kind, swept in (("product", scenario.sweep.product), ("zip", scenario.sweep.zip)):
        if key in swept:
            # The same value may be in the list twice; then it is as wrong the first time.
            at: Keys = ("sweep", kind, key, swept[key].index(value))
            return scenario._source.place(at)
    raise KeyError(key)


def _identity(scenario: Scenario, content: Callable[[Trace], str] | None) -> dict[str, Any]:
    """What determines the results at a point, whoever answers; files by what is in them."""
    data = {key: value for key, value in scenario.dump().items() if key not in FIXED}
    # Keys are sorted below, but the order of resources matters: agents look at the first one.
    data["resources"] = scenario.resources
    data["record"] = sorted(set(scenario.record))
    if scenario.warm_start:
        data["warm_start"]["with"]["label"] = ""
    if isinstance(scenario.workload, Trace) and content:
        data["workload"]["path"] = content(scenario.workload)
    identity: dict[str, Any] = _by_content(data)
    return identity


@cache
def _code_of(kind: type) -> str:
    return _file(Path(inspect.getfile(kind)))


def _code(agent: AgentSpec) -> str:
    """What the file of the agent's class says: an edited agent is another one."""
    try:
        return _code_of(AGENTS.load(agent.name))
    except TypeError:  # no file: made in an interactive session
        return ""


def _by_content(data: Any) -> Any:
    """The same data with every `path` and `file.py:Class` in it named by what is in the file."""
    if isinstance(data, dict):
        return {_by_content(key): _value_by_content(key, value) for key, value in data.items()}
    if isinstance(data, list):
        return [_by_content(value) for value in data]
    match = re.fullmatch(r"(.+\.py):(\w+)", data) if isinstance(data, str) else None
    return f"{_file(Path(match[1]))}:{match[2]}" if match else data


def _value_by_content(key: str, value: Any) -> Any:
    if key == "path" and isinstance(value, str):
        return _file(Path(value))
    return value if key == "label" else _by_content(value)


def _file(path: Path) -> str:
    """What is in a file; its path when it cannot be read, which the run will report."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return str(path)


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
