"""What a scenario says of sites: its mistakes, what comes out of each site, and who waits for a better hour."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binwright as bw
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from tests.support.moved import LOG
from tests.support.scenarios import first_run, random_requests

NORTH: dict[str, Any] = {"electricity": {"pue": 1.1, "price": 0.05, "carbon": 30}, "latency": {"south": "5 ms"}}
SOUTH: dict[str, Any] = {
    "electricity": {"price": 0.2, "carbon": {"daily": [400, 100]}},
    "latency": {"south": "9 ms", "job": 0.1},
}


def data(sites: dict[str, Any], **changes: Any) -> dict[str, Any]:
    groups = [{"count": 2, "node": {"cpu": 4, "mem": "8 GB"}, "labels": {"site": name}} for name in ("north", "south")]
    return {
        "cluster": {"groups": groups},
        "workload": random_requests(
            200,
            "8 min",
            [{"cpu": 1, "mem": "2 GB", "group": "south"}, {"cpu": 2, "mem": "1 GB", "group": "job"}],
            "1 h",
        ),
        "costs": {
            "servers": {"power": {"idle": "100 W", "peak": "300 W"}, "price": 0.5},
            "switch_off": {"after": "10 min", "power": "5 W", "waking": "15 Wh"},
        },
        "sites": {"by": "group", "of": {"north": NORTH, "south": SOUTH}} | sites,
        "agents": ["best-fit", "worst-fit"],
        "replications": 2,
    } | changes


MISTAKES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"of": {"north": NORTH}}, {}, "sites.of", "says nothing of the servers at south"),
    ({"of": {"north": NORTH, "south": SOUTH, "west": {}}}, {}, "sites.of.west", "no server has this site"),
    ({}, {"cluster": {"servers": 4, "node": {"cpu": 4, "mem": "8 GB"}}}, "sites.of", "no server has a label `site`"),
    ({"router": "greenest"}, {}, "sites.router.0", "unknown router"),
    ({"router": "price", "of": {"north": {}, "south": {}}}, {}, "sites.of.north", "says no price of a kWh"),
    ({"of": {"north": {"electricity": {"price": 0}}, "south": {}}}, {}, "sites.of.south", "says no price of a kWh"),
    ({"router": "home", "by": None, "of": {"north": {}, "south": {}}}, {}, "sites.by", "is missing for the router"),
    ({"router": "latency", "of": {"north": {"latency": {"south": 1}}, "south": {}}}, {}, "sites.of.south",
     "says no latency"),
    ({"by": None}, {}, "sites.of.north.latency", "goes by a label of requests"),
    ({"of": {"north": {"latency": {"jb": 1}}, "south": {}}}, {}, "sites.of.north.latency", "no request is of this g"),
    ({"of": {"north": {"electricity": {"carbon": {"path": "a.csv", "daily": [1]}}}, "south": {}}}, {},
     "sites.of.north.electricity.carbon", "needs a file or a day"),
    ({}, {"record": ["sites"], "costs": {}}, "record", "no site draws anything"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sites", "changes", "key", "problem"), MISTAKES, ids=[f"{key}: {said}" for _, _, key, said in MISTAKES]
)
def test_a_mistake_is_named(sites: dict[str, Any], changes: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as caught:
        scenario_from(data(sites, **changes))
    assert caught.value.key == key
    assert caught.value.remedy or caught.value.problem.startswith("expected ")


def test_mistakes_that_only_requests_show() -> None:
    only = {"electricity": NORTH["electricity"], "latency": {"south": "5 ms"}}
    far = scenario_from(data({"router": "latency", "of": {"north": only, "south": only}}))
    with pytest.raises(UserError, match="has a latency to no site"):
        check_scenario(far)
    homeless = data({"router": "home", "of": {"north": {}, "south": {}}})
    homeless["workload"]["flavours"][0]["group"] = "east"
    with pytest.raises(UserError, match=r"sites\.by: names the home of no request \(got 'group'\)"):
        check_scenario(scenario_from(homeless))


@pytest.mark.parametrize("router", ["load", "home", "carbon", "random", ["latency", "price"]])
def test_sites_add_up_to_the_whole(router: Any, tmp_path: Path) -> None:
    results = bw.run(scenario_from(data({"router": router},
                                        record=["requests", "sites"])), out=tmp_path)  # fmt: skip
    for row in results.runs.iter_rows(named=True):
        hours = results.hours_of_sites(row["run"])
        assert hours["energy"].sum() == pytest.approx(row["energy"])
        assert hours["carbon"].sum() == pytest.approx(row["carbon"])
        assert set(hours["site"]) == {"north", "south"}
        requests = results.requests(row["run"])
        at = np.array([requests["server"]])[0] // 2
        group = requests["group"].to_numpy()
        placed = at >= 0
        assert row["away"] == pytest.approx(float((at[placed & (group == "south")] == 0).mean()))
        far = np.where(group == "south", np.where(at == 0, 5, 9), np.where(at == 0, np.nan, 100))
        assert row["latency"] == pytest.approx(float(np.nanmean(far[placed])))
    assert results.figure("timeline", metrics=["carbon"]).axes


def test_three_sites_are_drawn_without_a_note_on_use(tmp_path: Path) -> None:
    names = ("north", "south", "west")
    groups = [{"count": 2, "node": {"cpu": 4, "mem": "8 GB"}, "labels": {"site": name}} for name in names]
    sites = {"by": None, "of": {name: {"electricity": {"carbon": 300}} for name in names}}
    scenario = scenario_from(data(sites, cluster={"groups": groups}, record=["sites"], replications=1))
    label = str(bw.run(scenario, out=tmp_path).figure("timeline").get_label())
    assert "allocated" not in label


def test_shipped_scenario_of_sites_saves_carbon(tmp_path: Path) -> None:
    changes = {"workload.requests": 600, "sweep.product": {"sites.router": ["home", "carbon"]}, "replications": 2}
    runs = bw.run(load_scenario("sites/three", [changes]), out=tmp_path).runs
    home, green = (runs.filter(runs["sites.router"] == router)["carbon"].to_numpy() for router in ("home", "carbon"))
    assert (green < home / 2).all()


@pytest.mark.parametrize("changes", [
    {"rescheduling": {"every": "10 min", "moves": 5, "mover": "empty"},
     "metrics": ["tests.support.moved:logged"]},
    {"overflow": {"expand": {"by": 1, "limit": 9}}},
    {"overflow": {"preempt": {"otherwise": "drop"}}},
    {"overflow": {"wait": {"together": 8}}, "knowledge": {"lifetimes": "known"},
     "agents": [{"in-line": {"backfilling": "easy"}}]},
])  # fmt: skip
def test_every_feature_keeps_to_the_site_of_a_request(changes: dict[str, Any], tmp_path: Path) -> None:
    scenario = data({"router": "home"}, **{"agents": ["best-fit"], "record": ["requests"], **changes})
    scenario["workload"]["arrivals"] = {"poisson": {"every": "1 min"}}
    for flavour, priority in zip(scenario["workload"]["flavours"], (0, 1), strict=True):
        flavour["priority"] = priority
    row, requests = first_run(scenario, tmp_path, "python")
    # These are at home in the south, on servers 2 and 3; servers that are added are like the last, in the south.
    server, is_southern = requests["server"].to_numpy(), (requests["group"] == "south").to_numpy()
    away = is_southern & (server >= 0) & (server < 2)
    assert away.any() == ("expand" not in str(changes))
    assert row["away"] == pytest.approx(away.sum() / max((is_southern & (server >= 0)).sum(), 1), abs=0.05)
    if "expand" in str(changes):
        assert server.max() == 8
    if "rescheduling" in changes:
        assert LOG
        assert all((moved.source[0] < 2) == (moved.target[0] < 2) for moved in LOG)
