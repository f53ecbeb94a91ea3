"""What a scenario says of costs: its mistakes, its files, which servers are of which kind, and what comes out."""

from pathlib import Path
from typing import Any

import pytest

import binwright as bw
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import measured
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario, resolved, scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.types import QUANTUM
from tests.support.batches import plain
from tests.support.scenarios import build_cluster

POWER: dict[str, Any] = {"idle": "100 W", "peak": "0.3 kW"}
GROUPS = [
    {"name": "small", "count": 2, "node": {"cpu": 4, "mem": "8 GB"}},
    {"name": "large", "count": 1, "node": {"cpu": 8, "mem": "8 GB"}},
]


def data(costs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return plain().dump() | {"costs": costs} | changes


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"servers": {"power": {"idle": 3}}}, "costs.servers.power", "needs idle and peak"),
    ({"servers": {"power": {"idle": 3, "curve": [1, 2]}}}, "costs.servers.power", "needs idle and peak, or a curve"),
    ({"servers": {"power": {"idle": "1 kW", "peak": 300}}}, "costs.servers.power.idle", "is more than its peak, 300 W"),
    ({"servers": {"power": {"idle": 1, "peak": 0}}}, "costs.servers.power.idle", "is more than its peak, 0 W"),
    ({"servers": {"power": {"curve": [1]}}}, "costs.servers.power.curve", "expected at least 2 of these"),
    ({"switch_off": {"after": 1, "waking": 1e299}}, "costs.switch_off.waking", "is more than 1000000000"),
    ({"switch_off": {"after": 1, "waking": "3 W"}}, "costs.switch_off.waking", "'W' is not a unit of energy"),
    ({"utilisation": "gpu"}, "costs.utilisation", "the cluster has no such resource"),
    ({"electricity": {"carbon": 300}}, "costs.electricity", "there is no power to pay"),
    ({"electricity": {"pue": 0.9}, "servers": {"power": POWER}}, "costs.electricity.pue", "expected"),
    ({"kinds": {"large": {"price": 1}}}, "costs.kinds.large", "there are no servers of this kind"),
]


@pytest.mark.parametrize(("costs", "key", "problem"), MISTAKES, ids=[f"{key}: {said}" for _, key, said in MISTAKES])
def test_a_mistake_is_named(costs: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem) as caught:
        scenario_from(data(costs))
    assert caught.value.key == key
    assert caught.value.remedy or caught.value.problem.startswith("expected ")


KINDS: list[tuple[dict[str, Any], str, str]] = [
    ({"kinds": {"lrage": {"price": 1}}}, "costs.kinds.lrage", "there are no servers of this kind"),
    ({"kinds": {"large": {"price": 1}}}, "costs.servers", "says no price, and other servers have one"),
    ({"servers": {"power": POWER}, "kinds": {"large": {}}}, "costs.kinds.large", "says no power"),
]


@pytest.mark.parametrize(("costs", "key", "problem"), KINDS, ids=[key for _, key, _ in KINDS])
def test_kinds_are_those_of_the_servers(costs: dict[str, Any], key: str, problem: str) -> None:
    plainer = {**plain().dump(), "cluster": {"groups": GROUPS}, "prices": {}, "costs": costs}
    plainer["workload"] = plainer["workload"] | {"flavours": [{"cpu": 1}]}
    with pytest.raises(UserError, match=problem) as caught:
        check_scenario(scenario_from(plainer))
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("cluster", "kinds", "added"),
    [
        ({"groups": GROUPS}, [0, 0, 1], 1),
        ({"groups": GROUPS[::-1]}, [0, 1, 1], 1),
        ({"groups": GROUPS, "numbering": "drawn"}, None, None),
    ],
)
def test_every_server_has_the_tariff_of_its_kind(cluster: Any, kinds: list[int] | None, added: int | None) -> None:
    costs = {"servers": {"price": 1}, "kinds": {"large": {"price": 8}}}
    scenario = scenario_from(data(costs, cluster=cluster))
    for seed in range(6):
        result = measured(scenario, seed)["costs"]
        assert result is not None
        capacity = (build_cluster(scenario, seed).capacity[:, 0, 0] / QUANTUM).tolist()
        assert [result.tariffs[kind].price for kind in result.kinds] == [8 if cpu == 8 else 1 for cpu in capacity]
        assert kinds is None or (result.kinds.tolist(), result.added) == (kinds, added)
        assert result.tariffs[result.added].price == (8 if cluster["groups"][-1]["name"] == "large" else 1)


FILES: list[tuple[str, dict[str, Any], int | None, str]] = [
    ("a,b\n1,2\n", {}, 1, "has 2 columns"),
    ("a,b\n1,2\n", {"column": "c"}, 1, "has no column c"),
    ("a\n1\nmany\n", {}, 3, "not a number"),
    ("a\n1\n-1\n", {}, 3, "is not what belongs here"),
    ("a\n", {}, None, "has no rows"),
    ("", {}, None, "carbon.csv: has no rows: the file is empty"),
    ("a\n1\n2\n", {"start": "2 h"}, None, "is after the end of the file"),
]


@pytest.mark.parametrize(("text", "more", "line", "problem"), FILES)
def test_a_file_of_carbon_that_cannot_be_read_is_refused(
    text: str, more: dict[str, Any], line: int | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "carbon.csv"
    path.write_text(text)
    costs = {"servers": {"power": POWER}, "electricity": {"carbon": {"path": str(path), **more}}}
    with pytest.raises(UserError, match=problem) as caught:
        check_scenario(scenario_from(data(costs)))
    assert caught.value.line == line
    path.unlink()
    with pytest.raises(UserError, match="there is no such file"):
        check_scenario(scenario_from(data(costs)))


def test_a_scenario_has_its_costs_measured(tmp_path: Path) -> None:
    """One server with one request at a time: 150 W of 100 to 300 W for an hour of 100 g and one of 400 g a kWh."""
    hours = [f"2026-12-31T{hour}:00:00Z,{intensity}\n" for hour, intensity in ((21, 100), (22, 400), (23, 9))]
    (tmp_path / "carbon.csv").write_text(f"hour,gCO2\n{''.join(hours)}")
    (tmp_path / "s.yaml").write_text(
        """\
cluster: {servers: 1, node: {cpu: 4}}
workload: {requests: 3, arrivals: {fixed: {every: 1 h}}, flavours: [{cpu: 1}], lifetimes: {fixed: 1 h}}
agents: [first-fit]
prices: {cpu_hour: 2}
costs:
  servers: {power: {idle: 100 W, peak: 300 W}, price: 0.5}
  electricity: {pue: 2, price: 0.1, carbon: {path: carbon.csv, column: gCO2}}
metrics: [mine.py:worst]
size: {until: energy <= 3 kWh}
"""
    )
    (tmp_path / "mine.py").write_text(
        "from binwright import FinishedRun, metric\n\n\n"
        '@metric(heading="worst", meaning="energy in an hour")\n'
        "def worst(run: FinishedRun) -> float:\n    return run.bill.energy / run.bill.on\n"
    )
    scenario = load_scenario(tmp_path / "s.yaml")
    (tmp_path / "again.yaml").write_text(resolved(scenario, tmp_path))
    assert load_scenario(tmp_path / "again.yaml") == scenario
    results = bw.run(scenario, out=tmp_path / "out")
    (run,) = results.runs.to_dicts()
    assert run["energy"] == pytest.approx(0.6)
    assert run["carbon"] == pytest.approx(0.3 * 0.1 + 0.3 * 0.4)
    assert (run["cost_electricity"], run["cost"]) == pytest.approx((0.06, 1.06))
    assert (run["income"], run["net_month"] / 360, run["worst"]) == pytest.approx((4, 2.94, 0.3))
    assert run["server_hours_on"] == pytest.approx(2)
    table = results.compare(metrics=["energy", "net_month"]).frame
    assert table["metric"].to_list() == ["energy", "net_month"]
    (tmp_path / "carbon.csv").write_text("hour,gCO2\n2026-12-31,100\n")
    failed = Batch(load_scenario(tmp_path / "s.yaml"), tmp_path / "out").run().failed
    assert "costs.electricity.carbon ends after 1 hours, and the run needs 2: give it more" in failed["error"][0]


def test_money_is_in_the_currency_that_the_scenario_says(tmp_path: Path) -> None:
    units, names = [], []
    for currency in ({}, {"currency": "€"}):
        costs = {"servers": {"price": 2}} | currency
        prices = {"cpu_hour": 3}
        results = bw.run(plain(costs=costs, prices=prices, replications=2, agents=["first-fit"]), out=tmp_path)
        names.append(results.runs["run"].to_list())
        units.append({metric.name: metric.unit for metric in results.metrics})
    assert names[0] == names[1]  # nothing was run again
    money = {"income", "cost", *(f"{what}_month" for what in ("income", "cost", "net"))}
    assert {name for name, unit in units[1].items() if unit == "€"} == money
    assert all(unit == ("" if name in money else units[1][name]) for name, unit in units[0].items())
    assert " €" in str(results.table())


def test_hours_are_counted_without_power_and_prices(tmp_path: Path) -> None:
    (run,) = bw.run(plain(costs={}, replications=1, agents=["first-fit"]), out=tmp_path).runs.to_dicts()
    assert run["server_hours_on"] == pytest.approx(2 * run["hours"])
    assert not {"energy", "carbon", "cost", "net_month"} & run.keys()
