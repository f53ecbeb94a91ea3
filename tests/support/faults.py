"""A disk that refuses one change after another."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


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
