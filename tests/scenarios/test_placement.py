"""Scenarios with rules of placement: how they are written, what is refused, and what runs say of them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from binwright.scenarios.build.cluster import build_ledger
from binwright.scenarios.build.plan import plan
from binwright.scenarios.build.world import build_world
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.roles import Role
from tests.support.batches import changed
from tests.support.scenarios import WAYS, Way, deciding, first_run

TIMES = {"seconds", "decision_us", "compiled"}
ZONES: dict[str, Any] = {
    "cluster": {
        "domains": {"rack": 2},
        "groups": [
            {"count": 3, "node": {"cpu": 8}, "labels": {"zone": "a", "kind": "small"}},
            {"count": 3, "node": {"cpu": 8}, "labels": {"zone": "b"}, "taints": "spot"},
        ],
    },
    "workload": {
        "requests": 80,
        "arrivals": {"fixed": {"every": "1 s"}},
        "flavours": [
            {"cpu": 1, "group": "web", "weight": 2, "tolerates": ["spot"]},
            {"cpu": 2, "group": "db", "where": {"zone": ["a", "b"]}},
            {"cpu": 1},
        ],
        "lifetimes": {"fixed": "20 s"},
    },
    "placement": [
        {"at_most": 2, "of": "web", "per": "zone"},
        {"spread": "*", "over": "rack", "skew": 2},
        {"apart": ["web", "db"], "per": "server"},
        {"together": "db", "per": "zone"},
        {"near": "db", "of": "web", "per": "zone"},
        {"drain": [2, 1], "at": "30 s"},
        {"drain": {"kind": "small"}, "at": "60 s"},
    ],
    "agents": ["best-fit"],
    "record": ["requests"],
}


def test_rules_and_labels_of_a_scenario_reach_the_ledger() -> None:
    scenario = scenario_from(ZONES)
    ledger = build_ledger(scenario)
    assert ledger.rules
    assert [str(rule) for rule in ledger.rules.written] == [
        "at most 2 of web per zone",
        "* is spread over rack, skew 2",
        "db, web apart per server",
        "db together per zone",
        "web near db per zone",
        "drain 2, 1",
        "drain kind=small",
    ]
    assert [at for at, *_ in ledger.rules.planned] == [30.0, 60.0]
    labels = ledger.rules.labels
    assert labels.labels["zone"].tolist() == list("aaabbb")
    assert labels.labels["kind"].tolist() == ["small"] * 3 + [""] * 3
    assert labels.labels["rack"].tolist() == list("001122")
    assert labels.taints["spot"].tolist() == [False] * 3 + [True] * 3
    more = labels.grown(3)
    assert more.labels["rack"].tolist() == list("001122334")
    assert (more.labels["zone"][-1], more.taints["spot"].tolist()[-3:]) == ("b", [True] * 3)
    roles = build_world(scenario).draw(0).roles
    assert roles is not None
    assert roles.all == (Role("web", (), ("spot",)), Role("db", (("zone", ("a", "b")),)), Role())
    assert scenario_from(scenario.dump()) == scenario


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("overflow", ["drop", "wait"])
def test_a_server_takes_requests_again_after_its_maintenance(way: Way, overflow: str, tmp_path: Path) -> None:
    """Of two servers of one request each, one is closed from 10 s to 30 s; one comes every 5 s for 9 s."""
    (tmp_path / "steady.csv").write_text("id,arrival,lifetime,cpu\n" + "".join(f"{n},{5 * n},9,4\n" for n in range(10)))
    data = {
        "cluster": {"servers": 2, "node": {"cpu": 4}},
        "workload": {"trace": "table", "path": str(tmp_path / "steady.csv")},
        "placement": [{"drain": [1], "at": "10 s", "until": "30 s"}, {"drain": [1], "at": "40 s", "until": "41 s"}],
        "overflow": overflow,
        "agents": ["first-fit"],
        "record": ["requests"],
    }
    result, rows = first_run(data, tmp_path, way)
    closed = rows.filter(pl.col("server") == 1)["decided"]
    assert result["compiled"] == (way == "compiled")
    assert not closed.is_between(10, 30, closed="left").any()
    assert closed.to_list() == ([5, 35, 45] if overflow == "drop" else [5, 30, 39, 48])
    assert (result["drained"], result["undrained"]) == (4.0, 0)


def test_a_run_tells_when_drained_servers_were_empty(tmp_path: Path) -> None:
    """Server 0 holds something until 50 s and 200 s, server 1 until 45 s; the last decision is at 60 s."""
    rows = ["id,arrival,lifetime,cpu", "0,0,50,4", "1,5,195,2", "2,10,35,4", "3,60,1,4"]
    for end, drains, drained, undrained in (
        (195, [{"drain": [1], "at": "15 s"}, {"drain": [0], "at": "30 s"}], 170.0, 1),
        (30, [{"drain": [1], "at": "15 s"}, {"drain": [0], "at": "30 s"}], 30.0, 0),
        (195, [{"drain": [1, 2], "at": "15 s"}], 30.0, 0),
        ("inf", [{"drain": [0], "at": "15 s"}], None, 1),
        (195, [{"drain": [2]}, {"drain": [0], "at": "61 s"}], None, None),
    ):
        rows[2] = f"1,5,{end},2"
        (tmp_path / "few.csv").write_text("\n".join(rows) + "\n")
        data = {
            "cluster": {"servers": 3, "node": {"cpu": 6}},
            "workload": {"trace": "table", "path": str(tmp_path / "few.csv")},
            "placement": drains,
            "agents": ["first-fit"],
        }
        [run] = plan(scenario_from(data))
        row = execute(run, tmp_path)
        assert (row.get("drained"), row.get("undrained")) == (drained, undrained)


def test_a_run_names_the_rules_that_refused(tmp_path: Path) -> None:
    [run] = plan(scenario_from(ZONES))
    evaluation = {}
    for way in WAYS:
        with deciding(way):
            evaluation[way] = execute(run, tmp_path / way)
    assert execute(run, tmp_path)["compiled"]
    first, second = ({key: value for key, value in row.items() if key not in TIMES} for row in evaluation.values())
    np.testing.assert_equal(first, second)
    frame, other = (
        pl.read_parquet(tmp_path / engine / "details" / f"{run.name}.requests.parquet") for engine in evaluation
    )
    assert_frame_equal(frame, other, check_exact=True)
    reasons = set(frame["reason"].drop_nulls().to_list())
    assert {"rule: web near db per zone", "rule: drain kind=small"} <= reasons
    assert frame.filter((pl.col("decided") >= 60) & pl.col("server").is_between(0, 2)).is_empty()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("placement", 2, "apart"), ["web"], 'names one group alone.*or "[*]" for all'),
        (("placement", 4, "near"), "web", "is the group itself"),
        (("placement", 5, "drain"), [6], "there is no such server"),
        (("placement", 6, "drain"), {"kind": "smal"}, "no server has this kind.*Did you mean 'small'"),
        (("workload", "flavours", 1, "where"), {"zone": "c"}, "no server has this zone"),
        (("workload", "flavours", 1, "where"), {"rack": 2}, r"expected text, got 2.*in quotes"),
        (("workload", "flavours", 0, "tolerates"), "sport", "no server has this taint.*Did you mean 'spot'"),
        (("cluster", "domains"), {"zone": 2}, "is already set by `domains`"),
        (("cluster",), {"network": {"topology": "alpha"}, "node": {"cpu": 8}}, "the servers have no such label.*zone"),
    ],
)
def test_mistakes(path: tuple[str | int, ...], value: Any, message: str) -> None:
    with pytest.raises(UserError, match=f"(?s){message}"):
        scenario_from(changed(ZONES, *path, to=value))


def test_agents_that_cannot_see_rules_or_domains_are_refused() -> None:
    data = ZONES | {"overflow": {"wait": {"together": 4}}, "knowledge": {"lifetimes": "known"}, "agents": ["two-stage"]}
    with pytest.raises(UserError, match=r"chooses among requests that wait(.|\n)*or remove rules of placement"):
        execute(plan(scenario_from(data))[0], Path())
    flavours = changed(data, "workload", "flavours", to=[{"cpu": 1}])
    data = flavours | {"placement": [], "cluster": {"servers": 4, "node": {"cpu": 4}, "domains": {"zone": 2}}}
    with pytest.raises(UserError, match=r"by cluster\.domains(.|\n)*or remove cluster\.domains"):
        execute(plan(scenario_from(data))[0], Path())


def test_traces_say_it_in_columns(tmp_path: Path) -> None:
    file = tmp_path / "asked.csv"
    file.write_text(
        "id,arrival,lifetime,cpu,group,where,tolerates\n"
        "0,0,9,1,web,zone=a|b,spot\n1,1,9,1,,,\n2,2,9,1,db,zone=b;kind=large,\n"
    )
    trace = {"trace": "table", "path": str(file), "tolerates": "old", "group": "other"}
    data = changed(ZONES, "workload", to=trace) | {"placement": [{"apart": ["web", "db"], "per": "server"}]}
    data["cluster"]["groups"][1]["taints"] = ["spot", "old"]
    roles = build_world(scenario_from(data)).draw(0).roles
    assert roles is not None
    assert [roles.all[role] for role in roles.of] == [
        Role("web", (("zone", ("a", "b")),), ("spot",)),
        Role("other", (), ("old",)),
        Role("db", (("kind", ("large",)), ("zone", ("b",))), ("old",)),
    ]
    [run] = plan(scenario_from(data))
    execute(run, tmp_path)
    frame = pl.read_parquet(tmp_path / "details" / f"{run.name}.requests.parquet")
    assert frame["outcome"].to_list() == ["placed", "placed", "impossible"]
    file.write_text("id,arrival,lifetime,cpu,where\n0,0,9,1,\n1,0,9,1,zone\n")
    with pytest.raises(UserError, match=r"asked.csv:3: where: does not say labels and values \(got 'zone'\)"):
        build_world(scenario_from(data)).draw(0)
    file.write_text("id,arrival,lifetime,group\n0,0,9,web\n")
    with pytest.raises(UserError, match="cpu"):
        build_world(scenario_from(data)).draw(0)
