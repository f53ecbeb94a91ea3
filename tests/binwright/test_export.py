"""What other tools read of some results."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from tests.support.batches import TEXT


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("results")
    (folder / "small.yaml").write_text(TEXT + "sweep: {product: {workload.requests: [20, 30]}}\n")
    return bw.run(folder / "small.yaml", out=folder / "out", jobs=1)


def test_parquet_metadata_describes_the_columns(results: Any) -> None:
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
