"""Scenarios with devices: how clusters and workloads are written, what is refused, what runs say of fragmentation."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import binwright as bw
from binwright.cli import main
from binwright.fabric.fragmentation import CAUSES, USABLE
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM
from binwright.workloads.traces.library import FOLDER, find_servers
from tests.support.scenarios import build_cluster

MIXED: dict[str, Any] = {
    "cluster": {
        "groups": [
            {"count": 2, "node": {"cpu": 8, "mem": "32 GB"}, "devices": {"model": "V100", "count": 4}},
            {"count": 1, "node": {"cpu": 16, "mem": "32 GB"}, "devices": {"count": 2}},
            {"count": 1, "node": {"cpu": 4, "mem": "8 GB"}},
        ]
    },
    "workload": {
        "requests": 60,
        "arrivals": {"fixed": {"every": "1 s"}},
        "flavours": [{"cpu": 1, "gpu": 0.6, "weight": 3}, {"cpu": 2, "gpu": 2}, {"cpu": 1, "mem": "2 GB"}],
        "lifetimes": {"fixed": "12 s"},
    },
    "agents": ["fgd", "gpu-clustering", "first-fit", "gpu-random"],
}


def changed(**keys: Any) -> dict[str, Any]:
    """The mixed cluster with other keys of `cluster`."""
    return {**MIXED, "cluster": {**MIXED["cluster"], **keys}}


def test_groups_have_devices() -> None:
    cluster = build_cluster(scenario_from(MIXED))
    assert cluster.resources == ("cpu", "mem", "gpu")
    assert (cluster.capacity[:, 0, 2] // QUANTUM).tolist() == [4, 4, 2, 0]
    devices = cluster.devices
    assert devices is not None
    assert devices.models == ("V100", "unnamed")
    assert (devices.count.tolist(), devices.model.tolist(), devices.added) == ([4, 4, 2, 0], [0, 0, 1, -1], (0, -1))


def test_seeds_number_servers_anew() -> None:
    scenario = scenario_from(changed(numbering="drawn"))
    clusters = {seed: build_cluster(scenario, seed) for seed in range(6)}
    counts = {seed: tuple(each.devices.count.tolist()) for seed, each in clusters.items() if each.devices}
    assert len(set(counts.values())) > 1
    assert all(sorted(each) == [0, 2, 4, 4] for each in counts.values())
    for each in clusters.values():
        assert each.devices is not None
        assert each.capacity[:, 0, 2].tolist() == (each.devices.count * QUANTUM).tolist()
        assert each.devices.added == (0, -1)  # as the last one that is written


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"nodes": 2}, "servers with devices have one node"),
        ({"spread_above": {"mem": "1 GB"}}, "servers with devices have one node"),
        ({"devices": {"count": 2}}, "does not go with other servers than equal ones"),
        ({"groups": [{"count": 1, "node": {"cpu": 1, "gpu": 2}, "devices": {"count": 2}}]}, "comes from the devices"),
        ({"groups": [{"count": 1, "node": {"cpu": 1}, "devices": {"count": 33}}]}, "33"),
        (
            {"groups": None, "network": {"topology": "alpha"}, "node": {"cpu": 1}, "devices": {"count": 1}},
            "servers in a network have no devices",
        ),
        ({"groups": None, "trace": {"name": "huawei-east-1"}}, "comes without servers"),
    ],
)
def test_refuses_what_does_not_go_with_devices(cluster: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        scenario_from(changed(**cluster))


@pytest.mark.parametrize("amount", [1.5, 2.000001])
def test_a_flavour_takes_a_part_or_whole_devices(amount: float) -> None:
    flavours = [{"cpu": 1, "gpu": 1}, {"cpu": 1, "gpu": amount}]
    with pytest.raises(UserError, match=r"^workload\.flavours\.1\.gpu: .*part.* \(got [12]\.") as caught:
        scenario_from({**MIXED, "workload": {**MIXED["workload"], "flavours": flavours}})
    assert caught.value.remedy
    plain = {"servers": 2, "node": {"cpu": 8, "gpu": 4}}
    scenario_from({**MIXED, "cluster": plain, "workload": {**MIXED["workload"], "flavours": flavours}})


@pytest.mark.parametrize("model", [{"model": "V100"}, {}])
def test_a_run_names_models_that_no_server_has(
    tmp_path: Path, model: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["0,0,5,1,1,H100", "1,1,5,1,1,", "2,2,5,1,1,H100|A100", "3,3,5,1,0,T4"]
    (tmp_path / "t.csv").write_text("\n".join(["id,arrival,lifetime,cpu,gpu,models", *rows, ""]))
    options = {
        "cluster": {"servers": 1, "node": {"cpu": 8}, "devices": {"count": 2, **model}},
        "workload": {"trace": "table", "path": "t.csv"},
        "agents": ["fgd"],
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(options))
    assert main(["run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "out")]) == 0
    captured = " ".join(capsys.readouterr().out.split())
    assert "50.00 % of the requests" in captured
    assert "A100, H100" in captured
    assert "T4" not in captured  # asked for with no device


def servers_file(folder: Path, rows: list[list[Any]]) -> Path:
    """Write servers as the trace has them."""
    path = folder / "openb_node_list_all_node.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["sn", "cpu_milli", "memory_mib", "gpu", "model"], *rows])
    return path


def pods_file(folder: Path) -> None:
    """Write pods as the trace has them; one names models."""
    rows = [
        ["a", 4000, 1024, 1, 460, "", 0, 50],
        ["b", 8000, 2048, 2, 1000, "T4|P100", 10, 60],
        ["c", 1000, 512, 0, 0, "", 20, 90],
    ]
    header = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time"]
    with (folder / "openb_pod_list_default.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def test_servers_of_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(UserError, match="file of its servers was not found"):
        find_servers("alibaba-openb")
    servers_file(tmp_path, [["n0", 32000, 1024, 0, ""], ["n1", 96000, 2048, 8, "G2"], ["n2", 8000, 1024, 1, "P100"]])
    pods_file(tmp_path)
    workload = {"trace": "alibaba-openb", "inflate": {"until": 1.0, "of": "gpu"}}
    spec = {"cluster": {"trace": {"name": "alibaba-openb"}}, "workload": workload, "agents": ["fgd"]}
    every = build_cluster(scenario_from(spec))
    assert (every.capacity[:, 0, 0] // QUANTUM).tolist() == [32, 96, 8]
    assert every.capacity[1, 0].tolist() == [96_000_000, 2_147_484, 8_000_000]
    chosen = scenario_from({**spec, "cluster": {"trace": {"name": "alibaba-openb", "only": "devices"}}})
    only = build_cluster(chosen)
    assert only.devices is not None
    assert (only.devices.count.tolist(), only.devices.models) == ([8, 1], ("G2", "P100"))
    result = bw.run(chosen, out=tmp_path / "out", jobs=1)
    assert result.done["allocation_gpu"].is_not_null().all()
    assert not len(result.failed)
    again = Batch(chosen, tmp_path / "out")
    assert len(again.done()) == 1
    servers_file(tmp_path, [["n1", 96000, 2048, 4, "G2"], ["n2", 8000, 1024, 1, "P100"]])
    assert not Batch(chosen, tmp_path / "out").done()  # its servers are other ones now
    for row, column in ((["n1", "many", 2048, 4, "G2"], "cpu_milli"), (["n1", 96000, 2048, 1.5, "G2"], "gpu")):
        file = servers_file(tmp_path, [["n0", 32000, 1024, 0, ""], row])
        with pytest.raises(UserError) as caught:
            build_cluster(chosen)
        assert (str(caught.value.file), caught.value.line, caught.value.key) == (str(file), 3, column)


@pytest.mark.long
def test_runs_tell_of_fragmentation(tmp_path: Path) -> None:
    """The record of every decision against what requests hold then; all agents meet the same requests."""
    results = bw.run(scenario_from({**MIXED, "record": ["devices", "requests"]}), out=tmp_path / "out", jobs=1)
    assert not len(results.failed)
    runs = {row["agent"]: row for row in results.done.iter_rows(named=True)}
    assert set(runs) == set(MIXED["agents"])
    for agent, row in runs.items():
        result, frame = results.devices(row["run"]), results.requests(row["run"])
        fragments = result.select([f"fragments_{cause}" for cause in CAUSES]).to_numpy()
        assert fragments.sum(axis=1) == pytest.approx(result["free"].to_numpy())
        assert (result["allocated"] + result["free"] == 10).all()
        held = frame.filter(pl.col("outcome") == "placed")
        for place in (5, 30, 59):
            time = frame["decided"][place]
            present = held.filter((pl.col("decided") <= time) & ((pl.col("end") > time) | (pl.col("row") == place)))
            assert result["allocated"][place] == pytest.approx(present["gpu"].sum()), agent
        share = 1 - fragments[:, USABLE] / np.maximum(result["free"].to_numpy(), 1e-9)
        assert row["fragmented_gpu"] == pytest.approx(share.mean())
        assert {name for name in result.columns if name.startswith("fragments_")} == {
            f"fragments_{each}" for each in CAUSES
        }


def test_a_run_whose_servers_change_has_no_record_of_devices(tmp_path: Path) -> None:
    cluster = {**MIXED["cluster"], "expansion": [{"at": 1, "by": 1}]}
    results = bw.run(scenario_from({**MIXED, "cluster": cluster, "record": ["devices"]}), out=tmp_path / "out", jobs=1)
    assert not len(results.failed)
    assert results.devices(results.runs["run"][0]).is_empty()
