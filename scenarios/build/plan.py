"""From a scenario to its runs: points of the sweep x agents x seeds, each named by content."""

import copy
import hashlib
import itertools
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from binwright.agents import AGENTS
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.build.code import of
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.scenario import FIXED, Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import MultiServer
from binwright.scenarios.schema.yaml_source import Place, Source, undotted
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Keys
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.registry import Registry
from binwright.workloads.traces.library import find_servers

IN_FOLDERS = str.maketrans("/[]", "-()")


def named(point: Mapping[str, Any]) -> str:
    """Name the folder of a point, such as `rate=0.005,warm=(0,0.5)`; brackets would be patterns to polars."""
    return ",".join(f"{key}={plain(value)}" for key, value in point.items()).translate(IN_FOLDERS)


def plain(value: Any) -> float | str:
    """Leave numbers, truth values and text as they are, and write anything else as JSON."""
    return value if isinstance(value, int | float | str) else json.dumps(value, separators=(",", ":"))


Content = Callable[[Trace | MultiServer], str | None]
"""Hashes what is in the file of a trace, or of a demand; None for a demand without one."""


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


def plan(scenario: Scenario, versions: Mapping[str, str] | None = None, content: Content | None = None) -> list[Run]:
    """List all runs of a scenario; what would be the same run twice is there once.

    Points vary slowest, then seeds, then agents: agents of one seed share a workload, and are compared in pairs.

    Runs of other `versions` get other names. `content` names what a trace's file holds (a hash, say), so that names
    do not depend on where it lies; without it they depend on its path.
    """
    runs: dict[str, Run] = {}
    agents = [(agent, identity_of(agent)) for agent in scenario.agents]
    for point, at_point in points(scenario):
        identity = _hash([_identity(at_point, content), dict(versions or {})])
        for seed in range(scenario.seed, scenario.seed + scenario.replications):
            for agent, written in agents:
                name = _hash([identity, written, seed])
                runs.setdefault(name, Run(name, point, at_point, agent, seed))
    return list(runs.values())


def identity_of(agent: AgentSpec) -> str:
    """Hash an agent: its options, its code, and what is in the files that they name."""
    data = agent.dump()
    del data["label"]
    return _hash(_by_content(data))


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """List every point: the swept keys' values and the scenario with them. The last key varies fastest."""
    sweep = scenario.sweep
    steps = [[{key: value} for value in values] for key, values in sweep.product.items()]
    if sweep.zip:
        steps.append([dict(zip(sweep.zip, values, strict=True)) for values in zip(*sweep.zip.values(), strict=True)])
    base = scenario.dump()
    del base["sweep"]
    result = []
    for parts in itertools.product(*steps):
        point = {key: value for part in parts for key, value in part.items()}
        result.append((point, _at(scenario, base, point)))
    return result


def _at(scenario: Scenario, base: dict[str, Any], point: dict[str, Any]) -> Scenario:
    """Set the keys of a point in a scenario; a mistake is reported where the sweep says it."""
    source = Source(scenario.file, copy.deepcopy(base), dict(scenario._source.places) if scenario._source else {})
    for key, value in point.items():
        keys = undotted(key)
        source.set(keys, value, {keys: _place(scenario, key, value)})
    try:
        return Scenario.model_validate(source.data)
    except ValidationError as error:
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


def _identity(scenario: Scenario, content: Content | None) -> dict[str, Any]:
    """Collect what determines the results at a point, whoever answers; files count by what is in them."""
    data: Any = {key: value for key, value in scenario.dump().items() if key not in FIXED}
    # Keys are sorted below, but the order of resources matters: agents look at the first one.
    data["resources"] = scenario.resources
    data["record"] = sorted(set(scenario.record))
    data["metrics"] = sorted(
        ([metric.name, metric.last, *([metric.by] if metric.by else [])] for metric in scenario.metrics), key=str
    )
    if costs := data.get("costs"):
        del costs["currency"]
    for at, _ in scenario.other_agents:
        reduce(lambda part, key: part[key], at, data)["label"] = ""
    if scenario.cluster.trace and content:
        file, _ = find_servers(scenario.cluster.trace.name, scenario.cluster.trace.path)
        data["cluster"]["trace"]["path"] = digest_of(file)
    if isinstance(scenario.workload, Trace) and content:
        data["workload"]["path"] = content(scenario.workload)
    if isinstance(scenario.workload, MultiServer) and content and (digest := content(scenario.workload)):
        data["workload"]["demand"][scenario.workload.demand.chosen[0]]["path"] = digest
    identity: dict[str, Any] = _by_content(data)
    return identity


def _by_content(data: Any, key: object = "") -> Any:
    """Replace what data name from outside by its content, and so the files in paths and in options of agents and it."""
    if isinstance(data, list):
        return [_by_content(value, key) for value in data]
    if key == "label" or not isinstance(data, dict | str):
        return data
    names_files = key in ("path", "options") or _thing(key) is not None
    if isinstance(data, dict):
        return {_by_content(name): _by_content(value, key if names_files else name) for name, value in data.items()}
    if names_files and (digest := digest_of(Path(data))):
        return digest
    thing = _thing(data)
    digest = "" if thing is None else of(thing)
    return f"{digest}:{data.rpartition(':')[2]}" if digest else data


def _thing(name: object) -> object:
    """Find what from outside a name stands for: in a file or a module, or registered by a third party; else None."""
    if not isinstance(name, str):
        return None
    if re.fullmatch(r".+\.py:\w+", name) or (":" in name and name.partition(":")[0] in sys.modules):
        try:
            thing: object = AGENTS.load(name)
        except UserError:
            return None  # a label, say, or what the run will report
        return thing
    return next((registry.load(name) for registry in Registry.every if registry.is_added(name)), None)


def _hash(data: object) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
