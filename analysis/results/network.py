"""Which network a run had: what the scenario says, at the run's point of the sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from binwright.analysis.results.folder import ResultsFolder
from binwright.simcore.errors import ResultsError

AT = ("cluster", "network", "topology")


def network_of(results: ResultsFolder, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and options of the topology that the run of this row had, at its point; empty without one."""
    try:
        data: Any = yaml.safe_load(results.scenario_file.read_text("utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it is not a scenario")
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ResultsError(
            "cannot be read, and says which network the runs had",
            file=results.scenario_file,
            remedy="Run the scenario again with the same --out: what is finished is kept.",
        ) from error
    for key in results.swept:
        keys = tuple(key.split("."))
        if keys[: len(AT)] == AT or AT[: len(keys)] == keys:
            _set(data, keys, row[key])
    for key in AT:
        data = data.get(key) if isinstance(data, dict) else data
    return data if isinstance(data, dict) else {data: {}} if data else {}


def _set(data: Any, keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
    # The column of a sweep has what is not a plain value as JSON.
    data[keys[-1]] = json.loads(value) if isinstance(value, str) and value.startswith(("{", "[")) else value
