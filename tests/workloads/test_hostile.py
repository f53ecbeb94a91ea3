"""Traces that are damaged: each is read, or refused in one message."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import UserError, WorkloadError
from tests.support.mangling import mangled
from tests.support.properties import scaled
from workloads.traces.library import detect, read

TEXTS = {
    "table": "id,arrival,lifetime,cpu,mem\n" + "".join(f"{n},{7 * n},{50 + n},{1 + n % 3},2\n" for n in range(30)),
    "huawei": "vmid,cpu,mem,at,lt\n"
    + "".join(f"{n},{1 + n % 2},2,{60 * n},{600 if n else 'inf'}\n" for n in range(30)),
    "events": "vmid,cpu,mem,time,type\n" + "".join(f"{n // 2},1,2,{n},{n % 2}\n" for n in range(30)),
}
FRAME = pl.DataFrame(
    {"id": range(30), "arrival": [7.0 * n for n in range(30)], "lifetime": [9.0] * 30, "cpu": [1.0] * 30}
)


def packed(frame: pl.DataFrame) -> bytes:
    """The frame as a Parquet file."""
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


CONTENTS = {
    **{f"{name}.csv": text.encode() for name, text in TEXTS.items()},
    "table.csv.gz": gzip.compress(TEXTS["table"].encode(), mtime=0),
    "table.parquet": packed(FRAME),
}
ODD = (
    *(
        b",",
        b"\n",
        b"\r\n",
        b'"',
        b";",
        b"\t",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"-",
        b"inf",
        b"nan",
        b"1e400",
        b"9" * 400,
    ),
    *(
        b"id",
        b"arrival",
        b"x" * 200_000,
        "é".encode(),
        b"\x1f\x8b",
        b"PAR1",
        b"\x00\x00\x00\x80",
        b" ",
        b"0",
        b"1e-320",
    ),
)


def take(file: Path, content: bytes) -> None:
    """Read a trace in every way that commands do."""
    file.write_bytes(content)
    try:
        frame = read(detect(file), file)
    except UserError as error:
        assert len(str(error)) < 5_000  # noqa: PT017 (it need not be raised)
        return
    assert len(frame)
    assert frame["arrival"].is_sorted()
    assert frame["arrival"].is_finite().all()
    assert (frame["lifetime"] >= 0).all()
    assert not frame["id"].is_duplicated().any()


@scaled(2.0)
@given(name=st.sampled_from(sorted(CONTENTS)), seed=st.integers(0, 2**64))
def test_damaged_traces_are_answered(tmp_path_factory: pytest.TempPathFactory, name: str, seed: int) -> None:
    folder = tmp_path_factory.getbasetemp() / "hostile-traces"
    folder.mkdir(exist_ok=True)
    take(folder / name, mangled(CONTENTS[name], ODD, random.Random(seed)))


def test_a_small_file_is_no_large_one(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"id,arrival,lifetime,cpu\n" + b"0" * 500_000_000, 9, mtime=0))
    with pytest.raises(WorkloadError, match="more than 300 times as large"):
        read("table", file)
