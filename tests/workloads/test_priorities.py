"""Priorities of requests: where they come from, and what has none."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from binwright.simcore.workload import Workload
from binwright.workloads.priorities import LARGEST, number_of, prioritised
from tests.support.scenarios import random_requests

CLASSES = {"production": 1000, "batch": 10}


FLAVOURS: list[dict[str, Any]] = [
    {"cpu": 1, "weight": 3, "priority": {"production": 1, "batch": 3}},
    {"cpu": 2, "priority": -5},
    {"cpu": 3},
]


def scenario(flavours: list[dict[str, Any]] = FLAVOURS, classes: dict[str, int] = CLASSES, **more: Any) -> Scenario:
    """Make a scenario of one server on which everybody has to wait."""
    workload = random_requests(300, "1 s", flavours, "20 s", **more)
    spec = {
        "name": "priorities",
        "cluster": {"servers": 1, "node": {"cpu": 4}},
        "workload": workload,
        "priorities": classes,
        "overflow": {"wait": {"together": 1000}},
        "agents": [{"in-line": {"order": "priority"}}],
    }
    return scenario_from(spec)


def test_flavours_have_priorities_and_mixes_are_drawn_by_weight() -> None:
    world = build_world(scenario())
    drawn = world.draw(3)
    assert drawn.priority is not None
    of = Counter(zip((drawn.demand[:, 0] // 10**6).tolist(), drawn.priority.tolist(), strict=True))
    assert set(of) == {(1, 1000), (1, 10), (2, -5), (3, 0)}
    assert 2 < of[1, 10] / of[1, 1000] < 4.5
    assert set(drawn.labels["priority"].tolist()) == {"production", "batch", "-5", ""}


def test_labels_of_traces_are_classes_or_numbers() -> None:
    base = Workload.of_units([0, 1, 2, 3], 1, {"cpu": 1})
    words = np.array(["production", "7", "", "system-node-critical"])
    workload = prioritised(replace(base, labels={"priority": words}), CLASSES, 0)
    assert workload.priority is not None
    assert workload.priority.tolist() == [1000, 7, 0, 2_000_001_000]
    assert [number_of(each, {}) for each in ("+3", str(LARGEST), str(LARGEST + 1), "3.5")] == [3, LARGEST, None, None]


@pytest.mark.parametrize("classes", [{}, CLASSES])
def test_label_values_that_are_neither_number_nor_class_are_refused_by_name(classes: dict[str, int]) -> None:
    base = Workload.of_units([0, 1, 2, 3], 1, {"cpu": 1})
    labelled = replace(base, labels={"priority": np.array(["gold", "7", "", "silver"])})
    with pytest.raises(UserError, match=r"have no priority \(got 'gold, silver'\)") as refused:
        prioritised(labelled, classes, 0)
    assert "priorities: {gold: 1, silver: 0}" in refused.value.remedy


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"overflow": {"preempt": {}}}, True),
        ({"agents": [{"in-line": {"agent": "best-fit", "order": "priority"}}]}, True),
    ],
)
def test_a_text_label_is_refused_where_something_compares_priorities(
    change: dict[str, Any], refused: bool, tmp_path: Path
) -> None:
    table = tmp_path / "vms.csv"
    table.write_text("start,hours,cpu,Tier\n0,1,1,gold\n1,1,1,bronze\n")
    columns = {"arrival": "start", "lifetime": "hours", "cpu": "cpu"}
    workload = {"trace": "table", "path": str(table), "columns": columns, "labels": {"priority": "Tier"}}
    fields = {"cluster": {"servers": 1, "node": {"cpu": 8}}, "workload": workload, "agents": ["best-fit"]}
    with pytest.raises(UserError, match="bronze, gold") if refused else nullcontext():
        build_world(Scenario.model_validate(fields | change)).draw(0)


@pytest.mark.parametrize(
    ("flavour", "classes", "message"),
    [
        ({"priority": "prodction"}, CLASSES, "there is no such priority"),
        ({"priority": {"batch": 0}}, CLASSES, "no weight above zero"),
        ({}, {"5": 7}, "is a number"),
    ],
)
def test_mistakes_are_named(flavour: dict[str, Any], classes: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        scenario([{"cpu": 1, **flavour}], classes)
