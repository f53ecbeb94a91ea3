"""Servers on which more may be placed than they have: by a ratio, or by predicted peaks."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.types import QUANTUM
from tests.support.batches import TIMES, data, plain
from tests.support.scenarios import Way, build_cluster, deciding, random_requests

GROUPS = [
    {"count": 2, "node": {"cpu": 4, "mem": "8 GB"}},
    {"count": 1, "node": {"cpu": 8, "mem": "8 GB"}},
]
POWER = {"servers": {"power": {"idle": "100 W", "peak": "300 W"}}}


def runs(options: dict[str, Any], out: Path, way: Way = "compiled") -> pl.DataFrame:
    with deciding(way):
        return bw.run(scenario_from(options), out=out, jobs=1).runs


def overcommitted(times: float, cpu: float = 1, **changes: Any) -> dict[str, Any]:
    problem = data(warm_start=None, costs=POWER, **changes)
    problem["cluster"] |= {"node": {"cpu": cpu, "mem": "8 GB"}, "overcommit": {"cpu": times}}
    return problem


def test_all_kinds_have_the_ratios_of_the_cluster() -> None:
    options = plain().dump() | {"cluster": {"groups": GROUPS, "overcommit": {"cpu": 1.5, "mem": 1.25}}}
    cluster = build_cluster(scenario_from(options))
    assert cluster.physical is not None
    assert (cluster.physical[:, 0] // QUANTUM).tolist() == [[4, 8], [4, 8], [8, 8]]
    assert (cluster.capacity[:, 0] // QUANTUM).tolist() == [[6, 10], [6, 10], [12, 10]]
    assert (cluster.installed(4)[3] // QUANTUM).tolist() == [[8, 8]]
    assert (cluster.growth // QUANTUM).tolist() == [[12, 10]]


@pytest.mark.parametrize("numbering", ["drawn", "given"])
def test_ratios_stay_with_their_servers(numbering: str) -> None:
    problem = plain().dump() | {"cluster": {"groups": GROUPS, "numbering": numbering, "overcommit": {"cpu": 2}}}
    for seed in range(4):
        cluster = build_cluster(scenario_from(problem), seed)
        assert cluster.physical is not None
        assert (cluster.capacity[:, 0, 0] == 2 * cluster.physical[:, 0, 0]).all()
        assert sorted(cluster.physical[:, 0, 0].tolist()) == [4 * QUANTUM, 4 * QUANTUM, 8 * QUANTUM]
        assert cluster.physical_growth is not None
        assert cluster.physical_growth[0, 0] == 8 * QUANTUM


@pytest.mark.parametrize("overflow", ["drop", "wait", {"expand": {"by": 1, "limit": 4}}])
def test_overcommitted_servers_place_as_larger_ones(overflow: Any, tmp_path: Path) -> None:
    triple = runs(overcommitted(3, overflow=overflow), tmp_path / "triple")
    larger = runs(overcommitted(1, 3, overflow=overflow), tmp_path / "larger")
    clock = runs(overcommitted(3, overflow=overflow), tmp_path / "clock", "python")
    same = ["acceptance", "allocation_mem", "servers", "fragmentation_cpu"]
    assert triple.select(same).equals(larger.select(same))
    ours = ["compiled", *TIMES]
    assert triple.drop(ours, strict=False).equals(clock.drop(ours, strict=False))
    assert triple["allocation_cpu"].to_list() == pytest.approx([3 * share for share in larger["allocation_cpu"]])
    assert (triple["allocation_cpu"] > 1).any()
    draws = triple["energy"] / triple["hours"]
    assert (draws <= 0.3 * triple["servers"]).all()  # never more than full servers draw
    assert (triple["energy"] > larger["energy"]).all()


@pytest.mark.parametrize("predict", ["oracle", {"limit": 0.9}, {"sigma": 5}], ids=str)
def test_peaks_that_are_predicted_admit_more_and_replay_alike(predict: Any, tmp_path: Path) -> None:
    problem = data(warm_start=None)
    problem["cluster"] |= {"node": {"cpu": 2, "mem": "64 GB"}}
    problem["workload"] |= {"use": {"cpu": "30 %"}, "requests": 60}
    without = runs(problem, tmp_path / "without")
    problem["cluster"] |= {"overcommit": {"cpu": {"predict": predict}}}
    result = runs(problem, tmp_path / "found")
    again = runs(problem, tmp_path / "again", "python")
    assert result.drop(TIMES).equals(again.drop(TIMES))
    assert not result["compiled"].any()
    assert result["acceptance"].mean() >= without["acceptance"].mean()  # type: ignore[operator]


PREDICTED = {"overcommit": {"cpu": {"predict": {"sigma": 5}}}}
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"overcommit": {"cpus": 2}}, "cluster.overcommit.cpus", "the cluster has no such resource"),
    ({"overcommit": {"cpu": 0}}, "cluster.overcommit.cpu", "expected"),
    ({"overcommit": {"gpu": 2}, "devices": {"count": 2}}, "cluster.overcommit.gpu", "a device is not overcommitted"),
    (PREDICTED, "cluster.overcommit.cpu.predict", "no use is known"),
    ({"overcommit": {"cpu": {"predict": "orakel"}}}, "cluster.overcommit.cpu.predict", "is no peak predictor"),
]


@pytest.mark.parametrize(("changes", "key", "problem"), MISTAKES, ids=[key for _, key, _ in MISTAKES])
def test_a_mistake_is_named(changes: dict[str, Any], key: str, problem: str) -> None:
    inputs = plain().dump()
    inputs["cluster"] = {"servers": 2, "node": {"cpu": 4, "mem": "8 GB"}} | changes
    with pytest.raises(ScenarioError, match=problem) as caught:
        scenario_from(inputs)
    assert caught.value.key == key
    assert caught.value.remedy or caught.value.problem.startswith("expected ")


@pytest.mark.parametrize("network", [False, True])
def test_predicted_peaks_admit_more_in_networks_and_where_requests_move(network: bool, tmp_path: Path) -> None:
    def acceptance(peaks: Any, mover: str = "agent") -> float:
        cluster: dict[str, Any] = {"servers": 4}
        if network:
            cluster = {"network": {"topology": {"fat-tree": {"k": 2}}}}
        options: dict[str, Any] = {
            "cluster": {**cluster, "node": {"cpu": 4, "mem": "8 GB"}, **peaks},
            "workload": {
                **random_requests(150, "1 min", [{"cpu": 1, "mem": "1 GB"}, {"cpu": 2, "mem": "1 GB"}], "20 min"),
                "use": {"cpu": "40 %"},
            },
            "rescheduling": {"every": "10 min", "moves": 5, "mover": mover},
            "agents": ["nulb" if network else "worst-fit"],
        }
        [row] = runs(options, tmp_path / f"{mover}{len(peaks)}").rows(named=True)
        assert row["moves"] > 0
        return float(row["acceptance"])

    predicted = {"overcommit": {"cpu": {"predict": {"limit": 0.5}}}}
    assert acceptance(predicted) > acceptance({}) + 0.1
    with pytest.raises(UserError, match="looks at no devices, links or predicted peaks"):
        acceptance(predicted, "empty")
