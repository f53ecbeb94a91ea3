"""The table of a run's requests: who counts in it gets the numbers of the metrics."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.details import requests_of
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from tests.support.runs import Case, cases, run

BASE: dict[str, Any] = {
    "name": "counted",
    "cluster": {"servers": 3, "node": {"cpu": 8}},
    "workload": {
        "requests": 300,
        "arrivals": {"fixed": {"every": "10 s"}},
        "flavours": [{"cpu": 1, "weight": 3}, {"cpu": 4, "weight": 2}, {"cpu": 9}],
        "lifetimes": {"exponential": {"mean": "1 min"}},
    },
    "agents": ["best-fit"],
    "record": ["requests"],
    "replications": 3,
}
OVERFLOWS: list[Any] = [
    "drop", "wait", {"wait": {"together": 4}}, "stop", {"expand": {"by": 1, "limit": 4, "then": "stop"}},
    {"expand": {"by": 1, "limit": 4, "then": "drop"}}, {"make_room": {"moves": 2, "then": "stop"}},
    {"make_room": {"moves": 2, "then": "wait"}},
]  # fmt: skip


def counted(rows: pl.DataFrame) -> dict[str, int]:
    """Count, as whoever reads the table would, what became of the requests after the warm start."""
    frame = rows.filter(~pl.col("warm") & (pl.col("origin") < 0))
    outcomes = frame["outcome"].cast(pl.String).to_list()
    return {
        "offered": len(frame),
        "scheduled": sum(outcome in ("placed", "interrupted") for outcome in outcomes),
        "rejected": outcomes.count("rejected"),
        "impossible": outcomes.count("impossible"),
    }


@pytest.mark.parametrize("overflow", OVERFLOWS, ids=str)
@pytest.mark.parametrize("failing", [False, True])
def test_outcomes_are_those_that_the_metrics_count(overflow: Any, failing: bool, tmp_path: Path) -> None:
    data = BASE | {"overflow": overflow}
    if failing:
        failures = {"mtbf": "10 min", "mttr": "1 min", "on_failure": "requeue"}
        data |= {"cluster": BASE["cluster"] | {"failures": failures}}
    if "make_room" in overflow:
        data |= {"moves": {"downtime": "25 s"}}
    for each in plan(scenario_from(data)):
        metrics = execute(each, tmp_path)
        rows = pl.read_parquet(tmp_path / "details" / f"{each.name}.requests.parquet")
        assert counted(rows) == {name: metrics[name] for name in counted(rows)}
        assert metrics["stopped"] == (metrics["offered"] < 300)
        assert metrics["acceptance"] == metrics["scheduled"] / (metrics["offered"] + metrics["lost"])


@given(cases())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_outcomes_agree_whatever_happens(tmp_path: Path, case: Case) -> None:
    ran = run(case)
    assume(ran.first < len(case.requests))
    rows = pl.concat(requests_of(ran.simulation, ran.first))
    record, requests = ran.simulation.record, len(case.requests)
    assert rows["row"].to_list() == [*range(ran.simulation.offered), *range(requests, record.rows)]
    result = counted(rows)
    came = range(ran.first, ran.simulation.offered)
    assert result["offered"] == len(came)
    assert result["scheduled"] == sum(bool(record.server[row] >= 0) for row in came)
    left = rows.filter(pl.col("outcome") == "pending")
    assert left.is_empty() or ran.simulation.stopped
