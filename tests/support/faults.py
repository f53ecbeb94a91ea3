"""A disk that refuses one change after another."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from binwright.cli import FAILED, MISTAKE, main
from tests.support.batches import TIMES
from tests.support.training import sound


class Faults:
    """Counts what opens files to write them, renames or syncs below a folder, and fails the `at`-th of those."""

    def __init__(self, folder: Path, at: int, number: int) -> None:
        self.folder, self.at, self.number = folder.resolve(), at, number
        self.seen: list[str] = []

    def change(self, what: str, path: object) -> None:
        """Meet a change; raises for the one that is to fail."""
        name = path if isinstance(path, str) else os.fspath(path) if isinstance(path, os.PathLike) else ""
        if isinstance(name, str) and Path(name).absolute().is_relative_to(self.folder):
            self.seen.append(f"{what} {name}")
            if len(self.seen) == self.at + 1:
                raise OSError(self.number, os.strerror(self.number), name)


_now: list[Faults] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _now:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        _now[-1].change("open", arguments[0])
    elif event == "os.rename":
        _now[-1].change("rename", arguments[1])
    elif event == "os.mkdir":
        _now[-1].change("mkdir", arguments[0])


sys.addaudithook(_hook)


@contextmanager
def failing(folder: Path, at: int, number: int = errno.ENOSPC) -> Iterator[Faults]:
    """Within, the `at`-th change below the folder fails, counted from 0."""
    sync = os.fsync

    def synced(descriptor: Any) -> None:
        faults.change("fsync", Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    faults = Faults(folder, at, number)
    _now.append(faults)
    os.fsync = synced  # type: ignore[assignment]
    try:
        yield faults
    finally:
        os.fsync = sync
        _now.pop()


def contents(folder: Path) -> object:
    """Read what a folder has, but for what no two commands agree on."""
    if (folder / "seed-0").is_dir():
        return sound(folder)
    found: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.suffix == ".parquet":
            frame = pl.read_parquet(file)
            found[name] = frame.drop(*TIMES, "seconds", strict=False).to_dicts()
        elif file.is_file() and file.suffix not in (".jsonl", ".png") and not name.startswith("."):
            found[name] = file.read_bytes()
    return found


def every_change_fails(asked: list[str], out: Path, number: int) -> int:
    """Fail each change below the folder `out` in turn, of a command that writes there; returns how many there are.

    The command must end with one message and a code that says so, and when it is given again, `out` must be what it is
    without failures.
    """
    shutil.rmtree(out, ignore_errors=True)
    assert _said(asked)[0] == 0
    whole = contents(out)
    for at in count():
        shutil.rmtree(out)
        with failing(out.parent, at, number) as faults:
            code, said = _said(asked)
        if len(faults.seen) <= at:
            assert code == 0
            return at
        assert code in (0, FAILED, MISTAKE), (faults.seen[at], said)
        assert "Traceback" not in said
        assert (code == MISTAKE) == ("binwright: " in said), faults.seen[at]
        code, said = _said(asked)
        assert code == 0, (faults.seen[at], said)
        assert contents(out) == whole, faults.seen[at]
    raise AssertionError


def _said(asked: list[str]) -> tuple[int, str]:
    """The exit code of a command, and its messages."""
    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err):
        code = main(asked)
    return code, err.getvalue()
