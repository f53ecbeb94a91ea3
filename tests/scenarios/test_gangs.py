"""Tests scenarios with gangs: YAML to results, mistakes, logs of jobs, and why a gang found no place."""

from math import inf
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.why import why
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.properties import first
from tests.support.scenarios import Way, first_run, random_requests

SERVERS: dict[str, Any] = {"servers": 4, "node": {"cpu": 4}, "domains": {"rack": 2}}
FLAVOURS = [{"cpu": 1, "parts": {"number": 5, "together": "rack", "at_most": {"server": 3}}}, {"cpu": 2}]


def scenario_of(**changes: Any) -> dict[str, Any]:
    workload = random_requests(60, "10 s", FLAVOURS, "40 s")
    return {"cluster": SERVERS, "workload": workload, "agents": ["best-fit"], **changes}


@pytest.mark.parametrize("changes", [
    {},
    {"rescheduling": {"every": "10 s", "moves": 9, "mover": {"agent": {"agent": "best-fit"}}}},
])  # fmt: skip
def test_parts_keep_their_rules_also_where_they_are_moved(changes: dict[str, Any], tmp_path: Path) -> None:
    row, requests = first_run(scenario_of(**changes, agents=["worst-fit"]), tmp_path)
    assert bool(row.get("moves")) == bool(changes)
    gangs = requests.filter(pl.col("outcome") == "placed").group_by("gang").agg(pl.col("server"), pl.len())
    gangs = gangs.filter(pl.col("len") > 1)
    assert len(gangs) > 5
    for servers in gangs["server"].to_list():
        assert len(servers) == 5
        assert len({server // 2 for server in servers}) == 1
        assert max(servers.count(server) for server in servers) <= 3
    leads = requests.filter(pl.col("gang") == pl.col("row"))
    assert row["offered"] == len(leads) == 60
    assert row["scheduled"] == (leads["outcome"] == "placed").sum()
    assert row["gang_servers"] == pytest.approx(gangs["server"].list.n_unique().mean())


def test_a_gang_with_devices_has_others_evicted(tmp_path: Path) -> None:
    """What goes lies in one rack, where room is made for no more parts than there are."""
    gang = {"gpu": 1, "parts": {"number": 6, "together": "rack"}, "priority": 9}
    workload = random_requests(
        400, "10 s", [gang, {"gpu": 1, "weight": 6, "parts": 2, "priority": 1}, {"gpu": 1, "weight": 6}], "40 s"
    )
    cluster = {"servers": 4, "node": {"cpu": 4}, "devices": {"count": 4}, "domains": {"rack": 2}}
    options = scenario_of(cluster=cluster, workload=workload, overflow={"preempt": {"victims": "fewest"}})
    _, requests = first_run(options, tmp_path)
    urgent = requests.filter(pl.col("priority") == 9)
    evicted = requests.filter(pl.col("evicted_for").is_in(urgent["row"].implode()))
    by = evicted.group_by("evicted_for").agg(pl.len(), pl.col("gang").n_unique(), pl.col("end").first())
    assert len(by) > 3
    assert evicted.group_by("gang").agg(pl.len() == pl.col("priority").first() + 1)["len"].all()
    placed = urgent.filter(pl.col("gang") == pl.col("row")).join(by, left_on="row", right_on="evicted_for")
    assert (placed["decided"] == placed["end_right"]).all()
    assert max(by["gang"].to_list()) <= 6


def test_a_gang_on_two_servers_gives_way_on_either(tmp_path: Path) -> None:
    """Only the second server has room for the urgent one, and the gang lies on the first one, too."""
    gang = {"cpu": 4, "parts": {"number": 3}}
    groups = [{"count": 1, "node": {"cpu": cpu}, "devices": {"count": 1}} for cpu in (4, 8)]
    workload = random_requests(40, "10 s", [gang, {"cpu": 8, "priority": 1}], "1 h")
    cluster = {"groups": groups}
    preempt = {"then": "drop", "otherwise": "drop"}
    row, requests = first_run(scenario_of(cluster=cluster, workload=workload, overflow={"preempt": preempt}), tmp_path)
    gone = requests.filter(pl.col("outcome") == "interrupted")
    assert row["preemptions"] > 0
    assert gone["server"].n_unique() == 2


LOG = """; three jobs
1 0 -1 100 24 -1 -1 24 200 1048576 1 1 1 1 1 -1 -1 -1
2 10 -1 50 8 -1 -1 8 60 -1 1 1 1 1 1 -1 -1 -1
3 20 -1 50 40 -1 -1 40 60 -1 1 1 1 1 1 -1 -1 -1
"""


@pytest.mark.parametrize(
    ("backfilling", "way"),
    first(1, [("easy", "python"), ("easy", "compiled"), ("conservative", "compiled"), ("none", "compiled")]),
)
def test_jobs_of_a_log_lie_on_several_servers(tmp_path: Path, backfilling: str, way: Way) -> None:
    log = tmp_path / "log.swf"
    log.write_text(LOG)
    problem = {
        "cluster": {"servers": 2, "node": {"cpu": 16, "mem": "64 GB"}},
        "workload": {"trace": "swf", "path": str(log), "parts": "processors"},
        "overflow": {"wait": {"together": 100}},
        "knowledge": {"lifetimes": {"predicted": {"requested": {}}}},
        "agents": [{"in-line": {"backfilling": backfilling}}],
    }
    row, requests = first_run(problem, tmp_path, way)
    leads = requests.filter(pl.col("gang") == pl.col("row"))
    assert leads["outcome"].to_list() == ["placed", "placed", "impossible"]
    assert leads["decided"].to_list()[:2] == [0.0, 10.0]
    assert requests.filter(pl.col("gang") == 0)["cpu"].to_list() == [1.0] * 24
    assert requests.filter(pl.col("gang") == 0)["mem"].sum() == pytest.approx(24 * 1.073741824)
    assert (row["offered"], row["scheduled"], row["impossible"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"number": 2, "together": "room"}, "no such label"),
        (inf, "expected a whole number from 1 to"),
        ("processors", "is for a trace"),
        ({"together": "rack"}, "needs either number or by"),
    ],
)
def test_mistakes_are_told(parts: object, message: str) -> None:
    options = scenario_of()
    options["workload"]["flavours"] = [{"cpu": 1, "parts": parts}]
    with pytest.raises(UserError, match=message):
        scenario_from(options)


def test_keys_that_do_not_go_with_gangs_are_refused() -> None:
    options = scenario_of(cluster={"network": {"topology": "alpha"}, "node": {"cpu": 10}})
    options["workload"]["flavours"] = [{"cpu": 1, "parts": {"number": 2, "together": "rack"}}]
    with pytest.raises(UserError, match="a part may lie on several servers of a network"):
        scenario_from(options)


def test_why_names_the_servers_of_an_interrupted_gang(tmp_path: Path) -> None:
    down = {"failures": {"scheduled": [{"at": "1 s", "server": 0}]}}
    options = scenario_of(cluster={**SERVERS, **down}, overflow={"preempt": {}})
    options["workload"] = {**options["workload"], "flavours": [{"cpu": 1, "parts": 5}]}
    _, requests = first_run(options, tmp_path)
    assert requests["outcome"].to_list()[:5] == ["interrupted"] * 5
    result = why(plan(scenario_from(options))[0], str(requests["id"][0]))
    assert result.answer == "placed with 5 parts on servers 0, 1"
