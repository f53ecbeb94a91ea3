"""Waits, turnarounds and slowdowns of the requests of a class, beside those of a run's table of requests."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from tests.support.scenarios import first_run, random_requests

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def scenario(metrics: list[Any], **more: Any) -> Scenario:
    """Make a scenario of two groups with priorities, in two queues."""
    queues = {"short": {"longest": "2 min", "priority": 1}, "long": {"running": {"cpu": 4}}}
    return scenario_from(
        {
            "name": "classes",
            "cluster": {"servers": 2, "node": {"cpu": 4}},
            "priorities": {"urgent": 9},
            "workload": random_requests(
                200, "20 s", [{"cpu": 1, "group": "a", "priority": "urgent"}, {"cpu": 2, "group": "b"}], "2 min"
            ),
            "knowledge": {"lifetimes": "known"},
            "overflow": {"wait": {"together": 100, "queues": queues}},
            "agents": ["in-line"],
            "metrics": metrics,
            "record": ["requests"],
            **more,
        }
    )


def test_metrics_by_class_are_those_of_its_requests(tmp_path: Path) -> None:
    requested = [
        {"wait_mean": {"by": {"group": ["a", "b"], "priority": "urgent"}}},
        {"turnaround_mean": {"by": {"queue": ["short", "long"]}}},
        {"slowdown_mean": {"by": {"group": ["a"]}, "last": "50 %"}},
    ]
    row, table = first_run(scenario(requested), tmp_path)
    table = table.with_columns(turnaround=pl.col("end") - pl.col("arrival"))
    for group in "ab":
        mine = table.filter(pl.col("group") == group)
        assert row[f"wait_mean_group_{group}"] == pytest.approx(mine["wait"].mean())
    assert row["wait_mean_priority_urgent"] == row["wait_mean_group_a"] != row["wait_mean"]
    for queue, short in (("short", True), ("long", False)):
        values = table.filter((pl.col("duration") <= 120) == short)["turnaround"]
        assert row[f"turnaround_mean_queue_{queue}"] == pytest.approx(values.mean())
    last = table.tail(100).filter(pl.col("group") == "a")
    slow = (last["turnaround"] / np.maximum(last["duration"].to_numpy(), 10)).to_numpy()
    assert row["slowdown_mean_last_50_group_a"] == pytest.approx(np.maximum(slow, 1).mean())


def test_a_class_without_requests_has_no_value(tmp_path: Path) -> None:
    [run] = plan(scenario([{"wait_mean": {"by": {"priority": ["4", "urgent"]}}}]))
    assert "wait_mean_priority_4" not in execute(run, tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"acceptance": {"by": {"group": "a"}}}, "is no metric of waits"),
        ({"wait_mean": {"by": {"group": "c"}}}, r"metrics\.0\.by\.group: no request is of this group"),
        ({"wait_mean": {"by": {"queue": "c"}}}, r"metrics\.0\.by\.queue: there is no such queue"),
        ({"wait_mean": {"by": {"user": "c"}}}, r"metrics\.0\.by: the requests have no such label \(got 'user'\)"),
        ({"wait_mean": {"by": {}}}, "there is a column wait_mean already"),
    ],
)
def test_mistakes_are_named(entry: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_scenario(scenario([entry]))
