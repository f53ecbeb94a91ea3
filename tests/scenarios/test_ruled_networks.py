"""Scenarios with rules of placement in networks: how they are written, what is refused, and what runs say of them."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.scenarios.build.cluster import build_ledger
from binwright.scenarios.build.world import build_learning, build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.roles import Role
from tests.support.batches import changed
from tests.support.scenarios import first_run

SMALL = {"racks": 4, "servers_per_rack": 2, "racks_per_pod": 2, "fabric_switches": 1, "uplinks": 1}
RACKS: dict[str, Any] = {
    "cluster": {
        "network": {
            "topology": {"fabric": {**SMALL, "capacities": [1, 1, 1]}},
            "marked": [
                {"servers": {"pod": "pod-0"}, "labels": {"feed": "a"}},
                {"servers": {"rack": ["rack-2", "rack-3"]}, "labels": {"feed": "b", "kind": "new"}},
                {"servers": [1, 3], "taints": ["spot"]},
                {"servers": [0, 3], "labels": {"kind": "old"}, "taints": "spot"},
            ],
        },
        "node": {"cpu": 50, "mem": 50},
    },
    "workload": {
        "demand": "uniform",
        "requests": 60,
        "holding": 5,
        "roles": [{"group": "web", "weight": 3}, {"group": "db", "where": {"feed": "b"}, "tolerates": ["spot"]}],
    },
    "placement": [{"at_most": 1, "of": "web", "per": "rack"}, {"spread": "*", "over": "pod", "skew": 2}],
    "agents": ["tetris"],
    "record": ["requests"],
}


def test_rules_and_labels_of_a_network_reach_the_ledger() -> None:
    scenario = scenario_from(RACKS)
    ledger = build_ledger(scenario)
    assert ledger.network
    assert ledger.rules
    assert [str(rule) for rule in ledger.rules.written] == ["at most 1 of web per rack", "* is spread over pod, skew 2"]
    labels = ledger.rules.labels
    assert labels.labels["feed"].tolist() == list("aaaabbbb")
    assert labels.labels["kind"].tolist() == ["old", "", "", "old"] + ["new"] * 4
    assert labels.labels["rack"].tolist()[::2] == ["rack-0", "rack-1", "rack-2", "rack-3"]
    assert np.flatnonzero(labels.taints["spot"]).tolist() == [0, 1, 3]
    assert scenario_from(scenario.dump()) == scenario


def test_roles_are_drawn_by_weight_and_move_nothing_else() -> None:
    drawn = build_world(scenario_from(changed(RACKS, "workload", "requests", to=400))).draw(0)
    assert drawn.roles is not None
    assert drawn.roles.all == (Role("web"), Role("db", (("feed", ("b",)),), ("spot",)))
    assert 270 < Counter(drawn.roles.of.tolist())[0] < 330
    plain = changed(RACKS, "workload", "requests", to=400)
    del plain["workload"]["roles"], plain["placement"]
    same = build_world(scenario_from(plain)).draw(0)
    assert same.roles is None
    for name in ("arrival", "duration", "demand", "bandwidth"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(same, name))
    fewer = build_world(scenario_from(RACKS)).draw(0)
    assert fewer.roles is not None
    assert fewer.roles.of.tolist() == drawn.roles.of[:60].tolist()


def test_only_what_is_ruled_has_a_ledger_of_rules() -> None:
    plain = changed(RACKS, "cluster", "network", to={"topology": "alpha"}) | {"placement": []}
    plain["workload"]["roles"] = [{"group": "web"}]
    ledger = build_ledger(scenario_from(plain))
    assert ledger.network
    assert ledger.rules is None
    plain["workload"]["roles"] = [{"where": {"pod": "pod-1"}}]
    assert build_ledger(scenario_from(plain)).rules


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("placement", 0), {"drain": [8]}, r"placement\.0\.drain: there is no such server.*Servers are 0 to 7"),
        (("placement", 0), {"drain": {"rack": "rack-9"}}, "no server has this rack"),
        (("workload", "roles", 1, "where"), {"feed": "c"}, r"workload\.roles\.1\.where\.feed: no server has this feed"),
        (("cluster", "network", "marked", 0), {"servers": [0]}, r"marked\.0: says nothing of the servers"),
        (("cluster", "network", "marked", 2, "servers"), [9], r"marked\.2\.servers: there is no such server"),
        (("cluster", "network", "marked", 0, "servers"), {"feed": "a"}, "the servers have no such label"),
        (("cluster", "network", "marked", 0, "labels"), {"rack": "x"}, "labels.rack: is already set by the topology"),
        (("cluster", "network", "topology"), {"tree": {"fanouts": [8], "capacities": [1]}}, "no such label.*pod"),
        (("cluster", "domains"), {"rack": 2}, "does not go with a network"),
    ],
)
def test_mistakes(path: tuple[str | int, ...], value: Any, message: str) -> None:
    with pytest.raises(UserError, match=f"(?s){message}"):
        scenario_from(changed(RACKS, *path, to=value))


def test_nobody_learns_with_rules_in_a_network() -> None:
    scenario = scenario_from(RACKS)
    with pytest.raises(ScenarioError, match="nothing is learned with it"):
        build_learning(scenario)
    with pytest.raises(UserError, match="episodes in a network keep no rules of placement"):
        build_world(scenario).episodes(1)


def test_a_table_says_groups_and_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,arrival,lifetime,cpu,mem,app,at\n"
        "a,0,50,12,12,web,rack=rack-0|rack-1\nb,1,50,12,12,web,\nc,2,50,12,12,web,pod=pod-1\nd,3,50,12,12,db,\n"
    )
    columns, units = {"group": "app", "where": "at"}, {"mem": "GB"}
    options = {"trace": "table", "path": str(tmp_path / "t.csv"), "columns": columns, "units": units}
    data = {
        "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": "10 GB"}},
        "workload": options,
        "placement": [{"at_most": 1, "of": "*", "per": "pod"}],
        "agents": ["tetris"],
        "record": ["requests"],
    }
    _, frame = first_run(data, tmp_path)
    assert (frame["server"] >= 20).to_list() == [False, True, False, False]
    assert frame["reason"].to_list() == [None, None, "rule: at most 1 of * per pod", None]
    assert frame["bandwidth"].to_list() == [0.0] * 4
