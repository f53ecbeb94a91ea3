"""What other tools read of some results."""

import json
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
