"""What requests use, and the contention that comes of it, in whole scenarios."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import ScenarioError
from tests.support.batches import TIMES
from tests.support.scenarios import WAYS, Way, deciding, random_requests

USE = {"cpu": [{"of": {"group": "web"}, "mean": "40 %", "daily": 0.3}, {"mean": "90 %", "peak": "90 %"}], "mem": "50 %"}
FLAVOURS = [{"cpu": 2, "mem": "4 GB", "group": "web"}, {"cpu": 3, "mem": "2 GB", "priority": 5}]


def data(**more: Any) -> dict[str, Any]:
    cluster = {"servers": 4, "nodes": 2, "node": {"cpu": 4, "mem": "16 GB"}, "overcommit": {"cpu": 2}}
    workload = random_requests(120, "1 min", FLAVOURS, "40 min", use=USE)
    inputs = {"cluster": cluster | more.pop("cluster", {}), "workload": workload | more.pop("workload", {})}
    return {**inputs, "agents": ["first-fit"], **more}


def run(options: dict[str, Any], out: Path, way: Way = "compiled") -> dict[str, Any]:
    with deciding(way):
        return bw.run(scenario_from(options), out=out, jobs=1).runs.row(0, named=True)


def test_both_engines_measure_the_same(tmp_path: Path) -> None:
    costs = {"servers": {"power": {"idle": "100 W", "peak": "300 W"}}}
    slow, fast = (run(data(costs=costs), tmp_path / way, way) for way in WAYS)
    assert [key for key in slow if slow[key] != fast[key] and key not in (*TIMES, "compiled")] == []
    assert 0 < slow["contention_cpu"] < slow["contended"] <= 1
    assert slow["contention_mem"] == 0
    assert slow["used_cpu"] < slow["allocation_cpu"]


def test_used_and_missing_amounts_are_recorded_by_step_and_drawn(tmp_path: Path) -> None:
    options = data(record=["use"], replications=2, agents=["first-fit", "worst-fit"])
    results = bw.run(scenario_from(options), out=tmp_path / "use", jobs=1)
    for row in results.runs.iter_rows(named=True):
        steps = results.use(row["run"])
        total = {name: float((steps[name] * steps["seconds"]).sum()) for name in steps.columns}
        assert total["used_cpu"] / total["capacity_cpu"] == pytest.approx(row["used_cpu"])
        assert total["missing_cpu"] / total["wanted_cpu"] == pytest.approx(row["contention_cpu"])
        assert total["allocated_mem"] / total["capacity_mem"] == pytest.approx(row["allocation_mem"], rel=1e-6)
    axes = results.figure("timeline").axes
    assert [ax.get_ylabel() for ax in axes[::2]] == ["cpu used %", "cpu missing %"]
    with pytest.raises(ScenarioError, match="no use is known"):
        scenario_from(data(record=["use"], workload={"use": None}))


@pytest.mark.parametrize(
    "more",
    [
        {"cluster": {"failures": {"mtbf": "2 h", "mttr": "10 min", "on_failure": "requeue"}}},
        {"rescheduling": {"every": "20 min", "moves": 9}, "moves": {"downtime": "2 min"}},
        {"workload": {"flavours": [{"cpu": 2, "mem": "2 GB", "parts": 3}], "use": "60 %"}},
        {"cluster": {"overcommit": {}, "spread_above": {"cpu": 2}}},
        {"metrics": [{"contention_p99": {"last": "50 %"}}]},
    ],
    ids=str,
)
def test_use_goes_with_other_features(more: dict[str, Any], tmp_path: Path) -> None:
    result = run(data(**more), tmp_path)
    assert result["status"] == "done", result["error"]
    assert 0 < result["used_cpu"] <= 1
    assert 0 <= result["contention_p99"] < 1
    if more.get("cluster") == {"overcommit": {}, "spread_above": {"cpu": 2}}:
        assert result["contention_p99"] == result["contended"] == 0


def test_a_network_knows_where_its_requests_lay(tmp_path: Path) -> None:
    problem = data(workload={"demand": "uniform", "requests": 40, "holding": 9, "use": "50 %"})
    for key in ("arrivals", "flavours", "lifetimes"):
        del problem["workload"][key]
    problem["cluster"] = {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}}
    result = run(problem | {"agents": ["tetris"]}, tmp_path)
    assert result["status"] == "done", result["error"]
    assert result["used_cpu"] == pytest.approx(result["allocation_cpu"] / 2)


def test_columns_of_a_table_say_the_mean_the_percentile_and_the_peak(tmp_path: Path) -> None:
    table = pl.DataFrame({"arrival": range(100), "lifetime": [90_000] * 100, "cpu": [1] * 100, "avg": [20] * 100})
    table.with_columns(p95=50, most=80).write_csv(tmp_path / "t.csv")
    use = {"cpu": {"mean": "avg", "p95": "p95", "peak": "most", "unit": "1 %"}}
    workload = {"trace": "table", "path": str(tmp_path / "t.csv"), "columns": {"cpu": "cpu"}, "use": use}
    options = {"cluster": {"servers": 1, "node": {"cpu": 100}}, "workload": workload, "agents": ["first-fit"]}
    end = pl.DataFrame({"arrival": 86_400, "lifetime": 1, "cpu": 1, "avg": 20, "p95": 50, "most": 80})
    with (tmp_path / "t.csv").open("a") as file:
        file.write(end.write_csv(include_header=False))
    assert run(options, tmp_path / "out")["used_cpu"] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ({"gpu": 0.5}, "the cluster has no such resource"),
        ({"cpu": {"mean": 0.5, "peak": 0.4}}, "is above the peak"),
        ({"cpu": {"peak": 0.4}}, "mean: is missing"),
        ({"cpu": {"mean": 0.9, "p95": 0.5}}, "no distribution has this mean"),
        ({"cpu": 1.5}, "is more than 1"),
        ({"cpu": {"mean": 0.5, "daily": "100 %"}}, "daily: expected 95 % or less"),
        ({"step": "0.5 s", "cpu": 0.5}, "step: expected 1 s or more"),
        ({"cpu": [{"mean": 0.5, "of": {"group": "wbe"}}]}, "no request is of this group"),
    ],
)
def test_mistakes_are_found_before_a_run(use: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario_from(data(workload={"use": use}))
