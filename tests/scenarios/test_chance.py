"""Whether a run's seed drew anything: what the column `random` of runs.parquet says."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from tests.support.batches import data

TRACE = "id,arrival,lifetime,cpu,mem\n" + "".join(f"{n},{7 * n},{50 + 31 * n % 97},{1 + n % 3},1\n" for n in range(80))
GENERATED = {
    "arrivals": {"fixed": {"every": 5}},
    "flavours": [{"cpu": 1, "mem": "1 GB"}],
    "lifetimes": {"fixed": 60},
    "requests": 30,
}


def drew(folder: Path, **changes: Any) -> dict[str, list[bool]]:
    """What the column says of each agent's runs."""
    results = Batch(scenario_from(data(**changes)), folder / "results").run()
    assert results.failed.is_empty(), results.failed["error"][0]
    runs = results.runs.group_by("agent", maintain_order=True).agg(pl.col("random").unique())
    return dict(runs.rows())


@pytest.fixture
def trace(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "t.csv").write_text(TRACE)
    return {"trace": "table", "path": str(tmp_path / "t.csv"), "units": {"mem": "1 GB"}}


def test_a_fixed_trace_has_no_chance_but_that_of_agents(tmp_path: Path, trace: dict[str, Any]) -> None:
    in_line = [
        {"name": "in-line", "label": f"{agent} in line", "options": {"agent": agent}}
        for agent in ("best-fit", "random")
    ]
    agents = ["first-fit", "best-fit", "random", *in_line]
    actual = drew(tmp_path, workload=trace, agents=agents)
    assert list(actual.values()) == [[False], [False], [True], [False], [True]]


@pytest.mark.parametrize(
    ("more", "chance"),
    [
        ({"start": {"random": [0, 40]}, "requests": 30}, True),
        ({"start": {"random": [40, 40]}, "requests": 30}, False),
        ({"start": 10}, False),
        ({"start": "2 min"}, False),
    ],
)
def test_windows(tmp_path: Path, trace: dict[str, Any], more: dict[str, Any], chance: bool) -> None:
    assert drew(tmp_path, workload={**trace, **more}, agents=["first-fit"]) == {"first-fit": [chance]}


def test_generators_have_chance_unless_all_is_fixed(tmp_path: Path) -> None:
    assert drew(tmp_path, agents=["first-fit"]) == {"first-fit": [True]}
    assert drew(tmp_path / "fixed", workload=GENERATED, agents=["first-fit"]) == {"first-fit": [False]}
    two = {**GENERATED, "flavours": [{"cpu": 1, "mem": "1 GB"}, {"cpu": 2, "mem": "1 GB"}]}
    assert drew(tmp_path / "two", workload=two, agents=["first-fit"]) == {"first-fit": [True]}
    own = {**GENERATED, "flavours": [{"cpu": 1, "mem": "1 GB", "lifetimes": {"exponential": {"mean": 60}}}]}
    assert drew(tmp_path / "own", workload=own, agents=["first-fit"]) == {"first-fit": [True]}


def test_failures_and_warm_starts(tmp_path: Path, trace: dict[str, Any]) -> None:
    cluster = data()["cluster"]
    scheduled = {**cluster, "failures": {"scheduled": [{"at": 10, "server": 0, "repair_after": 5}]}}
    assert drew(tmp_path / "a", workload=trace, cluster=scheduled, agents=["first-fit"]) == {"first-fit": [False]}
    broken = {**cluster, "failures": {"mtbf": "1 h", "mttr": "1 min"}}
    assert drew(tmp_path / "b", workload=trace, cluster=broken, agents=["first-fit"]) == {"first-fit": [True]}
    for agent, chance in (("best-fit", False), ("random", True)):
        warm = {"resource": "cpu", "until": "30 %", "with": agent}
        assert drew(tmp_path / agent, workload=trace, warm_start=warm, agents=["first-fit"]) == {"first-fit": [chance]}
