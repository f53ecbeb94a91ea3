"""Files that are written whole or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.simcore.errors import ResultsError
from binwright.simcore.files import clear, replacing, write_table, write_tables, write_text


def test_a_failed_write_changes_no_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.txt"
    write_text(file, "é")

    def half() -> None:
        with replacing(file) as unfinished:
            unfinished.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert file.read_text("utf-8") == "é"
    assert os.listdir(file.parent) == ["a.txt"]  # noqa: PTH208 (hidden ones, too)


def test_a_folder_in_the_way_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target, why in ((tmp_path, "Is a directory"), (tmp_path / "file" / "below", "File exists|Not a directory")):
        with pytest.raises(
            ResultsError,
            match=rf"{target}: cannot be written: ({why})\n  Make room there, move away what is in the way",
        ):
            write_table(target, pl.DataFrame({"a": [1]}))


def test_a_table_is_written_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = pl.Enum(["a", "b"])
    frame = pl.DataFrame({"x": range(7), "kind": pl.Series(["a", None, *"babba"], dtype=kinds)})
    write_tables(tmp_path / "new" / "t.parquet", (frame[n : n + 3] for n in (0, 3, 6)))
    assert pl.read_parquet(tmp_path / "new" / "t.parquet").equals(frame)
    before = (tmp_path / "new" / "t.parquet").read_bytes()

    sink: Any = pl.LazyFrame.sink_parquet

    def full(frame: pl.LazyFrame, to: object, **options: Any) -> Any:
        if isinstance(to, Path):
            raise pl.exceptions.ComputeError("No space left on device")
        return sink(frame, to, **options)

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    with pytest.raises(ResultsError, match=r"t.parquet: cannot be written: No space left on device"):
        write_tables(tmp_path / "new" / "t.parquet", [frame, frame])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["t.parquet"]
    assert (tmp_path / "new" / "t.parquet").read_bytes() == before


def test_a_link_stays_one_and_a_pipe_gets_what_is_written(tmp_path: Path) -> None:
    file, link, pipe = tmp_path / "real" / "file", tmp_path / "link", tmp_path / "pipe"
    write_text(file, "old")
    link.symlink_to(file)
    write_text(link, "new")
    assert (link.is_symlink(), file.read_text(), len(list(file.parent.iterdir()))) == (True, "new", 1)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        write_text(pipe, "through")
        assert read.result(10) == "through"
    assert pipe.is_fifo()


def test_temporary_files_of_killed_commands_are_removed(tmp_path: Path) -> None:
    for name in (".runs.parquet.123", "runs.parquet", ".notes", ".notes.txt"):
        (tmp_path / name).touch()
    clear(tmp_path)
    clear(tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".notes", ".notes.txt", "runs.parquet"]
