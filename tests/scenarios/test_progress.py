"""How far a run is: when that is said, and where."""

from typing import Any

import pytest

from binwright.fabric.run.play import Watchers
from binwright.scenarios.build.plan import plan
from binwright.scenarios.build.world import build_world
from binwright.scenarios.run import progress
from binwright.scenarios.run.progress import PORTION, Reporter
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.support.scenarios import random_requests


def scenario() -> Scenario:
    data: dict[str, Any] = {
        "name": "long",
        "cluster": {"servers": 3, "nodes": 2, "node": {"cpu": 8, "mem": 16}, "spread_above": {"mem": 8}},
        "workload": random_requests(150, 5, [{"cpu": 1, "mem": 2}, {"cpu": 3, "mem": 5}, {"cpu": 4, "mem": 12}], 60),
        "overflow": "drop",
        "agents": ["best-fit"],
        "record": ["requests", "samples"],
    }
    return scenario_from(data)


def test_portions_take_about_as_long_whatever_the_rule_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come soon tell nothing of how many decisions a portion may have."""
    clock, left = [0.0], [1] * 200 + [10**9]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    (run,) = plan(scenario())
    simulation = build_world(run.scenario).simulation(run.seed, compiled=True)
    reporter = Reporter(simulation, run, lambda told: None, PORTION)
    watch = Watchers(simulation, lambda: left.pop(0), reporter)
    portions = []
    for _ in range(260):
        portions.append(watch())
        clock[0] += portions[-1] * 0.001
    assert portions[:200] == [1] * 200
    assert all(100 <= portion <= 1024 for portion in portions[200:])
    assert sum(portions[200:]) * 0.001 > 10
