"""A run whose requests are looked at block by block, in files, is the run that it is in memory."""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore import memmap
from tests.support.properties import first

RUN = ["workload.requests=700", "cluster.servers=6", "replications=1", "record=[requests, samples]"]
FORMS = {
    "compiled": ["agents=[best-fit]", "prices={cpu_hour: 1}"],
    "simpy": ["agents=[best-fit]", "overflow=wait", "cluster.failures={mtbf: 2 h, mttr: 10 min, on_failure: requeue}"],
    "bursts": [
        *("agents=[first-fit]", "workload.arrivals={bursty: {every: 1 min, size: 3}}"),
        "overflow={expand: {by: 1, limit: 9}}",
    ],
}
TIMES = ("seconds", "decision_us")


@pytest.mark.parametrize("form", first(1, FORMS))
def test_a_run_is_the_same_in_blocks_and_in_files(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario("quickstart", [*RUN, *FORMS[form]])
    whole = Batch(scenario, tmp_path / "whole").run(jobs=1).runs.drop(TIMES)
    made, zeros = [], tempfile.TemporaryFile

    def counted(dir: Path) -> object:
        made.append(dir)
        return zeros(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", counted)
    monkeypatch.setattr(memmap, "BLOCK", 64)
    monkeypatch.setattr(memmap, "LARGE", 1000)
    parts = Batch(scenario, tmp_path / "parts").run(jobs=1).runs.drop(TIMES)
    assert made
    assert set(made) == {tmp_path, tmp_path / "parts"}  # what is drawn before there are results lies above them
    assert whole["status"].to_list() == ["done"]
    assert_frame_equal(parts, whole, rel_tol=1e-12, abs_tol=1e-12)
    for file in (tmp_path / "whole" / "details").iterdir():
        assert_frame_equal(pl.read_parquet(tmp_path / "parts" / "details" / file.name), pl.read_parquet(file))
    assert {file.name for file in (tmp_path / "parts").iterdir()} == {f.name for f in (tmp_path / "whole").iterdir()}
