"""Large arrays lie in files, and are what they would be in memory."""

import errno
import mmap
import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore import memmap
from binwright.simcore.memmap import blocks, in_files, release_pages, zeros
from tests.support.properties import first


def resident(array: np.ndarray) -> int:
    """Count the bytes of the array's file that this process has in memory."""
    address, results = array.__array_interface__["data"][0], 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in (span := line.split()[0]) and not span.endswith(":"):
            begin, end = (int(number, 16) for number in span.split("-"))
        elif span == "Rss:" and begin <= address < end:
            results = int(line.split()[1]) * 1024
    return results


def test_released_pages_of_large_arrays_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memmap, "LARGE", 8_000_000)
    with in_files(tmp_path / "new"):
        array, small = zeros((1_000_000, 1), np.int64), zeros(9, np.int8)
    assert isinstance(array.base, np.ndarray)
    assert small.base is None
    assert array.shape == (1_000_000, 1)
    assert not array.any()
    array[:, 0] = numbers = np.arange(1_000_000)
    release_pages()
    if Path("/proc/self/smaps").exists() and hasattr(mmap, "MADV_DONTNEED"):
        assert resident(array) == 0
    assert (array[:, 0] == numbers).all()
    assert not [*tmp_path.iterdir()]
    assert zeros(1_000_000, np.int64).base is None  # nobody asked for files


def test_a_full_disk_leaves_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(memmap, "LARGE", 1)
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with in_files(tmp_path):
        assert zeros(4, np.float64).base is None
    monkeypatch.undo()
    monkeypatch.setattr(memmap, "LARGE", 1)
    monkeypatch.setattr(memmap, "SPARE", 10**18)
    with in_files(tmp_path):
        assert zeros(4, np.float64).base is None


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 4), st.integers(1, 4))
def test_blocks_are_the_rows_in_order(first: int, rows: int, size: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memmap, "BLOCK", size)
        result = [*blocks(rows, first, most)]
    assert [row for some in result for row in range(some.start, some.stop)] == [*range(first, rows)]
    assert all(some.stop - some.start <= min(size, most) for some in result)
    assert result


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


@pytest.mark.long
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
    assert parts.columns == whole.columns
    for part, column in zip(parts, whole, strict=True):
        if column.dtype.is_float():
            np.testing.assert_allclose(part.to_numpy(), column.to_numpy(), 1e-12, 1e-12, err_msg=column.name)
        else:
            assert_series_equal(part, column)
    for file in (tmp_path / "whole" / "details").iterdir():
        assert_frame_equal(pl.read_parquet(tmp_path / "parts" / "details" / file.name), pl.read_parquet(file))
    assert {file.name for file in (tmp_path / "parts").iterdir()} == {f.name for f in (tmp_path / "whole").iterdir()}
