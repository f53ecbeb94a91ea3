"""Which files code from outside reads: what is in them determines its results, too."""

from __future__ import annotations

import hashlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path

from simcore.folders import user_cache

ROOT = Path(__file__).resolve().parents[1]
"""The folder that our packages lie in."""
OURS = ("agents", "analysis", "fabric", "scenarios", "simcore", "workloads")
"""Our packages that determine what a run gives."""

_reader: ContextVar[str] = ContextVar("reader", default="")
_read: dict[str, dict[str, str]] = {}
_written: set[str] = set()


@contextmanager
def noted(module: str) -> Iterator[None]:
    """Note the files that are opened within, as read by an object of this module, for the life of this process.

    Whoever opens a file once and keeps what was in it depends on it in every later run.
    """
    _install()
    token = _reader.set(module)
    try:
        yield
    finally:
        _reader.reset(token)


def files_of(modules: Iterable[str]) -> dict[str, str]:
    """The files that objects of these modules have read so far, each with a digest of what was in it then.

    What this process has written, too, is left out: that is notes of its own.
    """
    found: dict[str, str] = {}
    for module in modules:
        found |= _read.get(module, {})
    return {file: digest for file, digest in sorted(found.items()) if file not in _written}


def unchanged(files: dict[str, str]) -> bool:
    """Tell whether all of these files hold what they did when they were read."""
    return all(digest_of(Path(file)) == digest for file, digest in files.items())


def digest_of(file: Path) -> str:
    """A digest of what is in a file; empty when it cannot be read."""
    try:
        stat = file.stat()
        return _digest_of(file, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError):  # the latter of what cannot be a path
        return ""


def from_outside(file: Path) -> bool:
    """Tell whether a file is neither ours, nor Python's, nor of an installed package."""
    return not any(file.is_relative_to(folder) for folder in _known())


@cache
def _known() -> tuple[Path, ...]:
    python = {Path(path).resolve() for path in (*sysconfig.get_paths().values(), site.getusersitepackages())}
    system = (Path("/proc"), Path("/sys"), Path("/dev"), user_cache().resolve())
    # Not all of the environment's folder: what one works on may lie there.
    return (*(ROOT / package for package in OURS), *(python - {Path(sys.prefix).resolve()}), *system)


@cache
def _digest_of(file: Path, changed: int, size: int) -> str:
    token = _reader.set("")
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "blake2b").hexdigest()[:32]
    finally:
        _reader.reset(token)


@cache
def _install() -> None:
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not (reader := _reader.get()):
        return
    path, _, flags = arguments
    if isinstance(path, bytes | str) and isinstance(flags, int):
        with suppress(OSError, ValueError):
            _note(reader, Path(os.fsdecode(path)).resolve(), flags)


def _note(reader: str, file: Path, flags: int) -> None:
    if file.suffix == ".pyc":
        file = Path(source_from_cache(str(file)))
    if not from_outside(file):
        return
    if flags & os.O_ACCMODE != os.O_RDONLY:
        _written.add(str(file))
    elif file.is_file() and str(file) not in _read.setdefault(reader, {}):
        _read[reader][str(file)] = digest_of(file)
