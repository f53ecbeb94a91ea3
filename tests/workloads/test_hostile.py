"""Traces that are made to do harm."""

import gzip
from pathlib import Path

import pytest

from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.library import read


def test_a_small_file_is_no_large_one(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"id,arrival,lifetime,cpu\n" + b"0" * 50_000_000, 9, mtime=0))
    with pytest.raises(WorkloadError, match="more than 300 times as large"):
        read("table", file)
