"""A disk that refuses one change after another."""

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from binwright.cli import FAILED, MISTAKE, main
from tests.support.batches import TIMES
from tests.support.training import sound


class Changes:
    """Meets whatever opens files to write them, renames, removes or syncs below a folder, just before it happens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def change(self, what: str, path: object) -> None:
        """Meet a change, if it is below the folder."""
        name = path if isinstance(path, str) else os.fspath(path) if isinstance(path, os.PathLike) else ""
        if isinstance(name, str) and Path(name).absolute().is_relative_to(self.folder):
            self.meet(what, name)

    def meet(self, what: str, name: str) -> None:
        """Meet a change below the folder."""
        raise NotImplementedError


class Faults(Changes):
    """Counts changes, and fails the `at`-th of them; what is removed is none, for a full disk takes that."""

    def __init__(self, folder: Path, at: int, number: int) -> None:
        super().__init__(folder)
        self.at, self.number = at, number
        self.seen: list[str] = []

    def meet(self, what: str, name: str) -> None:
        """Raise for the one that is to fail."""
        if what == "remove":
            return
        self.seen.append(f"{what} {name}")
        if len(self.seen) == self.at + 1:
            raise OSError(self.number, os.strerror(self.number), name)


_now: list[Changes] = []
_EVENTS = {"os.rename": ("rename", 1), "os.mkdir": ("mkdir", 0), "os.remove": ("remove", 0)}


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _now:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        _now[-1].change("open", arguments[0])
    elif event in _EVENTS:
        what, place = _EVENTS[event]
        _now[-1].change(what, arguments[place])


sys.addaudithook(_hook)


@contextmanager
def following(changes: Changes) -> Iterator[None]:
    """Within, `changes` meets every change."""
    sync = os.fsync

    def synced(descriptor: Any) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        changes.change("fsync", path)
        sync(descriptor)

    _now.append(changes)
    os.fsync = synced  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync = sync
        _now.pop()


@contextmanager
def failing(folder: Path, at: int, number: int = errno.ENOSPC) -> Iterator[Faults]:
    """Within, the `at`-th change below the folder fails, counted from 0."""
    faults = Faults(folder, at, number)
    with following(faults):
        yield faults


def contents(folder: Path) -> object:
    """Read what a folder has, but for what no two commands agree on."""
    if (folder / "seed-0").is_dir():
        return sound(folder)
    results: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.suffix == ".parquet":
            frame = pl.read_parquet(file)
            output = pl.read_parquet_metadata(file).get("binwright")
            results[name] = frame.drop(*TIMES, "seconds", strict=False).to_dicts(), output
        elif file.is_file() and file.suffix not in (".jsonl", ".png") and not name.startswith("."):
            results[name] = file.read_bytes()
    return results


def every_change_fails(
    requested: list[str], out: Path, numbers: Sequence[int] = (errno.ENOSPC, errno.EIO), every: int = 1
) -> int:
    """Fail one in `every` changes below the folder `out` in turn, of a command that writes there; returns the last one.

    With several `numbers`, the disk is full at one change, and broken at the next.

    The command must end with one message and a code that says so, and when it is given again, `out` must be what it is
    without failures.
    """
    shutil.rmtree(out, ignore_errors=True)
    assert said_by(requested)[0] == 0
    whole = contents(out)
    for at in count(step=every):
        shutil.rmtree(out)
        with failing(out.parent, at, numbers[at // every % len(numbers)]) as faults:
            code, output = said_by(requested)
        if len(faults.seen) <= at:
            assert code == 0
            return at
        assert code in (0, FAILED, MISTAKE), (faults.seen[at], output)
        assert "Traceback" not in output
        assert (code == MISTAKE) == ("binwright: " in output), faults.seen[at]
        code, output = said_by(requested)
        assert code == 0, (faults.seen[at], output)
        assert contents(out) == whole, faults.seen[at]
    raise AssertionError


def said_by(requested: list[str]) -> tuple[int, str]:
    """Give a command; returns its exit code and its messages."""
    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err):
        code = main(requested)
    return code, err.getvalue()
