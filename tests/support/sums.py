"""Prints numbers that come from long sums, so that processes with other numbers of threads can be compared."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from binwright.agents.learned.value import climb
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.workloads.demands import Law
from tests.support.scenarios import random_requests

TIMES = {"seconds", "decision_us"}
SCENARIO: dict[str, Any] = {
    "name": "long",
    "cluster": {"servers": 60, "nodes": 2, "node": {"cpu": 40, "mem": "90 GB"}, "spread_above": {"mem": "10 GB"}},
    "workload": random_requests(
        30_000,
        "10 s",
        [{"cpu": 1, "mem": "2 GB", "weight": 6}, {"cpu": 4, "mem": "8 GB"}, {"cpu": 16, "mem": "32 GB"}],
        {"lognormal": {"median": "3 h", "sigma": 1.5}},
    ),
    "prices": {"cpu_hour": 0.03, "mem_gb_hour": 0.004},
    "costs": {"servers": {"price": 1.7, "power": {"idle": "93 W", "peak": "381 W"}}, "electricity": {"price": 0.31}},
    "agents": ["first-fit"],
}


def run() -> dict[str, Any]:
    """Measure a run with so many requests that BLAS would share a sum among its threads."""
    [one] = plan(scenario_from(SCENARIO))
    with TemporaryDirectory() as folder:
        row = execute(one, Path(folder))
    return {name: value for name, value in row.items() if name not in TIMES}


def others() -> dict[str, Any]:
    """Sum up in the same way what agents learn."""
    rng = np.random.default_rng(0)
    fitness, errors = rng.random(2000), rng.normal(size=(2000, 50))
    mean, _ = climb(np.zeros(50), np.zeros((2, 50)), fitness, errors, 0.1, 0.1, 1)
    law = Law(rng.integers(1, 99, (20_000, 2)), np.full(20_000, 1 / 20_000))
    return {"learned": mean.tolist(), "wanted": law.mean}


if __name__ == "__main__":
    print(json.dumps(run() | others()))
