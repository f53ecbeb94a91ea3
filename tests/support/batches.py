"""A small scenario with all that scenarios can have, an agent in a file, and comparison of results."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl

from binwright.analysis.results_api import Results
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.support.scenarios import random_requests

TIMES = ("seconds", "decision_us")
"""Columns that no two runs agree on."""
TEXT = """\
cluster: {servers: 2, node: {cpu: 4, mem: 8 GB}}
workload:
  arrivals: {fixed: {every: 10 s}}
  flavours: [{cpu: 1, mem: 2 GB}]
  lifetimes: {fixed: 1 min}
  requests: 30
agents: [first-fit, worst-fit]
"""
"""A file that is smaller still."""
FIRST = """\
from binwright.simcore.types import Agent


class Mine(Agent):
    def decide(self, view, request):
        {}
        for server in range(len(view.free)):
            for node in range(view.free.shape[1]):
                if (view.free[server, node] >= request.demand).all():
                    return request.on(server, node)
        return None
"""
"""The file of an agent that is first-fit, with a line to be put before every decision."""


def changed(options: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    """Copy a scenario, with another value at this path."""
    topology = deepcopy(options)
    at: Any = topology
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return topology


def data(**changes: Any) -> dict[str, Any]:
    """Say a small scenario with all that a scenario can have, with some keys changed."""
    return {
        "name": "small",
        "cluster": {"servers": 2, "nodes": 2, "node": {"cpu": 4, "mem": "8 GB"}, "spread_above": {"mem": "4 GB"}},
        "workload": random_requests(
            60,
            "20 s",
            [{"cpu": 1, "mem": "2 GB", "weight": 3}, {"cpu": 2, "mem": "6 GB"}, {"cpu": 3, "mem": "1 GB"}],
            "2 min",
        ),
        "agents": ["first-fit", "worst-fit"],
        "replications": 3,
        "prices": {"cpu_hour": 0.5},
        **changes,
    }


def scenario(**changes: Any) -> Scenario:
    """Load the small scenario, with some keys changed."""
    return scenario_from(data(**changes))


def numbers(results: Results | pl.DataFrame) -> pl.DataFrame:
    """Return everything of the runs but times."""
    runs = results.runs if isinstance(results, Results) else results
    return runs.drop(TIMES)


def same(left: Results, right: Results) -> bool:
    """Tell whether all but times is the same in both results."""
    return numbers(left).equals(numbers(right)) and numbers(left).schema == numbers(right).schema


def tree(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain(**changes: Any) -> Scenario:
    """Load the small scenario on servers where nothing is spread, so that simple agents are right."""
    return scenario(cluster={"servers": 2, "node": {"cpu": 8, "mem": "16 GB"}}, **changes)


def agent(folder: Path, line: str, name: str = "mine") -> str:
    """Write a file with first-fit and a line before every decision, and return the agent's name in a scenario."""
    path = folder / f"{name}.py"
    path.write_text("import os, signal, time\nfrom pathlib import Path\n\n" + FIRST.format(line))
    return f"{path}:Mine"
