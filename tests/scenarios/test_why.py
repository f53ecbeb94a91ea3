"""`binwright why`: what a run refused for which reason, and what every server had for one request."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.cli import main
from binwright.scenarios.build.plan import Run, plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.why import ROOM, RefusedRequests, Why, refused, why
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.scenarios import first_run, random_requests

SMALL: dict[str, Any] = {
    "cluster": {"servers": 4, "nodes": 2, "node": {"cpu": 8, "mem": "16 GB"}, "spread_above": {"mem": "8 GB"}},
    "workload": random_requests(
        60,
        "10 s",
        [{"cpu": 2, "mem": "4 GB", "weight": 3}, {"cpu": 6, "mem": "5 GB"}, {"cpu": 3, "mem": "20 GB"}],
        "3 min",
    ),
    "agents": ["best-fit"],
    "record": ["requests"],
}
NETWORK_WORKLOAD = {"demand": "uniform", "requests": 40, "holding": 10}


def run_of(**changes: Any) -> Run:
    return plan(scenario_from({**SMALL, **changes}))[0]


@pytest.mark.parametrize("failures", [{}, {"mtbf": "5 min", "mttr": "3 min"}])
def test_why_tells_the_outcome_and_every_server_of_a_request(failures: dict[str, str], tmp_path: Path) -> None:
    run = run_of(cluster={**SMALL["cluster"], "failures": failures} if failures else SMALL["cluster"])
    words = set()
    for row in first_run(run.scenario, tmp_path)[1].to_dicts()[:60:2]:
        if row["origin"] >= 0:
            continue  # what a failure sent back is another request with the same id
        result = why(run, str(row["id"]))
        assert (result.request.index, result.time) == (row["row"], row["arrival"])
        whys = result.servers["why"].to_list()
        words |= {word.split()[0] for word in whys}
        if row["outcome"] == "rejected":
            assert result.answer == f"refused: {row['reason']}"
            assert ROOM not in whys
        else:
            assert result.answer.startswith(f"placed on server {row['server']}")
            assert whys[row["server"]] == ROOM
    assert words == {ROOM, "lacks"} | ({"has"} if failures else set())


def test_refusals_of_a_replay_equal_the_refusals_of_the_run(tmp_path: Path) -> None:
    run = run_of()
    rows = first_run(run.scenario, tmp_path)[1].to_dicts()
    reasons, kinds, labels, *_ = refused(run)
    assert labels.is_empty()
    rejected = [row for row in rows if row["outcome"] == "rejected"]
    assert rejected
    assert {row["reason"]: row["requests"] for row in reasons.to_dicts()} == {
        word: sum(row["reason"] == word for row in rejected) for word in {row["reason"] for row in rejected}
    }
    assert json.loads(execute(run, tmp_path)["reasons"]) == dict(reasons.select("reason", "requests").iter_rows())
    for row in reasons.to_dicts():
        times = [each["arrival"] for each in rejected if each["reason"] == row["reason"]]
        assert (row["first"], row["last"]) == (min(times), max(times))
    assert kinds["offered"].sum() == len(rows)
    for kind in kinds.to_dicts():
        mine = [row for row in rows if (row["cpu"], row["mem"]) == (kind["cpu"], kind["mem"])]
        assert (kind["offered"], kind["refused"]) == (len(mine), sum(row["outcome"] == "rejected" for row in mine))


def test_a_request_that_was_sent_back_counts_once(tmp_path: Path) -> None:
    """Server 1 fails under `b`, which finds no place again."""
    csv = "id,arrival,end,cpu,team\na,0,60,4,ann\nb,1,60,8,bob\nc,30,40,1,ann\n"
    (tmp_path / "vms.csv").write_text(csv)
    failures = {"scheduled": [{"at": "10 s", "server": 1}], "on_failure": "requeue"}
    data = {
        "name": "sent",
        "cluster": {"servers": 2, "node": {"cpu": 8}, "failures": failures},
        "workload": {"trace": "table", "path": str(tmp_path / "vms.csv"), "labels": {"team": "team"}},
        "agents": ["first-fit"],
    }
    bw.run(bw.scenario(data), out=tmp_path / "results", jobs=1)
    results = bw.why(tmp_path / "results")
    assert isinstance(results, RefusedRequests)
    assert results.kinds.rows() == [(8.0, 1, 1), (4.0, 1, 0), (1.0, 1, 0)]
    assert results.reasons.select("requests", "first", "ids").rows() == [(1, 1.0, [])]
    row = bw.load(tmp_path / "results").runs.row(0, named=True)
    assert (row["rejected"], row["lost"]) == (0, 1)


def test_labels_refused_most_for_the_same_requests_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One server: a large request always finds it taken, whoever asks; of the small ones one tenant's come late."""
    asks = [("ann", 0, 4), ("ann", 1, 4), ("bob", 2, 4), ("bob", 3, 8), ("ann", 4, 8), ("cid", 20, 4)]
    csv = "id,arrival,end,cpu,team\n" + "".join(f"{at},{at},{at + 10},{cpu},{who}\n" for who, at, cpu in asks)
    (tmp_path / "vms.csv").write_text(csv)
    data = {
        "name": "teams",
        "cluster": {"servers": 1, "node": {"cpu": 8}},
        "workload": {"trace": "table", "path": str(tmp_path / "vms.csv"), "labels": {"team": "team"}},
        "agents": ["first-fit"],
    }
    bw.run(bw.scenario(data), out=tmp_path / "results", jobs=1)
    result = bw.why(tmp_path / "results")
    assert isinstance(result, RefusedRequests)
    assert result.labels.rows() == [
        ("team", "bob", 2, 2, 1.25),
        ("team", "cid", 1, 0, 0.25),
        ("team", "ann", 3, 1, 1.5),
    ]
    assert result.kinds.select("offered", "refused").rows() == [(2, 2), (4, 1)]
    assert main(["why", str(tmp_path / "results")]) == 0
    words = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "bob 2 2 100.0 62.5" in words


def test_rules_devices_and_what_is_impossible() -> None:
    groups = [
        {"count": 2, "node": {"cpu": 8, "mem": "16 GB"}, "labels": {"zone": "a"}},
        {"count": 1, "node": {"cpu": 8, "mem": "16 GB"}, "labels": {"zone": "b"}, "taints": ["spot"]},
    ]
    flavours = [{"cpu": 1, "mem": "1 GB", "group": "web"}]
    ruled = run_of(
        cluster={"groups": groups},
        workload={**SMALL["workload"], "flavours": flavours},
        placement=[{"at_most": 2, "of": "web", "per": "zone"}],
    )
    full = refused(ruled)[0]
    assert full["reason"].to_list() == ["rule: at most 2 of web per zone"]
    result = why(ruled, full["ids"][0][0])
    assert result.servers["why"].to_list() == [
        "rule: at most 2 of web per zone",
        "rule: at most 2 of web per zone",
        "rule: a taint that it does not tolerate",
    ]

    large = run_of(workload={**SMALL["workload"], "flavours": [{"cpu": 12, "mem": "1 GB"}, {"cpu": 1, "mem": "1 GB"}]})
    reasons = refused(large).reasons
    ids = {row["reason"]: row["ids"][0] for row in reasons.to_dicts()}
    result = why(large, ids["no server could hold it, even empty"])
    assert result.answer.startswith("impossible")
    assert set(result.servers["why"]) == {"lacks cpu"}


def test_waiting_and_the_network() -> None:
    waits = run_of(overflow="wait")
    answers = [why(waits, f"row {row}").answer for row in range(30, 60, 3)]
    assert any(" after its arrival" in answer for answer in answers)
    network = run_of(
        cluster={"network": {"topology": "alpha"}, "node": {"cpu": 8, "mem": "32 GB"}},
        workload=NETWORK_WORKLOAD,
        agents=["tetris"],
    )
    result = why(network, "5")
    assert result.answer == "placed in the network"
    assert result.networked


def test_a_server_of_a_network_lacks_what_it_has_not_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = {"network": {"topology": "alpha"}, "node": {"cpu": 8, "mem": "32 GB"}}
    bw.run(run_of(cluster=cluster, workload=NETWORK_WORKLOAD, agents=["tetris"]).scenario, out=tmp_path)
    assert main(["why", str(tmp_path), "--request", "5"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"asked for .* on servers with [\d.]+ Gbps bandwidth between them", text)
    assert re.search(r"servers: each alone lacks cpu", text)
    assert re.search(r" alone lacks [\d.]+ cpu", text)


def test_longest_waits_are_listed_where_nothing_was_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bw.run(run_of(overflow="wait").scenario, out=tmp_path)
    run = bw.load(tmp_path).runs["run"][0]
    rows = bw.load(tmp_path).requests(run).with_columns(wait=pl.col("decided") - pl.col("arrival"))
    waited = rows.filter(pl.col("wait") > 0).sort("wait", descending=True, maintain_order=True)
    simulation = bw.why(tmp_path)
    assert isinstance(simulation, RefusedRequests)
    assert simulation.waits.rows() == waited.select(pl.col("id").cast(str), "cpu", "mem", "arrival", "wait").rows()
    assert main(["why", str(tmp_path)]) == 0
    assert f"{len(waited)} requests waited. The longest waits:" in (reported := capsys.readouterr().out)
    assert reported.endswith(f"--request {waited['id'][0]}\n")


def test_mistakes() -> None:
    run = run_of(warm_start={"resource": "cpu", "until": "30 %", "with": "first-fit"})
    with pytest.raises(UserError, match=r"(?s)came during the warm start.*begin at row"):
        why(run, "0")
    with pytest.raises(UserError, match=r"(?s)no request of this run has this id.*They are 0 to 59"):
        why(run, "60")
    with pytest.raises(UserError, match=r"(?s)no such row.*0 to 59"):
        why(run, "row 60")
    stops = run_of(overflow="stop")
    with pytest.raises(UserError, match="the run ended before it was offered to the agent"):
        why(stops, "59")


def test_why_prints_the_refusal_and_writes_the_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = SMALL | {"agents": ["best-fit", "first-fit"], "replications": 2}
    folder = tmp_path / "results"
    bw.run(scenario_from(data), out=folder)
    assert main(["why", str(folder), "--agent", "first-fit", "--seed", "1"]) == 0
    reported = capsys.readouterr().out
    assert reported.startswith("first-fit, seed 1: ")
    assert "changed since" not in reported
    wanted = reported.rpartition("--request ")[2].strip()
    csv = tmp_path / "servers.csv"
    assert (
        main(["why", str(folder), "--seed", "1", "--agent", "first-fit", "--request", wanted, "--out", str(csv)]) == 0
    )
    reported = capsys.readouterr().out
    assert f"first-fit, seed 1: request {wanted} " in reported
    assert "refused" in reported
    assert pl.read_csv(csv)["server"].to_list() == [0, 1, 2, 3]
    again = bw.why(folder, wanted, agent="first-fit", seed=1)
    assert isinstance(again, Why)
    assert again.servers["why"].to_list() == pl.read_csv(csv)["why"].to_list()
    assert isinstance(bw.why(bw.load(folder)), RefusedRequests)
    for arguments in (["--agent", "worst-fit"], ["--seed", "7"], ["--point", "cluster.servers=3"]):
        assert main(["why", str(folder), *arguments]) == 2
        known = "Agents: best-fit, first-fit. Seeds: 0 to 1. Points: nothing is swept."
        assert f"these results have no such run\n  {known}" in capsys.readouterr().err
    assert main(["why", str(tmp_path)]) == 2
    assert "is no folder of results" in capsys.readouterr().err
