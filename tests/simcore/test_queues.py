"""Several queues in a scenario; `test_quotas.py` holds the engine's to the reference."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.run.why import refused, why
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from tests.support.scenarios import first_run


def scenario(folder: Path, jobs: str, queues: dict[str, Any], agent: Any = "in-line", **more: Any) -> Scenario:
    """Make a scenario of a server of 4 cpu, and of jobs that are known: id,arrival,lifetime,cpu,who,queue."""
    (folder / "jobs.csv").write_text(f"id,arrival,lifetime,cpu,who,queue\n{jobs}")
    workload = {"trace": "table", "path": str(folder / "jobs.csv"), "labels": {"who": "who", "queue": "queue"}}
    inputs = {
        "cluster": {"servers": 1, "node": {"cpu": 4}},
        "workload": workload,
        "overflow": {"wait": {"together": 100, "queues": queues}},
        "knowledge": {"lifetimes": "known"},
        "agents": [agent],
        "record": ["requests"],
    }
    return scenario_from({**inputs, **more})


def decided(folder: Path, *inputs: Any, **more: Any) -> dict[int, float | None]:
    """Return when each job started, by its id."""
    row, requests = first_run(scenario(folder, *inputs, **more), folder)
    assert row["compiled"] == ("commit" not in str(inputs))
    placed = requests.with_columns(pl.when(pl.col("outcome") == "placed").then("decided").alias("decided"))
    return dict(placed.select("id", "decided").rows())


JOBS = "0,0,10,1,a,s\n1,0,10,1,b,s\n2,0,10,1,a,s\n3,1,10,1,a,l\n4,2,50,2,b,l\n"
SHORT = {"of": {"queue": "s"}}


@pytest.mark.parametrize("agent", ["in-line", "best-fit", {"in-line": {"backfilling": "easy"}}])
@pytest.mark.parametrize(
    ("limits", "third"),
    [
        ({"running": {"requests": 2}}, 10),
        ({"running": {"cpu": 1}}, 20),
        ({"each": {"who": {"requests": 1}}}, 10),
        ({}, 0),
    ],
)
def test_others_pass_whom_a_limit_keeps_waiting(tmp_path: Path, agent: Any, limits: Any, third: float) -> None:
    result = decided(tmp_path, JOBS, {"short": {**SHORT, **limits}, "long": {}}, agent)
    assert result[2] == third
    assert result[3] == 1.0


@pytest.mark.parametrize("agent", ["in-line", "best-fit", {"in-line": {"order": "sjf", "backfilling": "easy"}}])
def test_queue_of_highest_priority_goes_first(tmp_path: Path, agent: Any) -> None:
    jobs = "0,0,10,4,a,l\n1,1,5,4,a,l\n2,2,20,4,a,s\n"
    assert decided(tmp_path, jobs, {"short": SHORT, "long": {}}, agent)[1] == 10
    assert decided(tmp_path, jobs, {"short": {**SHORT, "priority": 1}, "long": {}}, agent)[2] == 10


def test_a_queue_takes_no_longer_requests_and_the_next_one_may(tmp_path: Path) -> None:
    short = {"longest": "20 s", "running": {"cpu": 1}}
    assert decided(tmp_path, JOBS, {"short": short, "long": {"priority": 5}})[4] == 2.0
    topology = decided(tmp_path, JOBS, {"short": short})
    assert (topology[4], topology[3]) == (None, 30.0)  # one after another


def test_gangs_and_those_that_failed_count_as_long_as_they_run(tmp_path: Path) -> None:
    failures = {"scheduled": [{"at": 5, "server": 0, "repair_after": 1}], "on_failure": "requeue"}
    cluster = {"servers": 2, "node": {"cpu": 4}, "failures": failures}
    queues = {"all": {"running": {"requests": 1, "cpu": 3}}}
    workload = {"trace": "table", "path": str(tmp_path / "jobs.csv"), "parts": {"by": "cpu"}}
    workload["labels"] = {"who": "who", "queue": "queue"}
    jobs = "0,0,10,3,a,s\n1,0,10,1,a,s\n2,0,10,1,a,s\n"
    result = scenario(tmp_path, jobs, queues, "best-fit", cluster=cluster, workload=workload)
    _, rows = first_run(result, tmp_path)
    assert sorted(rows.filter(pl.col("outcome") == "placed")["decided"].to_list()) == [5, 5, 5, 10, 20]


@pytest.mark.parametrize("agent", ["best-fit", "in-line", {"in-line": {"commit": True, "backfilling": "easy"}}])
def test_a_gang_that_a_limit_closes_out_waits_whole(tmp_path: Path, agent: Any) -> None:
    workload = {"trace": "table", "path": str(tmp_path / "jobs.csv"), "parts": {"by": "cpu"}}
    workload["labels"] = {"who": "who", "queue": "queue"}
    cluster = {"servers": 2, "node": {"cpu": 4}}
    queues = {"a": {"of": {"who": "a"}, "running": {"requests": 1}}, "all": {}}
    jobs = "0,0,10,2,a,s\n1,0,10,2,a,s\n2,0,10,2,b,s\n"
    result = scenario(tmp_path, jobs, queues, agent, cluster=cluster, workload=workload)
    _, rows = first_run(result, tmp_path)
    assert rows["decided"].to_list() == [0, 0, 10, 10, 0, 0]


def test_why_names_the_limit(tmp_path: Path) -> None:
    [run] = plan(scenario(tmp_path, JOBS, {"short": {**SHORT, "running": {"requests": 2}}}))
    assert "kept waiting from 0 s to 10 s by queue: requests in short" in why(run, "2").answer
    [run] = plan(scenario(tmp_path, JOBS, {"short": {"longest": "20 s"}}))
    with pytest.raises(UserError, match="queue: stays longer than short takes, before it was offered to the agent"):
        why(run, "4")
    [reason] = refused(run).reasons.iter_rows(named=True)
    assert (reason["reason"], reason["ids"]) == ("queue: stays longer than short takes", [])  # `why` of none says more


@pytest.mark.parametrize(
    ("queues", "more", "message"),
    [
        ({"running": {"cup": 1}}, {}, r"queues\.a\.running\.cup: the cluster has no such resource"),
        ({"running": {"requests": 1.5}}, {}, r"running\.requests: is not a whole number"),
        ({"each": {"who": {}}}, {}, r"each\.who: limits nothing"),
        ({"each": {"user": {"requests": 1}}}, {}, r"wait\.queues\.a\.each: the requests have no such label"),
        ({"of": {"part": "s"}}, {}, r"wait\.queues\.a\.of: the requests have no such label \(got 'part'\)"),
        ({"longest": "1 h"}, {"knowledge": {"lifetimes": "hidden"}}, r"queues\.a\.longest: agents do not know"),
        ({}, {"agents": ["two-stage"]}, "agents.0.*TwoStage chooses among requests that wait, and knows no queues"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, queues: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_scenario(scenario(tmp_path, JOBS, {"a": queues}, **more))
