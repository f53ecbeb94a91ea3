"""The calls behind `import binwright`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from analysis.results import Results
from scenarios.batch import Batch
from scenarios.load import load_scenario, scenario_from
from scenarios.schema import Scenario


def scenario(source: str | Path | Mapping[str, Any], *overrides: str) -> Scenario:
    """The scenario in a file, a shipped one by name, or one from plain data.

    Overrides are written as `"cluster.servers=100"`, for files and names.
    """
    if isinstance(source, Mapping):
        if overrides:
            raise TypeError("plain data takes no overrides: change it instead")
        return scenario_from(source)
    return load_scenario(source, overrides)


def run(
    scenario: str | Path | Scenario,
    *overrides: str,
    out: str | Path | None = None,
    fresh: bool = False,
    finished: Callable[[dict[str, Any]], None] = lambda row: None,
) -> Results:
    """Run a scenario: every point x agent x seed that `out` (default `results/<name>`) does not have yet.

    `fresh` runs everything again. `finished` is called with every finished run's row.
    """
    if isinstance(scenario, Scenario) and overrides:
        raise TypeError("a loaded scenario takes no overrides: give them to binwright.scenario(...)")
    given = scenario if isinstance(scenario, Scenario) else load_scenario(scenario, overrides)
    return Batch(given, out or default_folder(given)).run(fresh=fresh, finished=finished)


def load(folder: str | Path) -> Results:
    """Results that an earlier run wrote."""
    return Results(folder)


def default_folder(scenario: Scenario) -> Path:
    """Where results go that are not sent elsewhere."""
    return Path("results") / scenario.name


def as_overrides(sets: Iterable[str], agents: str | None, seeds: int | None) -> list[str]:
    """The command line's shorthands, written as overrides."""
    return [
        *sets,
        *([f"agents=[{agents}]"] if agents is not None else []),
        *([f"replications={seeds}"] if seeds is not None else []),
    ]
