"""Racks, zones and power feeds of plain clusters that fail together, by their label in the scenario."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.scenarios.build.world import build_world
from binwright.simcore.errors import UserError

DATA: dict[str, Any] = {
    "name": "racks",
    "cluster": {"servers": 4, "node": {"cpu": 2}, "domains": {"rack": 2}},
    "workload": {
        "requests": 9,
        "arrivals": {"fixed": {"every": 1}},
        "flavours": [{"cpu": 2}],
        "lifetimes": {"fixed": 100},
    },
    "agents": ["first-fit"],
    "record": ["requests"],
}
ZONES = [{"count": 2, "node": {"cpu": 2}, "labels": {"zone": zone}} for zone in "ab"]


def failing(failures: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**DATA, "cluster": {**DATA["cluster"], "failures": failures}, **changed}


def lost(data: dict[str, Any], out: Path) -> list[str]:
    results = bw.run(bw.scenario(data), out=out, jobs=1)
    [file] = (out / "details").glob("*.requests.parquet")
    assert len(results.done)
    return pl.read_parquet(file)["outcome"].cast(pl.String).to_list()


@pytest.mark.parametrize("repair", [{}, {"repair_after": 2}])
def test_a_rack_fails_at_a_set_time_and_is_back(repair: dict[str, Any], tmp_path: Path) -> None:
    """Four requests fill the cluster; then a rack fails, and only where it comes back are two more accepted."""
    scheduled = [{"at": 4.5, "domain": 1, **repair}]
    frame = lost(failing({"domains": {"rack": {"scheduled": scheduled}}}), tmp_path / "out")
    late = ["placed", "placed"] if repair else ["rejected", "rejected"]
    assert frame[:7] == ["placed", "placed", "interrupted", "interrupted", "rejected", "rejected", "rejected"]
    assert frame[7:] == late


def test_a_zone_is_named_by_its_value_and_others_stay(tmp_path: Path) -> None:
    cluster = {"groups": ZONES, "failures": {"domains": {"zone": {"scheduled": [{"at": 4.5, "domain": "a"}]}}}}
    assert lost({**DATA, "cluster": cluster}, tmp_path)[:4] == ["interrupted", "interrupted", "placed", "placed"]


def test_random_failures_of_racks_are_those_of_whole_racks_and_of_their_own_stream(tmp_path: Path) -> None:
    workload = {**DATA["workload"], "requests": 60}
    item = failing({"mtbf": 40, "mttr": 3, "domains": {"rack": {"mtbf": 20, "mttr": 5}}}, workload=workload)
    world = build_world(bw.scenario(item))
    simulation = world.simulation(3)
    while simulation.advance() is not None:
        simulation.answer(None)
    down: set[int] = set()
    together = 0
    for change in simulation.changes:
        assert (change.subject in down) == (change.what == "repair"), "no server fails twice, or comes back twice"
        (down.add if change.what == "failure" else down.remove)(change.subject)
        same = [each.subject for each in simulation.changes if (each.time, each.what) == (change.time, "failure")]
        together += change.what == "failure" and sorted(same) in ([0, 1], [2, 3])
    assert together > 4
    alone = world.faults(3)[0]
    assert alone == build_world(bw.scenario(failing({"mtbf": 40, "mttr": 3}))).faults(3)[0]
    runs = [bw.run(bw.scenario(item), out=tmp_path / str(n), jobs=1).done["acceptance"].to_list() for n in range(2)]
    assert runs[0] == runs[1]


def test_added_servers_belong_to_racks_that_fail() -> None:
    cluster = {**DATA["cluster"], "expansion": [{"at": 1, "by": 3}]}
    cluster["failures"] = {"domains": {"rack": {"scheduled": [{"at": 4.5, "domain": "1"}]}}}
    world = build_world(bw.scenario({**DATA, "cluster": cluster}))
    domains = world.faults(0)[0].domains
    assert domains is not None
    assert domains(7) == [[0, 1], [2, 3], [4, 5], [6]]
    assert domains(4) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ({"rick": {"mtbf": 5, "mttr": 1}}, r"domains\.rick: no server has this label\n  Did you mean 'rack'"),
        (
            {"rack": {"scheduled": [{"at": 1, "domain": 7}]}},
            r"domains\.rack\.scheduled\.0\.domain: there is no such domain \(got '7'\)\n  Known: 0, 1",
        ),
        ({"rack": {"mtbf": 5}}, r"domains\.rack\.mttr: is missing"),
        ({"rack": {"mtbf": 5, "mttr": 1, "rack": 3}}, r"domains\.rack\.rack: unknown key"),
    ],
)
def test_mistakes(domains: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        bw.run(bw.scenario(failing({"domains": domains})), out=tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()
