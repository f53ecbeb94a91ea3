"""`binwright export`: what other tools read of some results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.analysis.results.export import TAG, to_mlflow
from binwright.cli import MISTAKE, main
from tests.support.batches import TEXT


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("exported")
    (folder / "small.yaml").write_text(TEXT + "sweep: {product: {workload.requests: [20, 30]}}\n")
    return bw.run(folder / "small.yaml", out=folder / "out", jobs=1)


def test_a_csv_and_a_json_have_every_run_with_its_metrics(
    results: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("csv", "json"):
        assert main(["export", str(results.folder), "--to", form, "--out", str(tmp_path / f"runs.{form}")]) == 0
        assert capsys.readouterr().out == f"4 runs into {tmp_path}/runs.{form}\n"
    table = pl.read_csv(tmp_path / "runs.csv")
    assert table.columns[:5] == ["run", "agent", "seed", "workload.requests", "version"]
    assert table["acceptance"].to_list() == results.done["acceptance"].to_list()
    data = json.loads((tmp_path / "runs.json").read_text())
    assert [run["acceptance"] for run in data["runs"]] == table["acceptance"].to_list()
    assert data["metrics"]["acceptance"]["better"] == "higher"
    assert "seconds" not in table.columns


def test_the_table_itself_says_what_its_columns_are(results: Any) -> None:
    metadata = pl.read_parquet_metadata(results.folder / "runs.parquet")
    said = json.loads(metadata["binwright"])
    assert said["version"] == bw.__version__
    assert {metric["name"]: metric["unit"] for metric in said["metrics"]}["acceptance"] == "%"
    assert said["swept"] == ["workload.requests"]


def test_details_say_their_units(tmp_path: Path) -> None:
    few = ("workload.requests=30", "replications=1", "agents=[first-fit]", "record=[requests, samples, states, times]")
    results = bw.run("quickstart", *few, out=tmp_path, jobs=1)
    found = {}
    for file in (tmp_path / "details").glob("*.parquet"):
        said = json.loads(pl.read_parquet_metadata(file)["binwright"])
        assert said["version"] == bw.__version__
        found[file.name.split(".")[1]] = said["units"]
    assert results.requests(results.runs["run"][0]).columns[:6] == ["row", "id", "arrival", "duration", "cpu", "mem"]
    times = dict.fromkeys(("arrival", "duration", "decided", "wait", "end"), "s")
    kinds = ("used", "free", "stranded", "capacity")
    assert found == {
        "requests": {**times, "cpu": "cores", "mem": "GB"},
        "samples": {"time": "s", **{f"{kind}_{n}": u for kind in kinds for n, u in (("cpu", "cores"), ("mem", "GB"))}},
        "states": {"time": "s"},
        "times": {"seconds": "s"},
    }


def test_without_mlflow_the_message_says_what_to_install(
    results: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setitem(sys.modules, "mlflow.entities", None)
    assert main(["export", str(results.folder), "--to", "mlflow"]) == MISTAKE
    assert "pip install mlflow-skinny" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_every_run_once(results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "mlruns").as_uri()
    assert [to_mlflow(results, uri), to_mlflow(results, uri)] == [4, 0]
    client = tracking.MlflowClient(uri)
    found = client.search_runs([client.get_experiment_by_name("small").experiment_id])
    ours = {row["run"]: row for row in results.done.to_dicts()}
    assert {run.data.tags[TAG] for run in found} == ours.keys()
    for run in found:
        row = ours[run.data.tags[TAG]]
        assert run.data.metrics["acceptance"] == row["acceptance"]
        assert run.data.params["agent"] == row["agent"]
        assert run.data.params["workload.requests"] == str(row["workload.requests"])
        assert run.info.status == "FINISHED"
