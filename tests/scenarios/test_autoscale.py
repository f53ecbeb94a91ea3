"""Autoscale: servers are bought for those who wait, cheapest first, and let go when they are empty or nearly so."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from tests.support.scenarios import WAYS, first_run


def scenario_of(
    buy: dict[str, Any], requests: int = 3, every: str = "1 s", stays: str = "5 min", **more: Any
) -> dict[str, Any]:
    """Requests for 2 cpu on one server of 2 cpu, where two small or large ones of each kind can be bought."""
    sizes = {"base": (1, 2), "small": (2, 2), "large": (2, 8)}
    kinds = [name for name in sizes if name == "base" or name in buy]
    return {
        "cluster": {
            "groups": [{"name": name, "count": sizes[name][0], "node": {"cpu": sizes[name][1]}} for name in kinds]
        },
        "workload": {
            "requests": requests,
            "arrivals": {"fixed": {"every": every}},
            "flavours": [{"cpu": 2}],
            "lifetimes": {"fixed": stays},
        },
        "overflow": "wait",
        "agents": ["first-fit"],
        "autoscale": {"buy": buy, "every": "10 s", **more},
    }


SMALL = {"small": {"price": 1, "delay": "30 s"}}


def test_the_cheapest_servers_are_bought_for_those_who_wait_and_come_after_their_delay(tmp_path: Path) -> None:
    buy = {"large": {"price": 4, "delay": "1 min"}, **SMALL}
    row, requests = first_run(scenario_of(buy, requests=5), tmp_path)
    assert requests["server"].to_list() == [0, 1, 2, 3, 3]
    assert requests["decided"].to_list() == [0, 40, 40, 70, 70]  # it is decided at 10 s
    assert row["servers_bought"] == 3
    assert row["cost_bought"] == pytest.approx(2 * 30 / 3600)


def test_servers_that_a_process_adds_count_as_present(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def more(simulation):\n    yield simulation.env.timeout(5)\n    simulation.grow(1)\n")
    scenario = {**scenario_of(SMALL, every="6 s", above={"cpu": "70 %"}), "processes": [f"{mine}:more"]}
    _, requests = first_run(scenario, tmp_path)
    assert requests["decided"].to_list() == [0, 6, 40]  # one is bought at 10 s, as all 4 cpu are allocated


def test_nothing_is_bought_for_whom_no_kind_holds(tmp_path: Path) -> None:
    scenario = scenario_of(SMALL)
    scenario["cluster"]["groups"][0]["node"] = scenario["workload"]["flavours"][0] = {"cpu": 4}
    row, requests = first_run(scenario, tmp_path)
    assert row["servers_bought"] == 0
    assert requests["decided"].to_list() == [0, 300, 600]


def test_labels_decide_which_kind_is_bought(tmp_path: Path) -> None:
    scenario = scenario_of({**SMALL, "large": {"price": 4, "delay": "1 min"}}, requests=1)
    scenario["cluster"]["groups"][2]["labels"] = {"zone": "b"}
    scenario["workload"]["flavours"] = [{"cpu": 2, "where": {"zone": "b"}}]
    _, requests = first_run(scenario, tmp_path)
    assert requests["server"].to_list() == [3]


def test_empty_servers_are_let_go_after_their_time_and_bought_again(tmp_path: Path) -> None:
    scenario = scenario_of({"small": {"first": 1, "price": 1}}, requests=3, every="10 min", idle="2 min")
    scenario["cluster"]["groups"][0]["count"] = 0
    row, requests = first_run(scenario, tmp_path)
    assert row["servers_bought"] == 1 + 2  # the first one is there from the start
    assert requests["decided"].to_list() == [0, 610, 1210]
    assert row["cost_bought"] == pytest.approx(2 * (300 + 120) / 3600)


def test_servers_are_bought_before_anybody_waits_where_much_is_allocated(tmp_path: Path) -> None:
    _, late = first_run(scenario_of(SMALL, requests=2, every="1 min"), tmp_path / "late")
    _, early = first_run(scenario_of(SMALL, requests=2, every="1 min", above={"cpu": "60 %"}), tmp_path / "early")
    assert late["decided"].to_list() == [0, 100]
    assert early["decided"].to_list() == [0, 60]


def test_nearly_empty_servers_are_emptied_by_moves(tmp_path: Path) -> None:
    scenario = scenario_of({"large": {"first": 2, "price": 1}}, every="2 min", below="30 %", idle="5 min", stays="1 h")
    scenario["cluster"]["groups"][0]["count"] = 0
    scenario["agents"] = ["worst-fit"]
    row, requests = first_run(scenario, tmp_path)
    assert row["moves"] == 1  # at 130 s, when both have one request
    assert requests["outcome"].unique().to_list() == ["placed"]
    assert row["cost_bought"] < 2 * row["makespan"] / 3600


def test_the_emptiest_server_is_emptied_first(tmp_path: Path) -> None:
    scenario = scenario_of({"large": {"first": 3}}, requests=5, every="3 s", below="60 %", idle="5 min", stays="1 h")
    scenario["cluster"]["groups"] = [{"name": "large", "count": 3, "node": {"cpu": 8}}]
    scenario["agents"] = ["worst-fit"]
    _, requests = first_run(scenario, tmp_path)
    assert requests["server"].to_list() == [0, 0, 2, 0, 2]  # of two servers with one request each, the first is emptied


@pytest.mark.parametrize("agent", ["best-fit", "random"])
def test_either_engine_buys_the_same(tmp_path: Path, agent: str) -> None:
    scenario = {
        **scenario_of(
            {"small": {"delay": "1 min"}, "large": {"price": 2, "delay": "2 min"}}, below="40 %", idle="1 min"
        ),
        "agents": [agent],
    }
    scenario["workload"] = {
        "requests": 120,
        "arrivals": {"poisson": {"every": "20 s"}},
        "flavours": [{"cpu": 1}, {"cpu": 2}, {"cpu": 6}],
        "lifetimes": {"exponential": {"mean": "2 min"}},
    }
    (each, requests), (_, same) = (first_run(scenario, tmp_path / way, way) for way in WAYS)
    assert requests.equals(same)
    assert requests.filter(pl.col("outcome") != "placed").is_empty()
    assert each["servers_bought"] > 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buy": {"smal": {}}}, "autoscale.buy.smal: no group has this name"),
        ({"buy": {"small": {"first": 3}}}, "autoscale.buy.small.first: is more than there are"),
        ({"buy": {"small": {}}, "above": {"cpus": "80 %"}}, "autoscale.above.cpus"),
    ],
)
def test_what_cannot_be_bought_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(bw.UserError, match=message):
        bw.scenario({**scenario_of(SMALL), "autoscale": change})
