"""What files hold that determine results: digests of them, whether they have changed, and whose code they are."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeAlias

PACKAGE = Path(__file__).parents[1]
"""The folder of the package `binwright`. In a checkout its sub-packages are symbolic links to the folders beside it."""
SUBPACKAGES = ("agents", "analysis", "fabric", "scenarios", "simcore", "workloads")
OURS = {name: (PACKAGE / name).resolve() for name in SUBPACKAGES}
"""Our sub-packages that determine results, and where they are."""

Stamp: TypeAlias = tuple[int, int, int, int] | None
"""What tells a file from what it was before it was written to, renamed or exchanged; None where there is none."""

OUR_FOLDERS = tuple(f"{folder}{os.sep}" for folder in (PACKAGE.resolve(), *OURS.values()))
_began = time.time_ns()
_stamped: ContextVar[dict[str, Stamp] | None] = ContextVar("files that were asked for", default=None)


@contextmanager
def stamping() -> Iterator[dict[str, Stamp]]:
    """Give the files that are digested or read within, each with its stamp of just before that."""
    stamps: dict[str, Stamp] = {}
    token = _stamped.set(stamps)
    try:
        yield stamps
    finally:
        _stamped.reset(token)


def stamp(file: Path) -> None:
    """Note a file that is going to be read, for `stamping`."""
    stamps = _stamped.get()
    if stamps is not None:
        stamps.setdefault(str(file.absolute()), stamp_of(file))


def stamp_of(file: Path) -> Stamp:
    """Return the stamp that a file has now."""
    try:
        status = file.stat()
    except (OSError, ValueError):  # the latter of what cannot be a path
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of(file: Path) -> str:
    """Digest what is in a file; empty when it cannot be read."""
    stamp(file)
    try:
        status = file.stat()
        # A pipe or a device might never end.
        return _digest_of(file, status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else ""
    except (OSError, ValueError):  # the latter of what cannot be a path
        return ""


def is_edited(file: Path) -> bool:
    """Tell whether a file was written after this process began, or is gone."""
    try:
        return file.stat().st_mtime_ns > _began
    except OSError:
        return True


def is_ours(file: Path) -> bool:
    """Tell whether a file is of our packages."""
    return str(file).startswith(OUR_FOLDERS)


@cache
def _digest_of(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()[:32]
